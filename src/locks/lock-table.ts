// The lock table: all queues, and the moves of an acquisition through them from its start to its end.
import type { Acquisition } from './acquisition.ts'
import type { Clock } from './clock.ts'
import { Deadlines } from './deadlines.ts'
import { agentQueueFull, lockTimeout, queueFull } from './errors.ts'
import { HeldLock } from './held-lock.ts'
import type { LockLimits } from './lock.ts'
import { KeyQueue, type Place } from './queue.ts'

/**
 * Every move is synchronous, from the check to the end of the promotion it causes, and calls no foreign code before the
 * table is consistent again. That is why a timeout, a cancellation and a grant at the same moment still come one after
 * the other, and only the first of them counts.
 */
export class LockTable {
  readonly #clock: Clock
  readonly #limits: LockLimits
  /** A key without holder and waiter has no entry. */
  readonly #queues = new Map<string, KeyQueue>()
  readonly #waitersOfAgent = new Map<string, number>()
  readonly #deadlines: Deadlines<Acquisition>
  #lastToken = 0
  #isStopping = false
  #whenEmpty: (() => void)[] = []

  constructor(clock: Clock, limits: LockLimits) {
    this.#clock = clock
    this.#limits = limits
    this.#deadlines = new Deadlines(clock, (acquisition) => this.#end(acquisition))
  }

  get queues(): ReadonlyMap<string, KeyQueue> {
    return this.#queues
  }

  /** Ends what is overdue by the clock, should the event loop have been too busy for the timer. */
  catchUp(now = this.#clock.now()): void {
    this.#deadlines.catchUp(now)
  }

  /** Takes key after key until all are held or one must be waited for. */
  enter(acquisition: Acquisition, now: number): void {
    for (let place = acquisition.waitsAt; place !== undefined; place = acquisition.waitsAt) {
      const queue = this.#queueOf(place)
      if (!queue.isFreeFor(place.mode)) return this.#wait(place, queue, now)
      queue.hold(place, now)
      acquisition.granted += 1
    }
    this.#grant(acquisition, now)
  }

  /** True where `enter` would grant at once. Asking first spares the words of a refusal that nobody reads. */
  isFreeFor({ places }: Acquisition): boolean {
    return places.every(({ key, mode }) => this.#queues.get(key)?.isFreeFor(mode) ?? true)
  }

  endInTime(acquisition: Acquisition): void {
    this.#deadlines.add(acquisition)
  }

  /** The only way out without a lock. Too late, it does nothing: the caller has the lock and releases it. */
  fail(acquisition: Acquisition, error: unknown): void {
    if (acquisition.state !== 'waiting') return
    this.#settle(acquisition, 'failed')
    this.#withdraw(acquisition)
    acquisition.reject(error)
  }

  release(acquisition: Acquisition): void {
    if (acquisition.state !== 'held') return
    acquisition.state = 'released'
    this.#deadlines.delete(acquisition)
    this.#withdraw(acquisition)
  }

  /** Releases one key; with the last one the lock itself is released. */
  releasePlace(place: Place): void {
    const { acquisition, queue } = place
    if (acquisition.holdsNothingBut(place)) return this.release(acquisition)
    if (queue?.release(place) === true) this.#promote(queue)
  }

  /** Fails all waiters; from now on nobody is promoted. */
  stop(toError: (acquisition: Acquisition) => unknown): void {
    this.#isStopping = true
    const waiting = Array.from(this.#queues.values(), (queue) => [...queue.waiters()]).flat()
    for (const { acquisition } of waiting) this.fail(acquisition, toError(acquisition))
  }

  whenEmpty(callback: () => void): void {
    if (this.#queues.size === 0) callback()
    else this.#whenEmpty.push(callback)
  }

  #wait(place: Place, queue: KeyQueue, now: number): void {
    const { acquisition } = place
    const { maxWaitersPerKey, maxWaitersPerAgent } = this.#limits
    if (now >= acquisition.timeoutAt) return this.fail(acquisition, lockTimeout(place, queue))
    if (queue.depth >= maxWaitersPerKey) return this.fail(acquisition, queueFull(place, maxWaitersPerKey))
    if (this.#waitsOf(acquisition) >= maxWaitersPerAgent) {
      return this.fail(acquisition, agentQueueFull(place, maxWaitersPerAgent))
    }
    queue.join(place, now)
    this.#countWaiter(acquisition, 1)
  }

  #grant(acquisition: Acquisition, now: number): void {
    this.#settle(acquisition, 'held')
    this.#lastToken += 1
    acquisition.fencingToken = this.#lastToken
    acquisition.endsAt = now + acquisition.ttlMs
    this.#deadlines.add(acquisition)
    acquisition.resolve(new HeldLock(acquisition, this.#lastToken, this))
  }

  /** Its timeout, or its TTL, is over. The signal aborts last, since its listeners may call back in here. */
  #end(acquisition: Acquisition): void {
    const place = acquisition.waitsAt
    if (place?.queue !== undefined) return this.fail(acquisition, lockTimeout(place, place.queue))
    this.#withdraw(acquisition)
    acquisition.expire()
  }

  #settle(acquisition: Acquisition, state: 'held' | 'failed'): void {
    acquisition.state = state
    acquisition.detach?.()
    this.#deadlines.delete(acquisition)
  }

  /** Takes it out of every queue, whether it holds or waits there, then lets those behind it run. */
  #withdraw(acquisition: Acquisition): void {
    const left: KeyQueue[] = []
    for (const place of acquisition.places) {
      const { queue } = place
      if (queue === undefined) continue
      left.push(queue)
      if (queue.release(place)) continue
      queue.leave(place)
      this.#countWaiter(acquisition, -1)
    }
    for (const queue of left) this.#promote(queue)
  }

  /** Grants from the front of the queue for as long as its holders admit it, and forgets a queue that nobody uses. */
  #promote(queue: KeyQueue): void {
    if (queue.isPromoting) return
    queue.isPromoting = true
    const now = this.#clock.now()
    while (!this.#isStopping) {
      const place = queue.grantFirst(now)
      if (place === undefined) break
      this.#countWaiter(place.acquisition, -1)
      place.acquisition.granted += 1
      this.enter(place.acquisition, now)
    }
    queue.isPromoting = false
    // The promotion of another key may have forgotten this queue already, and another may stand in its place.
    if (!queue.isUnused || this.#queues.get(queue.key) !== queue) return
    this.#queues.delete(queue.key)
    if (this.#queues.size === 0) for (const callback of this.#whenEmpty.splice(0)) callback()
  }

  #queueOf({ key, path }: Place): KeyQueue {
    const known = this.#queues.get(key)
    if (known !== undefined) return known
    const queue = new KeyQueue(key, path)
    this.#queues.set(key, queue)
    return queue
  }

  #waitsOf({ agentId }: Acquisition): number {
    return (agentId !== undefined && this.#waitersOfAgent.get(agentId)) || 0
  }

  #countWaiter(acquisition: Acquisition, change: 1 | -1): void {
    const { agentId } = acquisition
    if (agentId === undefined) return
    const count = this.#waitsOf(acquisition) + change
    if (count === 0) this.#waitersOfAgent.delete(agentId)
    else this.#waitersOfAgent.set(agentId, count)
  }
}
