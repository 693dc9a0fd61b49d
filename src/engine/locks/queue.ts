// One key's FIFO queue: its holders, its waiters, and the rule by which it grants.
import type { QueueEntry } from './acquisition.ts'
import type { LeaseAcquisition } from './lease-acquisition.ts'
import type { LockMode } from './lock.ts'
import { Positions } from './positions.ts'

/**
 * Operations and leases wait in one queue. Two shared requests never conflict. Otherwise two operations conflict, and so do the
 * leases of two agents. A lease blocks the writes of other agents; reads, and all requests of its own agent, pass it.
 *
 * A waiter never overtakes a request that it conflicts with, except in two cases in which waiting would be useless. An operation
 * passes operations that a lease keeps from running. An agent that has a lease here passes requests for leases, which wait for
 * the end of its lease anyway. To waiters behind it, a requested lease counts like a held one.
 *
 * Waiters are a linked list: a waiter in the middle of 10,000 leaves in constant time.
 */
export class KeyQueue {
  readonly key: string
  /** As the first request spelt it. */
  readonly path: string
  readonly holders = new Set<QueueEntry>()
  /** The holders that are leases, one per agent; nearly always none or one. */
  readonly leases: LeaseAcquisition[] = []
  /** Number of waiters. */
  depth = 0
  /** True while the manager grants from it; keeps a grant that fails on its next key from granting here a second time. */
  isPromoting = false
  /** True if the leases, held or requested, have changed since the last search for cycles. */
  hasLeasesChanged = false
  #first: QueueEntry | undefined
  #last: QueueEntry | undefined
  /** Number of exclusive holders. */
  #exclusive = 0
  #leaseWaiters = 0
  #tickets = 0
  #positions: Positions | undefined
  /** False if leases are advisory: then they block other leases, but no operation. */
  readonly #bindsOperations: boolean

  constructor(key: string, path: string, bindsOperations: boolean) {
    this.key = key
    this.path = path
    this.#bindsOperations = bindsOperations
  }

  get isUnused(): boolean {
    return this.depth === 0 && this.holders.size === 0
  }

  /** True if the place, new or waiting, can be granted now. */
  isFreeFor(entry: QueueEntry): boolean {
    // Without leases the first waiter decides for all: no operation overtakes another.
    if (!this.#knowsLeases && !entry.isLease) return this.depth === 0 && this.#admits(entry.mode)
    return this.blockersOf(entry).next().done === true
  }

  /** What blocks the grant of a place, which waits or would have to join: holders first, then waiters in their order. */
  *blockersOf(entry: QueueEntry): Generator<QueueEntry, undefined> {
    for (const holder of this.holders) if (this.#conflicts(entry, holder)) yield holder
    let hasLease = this.leaseOf(entry.acquisition.agentId) !== undefined
    const leases = this.leases.map((lease) => lease.entry)
    for (let other = this.#first; other !== undefined && other !== entry; other = other.behind) {
      const passes =
        entry.isLease || other.isLease ? hasLease || this.#willShareBefore(entry, other) : this.#isKeptBy(leases, other)
      if (!passes && this.#conflicts(entry, other)) yield other
      if (!other.isLease) continue
      leases.push(other)
      hasLease ||= isSameAgent(other, entry)
    }
  }

  leaseOf(agentId: string | undefined): LeaseAcquisition | undefined {
    if (agentId === undefined || this.leases.length === 0) return undefined
    return this.leases.find((lease) => lease.agentId === agentId)
  }

  hold(entry: QueueEntry, now: number): void {
    this.holders.add(entry)
    if (entry.mode === 'exclusive') this.#exclusive += 1
    if (entry.isLease) {
      this.leases.push(entry.acquisition as LeaseAcquisition)
      this.hasLeasesChanged = true
    }
    entry.state = 'holding'
    entry.since = now
  }

  /** False when the place does not hold this key. */
  release(entry: QueueEntry): boolean {
    if (!this.holders.delete(entry)) return false
    if (entry.mode === 'exclusive') this.#exclusive -= 1
    if (entry.isLease) {
      this.leases.splice(this.leases.indexOf(entry.acquisition as LeaseAcquisition), 1)
      this.hasLeasesChanged = true
    }
    entry.state = 'out'
    return true
  }

  /** Makes a held lease stronger or weaker in place. */
  changeMode(lease: LeaseAcquisition, mode: LockMode): void {
    if (lease.entry.mode === mode) return
    lease.entry.mode = mode
    this.hasLeasesChanged = true
    this.#exclusive += mode === 'exclusive' ? 1 : -1
  }

  join(entry: QueueEntry, now: number): void {
    this.depth += 1
    if (entry.isLease) this.#leaseWaiters += 1
    this.#tickets += 1
    entry.state = 'waiting'
    entry.since = now
    entry.ticket = this.#tickets
    entry.ahead = this.#last
    if (this.#last === undefined) this.#first = entry
    else this.#last.behind = entry
    this.#last = entry
    this.#listen(entry, this.depth)
    this.#positions?.changed(this.depth)
  }

  /** A client follows the position of this waiter from now on, and is told it at once. */
  follow(entry: QueueEntry): void {
    const { standing } = entry
    if (standing !== undefined) this.#positions?.delete(standing)
    this.#listen(entry, this.positionOf(entry))
    this.#positions?.changed(this.depth)
  }

  leave(entry: QueueEntry): void {
    const { ahead, behind } = entry
    if (ahead === undefined) this.#first = behind
    else ahead.behind = behind
    if (behind === undefined) this.#last = ahead
    else behind.ahead = ahead
    entry.ahead = undefined
    entry.behind = undefined
    entry.state = 'out'
    this.depth -= 1
    if (entry.isLease) {
      this.#leaseWaiters -= 1
      this.hasLeasesChanged = true
    }
    if (entry.standing !== undefined) this.#positions?.delete(entry.standing)
    this.#positions?.left(entry.ticket, this.depth)
  }

  /** Makes the first unblocked waiter a holder; adjacent readers follow one another this way. */
  grantNext(now: number): QueueEntry | undefined {
    const next = this.#nextToGrant()
    if (next === undefined) return undefined
    this.leave(next)
    this.hold(next, now)
    return next
  }

  holderWith(fencingToken: number): QueueEntry | undefined {
    for (const entry of this.holders) if (entry.acquisition.fencingToken === fencingToken) return entry
    return undefined
  }

  /** 1 is next. Takes linear time, so it is for messages, and for a client that begins to follow. */
  positionOf(entry: QueueEntry): number {
    let position = 1
    for (let other = entry.ahead; other !== undefined; other = other.ahead) position += 1
    return position
  }

  *waiters(): Iterable<QueueEntry> {
    for (let entry = this.#first; entry !== undefined; entry = entry.behind) yield entry
  }

  get #knowsLeases(): boolean {
    return this.leases.length > 0 || this.#leaseWaiters > 0
  }

  #nextToGrant(): QueueEntry | undefined {
    if (!this.#knowsLeases) return this.#first !== undefined && this.#admits(this.#first.mode) ? this.#first : undefined
    for (const entry of this.waiters()) if (this.isFreeFor(entry)) return entry
    return undefined
  }

  /** `#conflicts` with the holders if all of them are operations. */
  #admits(mode: LockMode): boolean {
    return this.holders.size === 0 || (mode === 'shared' && this.#exclusive === 0)
  }

  #conflicts(one: QueueEntry, other: QueueEntry): boolean {
    if (one.mode === 'shared' && other.mode === 'shared') return false
    if (!one.isLease && !other.isLease) return true
    if (isSameAgent(one, other)) return false
    if (one.isLease && other.isLease) return true
    const operation = one.isLease ? other : one
    return this.#bindsOperations && operation.mode === 'exclusive'
  }

  /**
   * True if one of the leases has to end before the operation runs.
   * @param leases the held ones, then those requested ahead of the operation
   */
  #isKeptBy(leases: readonly QueueEntry[], operation: QueueEntry): boolean {
    let hasOwn = false
    for (const lease of leases) {
      // An agent that has a lease passes later requests for one.
      if (hasOwn && !this.holders.has(lease)) return false
      if (this.#conflicts(operation, lease)) return true
      hasOwn ||= isSameAgent(operation, lease)
    }
    return false
  }

  /** True for two lease requests if the agent of the first also waits for a shared lease, which the second does not block. */
  #willShareBefore(entry: QueueEntry, other: QueueEntry): boolean {
    if (!entry.isLease || !other.isLease || other.mode === 'exclusive' || this.#leaseWaiters < 2) return false
    for (const own of this.waiters()) if (own.isLease && own.mode === 'shared' && isSameAgent(own, entry)) return true
    return false
  }

  #listen(entry: QueueEntry, position: number): void {
    const { onPosition } = entry.acquisition
    if (onPosition === undefined) return
    entry.standing = { ticket: entry.ticket, onPosition, position, reportedPosition: 0, reportedTotal: 0 }
    this.#positions ??= new Positions()
    this.#positions.add(entry.standing)
  }
}

/** One of the two is a lease, which always has an agent: two missing agents are never compared. */
function isSameAgent(one: QueueEntry, other: QueueEntry): boolean {
  return one.acquisition.agentId === other.acquisition.agentId
}
