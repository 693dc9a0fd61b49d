// The ways in which a lock is not granted or ends too early. Each message says what happened, where, and what to do next.
import { OperationError } from '../errors.ts'
import type { Acquisition } from './acquisition.ts'
import type { HolderStatus } from './lock.ts'
import type { KeyQueue, Place } from './queue.ts'
import { toHolderStatus } from './status.ts'

/** A queue that is full now has moved within a second; a server that stops is back, if at all, within a few. */
const overloadRetrySeconds = 1
const stopRetrySeconds = 5

/** Holders listed in one answer; a thousand readers would make it as long as the file. */
const maxListedHolders = 10

const maxDateMs = 8.64e15

/** `place` waits in `queue`, or has just found that it would have to and must not. */
export function lockTimeout(place: Place, queue: KeyQueue): OperationError {
  const { acquisition, path, mode } = place
  const isQueued = place.queue === queue
  const depth = isQueued ? queue.depth : queue.depth + 1
  const position = isQueued ? queue.positionOf(place) : depth
  const holders = Array.from(queue.holders, toHolderStatus)
  const waited = acquisition.timeoutMs === 0 ? 'at once (timeout 0)' : `within ${toSeconds(acquisition.timeoutMs)} s`
  return new OperationError(
    'LOCK_TIMEOUT',
    `${acquisition.operation} did not get the ${mode} lock on ${path} ${waited}. ${describeHolders(holders)} ` +
      `This call was at position ${position} of ${depth} in the queue. Nothing was changed; ` +
      'try again, with a longer timeout if the file is busy.',
    {
      path,
      details: {
        queue_depth: depth,
        position,
        holder_count: holders.length,
        holders: holders.slice(0, maxListedHolders).map(toDetail)
      }
    }
  )
}

export function cancelled({ operation, places, waitsAt }: Acquisition, cause: unknown): OperationError {
  const path = waitsAt?.path ?? pathOf(places)
  return new OperationError(
    'CANCELLED',
    `${operation} was cancelled before it got the lock on ${path}. Nothing was changed; call again if it is still wanted.`,
    { path, cause }
  )
}

export function queueFull({ acquisition, path }: Place, limit: number): OperationError {
  return new OperationError(
    'OVERLOADED',
    `${acquisition.operation} was refused: ${limit} calls already wait for the lock on ${path}, which is the limit. ` +
      `Nothing was changed; try again in ${overloadRetrySeconds} s.`,
    { path, details: { retry_after_seconds: overloadRetrySeconds, limit } }
  )
}

export function agentQueueFull({ acquisition, path }: Place, limit: number): OperationError {
  return new OperationError(
    'OVERLOADED',
    `${acquisition.operation} of ${path} was refused: ${limit} calls of agent ${acquisition.agentId} already wait for locks, ` +
      `which is the limit. Nothing was changed; let some of them finish, then try again.`,
    { path, details: { retry_after_seconds: overloadRetrySeconds, limit } }
  )
}

export function stopping({ operation, places, waitsAt }: Acquisition, reason: string): OperationError {
  const path = waitsAt?.path ?? pathOf(places)
  return new OperationError(
    'OVERLOADED',
    `${operation} of ${path} was not started: ${reason}. Nothing was changed; try again in ${stopRetrySeconds} s.`,
    { path, details: { retry_after_seconds: stopRetrySeconds } }
  )
}

export function lockExpired({ operation, places, endsAt, ttlMs, fencingToken }: Acquisition): OperationError {
  const path = pathOf(places)
  return new OperationError(
    'LEASE_LOST',
    `${operation} lost its lock on ${path}: it ended at ${toIso(endsAt)}, ${toSeconds(ttlMs)} s after the grant, before ` +
      'the change was made. Nothing was written; read the file again, then repeat the call.',
    { path, details: { fencing_token: fencingToken, expired_at: toIso(endsAt) } }
  )
}

export function lockReleased({ operation, places, fencingToken }: Acquisition): OperationError {
  const path = pathOf(places)
  return new OperationError(
    'LEASE_LOST',
    `${operation} no longer holds its lock on ${path}: it was released before the change was made. ` +
      'Nothing was written; read the file again, then repeat the call.',
    { path, details: { fencing_token: fencingToken } }
  )
}

function describeHolders([first, ...others]: readonly HolderStatus[]): string {
  // Nobody holds it when the waiters ahead are about to be granted or refused in this very turn.
  if (first === undefined) return 'Others are ahead in its queue.'
  const { operation, agentId, mode, acquiredAt, waitsFor } = first
  const who = agentId === undefined ? operation : `${operation} of agent ${agentId}`
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  const itself = waitsFor === undefined ? '' : `, and itself waits for ${waitsFor}`
  return `${who}${more} (${mode}) has held it since ${toIso(acquiredAt)}${itself}.`
}

function toDetail({ operation, agentId, mode, acquiredAt, expiresAt }: HolderStatus) {
  return {
    operation,
    agent_id: agentId ?? null,
    mode,
    acquired_at: toIso(acquiredAt),
    expires_at: expiresAt === undefined ? null : toIso(expiresAt)
  }
}

function pathOf(places: readonly Place[]): string {
  return places.map((place) => place.path).join(', ')
}

/** Beyond the range of Date is a lock without an end, which has none to show. */
function toIso(ms: number): string | null {
  return Math.abs(ms) <= maxDateMs ? new Date(ms).toISOString() : null
}

function toSeconds(ms: number): number {
  return Math.round(ms / 100) / 10
}
