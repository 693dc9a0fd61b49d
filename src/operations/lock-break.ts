// lock_break: leases ended by an operator; their holders are told at their next call.
import { contract } from '../../schemas/contract.ts'
import type { LockBreakInput, LockBreakOutput } from '../../schemas/locks.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { OperationContext } from './context.ts'
import { defineOperation, pathErrors } from './define.ts'
import { timestamp } from './file-version.ts'
import { resolveFiles } from './lock-files.ts'

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
  const results = resolveFiles(filepaths, context).map(({ filepath, path, key }) => {
    const broken = locks.breakLeases(key, { cause: 'broken', reason, by: caller.agentId })
    const formerHolders = broken.map(({ agentId }) => agentId)
    if (broken.length > 0) log.warn({ path, reason, by: caller.agentId, holders: formerHolders }, 'leases broken')
    return { filepath, broken: broken.length > 0, former_holders: formerHolders }
  })
  const count = results.reduce((sum, { former_holders }) => sum + former_holders.length, 0)
  return { status: 'ok', results, count, timestamp: timestamp() }
}
