// What callers of the lock manager see: what they request, what they get, and the status of the table.

export type LockMode = 'shared' | 'exclusive'

export interface LockRequest {
  /** The canonical path, folded: one key is one queue. */
  readonly key: string
  /** The path as the caller spelt it, for messages and status. */
  readonly path: string
  readonly mode: LockMode
}

/** A request for a lease. */
export interface LeaseTarget extends LockRequest {
  /** The agent's name for the file if it differs from the key, folded like the key. The lease is found under it, too. */
  readonly name?: string | undefined
}

export interface AcquireOptions {
  /** Name of the operation, e.g. "async_update"; shown in status and messages. */
  readonly operation: string
  readonly agentId?: string | undefined
  /** How long to wait, over all keys together. 0 does not wait; a free lock is granted whatever the timeout. */
  readonly timeoutMs: number
  /** How long the lock lasts from its grant. Then it expires and `lock.signal` aborts with LEASE_LOST. */
  readonly ttlMs: number
  /** Its abort leaves the queue at once; the acquire fails with CANCELLED. After the grant it has no effect. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called while waiting, first after queueing and then after each change of either number, at most once a tick; never
   * after the grant or a failure. Position 1 is next. With several keys, it is the queue waited in now. A listener that
   * throws fails the acquire.
   */
  readonly onPosition?: ((position: number, total: number) => void) | undefined
}

/** Without the options that concern waiting. */
export type TryAcquireOptions = Pick<AcquireOptions, 'operation' | 'agentId' | 'ttlMs'>

/** What an agent passes to reserve a path beyond one operation. */
export interface LeaseOptions {
  /** Name of the operation that asks; shown while it waits. */
  readonly operation: string
  readonly agentId: string
  /** From its grant, and from each renewal. */
  readonly ttlMs: number
  /** Shown to other agents. */
  readonly note?: string | undefined
  /** The holder's connection: the lease ends with it. Undefined for callers without one. */
  readonly connection?: string | undefined
}

export interface LeaseWaitOptions extends LeaseOptions {
  /** How long the client waits for the answer. */
  readonly timeoutMs: number
  /** How long the place in the queue, or the lease granted to it, is then kept for the client. 0 keeps nothing. */
  readonly graceMs: number
  /** Called as in AcquireOptions. */
  readonly onPosition?: ((position: number, total: number) => void) | undefined
}

/** The part of a lease that another process can know. Times are milliseconds of the manager's clock. */
export interface LeaseState {
  readonly key: string
  readonly path: string
  /** Names other than the key under which its agent requested it, the latest last. */
  readonly names?: readonly string[] | undefined
  readonly agentId: string
  readonly mode: LockMode
  /** Name of the operation that requested it. */
  readonly operation: string
  readonly note: string | undefined
  /** Larger than that of every lock granted before, whatever its key. */
  readonly fencingToken: number
  /** Of each renewal. */
  readonly ttlMs: number
  readonly graceMs: number
  readonly acquiredAt: number
  readonly expiresAt: number
  /** True if it was granted while no client waited for the answer, and no client has claimed it since. */
  readonly isParked: boolean
  /** Session or connection with which it ends. */
  readonly connection?: string | undefined
}

/** A path reserved for one agent. */
export interface Lease extends LeaseState {
  readonly names: readonly string[]
  readonly connection: string | undefined
  readonly isHeld: boolean
}

/** A place in a queue that is kept although no client waits for the answer. Times are milliseconds of the manager's clock. */
export interface PlaceState extends Pick<
  LeaseState,
  'key' | 'path' | 'agentId' | 'mode' | 'operation' | 'note' | 'ttlMs'
> {
  readonly name?: string | undefined
  readonly graceMs: number
  readonly queuedAt: number
  /** Grows along the queue. */
  readonly order: number
  /** When the place is given away. */
  readonly keptUntil: number
}

/** Why a lease ended without a release by its holder. */
export type LeaseEnd =
  | { readonly cause: 'expired' }
  | { readonly cause: 'disconnected' }
  | { readonly cause: 'broken'; readonly reason: string; readonly by: string | undefined }

export interface Lock {
  /** Larger than that of every lock granted before, whatever its key. */
  readonly fencingToken: number
  /** In canonical order, without duplicates. */
  readonly keys: readonly string[]
  /** Aborts with a LEASE_LOST OperationError when the TTL ends; never because of a release. */
  readonly signal: AbortSignal
  /**
   * Throws LEASE_LOST unless every key is still held. It looks at the clock, not at whether the timer has come, so no
   * `await` may come between it and the rename that it protects.
   */
  assertHeld(): void
  /** Releases all keys; again, or after the TTL, it does nothing. */
  release(): void
  /** `using lock = await locks.acquire(...)` releases at the end of the block. */
  [Symbol.dispose](): void
}

/** Of a key that is held or waited for. Times are milliseconds of the manager's clock. */
export interface EntryStatus {
  readonly isLease: boolean
  readonly mode: LockMode
  readonly operation: string
  readonly agentId: string | undefined
  /** Of a lease, for other agents. */
  readonly note: string | undefined
}

export interface HolderStatus extends EntryStatus {
  readonly acquiredAt: number
  /** Undefined while the holder still waits for another key of the same acquire: its TTL has not begun. */
  readonly expiresAt: number | undefined
  /** Undefined for the same time as `expiresAt`. */
  readonly fencingToken: number | undefined
  /** Path of the other key that the holder waits for, if it does. */
  readonly waitsFor: string | undefined
}

export interface WaiterStatus extends EntryStatus {
  readonly queuedAt: number
  /** When it gives up; of a parked one, when its place is given away. */
  readonly timeoutAt: number
  readonly isParked: boolean
}

export interface KeyStatus {
  readonly holders: readonly HolderStatus[]
  /** In the order of their grants. */
  readonly waiters: readonly WaiterStatus[]
  /** Number of waiters. */
  readonly depth: number
}

export interface LockSummary {
  /** Keys with a holder or a waiter. */
  readonly paths: number
  /** Shared holds, counted by key. */
  readonly shared: number
  /** Exclusive holds, counted by key. */
  readonly exclusive: number
  /** Those of the holds that are leases. */
  readonly leases: number
  readonly waiting: number
}

export interface LockLimits {
  /** Waiters in one key's queue; one more is OVERLOADED. Default 1000. */
  readonly maxWaitersPerKey: number
  /** Waiters of one agent over all queues; one more is OVERLOADED. Callers without an agentId are not counted. Default 1000. */
  readonly maxWaitersPerAgent: number
  /** Leases that one agent holds; one more is OVERLOADED. Default 10000. */
  readonly maxLeasesPerAgent: number
  /** Leases of all agents together; one more is OVERLOADED. Default 200000. */
  readonly maxLeases: number
}
