// lock_release and lock_release_all (LOCK): the holder gives leases back.
import { contract } from '../../schemas/contract.ts'
import type { LockReleaseAllOutput, LockReleaseInput, LockReleaseOutput } from '../../schemas/locks.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { timestamp } from '../support/timestamp.ts'
import { requireAgent } from './locking/resolve-files.ts'
import { explainName, findNamedFiles } from './locking/named-files.ts'

const annotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false }

export const lockRelease = defineOperation({
  name: 'lock_release',
  title: 'Release leases',
  description:
    'Releases your leases on files, so that the next waiter gets them, and leaves their queues if a lock_wait of yours waits or a ticket keeps a place there. Call it as soon as you are done with a file. The answer for a file without a holder is released: true as well, for one that another agent holds released: false and its holder.',
  ...contract.lock_release,
  annotations,
  errors: pathErrors,
  handle: release
})

async function release(
  { filepaths }: LockReleaseInput,
  context: OperationContext
): Promise<Static<typeof LockReleaseOutput>> {
  const { locks, tickets, lostLeases } = context
  const agentId = requireAgent(context, 'lock_release')
  const files = findNamedFiles(filepaths, context)
  tickets.leave(agentId, new Set(files.flatMap(({ names }) => [...names])))
  const find = locks.leases.finder(agentId)
  const results = files.map((file) => {
    const { filepath, key, names } = file
    const held = find(names)
    for (const lease of held) locks.leases.release(lease.key, agentId)
    for (const lost of names) lostLeases.forget(agentId, lost)
    if (held.length > 0) return { filepath, released: true, holder: null }
    const holder = locks.status(key).holders.find(({ isLease }) => isLease)
    return { filepath, released: holder === undefined, holder: holder?.agentId ?? null, ...explainName(file, held) }
  })
  return { status: 'ok', results, all_released: results.every(({ released }) => released), timestamp: timestamp() }
}

export const lockReleaseAll = defineOperation({
  name: 'lock_release_all',
  title: 'Release all leases',
  description:
    'Releases every lease you hold, and leaves every queue in which a lock_wait of yours waits or a ticket keeps a place. Call it when your work is done.',
  ...contract.lock_release_all,
  annotations,
  errors: [],
  handle: releaseAll
})

async function releaseAll(_input: object, context: OperationContext): Promise<Static<typeof LockReleaseAllOutput>> {
  const agentId = requireAgent(context, 'lock_release_all')
  context.tickets.leave(agentId)
  context.lostLeases.forget(agentId)
  return { status: 'ok', count: context.locks.leases.releaseAll(agentId), timestamp: timestamp() }
}
