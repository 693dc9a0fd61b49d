// lock_break: an operator ends leases; the holders are notified at their next call.
import { contract } from '../../schemas/contract.ts'
import type { LockBreakInput, LockBreakOutput } from '../../schemas/locks.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { timestamp } from '../support/timestamp.ts'
import { explainName, findNamedFiles } from './locking/named-files.ts'

export const lockBreak = defineOperation({
  name: 'lock_break',
  title: 'Break leases',
  description:
    'For operators, over REST only: ends all leases on files, of any agent. The former holders get the reason with their next call, and their changes of the file are refused until they have read it. Changes under way are finished, except those that named the lease by its fencing_token.',
  ...contract.lock_break,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  errors: pathErrors,
  isForOperators: true,
  handle: breakLeases
})

async function breakLeases(
  { filepaths, reason }: LockBreakInput,
  context: OperationContext
): Promise<Static<typeof LockBreakOutput>> {
  const { locks, caller, log } = context
  const end = { cause: 'broken', reason, by: caller.agentId } as const
  const find = locks.leases.finder()
  // All are found before the first is broken: a waiter that gets the grant has a lease from then on.
  const files = findNamedFiles(filepaths, context).map((file) => ({ file, leases: find(file.names) }))
  const broken = new Set(files.flatMap(({ leases }) => leases))
  for (const lease of broken) locks.leases.break(lease.key, end, (other) => other === lease)
  const results = files.map(({ file, leases }) => {
    const former_holders = [...new Set(leases.map(({ agentId }) => agentId))]
    const [first] = leases
    if (first === undefined) return { filepath: file.filepath, broken: false, former_holders, ...explainName(file, []) }
    log.warn({ path: first.path, reason, by: end.by, holders: former_holders }, 'leases broken')
    return { filepath: file.filepath, broken: true, former_holders }
  })
  return { status: 'ok', results, count: broken.size, timestamp: timestamp() }
}
