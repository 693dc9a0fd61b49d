// What lock_try and lock_wait tell of one file: the lease the agent holds, or who has it, and its place in the queue.
import type { Report } from '../../support/progress.ts'
import type { LockResult } from '../../../schemas/leases.ts'
import { lockTime } from '../locks/clock.ts'
import type { LeaseAcquisition } from '../locks/lease-acquisition.ts'
import type { KeyStatus, LockMode } from '../locks/lock.ts'
import { mainHolder, nameOf, type LockFile } from './lease-requests.ts'

/** True if a lease is as much as was requested, or more. */
export function covers(lease: Pick<LeaseAcquisition, 'mode'>, mode: LockMode): boolean {
  return lease.mode === 'exclusive' || mode === 'shared'
}

export function describeHeld({ filepath }: LockFile, { mode, fencingToken, expiresAt }: LeaseAcquisition): LockResult {
  return {
    filepath,
    acquired: true,
    holder: null,
    mode,
    fencing_token: fencingToken,
    expires_at: lockTime(expiresAt)
  }
}

/** @param isWaiting true if the agent has a place in the queue; otherwise it is told the place it would get */
export function describeMissing(
  { filepath }: LockFile,
  agentId: string,
  { holders, waiters, depth }: KeyStatus,
  isWaiting: boolean
): LockResult {
  const others = holders.filter((holder) => holder.agentId !== agentId || !holder.isLease)
  const holder = mainHolder({ holders: others }, agentId)
  const place = isWaiting ? waiters.findIndex((waiter) => waiter.isLease && waiter.agentId === agentId) : -1
  return {
    filepath,
    acquired: false,
    holder: nameOf(holder),
    ...(holder?.note !== undefined && { holder_note: holder.note }),
    ...(holder !== undefined && {
      held_since: lockTime(holder.acquiredAt),
      held_until: holder.expiresAt === undefined ? null : lockTime(holder.expiresAt)
    }),
    position: place === -1 ? depth + 1 : place + 1,
    queue_depth: depth
  }
}

/** Tells a waiting call its place as it moves. @param files of the call: a single one is not named */
export function positionReporter({ filepath }: LockFile, files: number, progress: Report) {
  const suffix = files === 1 ? '' : ` for ${filepath}`
  return (position: number, total: number) => progress({ message: `position ${position} of ${total}${suffix}` })
}
