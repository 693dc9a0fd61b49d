// The runs of equal elements that a diff keeps: a longest common subsequence within a bound, else lines unique to both sides.
import { uniqueAnchors } from './anchors.ts'
import { longestCommonRuns, type Run } from './myers.ts'

export interface DiffBound {
  /** Lines inserted and deleted beyond which no minimal diff is sought; 0 seeks none at all and gives one hunk. */
  readonly maxEditLength: number
  /** Milliseconds after which the search for a minimal or a nearly minimal diff ends. */
  readonly timeoutMs: number
  /** Seeks no coarse diff that is better than one hunk. Default false. */
  readonly minimalOnly?: boolean
}

// Myers' search compares at most about maxEditLength * (elements of both sides) times. A round of it is not interrupted
// by the timeout, so that many elements must not multiply with a long edit.
const maxComparisons = 200_000_000
// What differs at most in a gap between anchors; small enough that all gaps together cost linear time.
const gapEditLength = 64

/** Runs in ascending order on both sides; half of the time goes to the minimal ones, the rest to the coarse ones. */
export function findRuns(
  base: readonly number[],
  current: readonly number[],
  { maxEditLength, timeoutMs, minimalOnly = false }: DiffBound
): { runs: Run[]; minimal: boolean } {
  const deadline = performance.now() + timeoutMs
  const runs = minimalRuns(base, current, { maxEditLength, timeoutMs: timeoutMs / 2 })
  if (runs !== undefined) return { runs, minimal: true }
  return { runs: minimalOnly ? [] : coarseRuns(base, current, deadline), minimal: false }
}

/** A longest common subsequence (Myers), or undefined if the bound is reached first. */
function minimalRuns(base: readonly number[], current: readonly number[], bound: DiffBound): Run[] | undefined {
  if (base.length === 0 || current.length === 0) return []
  const affordable = Math.floor(maxComparisons / (base.length + current.length))
  return longestCommonRuns(
    base,
    current,
    Math.min(bound.maxEditLength, affordable),
    performance.now() + bound.timeoutMs
  )
}

/** Anchors hold the two sides together; what lies between two of them is compared on its own. */
function coarseRuns(base: readonly number[], current: readonly number[], deadline: number): Run[] {
  const runs: Run[] = []
  let baseStart = 0
  let currentStart = 0
  for (const anchor of uniqueAnchors(base, current)) {
    addGap(runs, base, current, { baseStart, baseEnd: anchor.base, currentStart, currentEnd: anchor.current }, deadline)
    runs.push({ ...anchor, length: 1 })
    baseStart = anchor.base + 1
    currentStart = anchor.current + 1
  }
  const gap = { baseStart, baseEnd: base.length, currentStart, currentEnd: current.length }
  addGap(runs, base, current, gap, deadline)
  return runs
}

/** The runs of a gap: its common ends always, those between them if it differs little and time is left. */
function addGap(
  runs: Run[],
  base: readonly number[],
  current: readonly number[],
  gap: { baseStart: number; baseEnd: number; currentStart: number; currentEnd: number },
  deadline: number
): void {
  const most = Math.min(gap.baseEnd - gap.baseStart, gap.currentEnd - gap.currentStart)
  let prefix = 0
  while (prefix < most && base[gap.baseStart + prefix] === current[gap.currentStart + prefix]) prefix++
  let suffix = 0
  while (suffix < most - prefix && base[gap.baseEnd - 1 - suffix] === current[gap.currentEnd - 1 - suffix]) suffix++

  const baseStart = gap.baseStart + prefix
  const currentStart = gap.currentStart + prefix
  if (prefix > 0) runs.push({ base: gap.baseStart, current: gap.currentStart, length: prefix })
  const timeoutMs = deadline - performance.now()
  if (prefix + suffix < most && timeoutMs > 0) {
    const middle = minimalRuns(
      base.slice(baseStart, gap.baseEnd - suffix),
      current.slice(currentStart, gap.currentEnd - suffix),
      { maxEditLength: gapEditLength, timeoutMs }
    )
    for (const run of middle ?? []) {
      runs.push({ base: baseStart + run.base, current: currentStart + run.current, length: run.length })
    }
  }
  if (suffix > 0) runs.push({ base: gap.baseEnd - suffix, current: gap.currentEnd - suffix, length: suffix })
}
