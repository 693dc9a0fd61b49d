// What each agent has been shown, so that it gets notices of changes over a restart.
import type { AgentView } from '../../engine/seen/agent-view.ts'
import type { LineRange } from '../../engine/seen/line-ranges.ts'
import type { SeenVersion, ShownStep } from '../../engine/seen/seen-versions.ts'
import type { ReadTracker } from '../../engine/seen/read-tracker.ts'
import { hasTypes, isFields } from '../../support/json-fields.ts'
import { inSlices } from '../../support/slices.ts'
import type { PersistedPart } from './part.ts'

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
    onChange: (notify) => reads.onChange((view) => notify({ key: view, records: () => [{ ...view }] }))
  }
}

function isView(record: unknown): record is AgentView {
  return (
    hasTypes(record, { agentId: 'string', path: 'string', given: 'string', learnedSeq: 'number' }) &&
    isFields(record) &&
    typeof (record['learnedHash'] ?? '') === 'string' &&
    isListOf(record['seen'], isSeenVersion) &&
    isListOf(record['steps'], isShownStep)
  )
}

function isListOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is readonly Item[] {
  return Array.isArray(value) && value.every(isItem)
}

function isSeenVersion(value: unknown): value is SeenVersion {
  if (!hasTypes(value, { hash: 'string' }) || !isFields(value)) return false
  return value['spans'] === 'all' || isListOf(value['spans'], isLineRange)
}

function isShownStep(value: unknown): value is ShownStep {
  return hasTypes(value, { from: 'string', to: 'string' })
}

function isLineRange(value: unknown): value is LineRange {
  return hasTypes(value, { start: 'number', end: 'number' })
}
