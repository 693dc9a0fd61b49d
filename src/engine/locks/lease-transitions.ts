// What happens to a lease from its grant to its end: the moves that only leases make through the table.
import type { Acquisition, QueueEntry } from './acquisition.ts'
import type { Agents } from './agents.ts'
import type { Clock } from './clock.ts'
import { tooManyLeases, tooManyLeasesInAll } from './errors.ts'
import type { LeaseAcquisition } from './lease-acquisition.ts'
import type { LeaseEnd, LockLimits, LockMode } from './lock.ts'
import type { KeyQueue } from './queue.ts'
import type { FencingTokens } from './tokens.ts'

/** Names kept for one lease. */
const maxNames = 4

export interface LeaseTransitionOptions {
  readonly clock: Clock
  readonly limits: LockLimits
  readonly tokens: FencingTokens
  /** Called for every lease that ends without a release. */
  readonly onLeaseEnd: (lease: LeaseAcquisition, end: LeaseEnd) => void
}

/** What leases need of their table. */
interface Table {
  readonly agents: Agents
  readonly queues: ReadonlyMap<string, KeyQueue>
  settle(acquisition: Acquisition, state: 'held' | 'released'): void
  setDeadline(acquisition: Acquisition, dueAt: number): void
  fail(acquisition: Acquisition, error: unknown): void
  release(acquisition: Acquisition, cause?: LeaseEnd['cause']): void
  promote(queue: KeyQueue): void
}

export class LeaseTransitions {
  /** Called on every change of a granted lease, and for a parked request that is given up. */
  readonly listeners = new Set<(lease: LeaseAcquisition) => void>()
  readonly #table: Table
  readonly #options: LeaseTransitionOptions

  constructor(table: Table, options: LeaseTransitionOptions) {
    this.#table = table
    this.#options = options
  }

  /** Why the agent of the request can have no further lease; undefined if it can. */
  refusalOf(request: Acquisition): unknown {
    const { agents } = this.#table
    const { maxLeasesPerAgent, maxLeases } = this.#options.limits
    if (agents.leasesOf(request.agentId as string).size >= maxLeasesPerAgent)
      return tooManyLeases(request, maxLeasesPerAgent)
    return agents.leaseCount >= maxLeases ? tooManyLeasesInAll(request, maxLeases) : undefined
  }

  /** Its key has been granted to the request. */
  grant(request: LeaseAcquisition, now: number): void {
    const { entry, agentId, restored } = request
    const queue = this.#queueOf(entry)
    const own = queue.leases.find((lease) => lease !== request && lease.agentId === agentId)
    if (own !== undefined) {
      queue.release(entry)
      return this.merge(request, own, now)
    }
    const refusal = this.refusalOf(request)
    if (refusal !== undefined) return this.#table.fail(request, refusal)
    try {
      request.fencingToken = restored?.fencingToken ?? this.#options.tokens.nextForLease()
    } catch (error) {
      return this.#table.fail(request, error)
    }
    this.#table.settle(request, 'held')
    if (restored !== undefined) {
      entry.since = restored.acquiredAt
      request.names = restored.names ?? []
    }
    request.claims[request.mode] += 1
    this.#table.setDeadline(request, restored?.expiresAt ?? now + lifetimeOf(request))
    this.#table.agents.addLease(request)
    request.onGrant(request)
    this.#table.promote(queue)
    this.notifyChange(request)
  }

  /** Merges a request into the lease that its agent already has on the key. The fencing token stays. */
  merge(request: LeaseAcquisition, own: LeaseAcquisition, now: number): void {
    const queue = this.#queueOf(own.entry)
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
    this.#table.settle(request, 'released')
    request.onGrant(own)
    if (queue.hasLeasesChanged) this.#table.promote(queue)
    this.notifyChange(own)
  }

  /** Its agent uses the lease: it lasts for its TTL from now. */
  use(lease: LeaseAcquisition, now: number): void {
    this.#extend(lease, now + lease.ttlMs)
  }

  /** Sets the TTL: the lease lasts this long from now, and again from each use. */
  renew(lease: LeaseAcquisition, ttlMs: number): void {
    if (lease.state !== 'held') return
    lease.ttlMs = ttlMs
    this.#setExpiry(lease, this.#now() + ttlMs)
  }

  /** The lease lasts at least this long from now. */
  prolong(lease: LeaseAcquisition, ms: number): void {
    if (lease.state === 'held') this.#extend(lease, this.#now() + ms)
  }

  /** Shortens an unclaimed lease to its grace period unless another request relies on it. */
  keepForGrace(lease: LeaseAcquisition): void {
    const expiresAt = this.#now() + lease.graceMs
    if (lease.state === 'held' && lease.hasOneClaim && expiresAt < lease.expiresAt) this.#setExpiry(lease, expiresAt)
  }

  /** Keeps the place of a waiting request, whose timeout is over, for its grace period. */
  park(request: LeaseAcquisition): void {
    request.isParked = true
    this.#table.setDeadline(request, request.dueAt + request.graceMs)
    request.onPark?.()
  }

  /** A client waits again for a parked request. @param lease granted to the request meanwhile */
  resume(request: LeaseAcquisition, timeoutMs: number, lease: LeaseAcquisition | undefined): void {
    const now = this.#now()
    request.isParked = false
    request.timeoutMs = timeoutMs
    if (lease?.state === 'held') this.use(lease, now)
    if (request.state === 'waiting') this.#table.setDeadline(request, now + timeoutMs)
  }

  /**
   * Undoes a request for the lease in this mode, and what it set on the lease unless a later request has renewed the lease.
   * The lease ends with its last request, and becomes shared with its last exclusive one.
   */
  withdraw(lease: LeaseAcquisition, mode: LockMode, request: LeaseAcquisition): void {
    const { claims, entry, state } = lease
    claims[mode] -= 1
    if (state !== 'held') return
    if (request.replaced?.renewals === lease.renewals - 1) Object.assign(lease, request.replaced)
    if (claims.exclusive > 0) return this.notifyChange(lease)
    if (claims.shared === 0) return this.#table.release(lease)
    const queue = this.#queueOf(entry)
    queue.changeMode(lease, 'shared')
    this.#table.promote(queue)
    this.notifyChange(lease)
  }

  /** Ends a lease. The holder learns the cause unless it released the lease itself. */
  end(lease: LeaseAcquisition, end?: LeaseEnd): void {
    if (lease.state !== 'held') return
    this.#table.release(lease, end?.cause)
    if (end !== undefined) this.#options.onLeaseEnd(lease, end)
  }

  /** Its TTL is over, and the table has taken it out of its queue. */
  expire(lease: LeaseAcquisition): void {
    lease.state = 'expired'
    this.#options.onLeaseEnd(lease, { cause: 'expired' })
    this.notifyChange(lease)
  }

  /** Call it only when the table is consistent again, like all foreign code. */
  notifyChange(lease: LeaseAcquisition): void {
    for (const listener of this.listeners) listener(lease)
  }

  /** Never shortens it. */
  #extend(lease: LeaseAcquisition, expiresAt: number): void {
    if (expiresAt > lease.expiresAt) this.#setExpiry(lease, expiresAt)
  }

  #setExpiry(lease: LeaseAcquisition, expiresAt: number): void {
    this.#table.setDeadline(lease, expiresAt)
    this.notifyChange(lease)
  }

  /** Of an entry that holds its key. */
  #queueOf({ key }: QueueEntry): KeyQueue {
    return this.#table.queues.get(key) as KeyQueue
  }

  #now(): number {
    return this.#options.clock.now()
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
