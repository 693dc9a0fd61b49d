// Hunks that repeated lines allow in several places, one of which the other side has changed.
import type { Hunk, Line } from './hunks.ts'

// The longest part of a run that is tried besides the whole run; this keeps the costs linear.
const maxPart = 32

/** One side of a merge, as it differs from the base. */
export interface SideDiff {
  readonly lines: readonly Line[]
  readonly hunks: readonly Hunk[]
}

/**
 * The same difference, with each hunk whose place is in doubt widened over all possible places of its lines, if the
 * other side changed something between them: the place of the hunk decides what becomes of that change.
 * Such a hunk may then touch its neighbour.
 */
export function widenDoubtful(baseLines: readonly Line[], side: SideDiff, otherSide: SideDiff): Hunk[] {
  const { lines, hunks } = side
  let next = 0
  return hunks.map((hunk, index) => {
    const reach = reachOf(baseLines, lines, hunk, hunks[index - 1], hunks[index + 1])
    if (reach === undefined) return hunk
    const start = hunk.baseStart - reach.up
    const end = hunk.baseEnd + reach.down
    while (next < otherSide.hunks.length && otherSide.hunks[next]!.baseEnd < start) next++
    for (let at = next; at < otherSide.hunks.length && otherSide.hunks[at]!.baseStart <= end; at++) {
      const other = otherSide.hunks[at]!
      // A change right beside the possible places leaves all of them open, unless both add the same: then it may be one addition.
      const isBetween = other.baseEnd > start && other.baseStart < end
      if (!isBetween && !addsAlike(lines, hunk, otherSide.lines, other)) continue
      return {
        baseStart: start,
        baseEnd: end,
        currentStart: hunk.currentStart - reach.up,
        currentEnd: hunk.currentEnd + reach.down
      }
    }
    return hunk
  })
}

function addsAlike(lines: readonly Line[], hunk: Hunk, otherLines: readonly Line[], other: Hunk): boolean {
  const added = new Set(lines.slice(hunk.currentStart, hunk.currentEnd))
  return otherLines.slice(other.currentStart, other.currentEnd).some((line) => added.has(line))
}

interface Reach {
  readonly up: number
  readonly down: number
}

/** How many lines up and down the lines that a hunk adds or removes could move; undefined if none could. */
function reachOf(
  baseLines: readonly Line[],
  sideLines: readonly Line[],
  { baseStart, baseEnd, currentStart, currentEnd }: Hunk,
  before: Hunk | undefined,
  after: Hunk | undefined
): Reach | undefined {
  const room = {
    up: baseStart - (before?.baseEnd ?? 0),
    down: (after?.baseStart ?? baseLines.length) - baseEnd
  }
  const removed = slides(baseLines, baseStart, baseEnd, room)
  const added = slides(sideLines, currentStart, currentEnd, room)
  const up = Math.max(removed.up, added.up)
  const down = Math.max(removed.down, added.down)
  return up + down === 0 ? undefined : { up, down }
}

/** How far a run of lines slides at most, or a part of it: lines that repeat those next to it. */
function slides(lines: readonly Line[], start: number, end: number, room: Reach): Reach {
  const size = end - start
  let up = 0
  let down = 0
  for (let part = size; part > 0; part = Math.min(part - 1, maxPart)) {
    up = Math.max(
      up,
      countWhile(room.up, (step) => lines[start + part - 1 - step] === lines[start - 1 - step])
    )
    down = Math.max(
      down,
      countWhile(room.down, (step) => lines[end - part + step] === lines[end + step])
    )
  }
  return { up, down }
}

function countWhile(most: number, holds: (step: number) => boolean): number {
  let count = 0
  while (count < most && holds(count)) count++
  return count
}
