// The lock table: all queues, and the moves of an acquisition through them from its start to its end.
import type { Acquisition, QueueEntry } from './acquisition.ts'
import { Agents } from './agents.ts'
import { Deadlines } from './deadlines.ts'
import { agentQueueFull, deadlock, lockExpired, lockTimeout, queueFull, stopping } from './errors.ts'
import { HeldLock } from './held-lock.ts'
import { LeaseAcquisition } from './lease-acquisition.ts'
import { LeaseTransitions, type LeaseTransitionOptions } from './lease-transitions.ts'
import type { LockWatch, ReleaseCause } from './observer.ts'
import { KeyQueue } from './queue.ts'
import { toBlockedRequest } from './status.ts'
import { WaitForGraph } from './wait-for.ts'

export interface LockTableOptions extends LeaseTransitionOptions {
  readonly leasesBindOperations: boolean
}

/**
 * Every move is synchronous, from the check to the end of the promotion it causes, and calls no foreign code before the
 * table is consistent again. That is why a timeout, a cancellation and a grant at the same moment still come one after
 * the other, and only the first of them counts.
 */
export class LockTable {
  readonly agents = new Agents()
  readonly leases: LeaseTransitions
  /** Undefined while there is no observer. */
  watch: LockWatch | undefined
  /** Why no more is granted; undefined until `stop`. */
  stopReason: string | undefined
  readonly #options: LockTableOptions
  /** A key without holder and waiter has no entry. */
  readonly #queues = new Map<string, KeyQueue>()
  readonly #waitForGraph = new WaitForGraph(this.#queues, this.agents)
  readonly #deadlines: Deadlines<Acquisition>
  #whenEmpty: (() => void)[] = []

  constructor(options: LockTableOptions) {
    this.#options = options
    this.#deadlines = new Deadlines(options.clock, (acquisition) => this.#whenDue(acquisition))
    this.leases = new LeaseTransitions(this, options)
  }

  get queues(): ReadonlyMap<string, KeyQueue> {
    return this.#queues
  }

  /** Ends what is overdue by the clock, in case a busy event loop has delayed the timer. */
  catchUp(now = this.#options.clock.now()): void {
    this.#deadlines.catchUp(now)
  }

  /** Takes key after key until all are held or one must be waited for. */
  enter(acquisition: Acquisition, now: number): void {
    for (let entry = acquisition.waitsAt; entry !== undefined; entry = acquisition.waitsAt) {
      const queue = this.#queueOf(entry)
      const own = queue.leaseOf(acquisition.agentId)
      if (own !== undefined) this.leases.use(own, now)
      if (!queue.isFreeFor(entry)) return this.#wait(entry, queue, now)
      if (own !== undefined && entry.isLease) return this.leases.merge(acquisition as LeaseAcquisition, own, now)
      queue.hold(entry, now)
      acquisition.granted += 1
    }
    this.#grant(acquisition, now)
  }

  /** True if `enter` would grant at once. Asking first saves writing a refusal that no caller reads. */
  isFreeFor({ entries }: Acquisition): boolean {
    return entries.every((entry) => this.#queues.get(entry.key)?.isFreeFor(entry) ?? true)
  }

  setDeadline(acquisition: Acquisition, dueAt: number): void {
    this.#deadlines.set(acquisition, dueAt)
  }

  /** It waits no longer: its timeout and the caller's signal have no effect any more. */
  settle(acquisition: Acquisition, state: 'held' | 'failed' | 'released'): void {
    acquisition.state = state
    acquisition.detach?.()
    this.#deadlines.delete(acquisition)
  }

  /** The only way out without a lock. Does nothing after the grant: the caller then has the lock and releases it. */
  fail(acquisition: Acquisition, error: unknown): void {
    if (acquisition.state !== 'waiting') return
    this.settle(acquisition, 'failed')
    this.#withdraw(acquisition, 'released')
    acquisition.reject(error)
    if (acquisition.isParked) this.#notifyChange(acquisition)
  }

  release(acquisition: Acquisition, cause: ReleaseCause = 'released'): void {
    if (acquisition.state !== 'held') return
    acquisition.state = 'released'
    this.#deadlines.delete(acquisition)
    this.#withdraw(acquisition, cause)
    this.#notifyChange(acquisition)
  }

  /** Releases one key; with the last one the lock itself is released. */
  releaseEntry(entry: QueueEntry): void {
    const { acquisition, key } = entry
    if (acquisition.holdsNothingBut(entry)) return this.release(acquisition)
    const queue = this.#queues.get(key)
    if (queue !== undefined) this.watch?.releases(entry, queue, 'released')
    if (queue?.release(entry) === true) this.promote(queue)
  }

  /**
   * Grants every waiter that is no longer blocked, and drops an unused queue. Due after each end, and after each grant
   * of a lease: the other requests of its agent pass waiters from then on.
   */
  promote(queue: KeyQueue): void {
    if (queue.isPromoting) return
    queue.isPromoting = true
    do this.#grantAll(queue)
    while (this.#breakCycle(queue))
    queue.isPromoting = false
    // The promotion of another key may have dropped this queue already, and a new one may have taken its place.
    if (!queue.isUnused || this.#queues.get(queue.key) !== queue) return
    this.#queues.delete(queue.key)
    if (this.#queues.size === 0) for (const callback of this.#whenEmpty.splice(0)) callback()
  }

  /** Fails all waiters; from now on no waiter is promoted. */
  stop(reason: string): void {
    this.stopReason = reason
    const waiting = Array.from(this.#queues.values(), (queue) => [...queue.waiters()]).flat()
    for (const { acquisition } of waiting) this.fail(acquisition, stopping(acquisition, reason))
  }

  whenEmpty(callback: () => void): void {
    if (this.#queues.size === 0) callback()
    else this.#whenEmpty.push(callback)
  }

  #wait(entry: QueueEntry, queue: KeyQueue, now: number): void {
    const { acquisition } = entry
    const refusal = this.#refusalOf(entry, queue, now)
    if (refusal !== undefined) return this.fail(acquisition, refusal)
    queue.join(entry, now)
    this.watch?.moves(queue)
    this.agents.addWait(acquisition)
  }

  /** Why the entry cannot wait in the queue; undefined if it can. */
  #refusalOf(entry: QueueEntry, queue: KeyQueue, now: number): unknown {
    const { acquisition, isLease } = entry
    const { agentId } = acquisition
    const { maxWaitersPerKey, maxWaitersPerAgent } = this.#options.limits
    if (now >= acquisition.dueAt) return lockTimeout(toBlockedRequest(entry, queue), now)
    if (queue.depth >= maxWaitersPerKey) return queueFull(acquisition, maxWaitersPerKey)
    if (agentId !== undefined && this.agents.waitsOf(agentId).size >= maxWaitersPerAgent)
      return agentQueueFull(acquisition, maxWaitersPerAgent)
    if (isLease && queue.leaseOf(agentId) === undefined) {
      const refusal = this.leases.refusalOf(acquisition)
      if (refusal !== undefined) return refusal
    }
    const cycle = this.#waitForGraph.findCycle(entry, queue)
    return cycle === undefined ? undefined : deadlock(acquisition, cycle)
  }

  #grant(acquisition: Acquisition, now: number): void {
    if (acquisition instanceof LeaseAcquisition) return this.leases.grant(acquisition, now)
    this.settle(acquisition, 'held')
    acquisition.fencingToken = this.#options.tokens.next()
    this.#deadlines.set(acquisition, now + acquisition.ttlMs)
    acquisition.resolve(new HeldLock(acquisition, this))
  }

  #whenDue(acquisition: Acquisition): void {
    if (acquisition.state !== 'waiting') this.#endTtl(acquisition)
    else if (acquisition.isParked) this.#endWait(acquisition)
    else this.#endTimeout(acquisition)
  }

  #endTimeout(acquisition: Acquisition): void {
    if (acquisition instanceof LeaseAcquisition && acquisition.graceMs > 0) this.leases.park(acquisition)
    else this.#endWait(acquisition)
  }

  /** At its timeout, or at the end of its grace period if it has one. */
  #endWait(acquisition: Acquisition): void {
    const entry = acquisition.waitsAt as QueueEntry
    this.fail(acquisition, lockTimeout(toBlockedRequest(entry, this.#queueOf(entry)), acquisition.dueAt))
  }

  /** The signal aborts last, since its listeners may call back in here. */
  #endTtl(acquisition: Acquisition): void {
    this.#withdraw(acquisition, 'expired')
    if (acquisition instanceof LeaseAcquisition) this.leases.expire(acquisition)
    else acquisition.expire(lockExpired(acquisition))
  }

  /** Call it only when the table is consistent again, like all foreign code. */
  #notifyChange(acquisition: Acquisition): void {
    if (acquisition instanceof LeaseAcquisition) this.leases.notifyChange(acquisition)
  }

  /** Takes it out of every queue in which it holds or waits, then promotes the waiters behind it. */
  #withdraw(acquisition: Acquisition, cause: ReleaseCause): void {
    this.watch?.leaves(acquisition, this.#queues, cause)
    const left: KeyQueue[] = []
    for (const entry of acquisition.entries) {
      if (entry.state === 'out') continue
      const queue = this.#queueOf(entry)
      left.push(queue)
      if (queue.release(entry)) continue
      queue.leave(entry)
      this.agents.deleteWait(acquisition)
    }
    if (acquisition instanceof LeaseAcquisition) this.agents.deleteLease(acquisition)
    for (const queue of left) this.promote(queue)
  }

  #grantAll(queue: KeyQueue): void {
    const now = this.#options.clock.now()
    while (this.stopReason === undefined) {
      const entry = queue.grantNext(now)
      if (entry === undefined) return
      this.watch?.moves(queue)
      this.agents.deleteWait(entry.acquisition)
      entry.acquisition.granted += 1
      this.enter(entry.acquisition, now)
    }
  }

  /**
   * When leases come, go or change, a waiter that passed another may no longer pass it. That can close a cycle without a new waiter.
   * @returns whether a waiter was refused for it
   */
  #breakCycle(queue: KeyQueue): boolean {
    if (!queue.hasLeasesChanged) return false
    queue.hasLeasesChanged = false
    const victim = this.#waitForGraph.findVictim(queue)
    if (victim === undefined) return false
    queue.hasLeasesChanged = true
    this.fail(victim.entry.acquisition, deadlock(victim.entry.acquisition, victim.cycle))
    return true
  }

  #queueOf({ key, path }: QueueEntry): KeyQueue {
    const known = this.#queues.get(key)
    if (known !== undefined) return known
    const queue = new KeyQueue(key, path, this.#options.leasesBindOperations)
    this.#queues.set(key, queue)
    return queue
  }
}
