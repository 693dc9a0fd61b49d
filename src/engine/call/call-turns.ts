// Shortly after clients have connected, calls begin in slices of the event loop. Node accepts one connection in a turn of it, and to find out
// whose it is takes several: if a turn began hundreds of calls, new clients would wait for thousands.
//
// Only then: a call that waits for its slice is read already, and lives long enough to make the collection of garbage dearer.

/** A handful of reads. */
const sliceMs = 2
/** After each new connection. */
const slicedMs = 1000

export type CallTurns = ReturnType<typeof createCallTurns>

export function createCallTurns() {
  /** Times by performance.now(). */
  let slicedUntil = 0
  /** Undefined while the next call may begin a slice. */
  let sliceEnd: number | undefined
  let isEndAwaited = false
  const waiting = new Set<() => void>()

  function hasTime(): boolean {
    const now = performance.now()
    if (now >= slicedUntil) return true
    if (sliceEnd === undefined) {
      sliceEnd = now + sliceMs
      awaitEnd()
    }
    return now < sliceEnd
  }

  function awaitEnd(): void {
    if (!isEndAwaited) setImmediate(endTurn)
    isEndAwaited = true
  }

  function endTurn(): void {
    isEndAwaited = false
    sliceEnd = undefined
    if (waiting.size > 0) awaitEnd()
    grant()
  }

  /** One after the other: what each does at once counts before the next is looked at. */
  function grant(): void {
    const [first] = waiting
    if (first === undefined) sliceEnd = undefined
    else if (hasTime()) {
      waiting.delete(first)
      first()
      queueMicrotask(() => process.nextTick(grant))
    }
  }

  return {
    noteClient(): void {
      slicedUntil = performance.now() + slicedMs
    },
    /** @returns undefined where the call may begin at once; else resolves when it may, in the order in which they came */
    next(): Promise<void> | undefined {
      if (waiting.size === 0 && hasTime()) return undefined
      return new Promise((resolve) => waiting.add(resolve))
    }
  }
}
