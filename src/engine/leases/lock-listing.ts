// The lock table in the words of the contract: the holders of a file, and its waiters.
import { lockKey } from '../files/lock-key.ts'
import { lockTime } from '../locks/clock.ts'
import type { LockList, LockListQuery } from '../../../schemas/lock-list.ts'
import type { Holder, PendingRequest } from '../../../schemas/status.ts'
import type { Static } from '../../../schemas/typebox.ts'
import type { EntryStatus, HolderStatus, KeyStatus, WaiterStatus } from '../locks/lock.ts'
import type { LockManager } from '../locks/lock-manager.ts'
import { timestamp } from '../../support/timestamp.ts'

function toHolder(holder: HolderStatus): Static<typeof Holder> {
  const { acquiredAt, expiresAt, fencingToken, waitsFor } = holder
  return {
    ...toEntry(holder),
    acquired_at: lockTime(acquiredAt),
    expires_at: expiresAt === undefined ? null : lockTime(expiresAt),
    ...(fencingToken !== undefined && { fencing_token: fencingToken }),
    ...(waitsFor !== undefined && { waits_for: waitsFor })
  }
}

/** As an agent sees it: only the holder sees its fencing token, which proves that it holds the lock. */
export function toOwnHolder(holder: HolderStatus, agentId: string | undefined): Static<typeof Holder> {
  const isOwn = agentId !== undefined && holder.agentId === agentId
  return toHolder(isOwn ? holder : { ...holder, fencingToken: undefined })
}

export function toPendingRequest(waiter: WaiterStatus): Static<typeof PendingRequest> {
  const { queuedAt, timeoutAt, isParked } = waiter
  return {
    ...toEntry(waiter),
    queued_at: lockTime(queuedAt),
    timeout_at: lockTime(timeoutAt),
    ...(isParked && { parked: true })
  }
}

/** Files with a holder or a waiter; only those listed are described. */
export function listLocks(locks: LockManager, { after, limit, only }: LockListQuery): LockList {
  const { paths, shared, exclusive, leases, waiting } = locks.summary()
  const start = after === undefined ? '' : lockKey(after)
  const isWanted = ([key, , depth]: [string, string, number]) => key > start && (depth > 0 || only !== 'waited_for')
  const entries = [...locks.paths()].filter(isWanted).sort(([one], [other]) => (one < other ? -1 : 1))
  return {
    files: entries.slice(0, limit).map(([key, path]) => describeFile(path, locks.status(key))),
    counts: { files: paths, read: shared, write: exclusive, leases, waiting },
    truncated: entries.length > limit,
    timestamp: timestamp()
  }
}

function describeFile(path: string, { holders, waiters }: KeyStatus): LockList['files'][number] {
  return { path, holders: holders.map(toHolder), pending_requests: waiters.map(toPendingRequest) }
}

function toEntry({ isLease, operation, mode, agentId, note }: EntryStatus) {
  return {
    // PRD 3.5 names the kind of a request without the prefix.
    type: isLease ? 'lease' : operation.replace(/^async_/, ''),
    mode,
    agent_id: agentId ?? null,
    ...(note !== undefined && { note })
  }
}
