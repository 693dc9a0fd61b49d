// Patches: by text, each finds its old_string in the running text and puts new_string in its place; or by lines. All of them or none.
import { constants } from 'node:buffer'
import type { Patch, StringPatch } from '../../../schemas/patches.ts'
import { unlimited, type Budget } from './budget.ts'
import { applyLinePatches, areLinePatches, isLinePatch } from './line-patches.ts'
import { splitMark } from './lines.ts'
import { occurrences } from './occurrences.ts'
import { explainFailure, type PatchFailure, type PatchFault } from './patch-failure.ts'

/** What `applyPatches` takes, as a plain object that can go to another thread. */
export interface ApplyTask {
  readonly text: string
  readonly patches: readonly Patch[]
  readonly maxBytes: number
}

export type ApplyResult = { readonly text: string } | { readonly failure: PatchFailure }

const maxOffsets = 1_000
// Measured: a place that is found and replaced costs as much as reading this many characters.
const stepsPerPlace = 64

/**
 * Applies patches that are all of one kind; a byte order mark stays in front. `maxBytes` bounds the text in UTF-8.
 * @throws OutOfBudget
 */
export function applyPatches(
  text: string,
  patches: readonly Patch[],
  maxBytes = Infinity,
  budget = unlimited
): ApplyResult {
  const { mark, body } = splitMark(text)
  const result = applyToBody(body, patches, maxBytes - Buffer.byteLength(mark), budget)
  return mark === '' || 'failure' in result ? result : { text: mark + result.text }
}

function applyToBody(body: string, patches: readonly Patch[], maxBytes: number, budget: Budget): ApplyResult {
  if (areLinePatches(patches)) return applyLinePatches(body, patches, maxBytes, budget)
  if (patches.some(isLinePatch)) throw new TypeError('Patches by text and patches by lines in one list.')
  return applyStringPatches(body, patches as readonly StringPatch[], maxBytes, budget)
}

/**
 * Applies the patches in order. old_string must occur exactly once in the running text, or `replace_all` must be true;
 * overlapping occurrences count ("aa" is twice in "aaa"), "$" is literal.
 */
function applyStringPatches(
  text: string,
  patches: readonly StringPatch[],
  maxBytes: number,
  budget: Budget
): ApplyResult {
  let running = text
  for (const [index, patch] of patches.entries()) {
    const outcome = applyPatch(running, patch, maxBytes, budget)
    if ('fault' in outcome) return { failure: explainFailure(running, patch, index, outcome.fault, budget) }
    running = outcome.text
  }
  return { text: running }
}

export interface AppliedPatch {
  readonly text: string
  /** How often old_string occurred in the text: once, or with `replace_all` any number of times. */
  readonly count: number
  /** The offsets of the first thousand places. */
  readonly offsets: readonly number[]
}

/** One patch on the running text: the one place that decides whether and how it applies. @throws OutOfBudget */
export function applyPatch(
  text: string,
  { old_string, new_string, replace_all }: StringPatch,
  maxBytes = Infinity,
  budget = unlimited
): AppliedPatch | { readonly fault: PatchFault } {
  // A UTF-16 code unit takes at least one byte in every encoding we write.
  const limit = Math.min(maxBytes, constants.MAX_STRING_LENGTH)
  const growth = new_string.length - old_string.length
  const offsets: number[] = []
  let count = 0
  budget.spend(text.length)
  for (const offset of occurrences(text, old_string, replace_all === true ? 'disjoint' : 'overlapping')) {
    if (++count > 1 && replace_all !== true) return { fault: 'ambiguous' }
    budget.spend(stepsPerPlace)
    // The remaining places can only make it larger.
    if (replace_all === true && growth > 0 && text.length + count * growth > limit) return { fault: 'too_large' }
    if (count <= maxOffsets) offsets.push(offset)
  }
  if (count === 0) return { fault: 'not_found' }
  // Checked before anything is built: a small request must not fill the memory.
  const length = text.length + count * growth
  if (length > limit) return { fault: 'too_large' }
  budget.spend(length)
  const places = count <= maxOffsets ? offsets : occurrences(text, old_string, 'disjoint')
  const result = replaceAt(text, places, old_string.length, new_string)
  // In UTF-8 a code unit takes three bytes at most, so that most texts need no counting.
  if (length * 3 > maxBytes && Buffer.byteLength(result) > maxBytes) return { fault: 'too_large' }
  return { text: result, count, offsets }
}

function replaceAt(text: string, offsets: Iterable<number>, length: number, replacement: string): string {
  const pieces: string[] = []
  let result = ''
  let from = 0
  for (const offset of offsets) {
    pieces.push(text.slice(from, offset), replacement)
    from = offset + length
    // Joined from time to time: a million places would otherwise make millions of pieces.
    if (pieces.length >= 10_000) result += pieces.splice(0).join('')
  }
  return result + pieces.join('') + text.slice(from)
}
