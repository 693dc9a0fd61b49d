// The lock manager: which operation may touch which path, and who is next. Pure: it knows keys and a clock, no files.
import { Acquisition } from './acquisition.ts'
import { systemClock, type Clock } from './clock.ts'
import { cancelled, stopping } from './errors.ts'
import type {
  AcquireOptions,
  KeyStatus,
  Lock,
  LockLimits,
  LockRequest,
  LockSummary,
  TryAcquireOptions
} from './lock.ts'
import { LockTable } from './lock-table.ts'
import { toKeyStatus, toSummary } from './status.ts'

export type { LockManager }

export interface LockManagerOptions {
  readonly clock?: Clock | undefined
  readonly limits?: Partial<LockLimits> | undefined
}

const defaultLimits: LockLimits = { maxWaitersPerKey: 1000, maxWaitersPerAgent: 1000 }

export function createLockManager({ clock = systemClock, limits }: LockManagerOptions = {}): LockManager {
  return new LockManager(clock, checkLimits({ ...defaultLimits, ...limits }))
}

class LockManager {
  readonly #clock: Clock
  readonly #table: LockTable
  #stopReason: string | undefined

  constructor(clock: Clock, limits: LockLimits) {
    this.#clock = clock
    this.#table = new LockTable(clock, limits)
  }

  /**
   * Several keys are taken in canonical order under one timeout, all or none. Fails with LOCK_TIMEOUT, CANCELLED or
   * OVERLOADED; nothing is held or waited for then.
   */
  acquire(requests: LockRequest | readonly LockRequest[], options: AcquireOptions): Promise<Lock> {
    return new Promise((resolve, reject) => {
      const now = this.#clock.now()
      this.#table.catchUp(now)
      const acquisition = new Acquisition(requests, options, now, resolve, reject)
      if (options.signal?.aborted === true) throw cancelled(acquisition, options.signal.reason)
      if (this.#stopReason !== undefined) throw stopping(acquisition, this.#stopReason)
      this.#prepareToTell(acquisition, options)
      this.#table.enter(acquisition, now)
      if (acquisition.state === 'waiting') this.#prepareToGiveUp(acquisition, options)
    })
  }

  /** The lock, where all keys are free right now; undefined, and nothing changed, where one must be waited for. */
  tryAcquire(requests: readonly LockRequest[], options: TryAcquireOptions): Lock | undefined {
    const now = this.#clock.now()
    this.#table.catchUp()
    let lock: Lock | undefined
    const hold = (held: Lock) => (lock = held)
    const acquisition = new Acquisition(requests, { ...options, timeoutMs: 0 }, now, hold, () => {})
    if (this.#stopReason === undefined && this.#table.isFreeFor(acquisition)) this.#table.enter(acquisition, now)
    return lock
  }

  /** Releases one key of the lock with this token. False, and nothing changed, when that token does not hold that key. */
  release(key: string, fencingToken: number): boolean {
    const place = this.#table.queues.get(key)?.holderWith(fencingToken)
    if (place === undefined) return false
    this.#table.releasePlace(place)
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

  /** Fails every waiter and every later acquire with OVERLOADED and the reason. What is held stays until its release. */
  close(reason = 'the server is stopping'): void {
    if (this.#stopReason !== undefined) return
    this.#stopReason = reason
    this.#table.stop((acquisition) => stopping(acquisition, reason))
  }

  /** Resolves once nothing is held or waited for. */
  idle(): Promise<void> {
    return new Promise((resolve) => this.#table.whenEmpty(resolve))
  }

  /** A listener that throws fails its own acquire and nobody else's. */
  #prepareToTell(acquisition: Acquisition, { onPosition }: AcquireOptions): void {
    if (onPosition === undefined) return
    acquisition.onPosition = (position, total) => {
      try {
        onPosition(position, total)
      } catch (error) {
        this.#table.fail(acquisition, error)
      }
    }
  }

  /** Only who has to wait pays for a deadline and for a listener on the caller's signal. */
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
