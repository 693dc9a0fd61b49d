// The lease options that a lock operation asks for, within the limits of the server, and a sentence if a limit has changed one.
import type { LockTryInput } from '../../../schemas/locks.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import type { GroupOptions } from '../../engine/leases/group-state.ts'

type Reservation = Pick<LockTryInput, 'mode' | 'all_or_nothing' | 'ttl_seconds' | 'note'>

export function toGroupOptions(
  operation: string,
  agentId: string,
  { mode, all_or_nothing, ttl_seconds, note }: Reservation,
  { config, caller }: OperationContext
): GroupOptions {
  return {
    operation,
    agentId,
    mode,
    allOrNothing: all_or_nothing,
    ttlMs: ttlSeconds(ttl_seconds ?? config.locks.lease_ttl_seconds, config) * 1000,
    note,
    connection: caller.connection
  }
}

export function ttlSeconds(asked: number, { locks }: OperationContext['config']): number {
  return Math.min(asked, locks.max_lease_ttl_seconds)
}

/** Undefined if the server allows what was asked for. */
export function explainTtl(asked: number | undefined, { locks }: OperationContext['config']): string | undefined {
  if (asked === undefined || asked <= locks.max_lease_ttl_seconds) return undefined
  return `ttl_seconds ${asked} is beyond locks.max_lease_ttl_seconds: the leases last ${locks.max_lease_ttl_seconds} s.`
}

/** Joins the sentences for the answer. */
export function toMessage(...sentences: readonly (string | undefined)[]): { message?: string } {
  const present = sentences.filter((sentence) => sentence !== undefined)
  return present.length === 0 ? {} : { message: present.join(' ') }
}
