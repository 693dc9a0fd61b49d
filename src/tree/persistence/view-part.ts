// What each agent has been shown, so that it gets notices of changes over a restart.
import type { AgentView } from '../../engine/versions/agent-view.ts'
import type { SeenRange } from '../../engine/versions/seen-ranges.ts'
import type { ReadTracker } from '../../engine/versions/read-tracker.ts'
import { hasTypes, isFields } from './fields.ts'
import { inSlices, type PersistedPart } from './part.ts'

/** Restore it after the history, which says what has changed since. */
export function createViewPart(reads: ReadTracker): PersistedPart {
  return {
    name: 'view',
    isNeededAtOnce: false,
    *dump() {
      for (const view of reads.dump()) yield { ...view }
    },
    async restore(records) {
      const latest = new Map<string, AgentView>()
      await inSlices(records, (record) => {
        if (!isView(record)) return
        const key = `${record.agentId}\0${record.path}`
        latest.delete(key)
        latest.set(key, record)
      })
      await inSlices(latest.values(), (view) => reads.restore(view))
    },
    onChange: (notify) => reads.onChange((view) => notify({ key: view, record: () => ({ ...view }) }))
  }
}

function isView(record: unknown): record is AgentView {
  return (
    hasTypes(record, { agentId: 'string', path: 'string', given: 'string', learnedSeq: 'number' }) &&
    isFields(record) &&
    (record['knownHash'] === undefined || typeof record['knownHash'] === 'string') &&
    Array.isArray(record['sights']) &&
    record['sights'].every(isSeenRange)
  )
}

function isSeenRange(value: unknown): value is SeenRange {
  if (!hasTypes(value, { seq: 'number', hash: 'string' }) || !isFields(value)) return false
  return value['lines'] === undefined || hasTypes(value['lines'], { start: 'number', end: 'number' })
}
