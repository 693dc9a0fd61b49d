// One comparison, from two texts to the diff of the wire. Pure and synchronous: it runs on the caller's thread or on another.
import type { Diff } from '../../../schemas/diff.ts'
import { toChangedLines } from './changed-lines.ts'
import { diffLines, type Hunk } from './hunks.ts'
import { summarize, toJsonChanges } from './json-changes.ts'
import { countLines, splitLines, splitMark } from './lines.ts'
import type { DiffBound } from './runs.ts'
import { trimTexts } from './trim.ts'
import { toUnified } from './unified.ts'

export type DiffFormat = 'json' | 'unified'

/** Two texts without what they have in common at either end, so that a thread is not sent more than it needs. */
export interface ComparisonTask {
  readonly base: string
  readonly current: string
  /** The lines, and the line feeds, in what was cut from the start of both. */
  readonly skipped: { readonly lines: number; readonly lineFeeds: number }
  /** `cheapest`: JSON, or if that takes too many bytes, unified, with few context lines at last. `text`: unified in either case. */
  readonly format: DiffFormat | 'cheapest' | 'text'
  readonly contextLines: number
  /** The most bytes the diff may take as JSON. */
  readonly maxDiffBytes: number
  /** Beyond this many bytes, too, the diff only names the changed lines; undefined if it is wanted at any price. */
  readonly worthBytes?: number | undefined
  readonly bound: DiffBound
}

export interface Comparison {
  /** Base -> current; null if it would take more than `maxDiffBytes` and must be whole, or is coarse under `minimalOnly`. */
  readonly diff: Diff | null
  /** True if the diff is too large to be worth it: reading the file again is cheaper. False if that is not known. */
  readonly tooLarge: boolean
  /** True if the bound was reached: a diff is correct, yet larger than necessary. */
  readonly coarse: boolean
}

// The keys and numbers of a change take at least this much beside its contents.
const minChangeBytes = 150
// Of a unified diff that has to be short.
const leastContextLines = 1

export function toTask(
  base: string,
  current: string,
  options: Pick<ComparisonTask, 'format' | 'contextLines' | 'maxDiffBytes' | 'worthBytes' | 'bound'>
): ComparisonTask {
  const { head, ...texts } = trimTexts(base, current, options.contextLines)
  const lines = countLines(head)
  const skipped = { lines, lineFeeds: head.includes('\r') ? head.split('\n').length - 1 : lines }
  return { ...texts, skipped, ...options }
}

export function compareTexts(task: ComparisonTask): Comparison {
  const { base, current, skipped, format, contextLines, maxDiffBytes, worthBytes, bound } = task
  const texts = diffTexts(base, current, bound)
  const { hunks, coarse } = texts
  // The caller continues elsewhere.
  if (coarse && bound.minimalOnly === true) return { diff: null, tooLarge: false, coarse }
  const limit = Math.min(maxDiffBytes, worthBytes ?? maxDiffBytes)
  for (const form of formsOf(format, contextLines)) {
    const shown = form.format === 'json' ? withoutCommonMark(task, texts) : texts
    // Checked before anything is built, so that a hopeless one costs nothing.
    if (leastBytes(shown, form.format) > limit) continue
    const diff = { ...toDiff(shown, form, skipped), ...(coarse && { coarse }) }
    if (Buffer.byteLength(JSON.stringify(diff)) <= limit) return { diff, tooLarge: false, coarse }
  }
  if (worthBytes === undefined) return { diff: null, tooLarge: true, coarse }
  return { diff: { ...toChangedLines(hunks, skipped.lines), ...(coarse && { coarse }) }, tooLarge: false, coarse }
}

interface DiffedTexts {
  readonly baseLines: readonly string[]
  readonly currentLines: readonly string[]
  readonly hunks: readonly Hunk[]
  readonly coarse: boolean
}

function diffTexts(base: string, current: string, bound: DiffBound): DiffedTexts {
  const [baseLines, currentLines] = [splitLines(base), splitLines(current)]
  return { baseLines, currentLines, ...diffLines(baseLines, currentLines, bound) }
}

/** A byte order mark that came or went is the only difference that shows it; `patch` wants it in the unified form. */
function withoutCommonMark({ base, current, skipped, bound }: ComparisonTask, texts: DiffedTexts): DiffedTexts {
  if (skipped.lines > 0) return texts
  const [was, is] = [splitMark(base), splitMark(current)]
  return was.mark === '' || was.mark !== is.mark ? texts : diffTexts(was.body, is.body, bound)
}

interface Form {
  readonly format: DiffFormat
  readonly contextLines: number
}

/** In the order of preference. */
function formsOf(format: ComparisonTask['format'], contextLines: number): readonly Form[] {
  if (format === 'json' || format === 'unified') return [{ format, contextLines }]
  const texts: readonly Form[] = [
    { format: 'unified', contextLines },
    { format: 'unified', contextLines: Math.min(contextLines, leastContextLines) }
  ]
  return format === 'text' ? texts : [{ format: 'json', contextLines }, ...texts]
}

function toDiff(
  { baseLines, currentLines, hunks }: DiffedTexts,
  { format, contextLines }: Form,
  skipped: ComparisonTask['skipped']
): Diff {
  const summary = summarize(hunks)
  return format === 'json'
    ? { format, summary, changes: toJsonChanges(baseLines, currentLines, hunks, contextLines, skipped.lines) }
    : { format, summary, content: toUnified(baseLines, currentLines, hunks, contextLines, skipped.lineFeeds) }
}

/** A lower bound: every code unit of a changed line takes a byte or more. */
function leastBytes({ baseLines, currentLines, hunks }: DiffedTexts, format: DiffFormat): number {
  let bytes = format === 'json' ? hunks.length * minChangeBytes : 0
  for (const { baseStart, baseEnd, currentStart, currentEnd } of hunks) {
    for (let at = baseStart; at < baseEnd; at++) bytes += baseLines[at]!.length
    for (let at = currentStart; at < currentEnd; at++) bytes += currentLines[at]!.length
  }
  return bytes
}
