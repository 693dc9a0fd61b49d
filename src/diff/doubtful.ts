// Hunks that could stand in several places, because of repeated lines, where the other side has changed one of these places.
import type { Hunk } from './hunks.ts'

/**
 * The same difference with each pure insertion or removal whose place is in doubt widened over all the places where it could
 * stand, if the other side changed something between them: where it belongs decides what becomes of that change.
 * Such a hunk may then touch its neighbour.
 */
export function widenDoubtful(
  baseLines: readonly string[],
  sideLines: readonly string[],
  hunks: readonly Hunk[],
  otherHunks: readonly Hunk[]
): Hunk[] {
  let other = 0
  return hunks.map((hunk, index) => {
    const reach = reachOf(baseLines, sideLines, hunk, hunks[index - 1], hunks[index + 1])
    if (reach === undefined) return hunk
    const start = hunk.baseStart - reach.up
    const end = hunk.baseEnd + reach.down
    while (other < otherHunks.length && otherHunks[other]!.baseEnd <= start) other++
    const found = otherHunks[other]
    // What begins at its end, or ends at its start, leaves all the places to it.
    if (found === undefined || found.baseStart >= end) return hunk
    return {
      baseStart: start,
      baseEnd: end,
      currentStart: hunk.currentStart - reach.up,
      currentEnd: hunk.currentEnd + reach.down
    }
  })
}

/** How many lines up and down it could stand as well; undefined where it could not. */
function reachOf(
  baseLines: readonly string[],
  sideLines: readonly string[],
  { baseStart, baseEnd, currentStart, currentEnd }: Hunk,
  before: Hunk | undefined,
  after: Hunk | undefined
): { up: number; down: number } | undefined {
  const isInsertion = baseStart === baseEnd
  if (!isInsertion && currentStart !== currentEnd) return undefined
  const lines = isInsertion ? sideLines : baseLines
  const [start, end] = isInsertion ? [currentStart, currentEnd] : [baseStart, baseEnd]
  const most = {
    up: baseStart - (before?.baseEnd ?? 0),
    down: (after?.baseStart ?? baseLines.length) - baseEnd
  }
  let up = 0
  while (up < most.up && lines[start - 1 - up] === lines[end - 1 - up]) up++
  let down = 0
  while (down < most.down && lines[start + down] === lines[end + down]) down++
  return up + down === 0 ? undefined : { up, down }
}
