// What each agent has been shown, so that it gets notices of changes over a restart.
import type { AgentView } from '../../engine/seen/agent-view.ts'
import type { LineRange } from '../../engine/seen/line-ranges.ts'
import type { SeenVersion, ShownStep } from '../../engine/seen/seen-versions.ts'
import { spanOf } from '../../engine/seen/spans.ts'
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
        latest.set(key, toView(record))
      })
      await inSlices(latest.values(), (view) => reads.restore(view))
    },
    onChange: (notify) => reads.onChange((view) => notify({ key: view, records: () => [{ ...view }] }))
  }
}

/** As earlier versions of this program wrote it: with the parts of which the agent gets notices, and before that with nothing else. */
interface EarlierView extends Omit<AgentView, 'seen' | 'steps' | 'learnedHash'> {
  readonly learnedHash?: string | null
  readonly sights?: readonly Sight[]
  readonly knownHash?: string
  readonly seen?: AgentView['seen']
  readonly steps?: AgentView['steps']
}

interface Sight {
  readonly seq: number
  readonly hash: string
  readonly shownHash?: string
  readonly lines?: LineRange
}

function toView({ sights = [], knownHash, seen = [], steps = [], ...view }: EarlierView): AgentView {
  const parts = sights.flatMap(({ hash, shownHash = hash, lines }) =>
    lines === undefined ? [] : [{ hash: shownHash, spans: [spanOf(lines)] }]
  )
  const whole = knownHash === undefined ? [] : [{ hash: knownHash, spans: 'all' as const }]
  const named = sights.flatMap(({ hash }) => [{ hash, spans: [] }])
  const known = [seen, [...parts, ...whole], named].find(({ length }) => length > 0) ?? []
  const [told] = sights.toSorted((a, b) => a.seq - b.seq)
  const learned =
    told !== undefined && told.seq >= view.learnedSeq ? { learnedSeq: told.seq, learnedHash: told.hash } : {}
  return { learnedHash: null, ...view, seen: known, steps, ...learned }
}

function isView(record: unknown): record is EarlierView {
  return (
    hasTypes(record, { agentId: 'string', path: 'string', given: 'string', learnedSeq: 'number' }) &&
    isFields(record) &&
    (record['knownHash'] === undefined || typeof record['knownHash'] === 'string') &&
    (record['sights'] === undefined || isListOf(record['sights'], isSight)) &&
    typeof (record['learnedHash'] ?? '') === 'string' &&
    (record['seen'] === undefined || isListOf(record['seen'], isSeenVersion)) &&
    (record['steps'] === undefined || isListOf(record['steps'], isShownStep))
  )
}

function isListOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is readonly Item[] {
  return Array.isArray(value) && value.every(isItem)
}

function isSight(value: unknown): value is Sight {
  if (!hasTypes(value, { seq: 'number', hash: 'string' }) || !isFields(value)) return false
  return value['lines'] === undefined || isLineRange(value['lines'])
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
