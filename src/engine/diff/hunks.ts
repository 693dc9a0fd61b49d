// The hunks between two arrays of lines: minimal if the bound allows it, else coarse; applied to the base they always give current.
import type { Run } from './myers.ts'
import { findRuns, type DiffBound } from './runs.ts'

/** One region that differs; offsets into the arrays of lines, 0-based, the end excluded. */
export interface Hunk {
  readonly baseStart: number
  readonly baseEnd: number
  readonly currentStart: number
  readonly currentEnd: number
}

export interface LineDiff {
  /** In order; two hunks never touch. */
  readonly hunks: readonly Hunk[]
  /** True if the bound was reached: the diff is correct, yet larger than necessary. */
  readonly coarse: boolean
}

/** A line, or a number for it: equal ones are the same. */
export type Line = string | number

/**
 * What must change in the base to become current. Costs: linear for the common start and end and for lines that are
 * on one side only; the rest is searched within the bound.
 */
export function diffLines(baseLines: readonly Line[], currentLines: readonly Line[], bound: DiffBound): LineDiff {
  const whole = trimCommonEnds(baseLines, currentLines)
  const baseEmpty = whole.baseStart === whole.baseEnd
  const currentEmpty = whole.currentStart === whole.currentEnd
  if (baseEmpty && currentEmpty) return { hunks: [], coarse: false }
  if (baseEmpty || currentEmpty) return { hunks: [whole], coarse: false }
  if (bound.maxEditLength === 0) return { hunks: [whole], coarse: true }

  const { base, current } = internSharedLines(baseLines, currentLines, whole)
  const { runs, minimal } = findRuns(base.ids, current.ids, bound)
  return { hunks: hunksBetween(whole, base.positions, current.positions, runs), coarse: !minimal }
}

function trimCommonEnds(base: readonly Line[], current: readonly Line[]): Hunk {
  let start = 0
  let baseEnd = base.length
  let currentEnd = current.length
  while (start < baseEnd && start < currentEnd && base[start] === current[start]) start++
  while (baseEnd > start && currentEnd > start && base[baseEnd - 1] === current[currentEnd - 1]) {
    baseEnd--
    currentEnd--
  }
  return { baseStart: start, baseEnd, currentStart: start, currentEnd }
}

interface InternedLines {
  /** Equal lines have equal ids, counted from 0. */
  readonly ids: number[]
  /** The index of the line with that id in the array of lines. */
  readonly positions: number[]
}

/**
 * The lines that are on both sides, as integers. A line that is on one side only is in no common subsequence,
 * so that leaving it out changes no result and often leaves nothing to search.
 */
function internSharedLines(baseLines: readonly Line[], currentLines: readonly Line[], whole: Hunk) {
  const unseen = -1
  const ids = new Map<Line, number>()
  for (let at = whole.currentStart; at < whole.currentEnd; at++) ids.set(currentLines[at]!, unseen)
  const base: InternedLines = { ids: [], positions: [] }
  const current: InternedLines = { ids: [], positions: [] }
  let nextId = 0
  for (let at = whole.baseStart; at < whole.baseEnd; at++) {
    const line = baseLines[at]!
    let id = ids.get(line)
    if (id === undefined) continue
    if (id === unseen) ids.set(line, (id = nextId++))
    base.ids.push(id)
    base.positions.push(at)
  }
  for (let at = whole.currentStart; at < whole.currentEnd; at++) {
    const id = ids.get(currentLines[at]!)!
    if (id === unseen) continue
    current.ids.push(id)
    current.positions.push(at)
  }
  return { base, current }
}

/** Everything that is not matched by a run is a hunk. */
function hunksBetween(whole: Hunk, basePositions: number[], currentPositions: number[], runs: readonly Run[]): Hunk[] {
  const hunks: Hunk[] = []
  let baseStart = whole.baseStart
  let currentStart = whole.currentStart
  const close = (baseEnd: number, currentEnd: number) => {
    if (baseEnd > baseStart || currentEnd > currentStart) hunks.push({ baseStart, baseEnd, currentStart, currentEnd })
  }
  for (const { base, current, length } of runs) {
    for (let step = 0; step < length; step++) {
      const baseAt = basePositions[base + step]!
      const currentAt = currentPositions[current + step]!
      close(baseAt, currentAt)
      baseStart = baseAt + 1
      currentStart = currentAt + 1
    }
  }
  close(whole.baseEnd, whole.currentEnd)
  return hunks
}
