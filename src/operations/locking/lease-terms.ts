// Checks a change against the caller's leases: if a lease is lost, or missing although one is required, nothing is written.
import { OperationError } from '../../errors.ts'
import { quoteName } from '../../engine/locks/quote.ts'
import type { LockRequest } from '../../engine/locks/lock.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { describeLoss } from '../../engine/leases/lost-leases.ts'

/** A file that an operation is about to touch. */
export interface LeaseTerm extends LockRequest {
  /** Key of the lease that counts for it: the lock's own key, or that of a link's target; undefined if none can be taken. */
  readonly leaseKey: string | undefined
  /** As the caller spelt it. */
  readonly given: string
  /** Name of the operation. */
  readonly operation: string
  /** Of the lease that the change relies on, if the caller named it. */
  readonly fencingToken: number | undefined
}

/**
 * Runs before any wait, after a wait, and right before a change that needs a lease. An agent whose lease has ended without its
 * doing is refused until it has been notified and has read the file, or has released the lease or taken another: it may not know.
 * @throws OperationError LEASE_LOST, LOCK_REQUIRED
 */
export function checkLeases(terms: readonly LeaseTerm[], context: OperationContext): void {
  const { lostLeases, caller, config } = context
  const { agentId } = caller
  for (const term of terms) {
    const { mode, key, leaseKey = key } = term
    if (mode === 'shared') continue
    const loss = config.locks.enforcement === 'off' ? undefined : lostLeases.find(agentId, leaseKey)
    if (loss === undefined || agentId === undefined || term.fencingToken !== undefined) checkLease(term, context)
    else {
      lostLeases.refuse(agentId, leaseKey)
      const details = { fencing_token: loss.fencingToken, cause: loss.end.cause }
      throw leaseLost(term, context, describeLoss(loss), details)
    }
  }
}

/** An agent that has read the file need not be refused any more. */
export function noteReads(terms: readonly LeaseTerm[], { lostLeases, caller }: OperationContext): void {
  for (const { mode, key } of terms) if (mode === 'shared') lostLeases.read(caller.agentId, key)
}

/** True if a change must check again right before it happens. */
export function needsLease(terms: readonly LeaseTerm[], { config }: OperationContext): boolean {
  return config.locks.enforcement === 'required' || terms.some(({ fencingToken }) => fencingToken !== undefined)
}

/** @throws OperationError LEASE_LOST, LOCK_REQUIRED */
function checkLease(term: LeaseTerm, context: OperationContext): void {
  const { locks, lostLeases, caller, config } = context
  const { leaseKey, given, mode, fencingToken } = term
  const key = leaseKey ?? term.key
  const isRequired = config.locks.enforcement === 'required' && leaseKey !== undefined
  if (mode === 'shared' || (fencingToken === undefined && !isRequired)) return
  const { agentId } = caller
  const lease = locks.leases.find(key, agentId)
  if (fencingToken !== undefined && lease?.fencingToken !== fencingToken) {
    const loss = lostLeases.find(agentId, key)
    if (agentId !== undefined) lostLeases.refuse(agentId, key)
    const isOfLoss = loss?.fencingToken === fencingToken
    const what = isOfLoss ? describeLoss(loss) : describeMismatch(term, lease?.fencingToken, agentId)
    throw leaseLost(term, context, what, {
      fencing_token: fencingToken,
      ...(isOfLoss && { cause: loss.end.cause }),
      current_fencing_token: lease?.fencingToken ?? null
    })
  }
  if (!isRequired || lease?.mode === 'exclusive') return
  const example = JSON.stringify({ filepaths: [given], ...(agentId !== undefined && { agent_id: agentId }) })
  const who = agentId === undefined ? ' This call has no agent id: pass agent_id, or the header X-Agent-Id.' : ''
  const lack = lease === undefined ? 'is not leased by you' : 'is leased by you for reading only (mode "shared")'
  const message = `File ${given} ${lack}, and this server requires an exclusive lease for each change (locks.enforcement). Nothing was changed. Call lock_try with ${example}, then send this call again.${who}`
  throw new OperationError('LOCK_REQUIRED', message, { path: given })
}

function describeMismatch(
  { given, fencingToken }: LeaseTerm,
  current: number | undefined,
  agentId: string | undefined
) {
  if (agentId === undefined)
    return `fencing_token ${fencingToken} came without an agent_id: pass the agent_id that holds the lease on ${given}.`
  if (current === undefined)
    return `Agent ${quoteName(agentId)} holds no lease on ${given} with fencing_token ${fencingToken}.`
  return `fencing_token ${fencingToken} is not that of the lease that agent ${quoteName(agentId)} holds on ${given} now, which is ${current}.`
}

function leaseLost(
  term: LeaseTerm,
  context: OperationContext,
  what: string,
  details: Readonly<Record<string, unknown>>
): OperationError {
  const message = `${what} Nothing was written. ${adviseAfterLoss(term, context)}`
  return new OperationError('LEASE_LOST', message, { path: term.given, details })
}

/** What this caller can do for this operation. */
function adviseAfterLoss({ operation, fencingToken }: LeaseTerm, { caller, config }: OperationContext): string {
  if (caller.agentId === undefined) return 'Send the call again with that agent_id, or without fencing_token.'
  const look = operation === 'edit_file' ? 'read_file' : 'async_read'
  const leased = 'take a new lease with lock_try and send the call with its fencing_token'
  const withLease = fencingToken === undefined ? 'take a new lease with lock_try and send the call again' : leased
  const without = fencingToken === undefined ? 'send the call again as it is' : 'send it without fencing_token'
  const choice = config.locks.enforcement === 'required' ? '' : `, or ${without}`
  return `Read the file again with ${look}, since others may have changed it; then ${withLease}${choice}.`
}
