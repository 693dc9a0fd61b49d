// A lock manager on a clock turned by hand, and acquires whose outcome can be looked at without waiting for it: a mutant
// that never settles a promise makes a property fail, not hang.
import assert from 'node:assert/strict'
import type { OperationError } from '../../../src/errors.ts'
import { isOperationError } from './is-operation-error.ts'
import type { AcquireOptions, Lock, LockLimits, LockMode, LockRequest } from '../../../src/engine/locks/lock.ts'
import type { createLockManager, LockManager, LockManagerOptions } from '../../../src/engine/locks/lock-manager.ts'
import { createFakeClock, type FakeClock } from '../../fixtures/fake-clock.ts'

export type CreateLockManager = typeof createLockManager

/** A sentence about behaviour, and the check that it holds for whatever the factory makes. */
export interface LockProperty {
  readonly title: string
  /** True if it takes long: for a mutant it is checked after the others. */
  readonly isLong?: boolean
  readonly check: (createLockManager: CreateLockManager) => Promise<void>
}

export interface Attempt {
  readonly name: string
  readonly controller: AbortController
  readonly promise: Promise<Lock>
  outcome: 'pending' | 'granted' | 'failed'
  /** Throws unless granted. */
  readonly lock: Lock
  /** Throws unless failed with an OperationError. */
  readonly error: OperationError
}

export interface LockWorld {
  readonly clock: FakeClock
  readonly locks: LockManager
  /** `keys` are separated by blanks. Waits 30 s and holds for 60 s unless told otherwise. */
  shared(name: string, keys: string, options?: Partial<AcquireOptions>): Attempt
  exclusive(name: string, keys: string, options?: Partial<AcquireOptions>): Attempt
  ask(name: string, requests: LockRequest | LockRequest[], options?: Partial<AcquireOptions>): Attempt
  /** Names of the holders. */
  holders(key: string): string[]
  /** Names of the waiters, in their order. */
  waiters(key: string): string[]
  /** Nothing is held or waited for, and no key costs memory. */
  assertEmpty(): void
}

export function createLockWorld(
  create: CreateLockManager,
  limits?: Partial<LockLimits>,
  options?: Omit<LockManagerOptions, 'clock' | 'limits'>
): LockWorld {
  const clock = createFakeClock()
  const locks = create({ clock, limits, ...options })
  const ask: LockWorld['ask'] = (name, requests, options) => {
    const controller = new AbortController()
    const defaults = { operation: name, timeoutMs: 30_000, ttlMs: 60_000, signal: controller.signal }
    return follow(name, controller, locks.acquire(requests, { ...defaults, ...options }))
  }
  return {
    clock,
    locks,
    ask,
    shared: (name, keys, options) => ask(name, toRequests(keys, 'shared'), options),
    exclusive: (name, keys, options) => ask(name, toRequests(keys, 'exclusive'), options),
    holders: (key) => locks.status(key).holders.map(({ operation }) => operation),
    waiters: (key) => locks.status(key).waiters.map(({ operation }) => operation),
    assertEmpty() {
      assert.deepEqual([...locks.entries()], [], 'the table is not empty')
      assert.deepEqual(locks.summary(), { paths: 0, shared: 0, exclusive: 0, leases: 0, waiting: 0 })
    }
  }
}

export function toRequests(keys: string, mode: LockMode): LockRequest | LockRequest[] {
  const requests = keys.split(' ').map((key) => ({ key, path: `${key}.txt`, mode }))
  return requests.length === 1 && requests[0] !== undefined ? requests[0] : requests
}

/** All promise reactions have run when it resolves. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function follow(name: string, controller: AbortController, promise: Promise<Lock>): Attempt {
  let result: Lock | undefined
  let reason: unknown
  const attempt: Attempt = {
    name,
    controller,
    promise,
    outcome: 'pending',
    get lock() {
      assert(result, `${name} has no lock: ${attempt.outcome} ${String(reason)}`)
      return result
    },
    get error() {
      assert(isOperationError(reason), `${name} did not fail: ${attempt.outcome} ${String(reason)}`)
      return reason
    }
  }
  const settle = async () => {
    try {
      result = await promise
      attempt.outcome = 'granted'
    } catch (error) {
      reason = error
      attempt.outcome = 'failed'
    }
  }
  void settle()
  return attempt
}
