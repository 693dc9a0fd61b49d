// A lock world with agents in it: A, B, C ask for leases, read and write. Their calls are named after them.
import assert from 'node:assert/strict'
import type { OperationError } from '../../../src/errors.ts'
import { isOperationError } from './is-operation-error.ts'
import type { AcquireOptions, Lease, LeaseWaitOptions, LockLimits, LockMode } from '../../../src/engine/locks/lock.ts'
import type { LeaseRequest } from '../../../src/engine/locks/lease-request.ts'
import type { LockManagerOptions } from '../../../src/engine/locks/lock-manager.ts'
import { createLockWorld, type Attempt, type CreateLockManager, type LockWorld } from './lock-world.ts'

export type { LeaseRequest }

interface LeaseChoices extends Partial<LeaseWaitOptions> {
  readonly mode?: LockMode
}

export interface LeaseWorld extends LockWorld {
  /** Exclusive; waits 30 s, lasts 300 s and keeps no place after the wait, unless told otherwise. It is called `lease of A`. */
  lease(agentId: string, key: string, options?: LeaseChoices): LeaseRequest
  sharedLease(agentId: string, key: string, options?: LeaseChoices): LeaseRequest
  /** `write of A`, or `write` of nobody in particular. */
  write(agentId: string | undefined, keys: string, options?: Partial<AcquireOptions>): Attempt
  read(agentId: string | undefined, keys: string, options?: Partial<AcquireOptions>): Attempt
  /** What the manager has told of leases that ended, as `A lost a: expired`. */
  readonly ends: string[]
}

export function createLeaseWorld(
  create: CreateLockManager,
  limits?: Partial<LockLimits>,
  options?: Omit<LockManagerOptions, 'clock' | 'limits' | 'onLeaseEnd'>
): LeaseWorld {
  const ends: string[] = []
  const onLeaseEnd: LockManagerOptions['onLeaseEnd'] = ({ agentId, key }, { cause }) =>
    void ends.push(`${agentId} lost ${key}: ${cause}`)
  const world = createLockWorld(create, limits, { ...options, onLeaseEnd })
  const lease: LeaseWorld['lease'] = (agentId, key, { mode = 'exclusive', ...choices } = {}) =>
    world.locks.leases.request(
      { key, path: `${key}.txt`, mode },
      { operation: nameOf('lease', agentId), agentId, timeoutMs: 30_000, graceMs: 0, ttlMs: 300_000, ...choices }
    )
  return {
    ...world,
    lease,
    sharedLease: (agentId, key, choices) => lease(agentId, key, { ...choices, mode: 'shared' }),
    write: (agentId, keys, choices) => world.exclusive(nameOf('write', agentId), keys, { agentId, ...choices }),
    read: (agentId, keys, choices) => world.shared(nameOf('read', agentId), keys, { agentId, ...choices }),
    ends
  }
}

export function leaseFrom(request: LeaseRequest | undefined): Lease {
  assert(request?.lease, `no lease: ${String(request?.error)}`)
  return request.lease
}

export function errorFrom({ error }: Pick<LeaseRequest, 'error'>): OperationError {
  assert(isOperationError(error), `not refused: ${String(error)}`)
  return error
}

function nameOf(call: string, agentId: string | undefined): string {
  return agentId === undefined ? call : `${call} of ${agentId}`
}
