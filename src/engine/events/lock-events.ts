// What happens at locks as events.
import type { LockManager } from '../locks/lock-manager.ts'
import type { Lease } from '../locks/lock.ts'
import type { LockObserver, QueueStanding, Release } from '../locks/observer.ts'
import { lockTime } from '../locks/clock.ts'
import type { NewEvent } from './event-hub.ts'

/** @returns ends it */
export function followLocks(locks: LockManager, publish: (event: NewEvent) => void): () => void {
  const observer: LockObserver = {
    onRelease(release) {
      // The end of an operation concerns only requests that wait for it.
      if (release.isLease || release.waiting > 0) publish(toLockReleased(release))
      const expired = toLeaseExpired(release)
      if (expired !== undefined) publish(expired)
    },
    onPosition: (standing) => publish(toQueuePosition(standing))
  }
  const granted = new WeakSet<Lease>(locks.leases.all())
  const endLeases = locks.leases.onChange((lease) => {
    if (!lease.isHeld || granted.has(lease)) return
    granted.add(lease)
    publish(toLeaseGranted(lease))
  })
  const endLocks = locks.observe(observer)
  return () => {
    endLeases()
    endLocks()
  }
}

function toLockReleased({ path, agentId, isLease, mode, cause, waiting }: Release): NewEvent {
  return {
    type: 'lock_released',
    path,
    agent_id: agentId ?? null,
    held_as: isLease ? 'lease' : 'operation',
    mode,
    cause,
    waiting
  }
}

function toLeaseGranted({ path, agentId, mode, note, expiresAt }: Lease): NewEvent {
  return {
    type: 'lease_granted',
    path,
    agent_id: agentId,
    mode,
    ...(note !== undefined && { note }),
    expires_at: lockTime(expiresAt)
  }
}

/** Undefined for a lease that its holder released, or that its agent never learned of. */
function toLeaseExpired({ path, agentId, isLease, cause, fencingToken, isParked }: Release): NewEvent | undefined {
  if (!isLease || cause === 'released' || isParked) return undefined
  if (agentId === undefined || fencingToken === undefined) return undefined
  return { type: 'lease_expired', path, agent_id: agentId, fencing_token: fencingToken, cause }
}

function toQueuePosition({ path, agentId, operation, position, depth }: QueueStanding): NewEvent {
  return { type: 'queue_position', path, agent_id: agentId ?? null, operation, position, queue_depth: depth }
}
