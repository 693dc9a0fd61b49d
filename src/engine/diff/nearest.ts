// What an author of a patch probably meant: the lines nearest to a string that does not occur in the text.
import type { LinePatch } from '../../../schemas/patches.ts'
import { findAlike, toLinePatch, type Alike } from './alike.ts'
import { findFirstDifference, type FirstDifference } from './first-difference.ts'
import { skipLines, splitLines, withoutTerminator } from './lines.ts'
import type { Difference } from './normalizations.ts'
import { beginningOf } from '../../support/cut-text.ts'

export interface Nearest {
  /** 1-based, inclusive. */
  readonly start_line: number
  readonly end_line: number
  readonly difference: Difference
  /** These lines as they are in the text, without the last one's terminator: at most ten, at most 1,000 characters. */
  readonly text: string
  /** True if `text` is not all of them. */
  readonly clipped?: boolean
  /** Absent if nothing of the string is in its place. */
  readonly first_difference?: FirstDifference
  /** What makes the change all the same, if there is no doubt about the place. */
  readonly patch?: LinePatch
}

const maxShownLines = 10
const maxShownChars = 1_000
// A text is normalized five times, 10 ms/MB each, only a window of a larger one; comparing line by line takes 10 ms/MB.
const maxNormalizedChars = 256 * 1024
const maxComparedChars = 4 * 1024 * 1024
// A longer comparison is useless to a reader; of a longer string only the beginning is searched for.
const maxWantedChars = 64 * 1024
const minSimilarity = 0.5

/** What `findNearest` takes at most, in steps of a budget. */
export function costOfNearest(text: string, wanted: string): number {
  return 5 * (Math.min(text.length, maxComparedChars) + Math.min(wanted.length, maxWantedChars))
}

/**
 * Undefined if nothing is similar, in the first 4 Mi characters of a large text. Linear in the text.
 * @param replacement what a patch by lines, if one can be offered, puts in the place of the string
 */
export function findNearest(text: string, wanted: string, replacement?: string): Nearest | undefined {
  const beginning = beginningOf(wanted, maxWantedChars)
  if (beginning.trim() === '') return undefined
  const isWhole = beginning.length === wanted.length
  const compared = beginningOf(text, maxComparedChars)
  const lines = splitLines(compared)
  const isSearched = isWhole && text.length <= maxNormalizedChars
  const alike = isSearched ? findAlike(text, wanted) : undefined
  const found = alike ?? findSimilar(lines, beginning, isWhole)
  if (found === undefined) return undefined
  const start = Math.min(Math.max(found.start, 0), lines.length - 1)
  const end = Math.min(Math.max(found.start + found.count, start + 1), lines.length)
  const { shown, clipped } = clip(lines.slice(start, end))
  const patch = alike !== undefined && replacement !== undefined ? toLinePatch(text, alike, replacement) : undefined
  const first_difference = differenceAt(compared, found, beginning)
  return {
    start_line: start + 1,
    end_line: end,
    difference: found.difference,
    text: shown,
    ...(clipped && { clipped }),
    ...(first_difference && { first_difference }),
    ...(patch && { patch })
  }
}

/** 0-based lines: they may begin outside the text if only the end of the wanted lines has a counterpart. */
type Found = Alike | { readonly start: number; readonly count: number; readonly difference: 'text' }

/** Of similar lines only if they begin alike: else the string may begin anywhere in them. */
function differenceAt(text: string, found: Found, wanted: string): FirstDifference | undefined {
  if (found.difference !== 'text') {
    const skipped = found.isWhole ? 0 : wanted.length - wanted.trimStart().length
    return findFirstDifference(text, found.from, wanted, skipped)
  }
  if (found.start < 0) return undefined
  const line = skipLines(text, 0, found.start)
  const indent = indentOf(text, line)
  const wantedIndent = indentOf(wanted, 0)
  if (text[line + indent] !== wanted[wantedIndent]) return undefined
  return findFirstDifference(text, line + indent, wanted, wantedIndent)
}

function indentOf(text: string, start: number): number {
  let end = start
  while (text[end] === ' ' || text[end] === '\t') end++
  return end - start
}

/**
 * The place of most of the wanted lines, spaces around them aside; else of a line that resembles the longest of them.
 * @param isWhole false if `wanted` is only the beginning: then nothing can be said about how the rest differs
 */
function findSimilar(lines: readonly string[], wanted: string, isWhole: boolean): Found | undefined {
  const wantedLines = splitLines(wanted).map((line) => line.trim())
  const longest = wantedLines.reduce((best, line, index) => (line.length > wantedLines[best]!.length ? index : best), 0)
  const indexOf = new Map<string, number>()
  for (const [index, line] of wantedLines.entries()) if (line !== '' && !indexOf.has(line)) indexOf.set(line, index)
  // Each line found votes, by its length, for the place at which the wanted lines would begin.
  const votes = new Map<number, number>()
  let voted: number | undefined
  let similar: number | undefined
  let similarity = minSimilarity
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!.trim()
    const index = indexOf.get(line)
    if (index !== undefined) {
      const start = at - index
      votes.set(start, (votes.get(start) ?? 0) + line.length)
      if (voted === undefined || votes.get(start)! > votes.get(voted)!) voted = start
    } else if (voted === undefined) {
      const score = similarityOf(line, wantedLines[longest]!)
      if (score >= similarity) {
        if (score > similarity || similar === undefined) similar = at - longest
        similarity = score
      }
    }
  }
  const start = voted ?? similar
  if (start === undefined) return undefined
  const count = wantedLines.length
  const window = Math.max(start, 0)
  const near = isWhole ? lines.slice(window, start + count).join('') : ''
  const exact = near.length <= maxNormalizedChars ? findAlike(near, wanted) : undefined
  if (exact === undefined) return { start, count, difference: 'text' }
  const before = skipLines(lines.join(''), 0, window)
  return { ...exact, start: window + exact.start, from: before + exact.from, to: before + exact.to }
}

/** The share of the longer string that both have in common at its start and its end, 0 to 1. */
function similarityOf(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  if (most === 0) return 0
  let prefix = 0
  while (prefix < most && a.charCodeAt(prefix) === b.charCodeAt(prefix)) prefix++
  let suffix = 0
  while (suffix < most - prefix && a.charCodeAt(a.length - 1 - suffix) === b.charCodeAt(b.length - 1 - suffix)) suffix++
  return (prefix + suffix) / Math.max(a.length, b.length)
}

function clip(lines: readonly string[]): { shown: string; clipped: boolean } {
  const whole = withoutTerminator(lines.slice(0, maxShownLines).join(''))
  const shown = beginningOf(whole, maxShownChars)
  return { shown, clipped: shown.length < whole.length || lines.length > maxShownLines }
}
