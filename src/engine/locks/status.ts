// The lock table as clients see it.
import type { QueueEntry } from './acquisition.ts'
import type { BlockedRequest } from './errors.ts'
import type { HolderStatus, KeyStatus, LockSummary, WaiterStatus } from './lock.ts'
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

function toHolderStatus({ acquisition, mode, since }: QueueEntry): HolderStatus {
  const { operation, agentId, fencingToken, dueAt } = acquisition
  return {
    isLease: acquisition.isLease,
    mode,
    operation,
    agentId,
    acquiredAt: since,
    expiresAt: fencingToken === undefined ? undefined : dueAt,
    fencingToken,
    waitsFor: acquisition.waitsAt?.path,
    note: acquisition.note
  }
}

function toWaiterStatus({ acquisition, mode, since }: QueueEntry): WaiterStatus {
  const { operation, agentId, dueAt, isParked, note } = acquisition
  return {
    isLease: acquisition.isLease,
    mode,
    operation,
    agentId,
    queuedAt: since,
    timeoutAt: dueAt,
    isParked,
    note
  }
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
