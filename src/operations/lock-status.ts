// lock_status (LOCK): which agents hold the files or wait for them.
import { lockTime } from '../engine/locks/clock.ts'
import { contract } from '../../schemas/contract.ts'
import type { LockStatusInput, LockStatusOutput } from '../../schemas/locks.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { timestamp } from '../support/timestamp.ts'
import { toOwnHolder } from '../engine/leases/lock-listing.ts'
import { mainHolder, nameOf } from '../engine/leases/lease-requests.ts'
import { explainName, findNamedFiles, leaseThatCounts } from './locking/named-files.ts'
import { requireAgent } from './locking/resolve-files.ts'

export const lockStatus = defineOperation({
  name: 'lock_status',
  title: 'Show who holds files',
  description:
    'Shows for each file whether you hold a lease on it, who holds it (leases with their notes and ends, and running operations), and how many wait. Changes nothing, and prolongs no lease.',
  ...contract.lock_status,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: pathErrors,
  handle: show
})

async function show(
  { filepaths }: LockStatusInput,
  context: OperationContext
): Promise<Static<typeof LockStatusOutput>> {
  const { locks, config } = context
  const agentId = requireAgent(context, 'lock_status')
  const find = locks.leases.finder(agentId)
  const results = findNamedFiles(filepaths, context).map((file) => {
    const held = find(file.names)
    const lease = leaseThatCounts(file, held)
    const status = locks.status(lease?.key ?? file.key)
    return {
      filepath: file.filepath,
      held_by_me: lease !== undefined,
      holder: lease === undefined ? nameOf(mainHolder(status, agentId)) : agentId,
      ...(lease !== undefined && { fencing_token: lease.fencingToken, expires_at: lockTime(lease.expiresAt) }),
      holders: status.holders.map((holder) => toOwnHolder(holder, agentId)),
      queue_depth: status.depth,
      ...explainName(file, held)
    }
  })
  return { status: 'ok', results, enforcement: config.locks.enforcement, timestamp: timestamp() }
}
