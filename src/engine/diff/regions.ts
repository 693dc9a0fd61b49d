// Lays the changes of two sides over their common base: which are on one side only, which are the same, which collide.
import type { Hunk } from './hunks.ts'

/** Lines of one text: offsets, 0-based, the end excluded. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A stretch of the base that one side has changed, or both, with its replacement. */
export interface Region {
  readonly base: Span
  readonly current: Span
  readonly incoming: Span
  readonly changedBy: 'current' | 'incoming' | 'both'
}

/**
 * In order. Hunks of the two sides that overlap or touch share a region: no unchanged line between them says which comes
 * first, or that either side knew the other's neighbour.
 */
export function toRegions(currentHunks: readonly Hunk[], incomingHunks: readonly Hunk[]): Region[] {
  const regions: Region[] = []
  const current = createCursor(currentHunks)
  const incoming = createCursor(incomingHunks)
  for (;;) {
    const start = Math.min(current.nextStart(), incoming.nextStart())
    if (start === Infinity) return regions
    const before = { current: current.offset(), incoming: incoming.offset() }
    let end = start
    let isCurrent = false
    let isIncoming = false
    for (;;) {
      if (current.nextStart() <= end) {
        end = Math.max(end, current.take())
        isCurrent = true
      } else if (incoming.nextStart() <= end) {
        end = Math.max(end, incoming.take())
        isIncoming = true
      } else break
    }
    regions.push({
      base: { start, end },
      current: { start: start + before.current, end: end + current.offset() },
      incoming: { start: start + before.incoming, end: end + incoming.offset() },
      changedBy: isCurrent && isIncoming ? 'both' : isCurrent ? 'current' : 'incoming'
    })
  }
}

/** Walks the hunks of one side. */
function createCursor(hunks: readonly Hunk[]) {
  let index = 0
  let offset = 0
  return {
    nextStart: () => hunks[index]?.baseStart ?? Infinity,
    /** How far lines after the hunks taken so far are from their place in the base. */
    offset: () => offset,
    /** Takes the next hunk. @returns its end in the base */
    take(): number {
      const { baseEnd, currentEnd } = hunks[index++]!
      offset = currentEnd - baseEnd
      return baseEnd
    }
  }
}
