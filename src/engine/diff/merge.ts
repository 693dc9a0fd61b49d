// The three-way merge: combines what two sides have made of one base, line by line, if that leaves no doubt. Pure and synchronous.
import { compactHunks } from './compact.ts'
import { widenDoubtful } from './ambiguous-hunks.ts'
import { diffLines, type Line, type LineDiff } from './hunks.ts'
import { splitLines, splitMark } from './lines.ts'
import { describeConflicts } from './merge-conflicts.ts'
import { breaksJson } from './json-form.ts'
import { toRegions, type Region, type Span } from './regions.ts'
import type { DiffBound } from './runs.ts'
import type { Clash, MergeLines, MergeResult, MergeTask } from './merge-result.ts'

/**
 * Takes what only one side has changed, and once what both have changed alike. Everything else is a conflict, and so is a
 * change that touches one of the other side, or whose place is in doubt. The sides are interchangeable.
 * The byte order marks are merged apart from the lines.
 */
export function mergeTexts(task: MergeTask): MergeResult {
  const [base, current, incoming] = [splitMark(task.base), splitMark(task.current), splitMark(task.incoming)]
  const result = mergeBodies({ ...task, base: base.body, current: current.body, incoming: incoming.body })
  if (!('text' in result)) return result
  const { mark } = current.mark === base.mark ? incoming : current
  return { ...result, text: mark + result.text }
}

function mergeBodies(task: MergeTask): MergeResult {
  const { base, current, incoming } = task
  if (base === incoming || current === incoming) return { text: current, coarse: false }
  if (base === current) return { text: incoming, coarse: false }
  const lines = { base: splitLines(base), current: splitLines(current), incoming: splitLines(incoming) }
  const { text, clashes, coarse } = mergeLines(lines, task)
  // With a small bound the caller continues elsewhere.
  if (coarse && task.bound.minimalOnly === true) return { conflicts: [], further: 0, hasContents: false, coarse }
  if (text !== undefined) return { text, coarse }
  return { ...describeConflicts(lines, clashes, task.maxConflictBytes), coarse }
}

interface Outcome {
  /** Undefined if there are clashes. */
  readonly text?: string
  readonly clashes: readonly Clash[]
  readonly coarse: boolean
}

/**
 * Lines that occur several times can be matched in several ways, of which a diff picks one. So the texts are compared from
 * their ends as well: a different result is a guess.
 */
function mergeLines(lines: MergeLines, { current, incoming, bound }: MergeTask): Outcome {
  const numbers = numberLines(lines)
  const first = compare(numbers, bound, diffLines)
  if (first.clashes.length > 0 || (first.coarse && bound.minimalOnly === true)) return first
  const second = compare(numbers, bound, diffFromEnd)
  const coarse = first.coarse || second.coarse
  if (second.clashes.length > 0) return { clashes: second.clashes, coarse }
  const text = join(lines, first.regions)
  if (text !== join(lines, second.regions)) {
    return { clashes: [wholeOf(differing(first.regions, second.regions), 'doubtful')], coarse }
  }
  if (!breaksJson(text, current, incoming)) return { text, clashes: [], coarse }
  return { clashes: [wholeOf(first.regions, 'invalid_json')], coarse }
}

/** A number for each line of the three texts, equal for equal lines: they are compared many times. */
interface Numbers {
  readonly base: readonly number[]
  readonly current: readonly number[]
  readonly incoming: readonly number[]
}

function numberLines(lines: MergeLines): Numbers {
  const numbers = new Map<string, number>()
  const numberOf = (line: string) => {
    const known = numbers.get(line)
    if (known !== undefined) return known
    numbers.set(line, numbers.size)
    return numbers.size - 1
  }
  return {
    base: lines.base.map(numberOf),
    current: lines.current.map(numberOf),
    incoming: lines.incoming.map(numberOf)
  }
}

type DiffLines = typeof diffLines

function compare(lines: Numbers, bound: DiffBound, diff: DiffLines) {
  const part = { ...bound, timeoutMs: bound.timeoutMs / 4 }
  const ofCurrent = diff(lines.base, lines.current, part)
  const ofIncoming = diff(lines.base, lines.incoming, part)
  const current = { lines: lines.current, hunks: compactHunks(lines.base, lines.current, ofCurrent.hunks) }
  const incoming = { lines: lines.incoming, hunks: compactHunks(lines.base, lines.incoming, ofIncoming.hunks) }
  const regions = toRegions(widenDoubtful(lines.base, current, incoming), widenDoubtful(lines.base, incoming, current))
  const clashes = regions.filter((region) => isClash(lines, region)).map(toClash)
  return { regions, clashes, coarse: ofCurrent.coarse || ofIncoming.coarse }
}

/** `diffLines` of the texts read from their last line to the first. */
function diffFromEnd(base: readonly Line[], side: readonly Line[], bound: DiffBound): LineDiff {
  const { hunks, coarse } = diffLines(base.toReversed(), side.toReversed(), bound)
  const turned = hunks.map(({ baseStart, baseEnd, currentStart, currentEnd }) => ({
    baseStart: base.length - baseEnd,
    baseEnd: base.length - baseStart,
    currentStart: side.length - currentEnd,
    currentEnd: side.length - currentStart
  }))
  return { hunks: turned.reverse(), coarse }
}

function isClash(lines: Numbers, { changedBy, current, incoming }: Region): boolean {
  if (changedBy !== 'both') return false
  const length = current.end - current.start
  if (length !== incoming.end - incoming.start) return true
  for (let at = 0; at < length; at++) {
    if (lines.current[current.start + at] !== lines.incoming[incoming.start + at]) return true
  }
  return false
}

function join(lines: MergeLines, regions: readonly Region[]): string {
  const pieces: string[] = []
  let at = 0
  const push = (from: readonly string[], { start, end }: Span) => {
    for (let line = start; line < end; line++) pieces.push(from[line]!)
  }
  for (const { base, current, incoming, changedBy } of regions) {
    push(lines.base, { start: at, end: base.start })
    if (changedBy === 'incoming') push(lines.incoming, incoming)
    else push(lines.current, current)
    at = base.end
  }
  push(lines.base, { start: at, end: lines.base.length })
  return pieces.join('')
}

function toClash({ base, current, incoming }: Region): Clash {
  return { base, current, incoming, reason: 'overlap' }
}

/** The regions of the first that are not among the second. */
function differing(first: readonly Region[], second: readonly Region[]): readonly Region[] {
  const keyOf = ({ base, current, incoming }: Region) =>
    [base, current, incoming].map(({ start, end }) => `${start}-${end}`).join()
  const keys = new Set(second.map(keyOf))
  const found = first.filter((region) => !keys.has(keyOf(region)))
  return found.length > 0 ? found : first
}

/** From the first of these changes to the last: each fits, but all together do not. */
function wholeOf(regions: readonly Region[], reason: Clash['reason']): Clash {
  const first = regions[0]!
  const last = regions.at(-1)!
  const span = (side: 'base' | 'current' | 'incoming') => ({ start: first[side].start, end: last[side].end })
  return { base: span('base'), current: span('current'), incoming: span('incoming'), reason }
}
