// Leases that ended against the will of their holders, which have not been notified yet or do not know the current version.
import { lockKey } from '../../engine/files/lock-key.ts'
import type { LossState, LostLeases } from '../../engine/leases/lost-leases.ts'
import { hasTypes } from '../../support/json-fields.ts'
import type { PersistedPart } from './part.ts'

/** The holder needs no further notice. */
interface Gone {
  readonly agentId: string
  readonly path: string
  readonly isGone: true
}

export function createLossPart(lostLeases: LostLeases): PersistedPart {
  return {
    name: 'loss',
    isNeededAtOnce: true,
    dump: () => lostLeases.states(),
    restore(records) {
      const losses = new Map<string, LossState>()
      for (const record of records) {
        if (!isRecord(record)) continue
        const key = `${record.agentId}\0${lockKey(record.path)}`
        losses.delete(key)
        if ('end' in record) losses.set(key, record)
      }
      for (const loss of losses.values()) lostLeases.restore(loss)
    },
    onChange: (notify) =>
      lostLeases.onChange((agentId, key) => {
        // A second notice does an agent no harm. A missing one may, and so does a refusal for a loss that it has dealt with.
        const isUrgent = lostLeases.state(agentId, key)?.isTold !== true
        notify({
          key: `${agentId}\0${key}`,
          records: () => [lostLeases.state(agentId, key) ?? gone(agentId, key)],
          isUrgent
        })
      })
  }
}

function gone(agentId: string, key: string): Gone {
  return { agentId, path: key, isGone: true }
}
function isRecord(record: unknown): record is LossState | Gone {
  if (!hasTypes(record, { agentId: 'string', path: 'string' })) return false
  return (
    hasTypes(record, { isGone: 'boolean' }) ||
    (hasTypes(record, { fencingToken: 'number', at: 'number', isTold: 'boolean', isRead: 'boolean' }) &&
      hasTypes((record as LossState).end, { cause: 'string' }))
  )
}
