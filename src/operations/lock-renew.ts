// lock_renew: the holder prolongs leases.
import { lockTime } from '../engine/locks/clock.ts'
import { contract } from '../../schemas/contract.ts'
import type { LockRenewInput, LockRenewOutput } from '../../schemas/locks.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { timestamp } from '../support/timestamp.ts'
import { explainTtl, toMessage, ttlSeconds } from './locking/lease-options.ts'
import { mainHolder, nameOf } from '../engine/leases/lease-requests.ts'
import { explainName, findNamedFiles, leaseThatCounts } from './locking/named-files.ts'
import { requireAgent } from './locking/resolve-files.ts'

export const lockRenew = defineOperation({
  name: 'lock_renew',
  title: 'Prolong leases',
  description:
    'Restarts the time of your leases, from now on with ttl_seconds if given. Reading or changing the file does the same; this is for long work without such a call. renewed: false means that you hold no lease on the file: read it again and take a new one with lock_try.',
  ...contract.lock_renew,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: pathErrors,
  handle: renew
})

async function renew(
  { filepaths, ttl_seconds }: LockRenewInput,
  context: OperationContext
): Promise<Static<typeof LockRenewOutput>> {
  const { locks, config } = context
  const agentId = requireAgent(context, 'lock_renew')
  const ttlMs = ttl_seconds === undefined ? undefined : ttlSeconds(ttl_seconds, config) * 1000
  const find = locks.leases.finder(agentId)
  const results = findNamedFiles(filepaths, context).map((file) => {
    const { filepath, key, names } = file
    const held = find(names)
    const explanation = explainName(file, held)
    const lease = locks.leases.renew(leaseThatCounts(file, held)?.key ?? key, agentId, ttlMs)
    if (lease === undefined)
      return { filepath, renewed: false, holder: nameOf(mainHolder(locks.status(key), agentId)), ...explanation }
    const { fencingToken, expiresAt } = lease
    return {
      filepath,
      renewed: true,
      holder: agentId,
      fencing_token: fencingToken,
      expires_at: lockTime(expiresAt),
      ...explanation
    }
  })
  return {
    status: 'ok',
    results,
    all_renewed: results.every(({ renewed }) => renewed),
    ...toMessage(explainTtl(ttl_seconds, config)),
    timestamp: timestamp()
  }
}
