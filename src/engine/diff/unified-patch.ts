// A unified diff applied to a text: each hunk at its line, or else at the nearest place that has its lines. All hunks or none.
import { applyPatch } from 'diff/lib/patch/apply.js'
import type { PatchConflict } from '../../../schemas/patches.ts'
import { unlimited, type Budget } from './budget.ts'
import type { PatchJudgement } from './judgement.ts'
import { costOfNearest, findNearest, type Nearest } from './nearest.ts'
import { describeNearest } from './patch-failure.ts'
import { readUnified, type Hunk, type MalformedDiff } from './unified-form.ts'
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
  | MalformedDiff
  | { readonly reason: 'no_hunks' }
  | { readonly reason: 'several_files'; readonly files: number }
  | { readonly reason: 'too_large' }
  | {
      /** no_context: it names no line of the file, and its line number cannot be trusted. */
      readonly reason: 'not_found' | 'overlap' | 'no_context'
      /** 0-based. */
      readonly hunk_index: number
      readonly hunks: number
      /** 1-based line of its header in unified_diff. */
      readonly line: number
      /** The hunk, or its beginning. */
      readonly hunk: string
      /** Of not_found: what the file has that is most like the old lines of the hunk. */
      readonly nearest?: Nearest
    }

export type UnifiedResult = { readonly text: string } | { readonly failure: UnifiedFailure }

/** As a character, and as the bytes that a file over HTTP is read as. */
const byteOrderMarks = ['\uFEFF', '\u00EF\u00BB\u00BF']
const maxShown = 2000
/** Measured: one line compared costs as much as reading this many characters. */
const stepsPerLine = 16

/** @throws OutOfBudget */
export function applyUnified({ text, unifiedDiff, maxBytes }: UnifiedTask, budget = unlimited): UnifiedResult {
  budget.spend(4 * (text.length + unifiedDiff.length))
  const hunks = parse(unifiedDiff)
  if ('reason' in hunks) return { failure: hunks }
  const { mark, body } = splitUnlessMarked(text, hunks)
  const failure = findFault(hunks, body)
  if (failure !== undefined) return { failure }
  const applied = apply(body, hunks, budget)
  if (applied === false) return { failure: describeNotFound(hunks, findFailing(body, hunks, budget), body, budget) }
  const result = mark + applied
  return Buffer.byteLength(result) > maxBytes ? { failure: { reason: 'too_large' } } : { text: result }
}

/**
 * Whether the diff still applies to a text, and which of its hunks: each with those before it that do. Hunks have the
 * numbers that patches have in the judgement of patches. @throws OutOfBudget
 */
export function judgeUnified({ text, unifiedDiff, maxBytes }: UnifiedTask, budget = unlimited): PatchJudgement {
  budget.spend(4 * (text.length + unifiedDiff.length))
  const all = parse(unifiedDiff)
  const conflicts: PatchConflict[] = []
  const applying: number[] = []
  if ('reason' in all)
    return { patches_applicable: false, conflicts, non_conflicting_patches: [], applicable_patches: [] }
  const { body } = splitUnlessMarked(text, all)
  const isWhole = 'text' in applyUnified({ text, unifiedDiff, maxBytes }, budget)
  for (const [patch_index, hunk] of all.entries()) {
    const { oldStart, oldLines } = hunk
    const hunks = [...applying, patch_index].map((index) => all[index]!)
    // Without lines of the file nothing shows that its place is still the same.
    if (isLoose(hunk) && body !== '')
      conflicts.push({ patch_index, reason: 'context_changed', base_start_line: oldStart, base_end_line: oldStart - 1 })
    else if (isWhole || apply(body, hunks, budget) !== false) applying.push(patch_index)
    else {
      const base_start_line = Math.max(1, oldStart)
      const base_end_line = Math.max(base_start_line, oldStart + oldLines - 1)
      conflicts.push({ patch_index, reason: 'not_found', base_start_line, base_end_line })
    }
  }
  const lines = splitLines(body)
  return {
    patches_applicable: isWhole && conflicts.length === 0,
    conflicts,
    non_conflicting_patches: applying,
    applicable_patches: applying.flatMap((patch_index) => {
      budget.spend(lines.length)
      const place = placeOf(all[patch_index]!, lines)
      return place === undefined ? [] : [{ patch_index, ...place }]
    })
  }
}

/** The lines that a hunk finds; undefined if they are in several places, so that the one is not known for sure. */
function placeOf(hunk: Hunk, lines: readonly string[]) {
  const old = oldLinesOf(hunk)
  if (old.length === 0) return undefined
  const isAt = (at: number) => old.every((line, index) => lines[at + index] === line)
  const [at, another] = lines.flatMap((line, index) => (line === old[0] && isAt(index) ? [index] : []))
  return at === undefined || another !== undefined ? undefined : { start_line: at + 1, end_line: at + old.length }
}

function splitLines(text: string): string[] {
  return text.split(/\r?\n/)
}

function oldLinesOf({ lines }: Hunk): string[] {
  return lines
    .filter((line) => line.startsWith(' ') || line.startsWith('-'))
    .map((line) => line.slice(1).replace(/\r$/, ''))
}

/** Whether it has nothing but new lines. */
function isLoose({ oldLines }: Hunk): boolean {
  return oldLines === 0
}

/** A diff of the bytes has the byte order mark of the file in it, one of what a read answers does not. */
function splitUnlessMarked(text: string, hunks: readonly Hunk[]): { mark: string; body: string } {
  const mark = byteOrderMarks.find((known) => text.startsWith(known)) ?? ''
  const isInDiff = mark !== '' && hunks.some(({ lines }) => lines.some((line) => line.startsWith(mark, 1)))
  return isInDiff ? { mark: '', body: text } : { mark, body: text.slice(mark.length) }
}

/** The failure in sentences: what happened and what to do next. */
export function describeUnifiedFailure(failure: UnifiedFailure): string {
  switch (failure.reason) {
    case 'malformed':
      return `unified_diff cannot be read: ${failure.fault}. Nothing was changed. Send it as diff -u or git diff prints it.`
    case 'no_hunks':
      return 'unified_diff has no hunk in the unified form. Send it as diff -u or git diff prints it, with its lines that begin with @@.'
    case 'several_files':
      return `unified_diff is one of ${failure.files} files. Send the part of each file in a call of its own.`
    case 'too_large':
      return 'With unified_diff the text would become larger than the limit.'
    case 'not_found': {
      const { nearest } = failure
      const near = nearest === undefined ? '' : ` ${describeNearest(nearest, 'the hunk')}`
      return `${nameOf(failure)} does not apply: the file does not have its lines, in this order and after those of the hunk before.${near} Nothing was changed. Make the diff again from the version that expected_hash names.`
    }
    case 'overlap':
      return `${nameOf(failure)} overlaps the one before, or lies above it. Send the hunks in the order of the file.`
    case 'no_context':
      return `${nameOf(failure)} names no line of the file, and its line number is beyond the end of the file, or a hunk before it is not at its own: nothing shows its place. Make the diff with lines of context (diff -u).`
    default:
      return failure satisfies never
  }
}

interface NamedHunk {
  readonly hunk: string
  readonly hunk_index: number
  readonly hunks: number
  readonly line: number
}

function nameOf({ hunk, hunk_index, hunks, line }: NamedHunk): string {
  return `unified_diff: hunk ${hunk_index + 1} of ${hunks} (${hunk.slice(0, hunk.indexOf('\n'))}, line ${line})`
}

function parse(unifiedDiff: string): readonly Hunk[] | UnifiedFailure {
  const form = readUnified(unifiedDiff)
  if ('reason' in form) return form
  if (form.hunks.length === 0) return { reason: 'no_hunks' }
  return form.files > 1 ? { reason: 'several_files', files: form.files } : form.hunks
}

/** What the library takes, although the result could be another than the author of the diff meant. */
function findFault(hunks: readonly Hunk[], text: string): UnifiedFailure | undefined {
  const overlapping = hunks.findIndex((hunk, index) => index > 0 && hunk.oldStart < endOf(hunks[index - 1]!))
  if (overlapping !== -1) return describeHunk('overlap', hunks, overlapping)
  const last = hunks.findLastIndex(isLoose)
  if (last === -1) return undefined
  // A hunk that only inserts is made at its line number, as patch does, if the hunks before it show that the numbers are right.
  const lines = splitLines(text)
  const count = lines.at(-1) === '' ? lines.length - 1 : lines.length
  const isAtItsLine = (hunk: Hunk) => oldLinesOf(hunk).every((line, index) => lines[hunk.oldStart - 1 + index] === line)
  const doubtful = hunks.findIndex((hunk) => (isLoose(hunk) ? hunk.oldStart - 1 > count : !isAtItsLine(hunk)))
  if (doubtful === -1 || doubtful > last) return undefined
  return describeHunk(
    'no_context',
    hunks,
    hunks.findIndex((hunk, index) => index >= doubtful && isLoose(hunk))
  )
}

function endOf({ oldStart, oldLines }: Hunk): number {
  return oldStart + oldLines
}

function apply(text: string, hunks: readonly Hunk[], budget: Budget): string | false {
  const patch = {
    oldFileName: '',
    newFileName: '',
    oldHeader: '',
    newHeader: '',
    hunks: [...hunks]
  }
  return applyPatch(text, patch, {
    compareLine(_number, line: string | undefined, _operation, content) {
      budget.spend(stepsPerLine + (line?.length === content.length ? content.length : 0))
      return line === content
    }
  })
}

/** The library does not say which hunk it is: the first one with which the hunks up to it do not apply. */
function findFailing(text: string, hunks: readonly Hunk[], budget: Budget): number {
  let applying = 0
  let failing = hunks.length
  while (failing - applying > 1) {
    const middle = Math.floor((applying + failing) / 2)
    if (apply(text, hunks.slice(0, middle), budget) === false) failing = middle
    else applying = middle
  }
  return failing - 1
}

function describeNotFound(hunks: readonly Hunk[], index: number, text: string, budget: Budget): UnifiedFailure {
  const wanted = oldLinesOf(hunks[index]!).join('\n')
  budget.spend(costOfNearest(text, wanted))
  const nearest = findNearest(text, wanted)
  return { ...describeHunk('not_found', hunks, index), ...(nearest && { nearest }) }
}

function describeHunk<Reason extends 'not_found' | 'overlap' | 'no_context'>(
  reason: Reason,
  hunks: readonly Hunk[],
  hunk_index: number
) {
  const { header, line, lines } = hunks[hunk_index]!
  const text = [header, ...lines].join('\n')
  return { reason, hunk_index, hunks: hunks.length, line, hunk: beginningOf(text, maxShown) }
}
