// What an author of a patch probably meant: the lines nearest to a string that does not occur in the text.
import { countLines, splitLines, withoutTerminator } from './lines.ts'
import { occurrences } from './occurrences.ts'
import { beginningOf } from '../../support/cut-text.ts'

export type Difference = 'line_ends' | 'whitespace' | 'case' | 'whitespace_and_case' | 'text'

export interface Nearest {
  /** 1-based, inclusive. */
  readonly start_line: number
  readonly end_line: number
  readonly difference: Difference
  /** These lines as they are in the text, without the last one's terminator: at most ten, at most 1,000 characters. */
  readonly text: string
  /** True if `text` is not all of them. */
  readonly clipped?: boolean
}

const maxShownLines = 10
const maxShownChars = 1_000
// A text is normalised four times, 10 ms/MB each, only a window of a larger one; comparing line by line takes 10 ms/MB.
const maxNormalizedChars = 256 * 1024
const maxComparedChars = 4 * 1024 * 1024
// A longer comparison is useless to a reader; of a longer string only the beginning is searched for.
const maxWantedChars = 64 * 1024
const minSimilarity = 0.5

const withPlainLineEnds = (text: string) => text.replace(/\r\n?/g, '\n')
const withoutBlanks = (text: string) => withPlainLineEnds(text).replace(/[^\S\n]+/g, '')
// Each keeps the line breaks, so that a line of the normalised text has the number it has in the text.
const normalizations: readonly { difference: Difference; normalize: (text: string) => string }[] = [
  { difference: 'line_ends', normalize: withPlainLineEnds },
  { difference: 'whitespace', normalize: withoutBlanks },
  { difference: 'case', normalize: (text) => withPlainLineEnds(text).toLowerCase() },
  { difference: 'whitespace_and_case', normalize: (text) => withoutBlanks(text).toLowerCase() }
]

/** What `findNearest` takes at most, in steps of a budget. */
export function costOfNearest(text: string, wanted: string): number {
  return 4 * (Math.min(text.length, maxComparedChars) + Math.min(wanted.length, maxWantedChars))
}

/** Undefined if nothing is similar, in the first 4 Mi characters of a large text. Linear in the text. */
export function findNearest(text: string, wanted: string): Nearest | undefined {
  const beginning = beginningOf(wanted, maxWantedChars)
  if (beginning.trim() === '') return undefined
  const lines = splitLines(beginningOf(text, maxComparedChars))
  const isWhole = beginning.length === wanted.length
  const found = (isWhole ? findNormalized(text, wanted) : undefined) ?? findSimilar(lines, beginning, isWhole)
  if (found === undefined) return undefined
  const start = Math.min(Math.max(found.start, 0), lines.length - 1)
  const end = Math.min(Math.max(found.start + found.count, start + 1), lines.length)
  const { shown, clipped } = clip(lines.slice(start, end))
  return {
    start_line: start + 1,
    end_line: end,
    difference: found.difference,
    text: shown,
    ...(clipped && { clipped })
  }
}

interface Found {
  /** 0-based line; it may lie outside the text if only the end of the wanted lines has a counterpart. */
  readonly start: number
  readonly count: number
  readonly difference: Difference
}

/** The place of the wanted string apart from line ends, whitespace or case; undefined also if the text is too large. */
function findNormalized(text: string, wanted: string): Found | undefined {
  if (text.length > maxNormalizedChars) return undefined
  for (const { difference, normalize } of normalizations) {
    const normalized = normalize(text)
    const needle = difference.startsWith('whitespace') ? normalize(wanted).trim() : normalize(wanted)
    for (const at of occurrences(normalized, needle, 'disjoint')) {
      return { start: countBreaks(normalized, at), count: countLines(needle), difference }
    }
  }
  return undefined
}

function countBreaks(text: string, end: number): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) count++
  return count
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
  const exact = isWhole ? findNormalized(lines.slice(window, start + count).join(''), wanted) : undefined
  return exact ? { ...exact, start: window + exact.start } : { start, count, difference: 'text' }
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
