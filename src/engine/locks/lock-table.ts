// The lock table: all queues, and the moves of an acquisition through them from its start to its end.
import type { Acquisition } from './acquisition.ts'
import type { Clock } from './clock.ts'
import { Deadlines } from './deadlines.ts'
import { agentQueueFull, deadlock, lockTimeout, queueFull, tooManyLeases, tooManyLeasesInAll } from './errors.ts'
import { Agents } from './agents.ts'
import { HeldLock } from './held-lock.ts'
import { LeaseAcquisition } from './lease-acquisition.ts'
import type { LeaseEnd, LockLimits, LockMode } from './lock.ts'
import type { LockWatch, ReleaseCause } from './observer.ts'
import { KeyQueue, type QueueEntry } from './queue.ts'
import type { FencingTokens } from './tokens.ts'
import { findCycle, hasCycle, type Wait } from './wait-for.ts'

/** Names kept for one lease. */
const maxNames = 4

export interface LockTableOptions {
  readonly clock: Clock
  readonly limits: LockLimits
  readonly tokens: FencingTokens
  readonly leasesBindOperations: boolean
  /** Called for every lease that ends without a release. */
  readonly onLeaseEnd: (lease: LeaseAcquisition, end: LeaseEnd) => void
}

/**
 * Every move is synchronous, from the check to the end of the promotion it causes, and calls no foreign code before the
 * table is consistent again. That is why a timeout, a cancellation and a grant at the same moment still come one after
 * the other, and only the first of them counts.
 */
export class LockTable {
  readonly agents = new Agents()
  /** Undefined while there is no observer. */
  watch: LockWatch | undefined
  /** Called on every change of a granted lease, and for a parked request that is given up. */
  readonly leaseListeners = new Set<(lease: LeaseAcquisition) => void>()
  readonly #clock: Clock
  readonly #options: LockTableOptions
  /** A key without holder and waiter has no entry. */
  readonly #queues = new Map<string, KeyQueue>()
  readonly #deadlines: Deadlines<Acquisition>
  #isStopping = false
  #whenEmpty: (() => void)[] = []

  constructor(options: LockTableOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#deadlines = new Deadlines(options.clock, (acquisition) => this.#end(acquisition))
  }

  get queues(): ReadonlyMap<string, KeyQueue> {
    return this.#queues
  }

  /** Ends what is overdue by the clock, in case a busy event loop has delayed the timer. */
  catchUp(now = this.#clock.now()): void {
    this.#deadlines.catchUp(now)
  }

  /** Takes key after key until all are held or one must be waited for. */
  enter(acquisition: Acquisition, now: number): void {
    for (let entry = acquisition.waitsAt; entry !== undefined; entry = acquisition.waitsAt) {
      const queue = this.#queueOf(entry)
      const own = queue.leaseOf(acquisition.agentId)
      if (own !== undefined) this.#extend(own, now + own.ttlMs)
      if (!queue.isFreeFor(entry)) return this.#wait(entry, queue, now)
      if (own !== undefined && entry.isLease) return this.#merge(acquisition as LeaseAcquisition, own, now)
      queue.hold(entry, now)
      acquisition.granted += 1
    }
    this.#grant(acquisition, now)
  }

  /** True if `enter` would grant at once. Asking first saves writing a refusal that no caller reads. */
  isFreeFor({ entries }: Acquisition): boolean {
    return entries.every((entry) => this.#queues.get(entry.key)?.isFreeFor(entry) ?? true)
  }

  endInTime(acquisition: Acquisition): void {
    this.#deadlines.add(acquisition)
  }

  /** The only way out without a lock. Does nothing after the grant: the caller then has the lock and releases it. */
  fail(acquisition: Acquisition, error: unknown): void {
    if (acquisition.state !== 'waiting') return
    this.#settle(acquisition, 'failed')
    this.watch?.leaves(acquisition, 'released')
    this.#withdraw(acquisition)
    acquisition.reject(error)
    if (acquisition.isParked) this.#notifyChange(acquisition)
  }

  release(acquisition: Acquisition, cause: ReleaseCause = 'released'): void {
    if (acquisition.state !== 'held') return
    acquisition.state = 'released'
    this.#deadlines.delete(acquisition)
    this.watch?.leaves(acquisition, cause)
    this.#withdraw(acquisition)
    this.#notifyChange(acquisition)
  }

  /** Ends a lease. The holder learns the cause unless it released the lease itself. */
  endLease(lease: LeaseAcquisition, end?: LeaseEnd): void {
    if (lease.state !== 'held') return
    this.release(lease, end?.cause)
    if (end !== undefined) this.#options.onLeaseEnd(lease, end)
  }

  /** Sets the TTL: the lease lasts this long from now, and again from each use. */
  renew(lease: LeaseAcquisition, ttlMs: number): void {
    if (lease.state !== 'held') return
    lease.ttlMs = ttlMs
    this.#endAt(lease, this.#clock.now() + ttlMs)
  }

  /**
   * Undoes a request for the lease in this mode, and what it set on the lease unless a later request has renewed the lease.
   * The lease ends with its last request, and becomes shared with its last exclusive one.
   */
  withdrawRequest(lease: LeaseAcquisition, mode: LockMode, request: LeaseAcquisition): void {
    const { claims, entry, state } = lease
    claims[mode] -= 1
    if (state !== 'held' || entry.queue === undefined) return
    if (request.replaced?.renewals === lease.renewals - 1) Object.assign(lease, request.replaced)
    if (claims.exclusive > 0) return this.#notifyChange(lease)
    if (claims.shared === 0) return this.release(lease)
    entry.queue.changeMode(lease, 'shared')
    this.#promote(entry.queue)
    this.#notifyChange(lease)
  }

  /** The lease lasts at least this long from now. */
  prolong(lease: LeaseAcquisition, ms: number): void {
    if (lease.state === 'held') this.#extend(lease, this.#clock.now() + ms)
  }

  /** Shortens an unclaimed lease to its grace period unless another request relies on it. */
  keepForGrace(lease: LeaseAcquisition): void {
    const endsAt = this.#clock.now() + lease.graceMs
    if (lease.state === 'held' && lease.hasOneClaim && endsAt < lease.endsAt) this.#endAt(lease, endsAt)
  }

  /** A client waits again for a parked request. @param lease granted to the request meanwhile */
  resume(request: LeaseAcquisition, timeoutMs: number, lease: LeaseAcquisition | undefined): void {
    const now = this.#clock.now()
    request.isParked = false
    request.timeoutMs = timeoutMs
    request.timeoutAt = now + timeoutMs
    if (lease?.state === 'held') this.#extend(lease, now + lease.ttlMs)
    if (request.state === 'waiting') this.#endAt(request, request.timeoutAt)
  }

  /** Releases one key; with the last one the lock itself is released. */
  releasePlace(entry: QueueEntry): void {
    const { acquisition, queue } = entry
    if (acquisition.holdsNothingBut(entry)) return this.release(acquisition)
    if (queue !== undefined) this.watch?.releases(entry, queue, 'released')
    if (queue?.release(entry) === true) this.#promote(queue)
  }

  /** Fails all waiters; from now on no waiter is promoted. */
  stop(toError: (acquisition: Acquisition) => unknown): void {
    this.#isStopping = true
    const waiting = Array.from(this.#queues.values(), (queue) => [...queue.waiters()]).flat()
    for (const { acquisition } of waiting) this.fail(acquisition, toError(acquisition))
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

  /** Why the place cannot wait in the queue; undefined if it can. */
  #refusalOf(entry: QueueEntry, queue: KeyQueue, now: number): unknown {
    const { acquisition } = entry
    const { maxWaitersPerKey, maxWaitersPerAgent } = this.#options.limits
    if (now >= acquisition.timeoutAt) return lockTimeout(entry, queue, now)
    if (queue.depth >= maxWaitersPerKey) return queueFull(entry, maxWaitersPerKey)
    if (acquisition.agentId !== undefined) {
      if (this.agents.waitsOf(acquisition.agentId).size >= maxWaitersPerAgent)
        return agentQueueFull(entry, maxWaitersPerAgent)
    }
    if (entry.isLease && queue.leaseOf(acquisition.agentId) === undefined) {
      const tooMany = this.#tooManyFor(entry)
      if (tooMany !== undefined) return tooMany
    }
    const cycle = findCycle(entry, queue, this.agents)
    return cycle === undefined ? undefined : deadlock(entry, cycle)
  }

  /** Why its agent can have no further lease; undefined if it can. */
  #tooManyFor(entry: QueueEntry): unknown {
    const { maxLeasesPerAgent, maxLeases } = this.#options.limits
    const agentId = entry.acquisition.agentId as string
    if (this.agents.leasesOf(agentId).size >= maxLeasesPerAgent) return tooManyLeases(entry, maxLeasesPerAgent)
    return this.agents.leaseCount >= maxLeases ? tooManyLeasesInAll(entry, maxLeases) : undefined
  }

  #grant(acquisition: Acquisition, now: number): void {
    if (acquisition instanceof LeaseAcquisition) return this.#grantLease(acquisition, now)
    this.#settle(acquisition, 'held')
    acquisition.fencingToken = this.#options.tokens.next()
    acquisition.endsAt = now + acquisition.ttlMs
    this.#deadlines.add(acquisition)
    acquisition.resolve(new HeldLock(acquisition, this))
  }

  #grantLease(request: LeaseAcquisition, now: number): void {
    const { entry, agentId } = request
    const queue = entry.queue as KeyQueue
    const own = queue.leases.find((lease) => lease !== request && lease.agentId === agentId)
    if (own !== undefined) {
      queue.release(entry)
      return this.#merge(request, own, now)
    }
    const tooMany = this.#tooManyFor(entry)
    if (tooMany !== undefined) return this.fail(request, tooMany)
    const { restored } = request
    try {
      if (restored === undefined) request.fencingToken = this.#options.tokens.nextForLease()
      else request.fencingToken = restored.fencingToken
    } catch (error) {
      return this.fail(request, error)
    }
    this.#settle(request, 'held')
    request.endsAt = restored?.expiresAt ?? now + lifetimeOf(request)
    if (restored !== undefined) {
      entry.since = restored.acquiredAt
      request.names = restored.names ?? []
    }
    request.claims[request.mode] += 1
    this.#deadlines.add(request)
    this.agents.addLease(request)
    request.onGrant(request)
    this.#promote(queue)
    this.#notifyChange(request)
  }

  /** Merges a request into the lease that its agent already has on the key. The fencing token stays. */
  #merge(request: LeaseAcquisition, own: LeaseAcquisition, now: number): void {
    const queue = own.entry.queue as KeyQueue
    if (request.mode === 'exclusive') queue.changeMode(own, 'exclusive')
    own.claims[request.mode] += 1
    const { note, connection, names, ttlMs, renewals } = own
    request.replaced = { note, connection, names, ttlMs, renewals }
    own.renewals += 1
    if (!request.isParked) own.isParked = false
    own.note = request.note ?? own.note
    own.connection = request.connection
    own.names = addNames(own.names, request.names)
    own.ttlMs = request.ttlMs
    this.#extend(own, now + lifetimeOf(request))
    this.#settle(request, 'released')
    request.onGrant(own)
    if (queue.hasLeasesChanged) this.#promote(queue)
    this.#notifyChange(own)
  }

  /** Its timeout, or its TTL, is over. The signal aborts last, since its listeners may call back in here. */
  #end(acquisition: Acquisition): void {
    const entry = acquisition.waitsAt
    if (entry?.queue !== undefined) return this.#endWait(acquisition, entry, entry.queue)
    this.watch?.leaves(acquisition, 'expired')
    this.#withdraw(acquisition)
    acquisition.expire()
    if (acquisition instanceof LeaseAcquisition) this.#options.onLeaseEnd(acquisition, { cause: 'expired' })
    this.#notifyChange(acquisition)
  }

  #endWait(acquisition: Acquisition, entry: QueueEntry, queue: KeyQueue): void {
    if (!(acquisition instanceof LeaseAcquisition) || acquisition.isParked || acquisition.graceMs === 0) {
      return this.fail(acquisition, lockTimeout(entry, queue, acquisition.timeoutAt))
    }
    acquisition.isParked = true
    acquisition.timeoutAt += acquisition.graceMs
    this.#endAt(acquisition, acquisition.timeoutAt)
    acquisition.onPark?.()
  }

  #settle(acquisition: Acquisition, state: 'held' | 'failed' | 'released'): void {
    acquisition.state = state
    acquisition.detach?.()
    this.#deadlines.delete(acquisition)
  }

  /** Never shortens it. */
  #extend(lease: LeaseAcquisition, endsAt: number): void {
    if (endsAt > lease.endsAt) this.#endAt(lease, endsAt)
  }

  #endAt(acquisition: Acquisition, endsAt: number): void {
    this.#deadlines.delete(acquisition)
    acquisition.endsAt = endsAt
    this.#deadlines.add(acquisition)
    if (acquisition.state === 'held') this.#notifyChange(acquisition)
  }

  /** Call it only when the table is consistent again, like all foreign code. */
  #notifyChange(acquisition: Acquisition): void {
    if (this.leaseListeners.size === 0 || !(acquisition instanceof LeaseAcquisition)) return
    for (const listener of this.leaseListeners) listener(acquisition)
  }

  /** Takes it out of every queue in which it holds or waits, then promotes the waiters behind it. */
  #withdraw(acquisition: Acquisition): void {
    const left: KeyQueue[] = []
    for (const entry of acquisition.entries) {
      const { queue } = entry
      if (queue === undefined) continue
      left.push(queue)
      if (queue.release(entry)) continue
      queue.leave(entry)
      this.agents.deleteWait(acquisition)
    }
    if (acquisition instanceof LeaseAcquisition) this.agents.deleteLease(acquisition)
    for (const queue of left) this.#promote(queue)
  }

  /**
   * Grants every waiter that is no longer blocked, and drops an unused queue. Due after each end, and after each grant
   * of a lease: the other requests of its agent pass waiters from then on.
   */
  #promote(queue: KeyQueue): void {
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

  #grantAll(queue: KeyQueue): void {
    const now = this.#clock.now()
    while (!this.#isStopping) {
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
   * @returns whether a victim had to leave
   */
  #breakCycle(queue: KeyQueue): boolean {
    if (!queue.hasLeasesChanged) return false
    queue.hasLeasesChanged = false
    if (!hasCycle(queue, this.agents)) return false
    // The victim is in the shortest cycle: a longer one around it may end with it.
    let victim: { entry: QueueEntry; cycle: readonly Wait[] } | undefined
    for (const entry of queue.waiters()) {
      const cycle = findCycle(entry, queue, this.agents)
      if (cycle !== undefined && cycle.length < (victim?.cycle.length ?? Infinity)) victim = { entry, cycle }
    }
    if (victim === undefined) return false
    queue.hasLeasesChanged = true
    this.fail(victim.entry.acquisition, deadlock(victim.entry, victim.cycle))
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

/** An agent may spell a path in ever new ways: keep the latest. */
function addNames(known: readonly string[], more: readonly string[]): readonly string[] {
  if (more.every((name) => known.includes(name))) return known
  return [...new Set([...known, ...more])].slice(-maxNames)
}

/** A client may never come back for a lease that was granted to its parked request. */
function lifetimeOf({ isParked, ttlMs, graceMs }: LeaseAcquisition): number {
  return isParked ? Math.min(ttlMs, graceMs) : ttlMs
}
