// The clock that the lock manager is given: time and timers, so that tests can turn it by hand.
import { timestamp } from '../../support/timestamp.ts'

export interface Clock {
  /** Milliseconds since 1970. Never goes back. */
  now(): number
  /** Calls back once, after at least `ms` milliseconds. Does not keep the process alive. */
  setTimeout(callback: () => void, ms: number): unknown
  clear(handle: unknown): void
}

/**
 * Counts from the wall clock at the start of the process, but does not follow its corrections: a wall clock set back by
 * an hour would keep a lock whose holder is gone for an hour, one set forward would end every lock at once.
 */
export const systemClock: Clock = {
  now: () => Math.floor(performance.timeOrigin + performance.now()),
  setTimeout: (callback, ms) => setTimeout(callback, ms).unref(),
  // The handle is opaque outside; here it is what setTimeout above returned.
  clear: (handle) => clearTimeout(handle as NodeJS.Timeout)
}

/** By less than this a wall clock is corrected all the time. */
const stepMs = 1000
/** How far the wall clock has been set away from the clock of the locks. */
let offsetMs = 0

/**
 * A time of that clock as an answer shows it: as far from the answer's own timestamp as it is from now, whatever has been done to the
 * wall clock.
 */
export function lockTime(ms: number): string {
  const now = Date.now() - systemClock.now()
  if (Math.abs(now - offsetMs) > stepMs) offsetMs = now
  return timestamp(ms + offsetMs)
}
