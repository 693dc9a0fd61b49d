// Patches by line numbers: all of them mean the text as it is before; all are made or none. Bytes of other lines stay.
import type { LinePatch, Patch } from '../../../schemas/patches.ts'
import { unlimited, type Budget } from './budget.ts'
import { findFirstDifference, type FirstDifference } from './first-difference.ts'
import type { LinePatchFailure } from './line-patch-failure.ts'
import type { PatchFailure } from './patch-failure.ts'
import { breakOf, endsWithBreak, splitLines, withoutTerminator } from './lines.ts'
import { beginningOf } from '../../support/cut-text.ts'

export function isLinePatch(patch: Patch): patch is LinePatch {
  return 'start_line' in patch
}

export function areLinePatches(patches: readonly Patch[]): patches is readonly LinePatch[] {
  return patches.every(isLinePatch)
}

/** A patch with its place in the request. */
interface Numbered {
  readonly patch: LinePatch
  readonly index: number
}

// Measured: in a text of nothing but line breaks a character costs as much as this many of them in a search.
const stepsPerChar = 4

/** `maxBytes` bounds the text in UTF-8. Linear in the text and the patches. @throws OutOfBudget */
export function applyLinePatches(
  text: string,
  patches: readonly LinePatch[],
  maxBytes = Infinity,
  budget: Budget = unlimited
): { text: string } | { failure: PatchFailure } {
  budget.spend(stepsPerChar * patches.reduce((sum, patch) => sum + sizeOf(patch), text.length))
  const lines = splitLines(text)
  for (const [index, patch] of patches.entries()) {
    const failure = findFault(lines, patch, index)
    if (failure !== undefined) return { failure }
  }
  const ordered = inOrder(patches)
  const overlap = findOverlap(ordered)
  if (overlap !== undefined) return { failure: overlap }
  const pieces: string[] = []
  let length = 0
  let last = ''
  const push = (piece: string) => {
    if (piece === '') return
    // Another line follows, so the last one of the file needs an end; and two line ends must not become one.
    const missing = last !== '' && !endsWithBreak(last) ? lineEndOf(lines) : ''
    const between = missing === '' && last.endsWith('\r') && piece.startsWith('\n') ? '\n' : missing
    pieces.push(between, piece)
    length += between.length + piece.length
    last = piece
  }
  let at = 0
  for (const { patch, index } of ordered) {
    push(lines.slice(at, patch.start_line - 1).join(''))
    push(withLineEnd(lines, patch))
    if (length > maxBytes) return { failure: { patch_index: index, reason: 'too_large' } }
    at = patch.end_line
  }
  push(lines.slice(at).join(''))
  const result = pieces.join('')
  const isTooLarge = length > maxBytes || (length * 3 > maxBytes && Buffer.byteLength(result) > maxBytes)
  return isTooLarge ? { failure: { patch_index: patches.length - 1, reason: 'too_large' } } : { text: result }
}

function sizeOf({ new_content, expected_lines = '' }: LinePatch): number {
  return new_content.length + expected_lines.length
}

/** What is wrong with one patch, regardless of the others. Linear in the patch, however many lines it replaces. */
export function findFault(
  lines: readonly string[],
  { start_line, end_line, new_content, expected_lines }: LinePatch,
  patch_index: number
): LinePatchFailure | undefined {
  const total_lines = lines.length
  if (end_line < start_line - 1) return { patch_index, reason: 'reversed_range' }
  if (end_line > total_lines) return { patch_index, reason: 'out_of_range', total_lines }
  if (end_line === start_line - 1 && new_content === '') return { patch_index, reason: 'inserts_nothing' }
  if (expected_lines === undefined) return undefined
  const expected = splitLines(expected_lines)
  const start = start_line - 1
  const isAsLong = end_line - start === expected.length
  const differing = expected.findIndex(
    (line, index) => withoutTerminator(line) !== withoutTerminator(lines[start + index] ?? '')
  )
  if (isAsLong && differing === -1) return undefined
  const first_difference = isAsLong ? differenceIn(lines[start + differing]!, expected[differing]!) : undefined
  return {
    patch_index,
    reason: 'unexpected_lines',
    ...show(lines, start_line, end_line),
    ...(first_difference && { first_difference: { ...first_difference, line: start_line + differing } })
  }
}

function differenceIn(line: string, expected: string): FirstDifference | undefined {
  return findFirstDifference(`${withoutTerminator(line)}\n`, 0, `${withoutTerminator(expected)}\n`)
}

const maxShownLines = 20
const maxShownChars = 2_000

function show(lines: readonly string[], start_line: number, end_line: number) {
  const shown = lines.slice(start_line - 1, Math.min(end_line, start_line - 1 + maxShownLines)).join('')
  const text = withoutTerminator(beginningOf(shown, maxShownChars))
  const clipped = text.length < withoutTerminator(shown).length || end_line - start_line >= maxShownLines
  return { start_line, end_line, text, ...(clipped && { clipped }) }
}

/** By line; an insertion comes before what replaces the line, and insertions at one line keep their order. */
function inOrder(patches: readonly LinePatch[]): Numbered[] {
  return patches
    .map((patch, index) => ({ patch, index }))
    .sort((a, b) => a.patch.start_line - b.patch.start_line || Number(isEmpty(b.patch)) - Number(isEmpty(a.patch)))
}

function isEmpty({ start_line, end_line }: LinePatch): boolean {
  return end_line < start_line
}

function findOverlap(ordered: readonly Numbered[]): LinePatchFailure | undefined {
  for (const [position, { patch, index }] of ordered.entries()) {
    const before = ordered[position - 1]
    if (before !== undefined && before.patch.end_line >= patch.start_line) {
      return { patch_index: index, reason: 'overlap', other_patch_index: before.index }
    }
  }
  return undefined
}

/** The new content; without a line end of its own, it takes that of what it replaces. */
function withLineEnd(lines: readonly string[], { start_line, end_line, new_content }: LinePatch): string {
  if (new_content === '' || endsWithBreak(new_content)) return new_content
  if (end_line >= start_line) return new_content + breakOf(lines[end_line - 1]!)
  // After a last line without a line end, an insertion has none either.
  const neighbour = lines[start_line - 2] ?? lines[start_line - 1] ?? ''
  return new_content + breakOf(neighbour)
}

function lineEndOf(lines: readonly string[]): string {
  return breakOf(lines.at(-2) ?? '') || '\n'
}
