// The lock manager: which operation may touch which path, and which is next. Pure: it knows keys and a clock, no files.
import { Acquisition } from './acquisition.ts'
import { systemClock, type Clock } from './clock.ts'
import { cancelled, stopping } from './errors.ts'
import { LeaseManager } from './lease-manager.ts'
import type {
  AcquireOptions,
  KeyStatus,
  Lease,
  LeaseEnd,
  Lock,
  LockLimits,
  LockRequest,
  LockSummary,
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
  readonly leases: LeaseManager

  constructor(clock: Clock, table: LockTable) {
    this.#clock = clock
    this.#table = table
    this.leases = new LeaseManager(clock, table)
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
      if (this.#table.stopReason !== undefined) throw stopping(acquisition, this.#table.stopReason)
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
    const acquisition = new Acquisition(requests, { timeoutMs: 0, ...options }, now, hold, () => {})
    if (this.#table.stopReason === undefined && this.#table.isFreeFor(acquisition)) this.#table.enter(acquisition, now)
    return lock
  }

  /** Releases one key of the lock with this token. False, and nothing changes, if that token does not hold that key. */
  release(key: string, fencingToken: number): boolean {
    const entry = this.#table.queues.get(key)?.holderWith(fencingToken)
    if (entry === undefined) return false
    this.#table.releaseEntry(entry)
    return true
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

  /** Key, path and number of waiters only. */
  *paths(): Generator<[key: string, path: string, depth: number]> {
    for (const { key, path, depth } of this.#table.queues.values()) yield [key, path, depth]
  }

  /** Fails every waiter and every later acquire with OVERLOADED and the reason. What is held stays until its release. */
  close(reason = 'the server is stopping'): void {
    if (this.#table.stopReason === undefined) this.#table.stop(reason)
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
    this.#table.setDeadline(acquisition, acquisition.dueAt)
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
