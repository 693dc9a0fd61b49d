// lock_wait (LOCK): waits for leases in a fair queue; a wait that is cut short keeps its place for a ticket.
import { someOf } from '../support/cut-text.ts'
import { contract } from '../../schemas/contract.ts'
import type { LockResult } from '../../schemas/leases.ts'
import type { LockWaitInput, LockWaitOutput } from '../../schemas/locks.ts'
import type { Static } from '../../schemas/typebox.ts'
import { OperationError } from '../errors.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { defineOperation, leaseErrors } from './definition/define.ts'
import { lockTime } from '../engine/locks/clock.ts'
import { timestamp } from '../support/timestamp.ts'
import { LeaseGroup } from '../engine/leases/lease-group.ts'
import { explainTtl, toGroupOptions, toMessage } from './locking/lease-options.ts'
import { requireAgent, resolveFiles } from './locking/resolve-files.ts'
import { explainMove } from './locking/named-files.ts'
import type { Ticket } from '../engine/leases/tickets.ts'
import { waitSeconds } from './locking/wait-time.ts'

/** Number of files that one sentence names. */
const maxNamed = 5

export const lockWait = defineOperation({
  name: 'lock_wait',
  keepsPlaces: true,
  title: 'Lease files, waiting in line',
  description:
    'Reserves files as lock_try does, and waits in line for those that others hold, up to timeout_seconds. The answer shows each file that was not leased by then, with its holder. If it has a ticket, your places are kept: call again with that ticket. Pass filepaths or a ticket, or both to go on waiting for only some files of the ticket. If waiting could never end (you hold what the other waits for), the answer comes at once: DEADLOCK. Leases that you held before stay; release one of them with lock_release, then ask again.',
  ...contract.lock_wait,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: [...leaseErrors, 'DEADLOCK'],
  handle: wait
})

type Kept = Required<Pick<Static<typeof LockWaitOutput>, 'ticket' | 'ticket_expires_at'>>

async function wait(input: LockWaitInput, context: OperationContext): Promise<Static<typeof LockWaitOutput>> {
  const { tickets, config, signal, progress, onWait, activity } = context
  const agentId = requireAgent(context, 'lock_wait')
  const ticket = reclaim(agentId, context) ?? claim(input, agentId, context)
  const group = ticket?.group ?? openGroup(input, agentId, context)
  const { seconds, inAll } = waitSeconds(context, input.timeout_seconds)
  const asked = input.timeout_seconds ?? config.crud.default_timeout
  const graceSeconds = inAll < asked ? config.locks.ticket_grace_seconds : 0
  const { connection, place } = context.caller
  let results: LockResult[]
  let isComplete: boolean
  let kept: Kept | undefined
  const unfollow = tickets.follow(group)
  try {
    const waiting = group.wait({
      timeoutMs: seconds * 1000,
      graceMs: graceSeconds * 1000,
      connection,
      signal,
      progress,
      onWaited: (path, ms) => activity.waited(path, agentId, ms)
    })
    if (place !== undefined && ticket === undefined && group.isWaiting) tickets.wait(place, group)
    const start = group.isWaiting ? performance.now() : undefined
    await waiting
    results = group.conclude((file) => explainMove(file, context))
    isComplete = results.every(({ acquired }) => acquired)
    if (start !== undefined) onWait?.(performance.now() - start, isComplete ? 'ok' : 'not_acquired')
    const { keptUntil } = group
    if (keptUntil !== undefined)
      kept = { ticket: tickets.keep(group, input.ticket), ticket_expires_at: lockTime(keptUntil) }
  } finally {
    unfollow()
    if (ticket !== undefined) tickets.end(ticket.id)
    if (place !== undefined) tickets.end(place)
  }
  const { givenUp } = group
  return {
    status: 'ok',
    results,
    all_acquired: isComplete,
    ...kept,
    ...toMessage(
      ticket === undefined ? explainTtl(input.ttl_seconds, config) : undefined,
      explainGivenUp(givenUp),
      isComplete || inAll === asked || (kept === undefined && givenUp.length > 0)
        ? undefined
        : explainCut(inAll, asked, kept?.ticket),
      group.options.allOrNothing && !isComplete && kept === undefined
        ? 'all_or_nothing: not all files could be leased, so none was kept.'
        : undefined
    ),
    timestamp: timestamp()
  }
}

/** The places in which this very call has waited in a process that has gone. */
function reclaim(agentId: string, { tickets, caller: { place } }: OperationContext): Ticket | undefined {
  return place === undefined ? undefined : tickets.claim(place, agentId)
}

function openGroup({ filepaths, ...input }: LockWaitInput, agentId: string, context: OperationContext): LeaseGroup {
  if (filepaths === undefined)
    throw new OperationError(
      'INVALID_REQUEST',
      'Pass filepaths (the files to wait for), or the ticket of an earlier lock_wait.'
    )
  return new LeaseGroup(resolveFiles(filepaths, context), toGroupOptions('lock_wait', agentId, input, context), context)
}

/** @throws OperationError INVALID_REQUEST for a ticket that keeps no place */
function claim({ ticket, filepaths }: LockWaitInput, agentId: string, context: OperationContext): Ticket | undefined {
  if (ticket === undefined) return undefined
  const files = filepaths && resolveFiles(filepaths, context)
  const claimed = context.tickets.claim(ticket, agentId)
  if (claimed === undefined) {
    if (context.caller.repeats !== undefined) throw endedMeanwhile(ticket)
    const message = `No place is kept for ticket "${ticket}" of agent ${agentId}: it has expired, another call waits with it, or it never existed. Call lock_wait with filepaths to join the queue again.`
    throw new OperationError('INVALID_REQUEST', message)
  }
  if (files !== undefined) claimed.group.narrow(files)
  return claimed
}

/** The wait had an end, and the process that knew it has gone. */
function endedMeanwhile(ticket: string): OperationError {
  const message = `The process that served the tree ended when the wait with ticket "${ticket}" did, and its answer is lost. Call lock_status to see which of the files you hold, then lock_wait with filepaths for the others.`
  return new OperationError('AUTHORITY_LOST', message)
}

function explainGivenUp(filepaths: readonly string[]): string | undefined {
  if (filepaths.length === 0) return undefined
  return `This agent gave up these files meanwhile, with lock_release or lock_release_all, so this call stopped waiting for them: ${someOf(filepaths, maxNamed)}. If you still want them, call lock_wait with them again.`
}

function explainCut(seconds: number, asked: number, ticket: string | undefined): string {
  const cut = `The wait was cut short at ${seconds} s of the ${asked} s asked for: the server allows no more, or the client would give up.`
  return ticket === undefined ? cut : `${cut} Your places are kept: call lock_wait with ticket "${ticket}" to go on.`
}
