// lock_break: leases ended by an operator; their holders are told at their next call.
import { contract } from '../../schemas/contract.ts'
import type { LockBreakInput, LockBreakOutput } from '../../schemas/locks.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { OperationContext } from './context.ts'
import { defineOperation, pathErrors } from './define.ts'
import { timestamp } from './file-version.ts'
import { explainName, findNamedFiles } from './named-files.ts'

export const lockBreak = defineOperation({
  name: 'lock_break',
  title: 'Break leases',
  description:
    'For operators, over REST alone: ends all leases on files, whoever holds them. The former holders are told the reason at their next call, and their changes of the file are refused until they have read it. Changes under way are finished, but for those that named the lease by its fencing_token.',
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
  const find = locks.leaseFinder()
  let count = 0
  const results = findNamedFiles(filepaths, context).map((file) => {
    const leases = find(file.names)
    count += leases.length
    for (const { key, agentId } of leases) locks.breakLeases(key, end, agentId)
    const former_holders = [...new Set(leases.map(({ agentId }) => agentId))]
    const [broken] = leases
    const isBroken = broken !== undefined
    if (isBroken) log.warn({ path: broken.path, reason, by: end.by, holders: former_holders }, 'leases broken')
    return { filepath: file.filepath, broken: isBroken, former_holders, ...(!isBroken && explainName(file, [])) }
  })
  return { status: 'ok', results, count, timestamp: timestamp() }
}
