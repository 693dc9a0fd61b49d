// The clock that the lock manager is given: time and timers, so that tests can turn it by hand.

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
