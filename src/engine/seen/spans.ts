// Lines that an agent has seen, with the places between them: a line that was removed there is a difference too.
import type { Hunk } from '../diff/hunks.ts'
import { contains, union, type LineRange } from './line-ranges.ts'

/**
 * In order, apart from each other. Line `n` is number `2n`, the place before it `2n - 1`, and the place behind it `2n + 1`. A reader of
 * lines has seen the places around them: what is there is of that version.
 */
export type Spans = readonly LineRange[]

/**
 * How an agent knows a change. `shown`: all of it, from a difference. `written`: it has made it, and so knows what it put in the place
 * of lines that it knew, or between lines. `unseen`: another one has made it, or it has put there what it does not know.
 */
export type Knowledge = 'shown' | 'written' | 'unseen'

export function spanOf({ start, end }: LineRange): LineRange {
  return { start: 2 * start - 1, end: 2 * end + 1 }
}

/** The lines of each span, and the place of one that has none as a range that ends before it starts. */
export function rangesOf(spans: Spans): LineRange[] {
  return spans.map(({ start, end }) => ({ start: Math.ceil(start / 2), end: Math.floor(end / 2) }))
}

/** Of a text with this many lines. */
export function hasAll(spans: Spans, lines: number): boolean {
  return contains(spans, spanOf({ start: 1, end: lines }))
}

/** The lines themselves: the place before or behind them may be unknown. */
export function hasLines(spans: Spans, { start, end }: LineRange): boolean {
  return contains(spans, { start: 2 * start, end: 2 * end })
}

/** What remains of these lines without those that were seen. A range that ends before it starts is the place between two lines. */
export function withoutSeen(ranges: readonly LineRange[], spans: Spans): LineRange[] {
  return ranges.flatMap(({ start, end }) => {
    if (end < start) return contains(spans, { start: 2 * end + 1, end: 2 * end + 1 }) ? [] : [{ start, end }]
    const rest: LineRange[] = []
    let from = start
    for (const span of spans) {
      const first = Math.ceil(span.start / 2)
      if (first > from && from <= end) rest.push({ start: from, end: Math.min(end, first - 1) })
      from = Math.max(from, Math.floor(span.end / 2) + 1)
    }
    return from <= end ? [...rest, { start: from, end }] : rest
  })
}

/** What an agent has not seen of a text with this many lines, in the form of `withoutSeen`. */
export function unseenLines(spans: Spans, lines: number): LineRange[] {
  const rest = lines === 0 ? [] : withoutSeen([{ start: 1, end: lines }], spans)
  const places = Array.from({ length: lines + 1 }, (_, line) => ({ start: line + 1, end: line }))
  const isBeside = ({ start }: LineRange) => rest.some((range) => range.start <= start && start - 1 <= range.end)
  return [...rest, ...withoutSeen(places, spans).filter((place) => !isBeside(place))].sort((a, b) => a.start - b.start)
}

/** The same knowledge after a change. */
export function carrySpans(spans: Spans, hunks: readonly Hunk[], knowledgeOf: (hunk: Hunk) => Knowledge): Spans {
  const carried: LineRange[] = []
  const isSeen = (start: number, end = start) => contains(spans, { start, end })
  const keep = (first: number, last: number, shift: number) => {
    for (const { start, end } of spans)
      if (start <= last && first <= end)
        carried.push({ start: Math.max(start, first) + shift, end: Math.min(end, last) + shift })
  }
  let first = 1
  let shift = 0
  for (const hunk of hunks) {
    const { baseStart, baseEnd, currentStart, currentEnd } = hunk
    const [before, behind] = [2 * currentStart + 1, 2 * currentEnd + 1]
    keep(first, 2 * baseStart, shift)
    const knowledge = knowledgeOf(hunk)
    if (knowledge === 'shown') carried.push({ start: before, end: behind })
    if (knowledge === 'written') {
      const [wasBefore, wasBehind] = [isSeen(2 * baseStart + 1), isSeen(2 * baseEnd + 1)]
      const isInPlace = currentStart === currentEnd
      if (wasBefore && (wasBehind || !isInPlace)) carried.push({ start: before, end: before })
      if (wasBehind && !isInPlace) carried.push({ start: behind, end: behind })
      // It may have changed a part of a line that it has not seen.
      const isKnown = baseStart === baseEnd || isSeen(2 * baseStart + 2, 2 * baseEnd)
      if (isKnown && !isInPlace) carried.push({ start: before + 1, end: behind - 1 })
    }
    first = 2 * baseEnd + 2
    shift = 2 * (currentEnd - baseEnd)
  }
  keep(first, Infinity, shift)
  return union(carried)
}
