// The least that a diff can say: which lines of the current version have changed. For a difference that costs more than reading the file again.
import type { Diff } from '../../../schemas/diff.ts'
import type { Hunk } from './hunks.ts'
import { summarize } from './json-changes.ts'

/** Ranges in one answer: if there are more, the nearest ones are joined. */
const maxRanges = 20

const advice =
  'The diff would cost more than reading the file again. async_read (offset, limit) reads these lines; async_diff with from_hash, to_hash and a diff_format gives the whole diff.'

/** @param skippedLines precede the lines of the hunks */
export function toChangedLines(hunks: readonly Hunk[], skippedLines: number): Diff {
  const lines = joinNearest(hunks).map(({ currentStart, currentEnd }) => ({
    start_line: skippedLines + currentStart + 1,
    end_line: skippedLines + currentEnd
  }))
  return { format: 'lines', summary: summarize(hunks), advice, lines }
}

/** True if the diff is the whole difference: with the base it gives the current version. */
export function isWhole(diff: Diff | null): boolean {
  return diff !== null && diff.format !== 'lines'
}

type CurrentRange = Pick<Hunk, 'currentStart' | 'currentEnd'>

/** Keeps apart only the hunks with the widest gaps between them; of gaps of one width all are kept, or none. */
function joinNearest(hunks: readonly Hunk[]): CurrentRange[] {
  const gaps = hunks.slice(1).map(({ currentStart }, index) => currentStart - hunks[index]!.currentEnd)
  const joined = gaps.toSorted((a, b) => b - a)[maxRanges - 1] ?? -1
  const ranges: CurrentRange[] = []
  let currentStart = hunks[0]?.currentStart ?? 0
  for (const [index, { currentEnd }] of hunks.entries()) {
    if ((gaps[index] ?? Infinity) <= joined) continue
    ranges.push({ currentStart, currentEnd })
    currentStart = hunks[index + 1]?.currentStart ?? 0
  }
  return ranges
}
