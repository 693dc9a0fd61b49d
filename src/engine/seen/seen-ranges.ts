// The parts of a file of which an agent gets notices, each counted from one version.
import type { LineRange } from './line-ranges.ts'

/** Lines that an agent has seen, and what others have put between them since. */
export interface SeenRange {
  /** Of the version, in its file's history. */
  readonly seq: number
  readonly hash: string
  /** Undefined for the whole file. */
  readonly lines?: LineRange | undefined
}

/** Parts of one file that are remembered separately. */
const maxSeenRanges = 8

/** Joins ranges of the same version that it touches, and replaces older ones of its own lines. A whole-file range of the same version covers it. */
export function addSeenRange(sights: readonly SeenRange[], added: SeenRange): readonly SeenRange[] {
  let { start, end } = added.lines ?? { start: 1, end: 0 }
  const others: SeenRange[] = []
  for (const range of sights) {
    const { lines } = range
    const isSame = range.seq === added.seq && range.hash === added.hash
    if (isSame && lines === undefined) return sights
    if (isSame && lines !== undefined && lines.start <= end + 1 && start <= lines.end + 1) {
      start = Math.min(start, lines.start)
      end = Math.max(end, lines.end)
    } else if (isSame || lines === undefined || lines.start < start || lines.end > end) others.push(range)
  }
  return [...others, { ...added, lines: { start, end } }].slice(-maxSeenRanges)
}
