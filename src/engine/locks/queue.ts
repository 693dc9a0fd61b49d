// One key's FIFO queue: who holds the lock, who waits for it, and the rule by which it is granted.
import type { Acquisition } from './acquisition.ts'
import type { LeaseAcquisition } from './lease-acquisition.ts'
import type { LockMode, LockRequest } from './lock.ts'
import { Positions, type Standing } from './positions.ts'

/** One key of one acquisition: perhaps a waiter of the key's queue first, then a holder, then neither. */
export class QueueEntry {
  readonly acquisition: Acquisition
  readonly key: string
  readonly path: string
  readonly isLease: boolean
  /** Changes for a lease alone, which its agent can ask to be stronger. */
  mode: LockMode
  /** The queue it waits in or holds; undefined before and after. */
  queue: KeyQueue | undefined
  /** When it became what it is now: waiter or holder. */
  since = 0
  ticket = 0
  standing: Standing | undefined
  ahead: QueueEntry | undefined
  behind: QueueEntry | undefined

  constructor(acquisition: Acquisition, { key, path, mode }: LockRequest) {
    this.acquisition = acquisition
    this.key = key
    this.path = path
    this.isLease = acquisition.isLease
    this.mode = mode
  }
}

/**
 * Operations and leases stand in one line. Two shared ones never conflict. Two operations otherwise do, and so do the leases of
 * two agents. A lease keeps the writes of other agents out; reads, and whatever its own agent does, pass it.
 *
 * Nobody overtakes whom he conflicts with, but for two cases in which waiting would serve nobody: an operation passes operations
 * that a lease keeps from running; and who has a lease here passes those who ask for one, who wait for its end anyway. For those
 * behind it in the line, a lease that is asked for counts like one that is held.
 *
 * Waiters are a linked list: whoever gives up in the middle of 10,000 leaves in constant time.
 */
export class KeyQueue {
  readonly key: string
  /** As the first who came spelt it. */
  readonly path: string
  readonly holders = new Set<QueueEntry>()
  /** Those of the holders that are leases, one an agent; nearly always none or one. */
  readonly leases: LeaseAcquisition[] = []
  /** Number of waiters. */
  depth = 0
  /** True while the manager grants from it; keeps a grant that fails on its next key from granting here a second time. */
  isPromoting = false
  /** True since the leases, held or asked for, were last looked at for what their change means to the waiters. */
  hasLeasesChanged = false
  #first: QueueEntry | undefined
  #last: QueueEntry | undefined
  /** Number of exclusive holders. */
  #exclusive = 0
  #leaseWaiters = 0
  #tickets = 0
  #positions: Positions | undefined
  /** False where leases are advisory: then they keep other leases out, and no operation. */
  readonly #bindsOperations: boolean

  constructor(key: string, path: string, bindsOperations: boolean) {
    this.key = key
    this.path = path
    this.#bindsOperations = bindsOperations
  }

  get isUnused(): boolean {
    return this.depth === 0 && this.holders.size === 0
  }

  /** True where somebody who comes now, or has waited until now, is granted. */
  isFreeFor(place: QueueEntry): boolean {
    // Among operations alone the first waiter decides for all: nobody overtakes.
    if (!this.#knowsLeases && !place.isLease) return this.depth === 0 && this.#admits(place.mode)
    return this.blockersOf(place).next().done === true
  }

  /** Those who keep it from being granted: a waiter, or one who would have to join. Holders first, then waiters in their order. */
  *blockersOf(place: QueueEntry): Generator<QueueEntry, undefined> {
    for (const holder of this.holders) if (this.#conflicts(place, holder)) yield holder
    let hasLease = this.leaseOf(place.acquisition.agentId) !== undefined
    const leases = this.leases.map((lease) => lease.place)
    for (let other = this.#first; other !== undefined && other !== place; other = other.behind) {
      const passes =
        place.isLease || other.isLease ? hasLease || this.#willShareBefore(place, other) : this.#isKeptBy(leases, other)
      if (!passes && this.#conflicts(place, other)) yield other
      if (!other.isLease) continue
      leases.push(other)
      hasLease ||= isSameAgent(other, place)
    }
  }

  leaseOf(agentId: string | undefined): LeaseAcquisition | undefined {
    if (agentId === undefined || this.leases.length === 0) return undefined
    return this.leases.find((lease) => lease.agentId === agentId)
  }

  hold(place: QueueEntry, now: number): void {
    this.holders.add(place)
    if (place.mode === 'exclusive') this.#exclusive += 1
    if (place.isLease) {
      this.leases.push(place.acquisition as LeaseAcquisition)
      this.hasLeasesChanged = true
    }
    place.queue = this
    place.since = now
  }

  /** False when the place does not hold this key. */
  release(place: QueueEntry): boolean {
    if (!this.holders.delete(place)) return false
    if (place.mode === 'exclusive') this.#exclusive -= 1
    if (place.isLease) {
      this.leases.splice(this.leases.indexOf(place.acquisition as LeaseAcquisition), 1)
      this.hasLeasesChanged = true
    }
    place.queue = undefined
    return true
  }

  /** Makes a lease stronger or weaker where it stands. */
  changeMode(lease: LeaseAcquisition, mode: LockMode): void {
    if (lease.place.mode === mode) return
    lease.place.mode = mode
    this.hasLeasesChanged = true
    this.#exclusive += mode === 'exclusive' ? 1 : -1
  }

  join(place: QueueEntry, now: number): void {
    this.depth += 1
    if (place.isLease) this.#leaseWaiters += 1
    this.#tickets += 1
    place.queue = this
    place.since = now
    place.ticket = this.#tickets
    place.ahead = this.#last
    if (this.#last === undefined) this.#first = place
    else this.#last.behind = place
    this.#last = place
    this.#listen(place)
    this.#positions?.joined(this.depth)
  }

  leave(place: QueueEntry): void {
    const { ahead, behind } = place
    if (ahead === undefined) this.#first = behind
    else ahead.behind = behind
    if (behind === undefined) this.#last = ahead
    else behind.ahead = ahead
    place.ahead = undefined
    place.behind = undefined
    place.queue = undefined
    this.depth -= 1
    if (place.isLease) {
      this.#leaseWaiters -= 1
      this.hasLeasesChanged = true
    }
    if (place.standing !== undefined) this.#positions?.delete(place.standing)
    this.#positions?.left(place.ticket, this.depth)
  }

  /** Makes the first waiter whom nothing blocks a holder; adjacent readers follow one another this way. */
  grantNext(now: number): QueueEntry | undefined {
    const next = this.#nextToGrant()
    if (next === undefined) return undefined
    this.leave(next)
    this.hold(next, now)
    return next
  }

  holderWith(fencingToken: number): QueueEntry | undefined {
    for (const place of this.holders) if (place.acquisition.fencingToken === fencingToken) return place
    return undefined
  }

  /** 1 is next. Counts its way, so it is for messages only. */
  positionOf(place: QueueEntry): number {
    let position = 1
    for (let other = place.ahead; other !== undefined; other = other.ahead) position += 1
    return position
  }

  *waiters(): Iterable<QueueEntry> {
    for (let place = this.#first; place !== undefined; place = place.behind) yield place
  }

  get #knowsLeases(): boolean {
    return this.leases.length > 0 || this.#leaseWaiters > 0
  }

  #nextToGrant(): QueueEntry | undefined {
    if (!this.#knowsLeases) return this.#first !== undefined && this.#admits(this.#first.mode) ? this.#first : undefined
    for (const place of this.waiters()) if (this.isFreeFor(place)) return place
    return undefined
  }

  /** What `conflicts` comes to among operations alone. */
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
   * True where one of the leases has to end before the operation runs.
   * @param leases held, and asked for ahead of the operation, in this order
   */
  #isKeptBy(leases: readonly QueueEntry[], operation: QueueEntry): boolean {
    let hasOwn = false
    for (const lease of leases) {
      // Whoever has a lease himself passes those who ask for one after him.
      if (hasOwn && !this.holders.has(lease)) return false
      if (this.#conflicts(operation, lease)) return true
      hasOwn ||= isSameAgent(operation, lease)
    }
    return false
  }

  /** True of two requests for leases where the agent of the first has asked for a shared one too, which the second keeps from nothing. */
  #willShareBefore(place: QueueEntry, other: QueueEntry): boolean {
    if (!place.isLease || !other.isLease || other.mode === 'exclusive' || this.#leaseWaiters < 2) return false
    for (const own of this.waiters()) if (own.isLease && own.mode === 'shared' && isSameAgent(own, place)) return true
    return false
  }

  #listen(place: QueueEntry): void {
    const { onPosition } = place.acquisition
    if (onPosition === undefined) return
    place.standing = { ticket: place.ticket, onPosition, position: this.depth, toldPosition: 0, toldTotal: 0 }
    this.#positions ??= new Positions()
    this.#positions.add(place.standing)
  }
}

/** Of two of which one is a lease, which none is without an agent. */
function isSameAgent(one: QueueEntry, other: QueueEntry): boolean {
  return one.acquisition.agentId === other.acquisition.agentId
}
