// The lock table as clients see it.
import type { HolderStatus, KeyStatus, LockSummary, WaiterStatus } from './lock.ts'
import type { KeyQueue, QueueEntry } from './queue.ts'

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

export function toHolderStatus({ acquisition, mode, since }: QueueEntry): HolderStatus {
  const { operation, agentId, fencingToken, endsAt } = acquisition
  return {
    isLease: acquisition.isLease,
    mode,
    operation,
    agentId,
    acquiredAt: since,
    expiresAt: fencingToken === undefined ? undefined : endsAt,
    fencingToken,
    waitsFor: acquisition.waitsAt?.path,
    note: acquisition.note
  }
}

function toWaiterStatus({ acquisition, mode, since }: QueueEntry): WaiterStatus {
  const { operation, agentId, timeoutAt, isParked, note } = acquisition
  return {
    isLease: acquisition.isLease,
    mode,
    operation,
    agentId,
    queuedAt: since,
    timeoutAt,
    isParked,
    note
  }
}
