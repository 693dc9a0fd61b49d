// Calls begin in slices of the event loop. Syncs of a folder end together, and so the clients' next calls come together: a turn that began all
// of them would keep timers, answers and other clients waiting.
//
// Not for a few clients, whose calls make no long turn. Not while hundreds are connected: a call that waits for its slice is read already, and
// hundreds of them live long enough to make the collection of garbage dearer. Yet shortly after one has connected: Node accepts one connection
// in a turn of the loop, and to find out whose it is takes several.
import type { EventEmitter } from 'node:events'

/** A handful of reads. */
const sliceMs = 2
/** After each new connection. */
const slicedMs = 1000
/** Connected, over HTTP. */
const slicedClients = { atLeast: 16, atMost: 128 }

export type CallTurns = ReturnType<typeof createCallTurns>

/** @param clock milliseconds */
export function createCallTurns(clock = () => performance.now()) {
  let clients = 0
  /** Times by the clock. */
  let slicedUntil = 0
  /** Undefined while the next call may begin a slice. */
  let sliceEnd: number | undefined
  let isEndAwaited = false
  const waiting = new Set<() => void>()

  function hasTime(): boolean {
    const now = clock()
    const isAmong = clients >= slicedClients.atLeast && clients <= slicedClients.atMost
    if (!isAmong && now >= slicedUntil) return true
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
    noteClient(connection: Pick<EventEmitter, 'once'>): void {
      slicedUntil = clock() + slicedMs
      clients += 1
      connection.once('close', () => (clients -= 1))
    },
    /** @returns undefined where the call may begin at once; else resolves when it may, in the order in which they came */
    next(): Promise<void> | undefined {
      if (waiting.size === 0 && hasTime()) return undefined
      return new Promise((resolve) => waiting.add(resolve))
    }
  }
}
