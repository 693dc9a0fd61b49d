// The lock table as clients see it.
import type { QueueEntry } from './acquisition.ts'
import type { BlockedRequest } from './errors.ts'
import type { EntryStatus, HolderStatus, KeyStatus, LockSummary, WaiterStatus } from './lock.ts'
import type { KeyQueue } from './queue.ts'

export function toKeyStatus(queue: KeyQueue | undefined): KeyStatus {
  if (queue === undefined) return { holders: [], waiters: [], depth: 0 }
  return {
    holders: Array.from(queue.holders, toHolderStatus),
    waiters: Array.from(queue.waiters(), toWaiterStatus),
    depth: queue.depth
  }
}

/** Counted on demand, so that it cannot drift from the table. */
export function toSummary(queues: ReadonlyMap<string, KeyQueue>): LockSummary {
  const summary = { paths: queues.size, shared: 0, exclusive: 0, leases: 0, waiting: 0 }
  for (const { holders, leases, depth } of queues.values()) {
    for (const { mode } of holders) summary[mode] += 1
    summary.leases += leases.length
    summary.waiting += depth
  }
  return summary
}

function toEntryStatus({ acquisition, mode }: QueueEntry): EntryStatus {
  const { isLease, operation, agentId, note } = acquisition
  return { isLease, mode, operation, agentId, note }
}

function toHolderStatus(entry: QueueEntry): HolderStatus {
  const { fencingToken, dueAt, waitsAt } = entry.acquisition
  return {
    ...toEntryStatus(entry),
    acquiredAt: entry.since,
    expiresAt: fencingToken === undefined ? undefined : dueAt,
    fencingToken,
    waitsFor: waitsAt?.path
  }
}

function toWaiterStatus(entry: QueueEntry): WaiterStatus {
  const { dueAt: timeoutAt, isParked } = entry.acquisition
  return { ...toEntryStatus(entry), queuedAt: entry.since, timeoutAt, isParked }
}

/** What LOCK_TIMEOUT tells of an entry that waits in the queue, or would have to wait at its end. */
export function toBlockedRequest(entry: QueueEntry, queue: KeyQueue): BlockedRequest {
  const { path, mode, state, acquisition } = entry
  const { operation, agentId, timeoutMs } = acquisition
  const depth = state === 'waiting' ? queue.depth : queue.depth + 1
  const position = state === 'waiting' ? queue.positionOf(entry) : depth
  const blockers = [...queue.blockersOf(entry)].filter((blocker) => queue.holders.has(blocker))
  const holders = (blockers.length > 0 ? blockers : [...queue.holders]).map(toHolderStatus)
  return { operation, agentId, path, mode, timeoutMs, position, depth, holders }
}
