// One comparison, from two texts to the diff of the wire. Pure and synchronous: it runs on the caller's thread or on another.
import type { Diff } from '../../../schemas/contention.ts'
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
  readonly format: DiffFormat
  readonly contextLines: number
  /** The most bytes the diff may take as JSON. */
  readonly maxDiffBytes: number
  readonly bound: DiffBound
}

export interface Comparison {
  /** Base -> current; null if it would take more than `maxDiffBytes`, or is coarse under `minimalOnly`. */
  readonly diff: Diff | null
  /** True if the diff is too large to be worth it: reading the file again is cheaper. False if that is not known. */
  readonly tooLarge: boolean
  /** True if the bound was reached: a diff is correct, yet larger than necessary. */
  readonly coarse: boolean
}

// The keys and numbers of a change take at least this much beside its contents.
const minChangeBytes = 150

export function toTask(
  base: string,
  current: string,
  options: Pick<ComparisonTask, 'format' | 'contextLines' | 'maxDiffBytes' | 'bound'>
): ComparisonTask {
  const shown = options.format === 'json' ? withoutCommonMark(base, current) : { base, current }
  const { head, ...texts } = trimTexts(shown.base, shown.current, options.contextLines)
  const lines = countLines(head)
  const skipped = { lines, lineFeeds: head.includes('\r') ? head.split('\n').length - 1 : lines }
  return { ...texts, skipped, ...options }
}

/** A byte order mark that came or went is the only difference that shows it; `patch` wants it in the unified form. */
function withoutCommonMark(base: string, current: string): { base: string; current: string } {
  const [was, is] = [splitMark(base), splitMark(current)]
  return was.mark === is.mark ? { base: was.body, current: is.body } : { base, current }
}

export function compareTexts({
  base,
  current,
  skipped,
  format,
  contextLines,
  maxDiffBytes,
  bound
}: ComparisonTask): Comparison {
  const baseLines = splitLines(base)
  const currentLines = splitLines(current)
  const { hunks, coarse } = diffLines(baseLines, currentLines, bound)
  // The caller continues elsewhere.
  if (coarse && bound.minimalOnly === true) return { diff: null, tooLarge: false, coarse }
  // Checked before anything is built, so that a hopeless one costs nothing.
  if (leastBytes(baseLines, currentLines, hunks, format) > maxDiffBytes) return { diff: null, tooLarge: true, coarse }
  const diff: Diff = {
    format,
    ...(format === 'json'
      ? { changes: toJsonChanges(baseLines, currentLines, hunks, contextLines, skipped.lines) }
      : { content: toUnified(baseLines, currentLines, hunks, contextLines, skipped.lineFeeds) }),
    summary: summarize(hunks),
    ...(coarse && { coarse })
  }
  const tooLarge = Buffer.byteLength(JSON.stringify(diff)) > maxDiffBytes
  return { diff: tooLarge ? null : diff, tooLarge, coarse }
}

/** A lower bound: every code unit of a changed line takes a byte or more. */
function leastBytes(
  baseLines: readonly string[],
  currentLines: readonly string[],
  hunks: readonly Hunk[],
  format: DiffFormat
): number {
  let bytes = format === 'json' ? hunks.length * minChangeBytes : 0
  for (const { baseStart, baseEnd, currentStart, currentEnd } of hunks) {
    for (let at = baseStart; at < baseEnd; at++) bytes += baseLines[at]!.length
    for (let at = currentStart; at < currentEnd; at++) bytes += currentLines[at]!.length
  }
  return bytes
}
