// A unified diff applied to a text: each hunk at its line, or else at the nearest place that has its lines. All hunks or none.
import type { StructuredPatch, StructuredPatchHunk } from 'diff'
import { applyPatch } from 'diff/lib/patch/apply.js'
import { parsePatch } from 'diff/lib/patch/parse.js'
import type { PatchConflict } from '../../../schemas/patches.ts'
import { unlimited, type Budget } from './budget.ts'
import type { PatchJudgement } from './judgement.ts'
import { splitMark } from './lines.ts'
import { beginningOf } from '../../support/cut-text.ts'

/** What `applyUnified` takes, as a plain object that can go to another thread. */
export interface UnifiedTask {
  readonly text: string
  readonly unifiedDiff: string
  /** Of the new text, in UTF-8. */
  readonly maxBytes: number
}

/** Fit for `details` of an error. */
export type UnifiedFailure =
  | { readonly reason: 'malformed'; readonly fault: string }
  | { readonly reason: 'no_hunks' }
  | { readonly reason: 'several_files'; readonly files: number }
  | { readonly reason: 'too_large' }
  | {
      /** no_context: it names no line of the file, so that its place cannot be checked. */
      readonly reason: 'not_found' | 'overlap' | 'no_context'
      /** 0-based. */
      readonly hunk_index: number
      readonly hunks: number
      /** The hunk, or its beginning. */
      readonly hunk: string
    }

export type UnifiedResult = { readonly text: string } | { readonly failure: UnifiedFailure }

const byteOrderMark = '\uFEFF'
const maxShown = 2000
/** Measured: one line compared costs as much as reading this many characters. */
const stepsPerLine = 16

/** @throws OutOfBudget */
export function applyUnified({ text, unifiedDiff, maxBytes }: UnifiedTask, budget = unlimited): UnifiedResult {
  budget.spend(4 * (text.length + unifiedDiff.length))
  const patch = parse(unifiedDiff)
  if ('reason' in patch) return { failure: patch }
  // A diff of the bytes has the byte order mark in it, one of what a read answers does not.
  const { mark, body } = unifiedDiff.includes(byteOrderMark) ? { mark: '', body: text } : splitMark(text)
  const failure = findFault(patch, body)
  if (failure !== undefined) return { failure }
  const applied = apply(body, patch, budget)
  if (applied === false) return { failure: describeHunk('not_found', patch, findFailing(body, patch, budget)) }
  const result = mark + applied
  return Buffer.byteLength(result) > maxBytes ? { failure: { reason: 'too_large' } } : { text: result }
}

/**
 * Whether the diff still applies to a text, and which of its hunks: each with those before it that do. Hunks have the
 * numbers that patches have in the judgement of patches. @throws OutOfBudget
 */
export function judgeUnified({ text, unifiedDiff, maxBytes }: UnifiedTask, budget = unlimited): PatchJudgement {
  budget.spend(4 * (text.length + unifiedDiff.length))
  const patch = parse(unifiedDiff)
  const conflicts: PatchConflict[] = []
  const applying: number[] = []
  if ('reason' in patch)
    return { patches_applicable: false, conflicts, non_conflicting_patches: [], applicable_patches: [] }
  const body = unifiedDiff.includes(byteOrderMark) ? text : splitMark(text).body
  const whole = applyUnified({ text, unifiedDiff, maxBytes }, budget)
  for (const [patch_index, { oldStart, oldLines }] of patch.hunks.entries()) {
    const hunks = [...applying, patch_index].map((index) => patch.hunks[index]!)
    if ('text' in whole || apply(body, { ...patch, hunks }, budget) !== false) applying.push(patch_index)
    else {
      const base_start_line = Math.max(1, oldStart)
      const base_end_line = Math.max(base_start_line, oldStart + oldLines - 1)
      conflicts.push({ patch_index, reason: 'not_found', base_start_line, base_end_line })
    }
  }
  const lines = splitLines(body)
  return {
    patches_applicable: 'text' in whole,
    conflicts,
    non_conflicting_patches: applying,
    applicable_patches: applying.flatMap((patch_index) => {
      budget.spend(lines.length)
      const place = placeOf(patch.hunks[patch_index]!, lines)
      return place === undefined ? [] : [{ patch_index, ...place }]
    })
  }
}

/** The lines that a hunk finds; undefined if they are in several places, so that the one is not known for sure. */
function placeOf({ lines: hunk }: StructuredPatchHunk, lines: readonly string[]) {
  const old = hunk.filter((line) => line.startsWith(' ') || line.startsWith('-')).map((line) => line.slice(1))
  if (old.length === 0) return undefined
  const isAt = (at: number) => old.every((line, index) => lines[at + index] === line)
  const [at, another] = lines.flatMap((line, index) => (line === old[0] && isAt(index) ? [index] : []))
  return at === undefined || another !== undefined ? undefined : { start_line: at + 1, end_line: at + old.length }
}

function splitLines(text: string): string[] {
  return text.split(/\r?\n/)
}

/** The failure in sentences: what happened and what to do next. */
export function describeUnifiedFailure(failure: UnifiedFailure): string {
  switch (failure.reason) {
    case 'malformed':
      return `unified_diff cannot be read: ${failure.fault}. Send it as diff -u or git diff prints it.`
    case 'no_hunks':
      return 'unified_diff has no hunk. Send it as diff -u or git diff prints it, with its lines that begin with @@.'
    case 'several_files':
      return `unified_diff is one of ${failure.files} files. Send the part of each file in a call of its own.`
    case 'too_large':
      return 'With unified_diff the text would become larger than the limit.'
    case 'not_found':
      return `${nameOf(failure)} does not apply: the file does not have its lines, in this order and after those of the hunk before. Nothing was changed. Make the diff again from the version that expected_hash names.`
    case 'overlap':
      return `${nameOf(failure)} overlaps the one before, or lies above it. Send the hunks in the order of the file.`
    case 'no_context':
      return `${nameOf(failure)} names no line of the file, so that its place cannot be checked. Make the diff with lines of context (diff -u).`
    default:
      return failure satisfies never
  }
}

function nameOf({ hunk, hunk_index, hunks }: { hunk: string; hunk_index: number; hunks: number }): string {
  return `unified_diff: hunk ${hunk_index + 1} of ${hunks} (${hunk.slice(0, hunk.indexOf('\n'))})`
}

function parse(unifiedDiff: string): StructuredPatch | UnifiedFailure {
  let files: StructuredPatch[]
  try {
    files = parsePatch(unifiedDiff)
  } catch (error) {
    return {
      reason: 'malformed',
      fault: error instanceof Error ? beginningOf(error.message, maxShown) : 'it is no diff'
    }
  }
  const [first, ...others] = files
  if (first === undefined || first.hunks.length === 0) return { reason: 'no_hunks' }
  return others.length > 0 ? { reason: 'several_files', files: files.length } : first
}

/** What the library takes, although the result would be another than the author of the diff meant. */
function findFault(patch: StructuredPatch, text: string): UnifiedFailure | undefined {
  const { hunks } = patch
  const loose = hunks.findIndex(({ lines }) => lines.every((line) => line.startsWith('+') || line.startsWith('\\')))
  if (loose !== -1 && (text !== '' || hunks.length > 1)) return describeHunk('no_context', patch, loose)
  const overlapping = hunks.findIndex((hunk, index) => index > 0 && hunk.oldStart < endOf(hunks[index - 1]!))
  return overlapping === -1 ? undefined : describeHunk('overlap', patch, overlapping)
}

function endOf({ oldStart, oldLines }: StructuredPatchHunk): number {
  return oldStart + oldLines
}

function apply(text: string, patch: StructuredPatch, budget: Budget): string | false {
  return applyPatch(text, patch, {
    compareLine(_number, line: string | undefined, _operation, content) {
      budget.spend(stepsPerLine + (line?.length === content.length ? content.length : 0))
      return line === content
    }
  })
}

/** The library does not say which hunk it is: the first one with which the hunks up to it do not apply. */
function findFailing(text: string, patch: StructuredPatch, budget: Budget): number {
  let applying = 0
  let failing = patch.hunks.length
  while (failing - applying > 1) {
    const middle = Math.floor((applying + failing) / 2)
    if (apply(text, { ...patch, hunks: patch.hunks.slice(0, middle) }, budget) === false) failing = middle
    else applying = middle
  }
  return failing - 1
}

function describeHunk(
  reason: 'not_found' | 'overlap' | 'no_context',
  { hunks }: StructuredPatch,
  hunk_index: number
): UnifiedFailure {
  const { oldStart, oldLines, newStart, newLines, lines } = hunks[hunk_index]!
  const text = [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines].join('\n')
  return { reason, hunk_index, hunks: hunks.length, hunk: beginningOf(text, maxShown) }
}
