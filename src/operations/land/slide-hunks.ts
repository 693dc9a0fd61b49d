// Where a hunk lies among equal lines: what only adds or only removes can mostly lie at several places, which make the same text.
import type { Hunk } from '../../engine/diff/hunks.ts'

/** Which of several places: the last one, the first one, or the first one for what adds and the last one for what removes. */
export type Places = 'last' | 'first' | 'mixed'

export interface PlacedHunk extends Hunk {
  /** Offsets of the base: from its first place to the end of its last one. Undefined if there is but one. */
  readonly reach?: { readonly start: number; readonly end: number } | undefined
}

export interface Sliding {
  readonly base: readonly string[]
  readonly current: readonly string[]
  /** Whether an edge of a hunk before this line of the base would divide what another change has made as one. */
  readonly divides: (offset: number) => boolean
  readonly places: Places
}

/** Moves hunks to places where they divide as few changes of others as possible. They never touch each other. */
export function slideHunks(hunks: readonly Hunk[], sliding: Sliding): PlacedHunk[] {
  const placed: PlacedHunk[] = []
  for (const [index, hunk] of hunks.entries()) {
    const before = placed.at(-1)
    const lowest = before === undefined ? 0 : before.baseEnd + 1
    const highest = (hunks[index + 1]?.baseStart ?? sliding.base.length + 1) - 1
    placed.push(slide(hunk, lowest, highest, sliding))
  }
  return placed
}

function slide(hunk: Hunk, lowest: number, highest: number, { base, current, divides, places }: Sliding): PlacedHunk {
  const { baseStart, baseEnd, currentStart, currentEnd } = hunk
  const adds = baseStart === baseEnd
  if (!adds && currentStart !== currentEnd) return hunk
  const [text, start, end] = adds ? [current, currentStart, currentEnd] : [base, baseStart, baseEnd]
  let [up, down] = [0, 0]
  while (baseStart - up > lowest && base[baseStart - up - 1] === text[end - up - 1]) up += 1
  while (baseEnd + down < highest && base[baseEnd + down] === text[start + down]) down += 1
  const costs = Array.from({ length: up + down + 1 }, (_, index) => {
    const edges = adds ? [baseStart] : [baseStart, baseEnd]
    return edges.filter((edge) => divides(edge - up + index)).length
  })
  const least = Math.min(...costs)
  const [first, last] = [costs.indexOf(least) - up, costs.lastIndexOf(least) - up]
  const by = places === 'first' || (places === 'mixed' && adds) ? first : last
  return {
    baseStart: baseStart + by,
    baseEnd: baseEnd + by,
    currentStart: currentStart + by,
    currentEnd: currentEnd + by,
    reach: first === last ? undefined : { start: baseStart + first, end: baseEnd + last }
  }
}
