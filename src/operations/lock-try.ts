// lock_try (LOCK): leases on free files, at once.
import { contract } from '../../schemas/contract.ts'
import type { LockTryInput, LockTryOutput } from '../../schemas/locks.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { defineOperation, leaseErrors } from './definition/define.ts'
import { timestamp } from '../support/timestamp.ts'
import { LeaseGroup } from '../engine/leases/lease-group.ts'
import { explainTtl, toGroupOptions, toMessage } from './locking/lease-options.ts'
import { requireAgent, resolveFiles } from './locking/resolve-files.ts'

export const lockTry = defineOperation({
  name: 'lock_try',
  title: 'Lease files, without waiting',
  description:
    'Reserves files that you are going to change over several calls, including names of files that do not exist yet. Leases the free ones at once, and shows for each of the others who holds it, until when and why. While you hold a lease, changes of the file by others wait, and reads go on; your own calls on the file pass and prolong the lease. Asking again for a file that you hold also prolongs it, and can make a shared lease exclusive. Name all files at once, wait for the rest with lock_wait, and release them with lock_release.',
  ...contract.lock_try,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: leaseErrors,
  handle: take
})

async function take(input: LockTryInput, context: OperationContext): Promise<Static<typeof LockTryOutput>> {
  const agentId = requireAgent(context, 'lock_try')
  const files = resolveFiles(input.filepaths, context)
  context.signal.throwIfAborted()
  const group = new LeaseGroup(files, toGroupOptions('lock_try', agentId, input, context), context)
  group.take()
  const missed =
    input.all_or_nothing && !group.isComplete
      ? 'all_or_nothing: not all files were free, so none was leased.'
      : undefined
  return {
    status: 'ok',
    results: group.results(),
    all_acquired: group.isComplete,
    ...toMessage(explainTtl(input.ttl_seconds, context.config), missed),
    timestamp: timestamp()
  }
}
