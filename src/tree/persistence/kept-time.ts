// Times of the locks' clock in the journal, which other processes read: each counts from the wall clock at its own start.
import { systemClock } from '../../engine/locks/clock.ts'
import { thisProcess } from '../state/state-file.ts'

/** When a record was written, by both clocks. */
export interface Stamp {
  /** By the clock of the locks. */
  readonly writtenAt?: number
  /** Milliseconds of the clock that all processes of one boot share. */
  readonly uptimeMs?: number
  /** Names the boot; absent if the system does not say. */
  readonly boot?: string
}

/** Processes of one boot read their wall clock at their starts: by less than this they differ without any step. */
const jitterMs = 100

const [boot] = thisProcess.process_start?.split('/') ?? []

function uptimeMs(): number {
  return Math.floor(Number(process.hrtime.bigint()) / 1e6)
}

export function stampNow(): Stamp {
  return { writtenAt: systemClock.now(), ...(boot !== undefined && { uptimeMs: uptimeMs(), boot }) }
}

/**
 * How far a time in the record is to be moved, to mean the same moment by the clock of this process. Within one boot the wall clock
 * does not count: it may have been set meanwhile. After another boot there is no other.
 */
export function shiftOf(stamp: Stamp): number {
  const { writtenAt, uptimeMs: then } = stamp
  const now = systemClock.now()
  if (writtenAt === undefined) return 0
  if (then !== undefined && stamp.boot === boot && then <= uptimeMs()) {
    const shift = now - writtenAt - (uptimeMs() - then)
    // So that a time is told by every process as it was told first.
    return Math.abs(shift) < jitterMs ? 0 : shift
  }
  // The clock was set back: no more time is left than was then.
  return Math.min(0, now - writtenAt)
}

export function isStamp({ writtenAt = 0, uptimeMs: then = 0, boot: itsBoot = '' }: Record<string, unknown>): boolean {
  return typeof writtenAt === 'number' && typeof then === 'number' && typeof itsBoot === 'string'
}
