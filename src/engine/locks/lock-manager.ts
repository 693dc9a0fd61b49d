// The lock manager: which operation may touch which path, and which is next. Pure: it knows keys and a clock, no files.
import { Acquisition } from './acquisition.ts'
import { systemClock, type Clock } from './clock.ts'
import { cancelled, stopping } from './errors.ts'
import { LeaseAcquisition } from './lease-acquisition.ts'
import { LeaseRequest } from './lease-request.ts'
import type {
  AcquireOptions,
  KeyStatus,
  Lease,
  LeaseEnd,
  LeaseOptions,
  LeaseState,
  LeaseTarget,
  LeaseWaitOptions,
  Lock,
  LockLimits,
  LockRequest,
  LockSummary,
  PlaceState,
  TryAcquireOptions
} from './lock.ts'
import { LockTable } from './lock-table.ts'
import { LockWatch, type LockObserver } from './observer.ts'
import { toKeyStatus, toSummary } from './status.ts'
import { createCounter, type FencingTokens } from './tokens.ts'

export type { LockManager }

export interface LockManagerOptions {
  readonly clock?: Clock | undefined
  readonly limits?: Partial<LockLimits> | undefined
  /** Default: a counter that lives as long as the process. */
  readonly tokens?: FencingTokens | undefined
  /** False makes leases advisory: they block other leases, but no operation. Default true. */
  readonly leasesBindOperations?: boolean | undefined
  /** Called for every lease that ends without a release. */
  readonly onLeaseEnd?: ((lease: Lease, end: LeaseEnd) => void) | undefined
}

const defaultLimits: LockLimits = {
  maxWaitersPerKey: 1000,
  maxWaitersPerAgent: 1000,
  maxLeasesPerAgent: 10_000,
  maxLeases: 200_000
}

export function createLockManager({
  clock = systemClock,
  limits,
  tokens = createCounter(),
  leasesBindOperations = true,
  onLeaseEnd = () => {}
}: LockManagerOptions = {}): LockManager {
  const table = new LockTable({
    clock,
    limits: checkLimits({ ...defaultLimits, ...limits }),
    tokens,
    leasesBindOperations,
    onLeaseEnd
  })
  return new LockManager(clock, table)
}

class LockManager {
  readonly #clock: Clock
  readonly #table: LockTable
  #stopReason: string | undefined

  constructor(clock: Clock, table: LockTable) {
    this.#clock = clock
    this.#table = table
  }

  /**
   * Several keys are taken in canonical order under one timeout, all or none. Fails with LOCK_TIMEOUT, CANCELLED, DEADLOCK
   * or OVERLOADED; nothing is held or waited for then.
   */
  acquire(requests: LockRequest | readonly LockRequest[], options: AcquireOptions): Promise<Lock> {
    return new Promise((resolve, reject) => {
      const now = this.#clock.now()
      this.#table.catchUp(now)
      const acquisition = new Acquisition(requests, options, now, resolve, reject)
      if (options.signal?.aborted === true) throw cancelled(acquisition, options.signal.reason)
      if (this.#stopReason !== undefined) throw stopping(acquisition, this.#stopReason)
      this.#prepareToNotify(acquisition, options)
      this.#table.enter(acquisition, now)
      if (acquisition.state === 'waiting') this.#prepareToGiveUp(acquisition, options)
    })
  }

  /** The lock if all keys are free right now; otherwise undefined, and nothing changes. */
  tryAcquire(requests: readonly LockRequest[], options: TryAcquireOptions): Lock | undefined {
    const now = this.#clock.now()
    this.#table.catchUp()
    let lock: Lock | undefined
    const hold = (held: Lock) => (lock = held)
    const acquisition = new Acquisition(requests, { ...options, timeoutMs: 0 }, now, hold, () => {})
    if (this.#stopReason === undefined && this.#table.isFreeFor(acquisition)) this.#table.enter(acquisition, now)
    return lock
  }

  /** Releases one key of the lock with this token. False, and nothing changes, if that token does not hold that key. */
  release(key: string, fencingToken: number): boolean {
    const entry = this.#table.queues.get(key)?.holderWith(fencingToken)
    if (entry === undefined) return false
    this.#table.releasePlace(entry)
    return true
  }

  /**
   * Requests a lease, and waits if it is not free. An agent has one lease on a key: another request renews it, and makes it
   * exclusive if the request is. A refusal does not throw; it is the request's `error`.
   */
  requestLease(request: LeaseTarget, options: LeaseWaitOptions): LeaseRequest {
    const now = this.#clock.now()
    this.#table.catchUp(now)
    const asked = new LeaseRequest(request, options, now, this.#table)
    if (this.#stopReason === undefined) asked.enter(now)
    else this.#table.fail(asked.acquisition, stopping(asked.acquisition, this.#stopReason))
    return asked
  }

  /** The request for the lease if that is free right now; otherwise undefined, and nothing changes. */
  tryLease(request: LeaseTarget, options: LeaseOptions): LeaseRequest | undefined {
    return this.isLeasable(request, options)
      ? this.requestLease(request, { ...options, timeoutMs: 0, graceMs: 0 })
      : undefined
  }

  /** True if the lease is free right now, so that `tryLease` would request it. */
  isLeasable(request: LockRequest, options: LeaseOptions): boolean {
    const now = this.#clock.now()
    this.#table.catchUp(now)
    const noWait = { ...options, timeoutMs: 0, graceMs: 0 }
    return this.#table.isFreeFor(
      new LeaseAcquisition(
        request,
        noWait,
        now,
        () => {},
        () => {}
      )
    )
  }

  /**
   * Restores a lease that an earlier process granted, as it was, but bound to no connection. If the clock was set back
   * meanwhile, the lease lasts no longer than its whole term.
   * @returns undefined, and nothing changes, if it has expired, another request came first or there are too many leases
   */
  restoreLease(state: LeaseState): LeaseRequest | undefined {
    const now = this.#clock.now()
    this.#table.catchUp(now)
    const { key, agentId, operation, ttlMs, graceMs, note, isParked } = state
    const acquiredAt = Math.min(state.acquiredAt, now)
    const expiresAt = Math.min(state.expiresAt, now + state.expiresAt - state.acquiredAt)
    if (this.#stopReason !== undefined || expiresAt <= now || this.leaseOf(key, agentId) !== undefined) return undefined
    const request = new LeaseRequest(
      state,
      { operation, agentId, ttlMs, graceMs, note, timeoutMs: 0 },
      now,
      this.#table
    )
    request.acquisition.isParked = isParked
    request.acquisition.restored = { ...state, acquiredAt, expiresAt }
    request.enter(now)
    return request.lease === undefined ? undefined : request
  }

  /** Restores a place that an earlier process kept, behind the present waiters. Undefined if its time is over or it is refused. */
  restorePlace(state: PlaceState): LeaseRequest | undefined {
    const now = this.#clock.now()
    this.#table.catchUp(now)
    const { key, path, name, mode, queuedAt } = state
    if (this.#stopReason !== undefined || state.keptUntil <= now) return undefined
    // The clock may have been set back since.
    const keptUntil = Math.min(state.keptUntil, now + state.keptUntil - queuedAt)
    const options = { ...state, connection: undefined, timeoutMs: keptUntil - now }
    const request = new LeaseRequest({ key, path, name, mode }, options, now, this.#table)
    request.acquisition.isParked = true
    request.enter(now)
    if (request.isWaiting) request.acquisition.entry.since = Math.min(queuedAt, now)
    return request.error === undefined ? request : undefined
  }

  /** Reports every change of a lease, its grant and end included, and every kept place that is given up. @returns removes the listener */
  onLeaseChange(listener: (lease: Lease) => void): () => void {
    this.#table.leaseListeners.add(listener)
    return () => this.#table.leaseListeners.delete(listener)
  }

  /** Every lease that is held. */
  *leases(): Generator<Lease, undefined> {
    this.#table.catchUp()
    yield* this.#table.agents.leases()
  }

  /** The lease that this agent holds on the key. */
  leaseOf(key: string, agentId: string | undefined): Lease | undefined {
    this.#table.catchUp()
    return this.#table.queues.get(key)?.leaseOf(agentId)
  }

  /** Sets the TTL: the lease lasts this long from now, and again from each use. Undefined if the agent holds none. */
  renewLease(key: string, agentId: string, ttlMs?: number): Lease | undefined {
    const lease = this.#leaseOf(key, agentId)
    if (lease !== undefined) this.#table.renew(lease, ttlMs ?? lease.ttlMs)
    return lease
  }

  /** False if the agent holds none. */
  releaseLease(key: string, agentId: string): boolean {
    const lease = this.#leaseOf(key, agentId)
    if (lease !== undefined) this.#table.endLease(lease)
    return lease !== undefined
  }

  /** Releases every lease that the agent holds. @returns how many */
  releaseAll(agentId: string): number {
    this.#table.catchUp()
    const leases = [...this.#table.agents.leasesOf(agentId)]
    for (const lease of leases) this.#table.endLease(lease)
    return leases.length
  }

  /**
   * Finds leases by their keys, and by the other names under which they were requested.
   * @param agentId the holder; undefined means all agents
   */
  leaseFinder(agentId?: string): (names: ReadonlySet<string>) => Lease[] {
    this.#table.catchUp()
    const { agents, queues } = this.#table
    const named = new Map<string, Lease[]>()
    for (const lease of agentId === undefined ? agents.leases() : agents.leasesOf(agentId))
      for (const name of lease.names) named.set(name, [...(named.get(name) ?? []), lease])
    return (names) => {
      const found = [...names].flatMap((name) => [...(queues.get(name)?.leases ?? []), ...(named.get(name) ?? [])])
      return [...new Set(found)].filter((lease) => lease.isHeld && (agentId ?? lease.agentId) === lease.agentId)
    }
  }

  /** Ends leases on a key against the will of their holders: all, or those that `isMeant` selects. @returns them */
  breakLeases(key: string, end: LeaseEnd, isMeant: (lease: Lease) => boolean = () => true): Lease[] {
    this.#table.catchUp()
    const leases = [...(this.#table.queues.get(key)?.leases ?? [])]
    const meant = leases.filter(isMeant)
    for (const lease of meant) this.#table.endLease(lease, end)
    return meant
  }

  /** Ends the leases and the lease requests of a connection that has ended. @returns how many leases */
  disconnect(connection: string): number {
    this.#table.catchUp()
    const requests = [...this.#table.agents.leaseRequests()].filter((request) => request.connection === connection)
    for (const request of requests) this.#table.fail(request, cancelled(request, 'its connection has ended'))
    const leases = [...this.#table.agents.leases()].filter((lease) => lease.connection === connection)
    for (const lease of leases) this.#table.endLease(lease, { cause: 'disconnected' })
    return leases.length
  }

  /** True if `disconnect` would end a lease. */
  hasLeases(connection: string): boolean {
    this.#table.catchUp()
    for (const lease of this.#table.agents.leases()) if (lease.connection === connection) return true
    return false
  }

  status(key: string): KeyStatus {
    return toKeyStatus(this.#table.queues.get(key))
  }

  summary(): LockSummary {
    return toSummary(this.#table.queues)
  }

  /** Key, path as first spelt, and status of everything held or waited for. */
  *entries(): Generator<[key: string, path: string, status: KeyStatus]> {
    for (const queue of this.#table.queues.values()) yield [queue.key, queue.path, toKeyStatus(queue)]
  }

  /** Key and path only. */
  *paths(): Generator<[key: string, path: string]> {
    for (const { key, path } of this.#table.queues.values()) yield [key, path]
  }

  /** Fails every waiter and every later acquire with OVERLOADED and the reason. What is held stays until its release. */
  close(reason = 'the server is stopping'): void {
    if (this.#stopReason !== undefined) return
    this.#stopReason = reason
    this.#table.stop((acquisition) => stopping(acquisition, reason))
  }

  /** Sets the only observer, which replaces the one before. @returns removes it */
  observe(observer: LockObserver): () => void {
    const watch = new LockWatch(observer)
    this.#table.watch?.end()
    this.#table.watch = watch
    return () => {
      watch.end()
      if (this.#table.watch === watch) this.#table.watch = undefined
    }
  }

  /** Resolves once nothing is held or waited for. */
  idle(): Promise<void> {
    return new Promise((resolve) => this.#table.whenEmpty(resolve))
  }

  #leaseOf(key: string, agentId: string): LeaseAcquisition | undefined {
    this.#table.catchUp()
    return this.#table.queues.get(key)?.leaseOf(agentId)
  }

  /** A listener that throws fails only its own acquire. */
  #prepareToNotify(acquisition: Acquisition, { onPosition }: AcquireOptions): void {
    if (onPosition === undefined) return
    acquisition.onPosition = (position, total) => {
      try {
        onPosition(position, total)
      } catch (error) {
        this.#table.fail(acquisition, error)
      }
    }
  }

  /** Only a waiter pays for a deadline and for a listener on the caller's signal. */
  #prepareToGiveUp(acquisition: Acquisition, { signal }: AcquireOptions): void {
    this.#table.endInTime(acquisition)
    if (signal === undefined) return
    const onAbort = () => this.#table.fail(acquisition, cancelled(acquisition, signal.reason))
    signal.addEventListener('abort', onAbort)
    acquisition.detach = () => signal.removeEventListener('abort', onAbort)
  }
}

function checkLimits(limits: LockLimits): LockLimits {
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isInteger(value) || value < 1) {
      throw new RangeError(`limits.${name}: expected an integer of at least 1, got ${value}`)
    }
  }
  return Object.freeze(limits)
}
