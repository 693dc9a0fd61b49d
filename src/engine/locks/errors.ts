// The ways in which a lock is not granted or ends too early. Each message says what happened, where, and what to do next.
import { lockTime } from './clock.ts'
import { OperationError } from '../../errors.ts'
import type { HolderStatus, LockMode } from './lock.ts'
import { quote, quoteName } from './quote.ts'
import type { Wait } from './wait-for.ts'

/** A queue that is full now has moved within a second; a server that stops is back, if at all, within a few. */
const overloadRetrySeconds = 1
const stopRetrySeconds = 5

/** Holders listed in one answer; a thousand readers would make it as long as the file. */
const maxListedHolders = 10

/** Names an operation without an agent in a cycle. */
const unnamed = /^\w+ without agent_id$/

const maxDateMs = 8.64e15

/** The request that an error is about. */
interface Request {
  readonly operation: string
  readonly path: string
}

/** Of an agent's request; one without an agent is never refused for what its agent has. */
interface AgentRequest extends Request {
  readonly agentId?: string | undefined
}

interface EndedLock extends Request {
  readonly fencingToken: number | undefined
}

interface ExpiredLock extends EndedLock {
  /** When it ended. */
  readonly dueAt: number
  readonly ttlMs: number
}

export interface BlockedRequest extends AgentRequest {
  readonly mode: LockMode
  readonly timeoutMs: number
  /** In the queue; 1 is next. */
  readonly position: number
  readonly depth: number
  /** Those that it waits for; all, if it waits for none of them. */
  readonly holders: readonly HolderStatus[]
}

export function lockTimeout(request: BlockedRequest, now: number): OperationError {
  const { operation, mode, path, position, depth, timeoutMs } = request
  const holders = leasesFirst(request.holders)
  const waited = timeoutMs === 0 ? 'at once (timeout 0)' : `within ${toSeconds(timeoutMs)} s`
  return new OperationError(
    'LOCK_TIMEOUT',
    `${operation} did not get the ${mode} lock on ${path} ${waited}. ${describeHolders(holders, now)} ` +
      `This call was at position ${position} of ${depth} in the queue. Nothing was changed; ` +
      adviseAfter(holders, request),
    {
      path,
      details: {
        queue_depth: depth,
        position,
        holder_count: holders.length,
        holders: holders.slice(0, maxListedHolders).map((holder) => toDetail(holder, now))
      }
    }
  )
}

export function cancelled({ operation, path }: Request, cause: unknown): OperationError {
  return new OperationError(
    'CANCELLED',
    `${operation} was cancelled before it got the lock on ${path}. Nothing was changed; call again if it is still wanted.`,
    { path, cause }
  )
}

export function queueFull({ operation, path }: Request, limit: number): OperationError {
  return new OperationError(
    'OVERLOADED',
    `${operation} was refused: ${limit} calls already wait for the lock on ${path}, which is the limit. ` +
      `Nothing was changed; try again in ${overloadRetrySeconds} s.`,
    { path, details: { retry_after_seconds: overloadRetrySeconds, limit } }
  )
}

export function agentQueueFull(request: AgentRequest, limit: number): OperationError {
  const { operation, path } = request
  return new OperationError(
    'OVERLOADED',
    `${operation} of ${path} was refused: ${limit} calls of agent ${nameOf(request)} already wait for locks, ` +
      `which is the limit. Nothing was changed; let some of them finish, then try again.`,
    { path, details: { retry_after_seconds: overloadRetrySeconds, limit } }
  )
}

/** @param cycle begins with the refused request */
export function deadlock({ operation, path }: Request, cycle: readonly Wait[]): OperationError {
  const names = cycle.flatMap(({ agent, path }) => [unnamed.test(agent) ? agent : quoteName(agent), path])
  const circle = [...names, names[0]].join(' -> ')
  return new OperationError(
    'DEADLOCK',
    `${operation} would wait for ever: ${circle}. Nothing was changed, and the leases held stay; ` +
      'release one that another waits for (lock_release), then try again.',
    { path, details: { cycle: circle, waits: cycle.map(({ agent, path }) => ({ agent_id: agent, waits_for: path })) } }
  )
}

export function tooManyLeases(request: AgentRequest, limit: number): OperationError {
  const { operation, path } = request
  return new OperationError(
    'OVERLOADED',
    `${operation} of ${path} was refused: agent ${nameOf(request)} already holds ${limit} leases, ` +
      'which is the limit (locks.max_leases_per_agent). Release what is no longer needed (lock_release), then try again.',
    { path, details: { retry_after_seconds: overloadRetrySeconds, limit } }
  )
}

export function tooManyLeasesInAll({ operation, path }: Request, limit: number): OperationError {
  return new OperationError(
    'OVERLOADED',
    `${operation} of ${path} was refused: all agents together already hold ${limit} leases, ` +
      'which is the limit (locks.max_leases). Try again when some have ended.',
    { path, details: { retry_after_seconds: overloadRetrySeconds, limit } }
  )
}

export function stopping({ operation, path }: Request, reason: string): OperationError {
  return new OperationError(
    'OVERLOADED',
    `${operation} of ${path} was not started: ${reason}. Nothing was changed; try again in ${stopRetrySeconds} s.`,
    { path, details: { retry_after_seconds: stopRetrySeconds } }
  )
}

export function lockExpired({ operation, path, dueAt, ttlMs, fencingToken }: ExpiredLock): OperationError {
  return new OperationError(
    'LEASE_LOST',
    `${operation} lost its lock on ${path}: it ended at ${toIso(dueAt)}, ${toSeconds(ttlMs)} s after the grant, before ` +
      'the change was made. Nothing was written; read the file again, then repeat the call.',
    { path, details: { fencing_token: fencingToken, expired_at: toIso(dueAt) } }
  )
}

export function lockReleased({ operation, path, fencingToken }: EndedLock): OperationError {
  return new OperationError(
    'LEASE_LOST',
    `${operation} no longer holds its lock on ${path}: it was released before the change was made. ` +
      'Nothing was written; read the file again, then repeat the call.',
    { path, details: { fencing_token: fencingToken } }
  )
}

/** A lease stays for minutes, an operation for an instant. */
function leasesFirst(holders: readonly HolderStatus[]): HolderStatus[] {
  return [...holders.filter(({ isLease }) => isLease), ...holders.filter(({ isLease }) => !isLease)]
}

function describeHolders([first, ...others]: readonly HolderStatus[], now: number): string {
  // The lock has no holder while the waiters ahead are granted or refused in this very turn.
  if (first === undefined) return 'Others are ahead in its queue.'
  const { operation, agentId, mode, acquiredAt, waitsFor } = first
  if (first.isLease) return describeLease(first, others.length, now)
  const who = agentId === undefined ? operation : `${operation} of agent ${quoteName(agentId)}`
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  const itself = waitsFor === undefined ? '' : `, and itself waits for ${waitsFor}`
  return `${who}${more} (${mode}) has held it since ${toIso(acquiredAt)}${itself}.`
}

function describeLease(lease: HolderStatus, others: number, now: number) {
  const { mode, note, acquiredAt, expiresAt } = lease
  const more = others === 0 ? '' : ` with ${others} more`
  const said = note === undefined ? '' : `, with the note ${quote(note)}`
  const end = expiresAt === undefined ? '' : ` until ${toIso(expiresAt)}, ${toSeconds(expiresAt - now)} s from now`
  return `Agent ${nameOf(lease)} has leased it${more} (${mode}) since ${toIso(acquiredAt)}${end}${said}.`
}

/** Most agents that run into their own lease have forgotten their agent_id. */
function adviseAfter([first]: readonly HolderStatus[], { agentId }: AgentRequest): string {
  if (first?.isLease !== true) return 'try again, with a longer timeout if the file is busy.'
  const who = agentId === undefined ? 'without an agent_id' : `as agent ${quoteName(agentId)}`
  return `try again later, or wait for the lease with lock_wait. If the lease is yours, pass the agent_id that took it: this call came ${who}.`
}

function toDetail({ isLease, operation, agentId, mode, note, acquiredAt, expiresAt }: HolderStatus, now: number) {
  return {
    operation: isLease ? 'lease' : operation,
    agent_id: agentId ?? null,
    mode,
    ...(note !== undefined && { note }),
    acquired_at: toIso(acquiredAt),
    expires_at: expiresAt === undefined ? null : toIso(expiresAt),
    ...(expiresAt !== undefined && isLease && { remaining_seconds: toSeconds(expiresAt - now) })
  }
}

/** A request with leases, or counted by its agent, has an agentId. */
function nameOf({ agentId = '' }: { readonly agentId?: string | undefined }): string {
  return quoteName(agentId)
}

/** Null beyond the range of Date: such a lock has no end to show. */
function toIso(ms: number): string | null {
  return Math.abs(ms) <= maxDateMs ? lockTime(ms) : null
}

function toSeconds(ms: number): number {
  return Math.round(ms / 100) / 10
}
