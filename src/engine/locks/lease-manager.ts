// The leases of a lock manager: requesting, finding, renewing and ending them.
import type { Clock } from './clock.ts'
import { cancelled, stopping } from './errors.ts'
import { LeaseAcquisition } from './lease-acquisition.ts'
import { LeaseRequest } from './lease-request.ts'
import type {
  Lease,
  LeaseEnd,
  LeaseOptions,
  LeaseState,
  LeaseTarget,
  LeaseWaitOptions,
  LockRequest,
  PlaceState
} from './lock.ts'
import type { LockTable } from './lock-table.ts'

export class LeaseManager {
  readonly #clock: Clock
  readonly #table: LockTable

  constructor(clock: Clock, table: LockTable) {
    this.#clock = clock
    this.#table = table
  }

  /**
   * Requests a lease, and waits if it is not free. An agent has one lease on a key: another request renews it, and makes it
   * exclusive if the request is. A refusal does not throw; it is the request's `error`.
   */
  request(request: LeaseTarget, options: LeaseWaitOptions): LeaseRequest {
    const now = this.#clock.now()
    this.#table.catchUp(now)
    const asked = new LeaseRequest(request, options, now, this.#table)
    if (this.#table.stopReason === undefined) asked.enter(now)
    else this.#table.fail(asked.acquisition, stopping(asked.acquisition, this.#table.stopReason))
    return asked
  }

  /** The request for the lease if that is free right now; otherwise undefined, and nothing changes. */
  tryRequest(request: LeaseTarget, options: LeaseOptions): LeaseRequest | undefined {
    return this.isFree(request, options) ? this.request(request, { ...options, timeoutMs: 0, graceMs: 0 }) : undefined
  }

  /** True if the lease is free right now, so that `tryRequest` would request it. */
  isFree(request: LockRequest, options: LeaseOptions): boolean {
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
   * Restores a lease that an earlier process granted, as it was. If the clock was set back
   * meanwhile, the lease lasts no longer than its whole term.
   * @returns undefined, and nothing changes, if it has expired, another request came first or there are too many leases
   */
  restore(state: LeaseState): LeaseRequest | undefined {
    const now = this.#clock.now()
    this.#table.catchUp(now)
    const { key, agentId, operation, ttlMs, graceMs, note, connection, isParked } = state
    const acquiredAt = Math.min(state.acquiredAt, now)
    const expiresAt = Math.min(state.expiresAt, now + state.expiresAt - state.acquiredAt)
    if (this.#table.stopReason !== undefined || expiresAt <= now || this.find(key, agentId) !== undefined)
      return undefined
    const request = new LeaseRequest(
      state,
      { operation, agentId, ttlMs, graceMs, note, connection, timeoutMs: 0 },
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
    if (this.#table.stopReason !== undefined || state.keptUntil <= now) return undefined
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
  onChange(listener: (lease: Lease) => void): () => void {
    this.#table.leases.listeners.add(listener)
    return () => this.#table.leases.listeners.delete(listener)
  }

  /** Every lease that is held. */
  *all(): Generator<Lease, undefined> {
    this.#table.catchUp()
    yield* this.#table.agents.leases()
  }

  /** The lease that this agent holds on the key. */
  find(key: string, agentId: string | undefined): LeaseAcquisition | undefined {
    this.#table.catchUp()
    return this.#table.queues.get(key)?.leaseOf(agentId)
  }

  /** Sets the TTL: the lease lasts this long from now, and again from each use. Undefined if the agent holds none. */
  renew(key: string, agentId: string, ttlMs?: number): Lease | undefined {
    const lease = this.find(key, agentId)
    if (lease !== undefined) this.#table.leases.renew(lease, ttlMs ?? lease.ttlMs)
    return lease
  }

  /** False if the agent holds none. */
  release(key: string, agentId: string): boolean {
    const lease = this.find(key, agentId)
    if (lease !== undefined) this.#table.leases.end(lease)
    return lease !== undefined
  }

  /** Releases every lease that the agent holds. @returns how many */
  releaseAll(agentId: string): number {
    this.#table.catchUp()
    const leases = [...this.#table.agents.leasesOf(agentId)]
    for (const lease of leases) this.#table.leases.end(lease)
    return leases.length
  }

  /**
   * Finds leases by their keys, and by the other names under which they were requested.
   * @param agentId the holder; undefined means all agents
   */
  finder(agentId?: string): (names: ReadonlySet<string>) => Lease[] {
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
  break(key: string, end: LeaseEnd, isMeant: (lease: Lease) => boolean = () => true): Lease[] {
    this.#table.catchUp()
    const leases = [...(this.#table.queues.get(key)?.leases ?? [])]
    const meant = leases.filter(isMeant)
    for (const lease of meant) this.#table.leases.end(lease, end)
    return meant
  }

  /** Ends the leases and the lease requests of a connection that has ended. @returns how many leases */
  disconnect(connection: string): number {
    this.cancelRequests(connection)
    const leases = [...this.#table.agents.leases()].filter((lease) => lease.connection === connection)
    for (const lease of leases) this.#table.leases.end(lease, { cause: 'disconnected' })
    return leases.length
  }

  /** Ends the lease requests of a connection whose client waits for no answer any more. */
  cancelRequests(connection: string): void {
    this.#table.catchUp()
    const requests = [...this.#table.agents.leaseRequests()].filter((request) => request.connection === connection)
    for (const request of requests) this.#table.fail(request, cancelled(request, 'its connection has ended'))
  }

  /** Every session or connection that a lease ends with. */
  connections(): Set<string> {
    this.#table.catchUp()
    return new Set([...this.#table.agents.leases()].flatMap(({ connection }) => connection ?? []))
  }

  /** True if `disconnect` would end a lease. */
  hasConnection(connection: string): boolean {
    this.#table.catchUp()
    for (const lease of this.#table.agents.leases()) if (lease.connection === connection) return true
    return false
  }
}
