// The receipts of named changes: with them, and the disk, the next authority knows which changes the one before it has made.
import { randomUUID } from 'node:crypto'
import type { Logger } from '../../support/logger.ts'
import type { Commits } from '../../engine/commit/commits.ts'
import { fromEarlierIntent } from '../../engine/commit/earlier-notes.ts'
import { isNotedStep, type Intent } from '../../engine/commit/note.ts'
import type { Receipt, ReceiptKey } from '../../engine/receipts/receipt.ts'
import type { Receipts } from '../../engine/receipts/receipts.ts'
import { hasTypes, isFields, type Fields } from '../../support/json-fields.ts'
import type { PersistedPart } from './part.ts'

/** What became of a change whose intent is in the journal: it was not made, or made and answered as the intent says. */
interface Ended extends ReceiptKey {
  readonly index: number
  readonly isGone?: true
  readonly isMade?: true
}

/** Names the journal, however often it is rewritten. */
interface Lineage {
  readonly lineage: string
}

export interface ReceiptPart extends PersistedPart {
  /** Whether what is written reaches the journal. Until it does, no other process can continue these receipts. */
  readonly setWritable: (isWritable: boolean) => void
}

interface Options {
  readonly receipts: Receipts
  readonly commits: Pick<Commits, 'judge'>
  readonly log: Logger
}

export function createReceiptPart({ receipts, commits, log }: Options): ReceiptPart {
  let lineage: string | undefined
  let isWritable = true
  let notify: Parameters<PersistedPart['onChange']>[0] = () => {}

  function publish(): void {
    receipts.setLineage(isWritable ? lineage : undefined)
  }

  function judgeAndLog(intent: Intent) {
    const verdict = commits.judge(intent)
    log.info({ ...intent, verdict }, 'a change was under way when the process before this one ended')
    return verdict
  }

  return {
    name: 'receipt',
    isNeededAtOnce: true,
    *dump() {
      if (lineage !== undefined) yield { lineage }
      yield* receipts.all()
    },
    restore(records) {
      const latest = new Map<string, Receipt>()
      for (const record of records) {
        if (isLineage(record)) lineage = record.lineage
        if (!isOfReceipt(record)) continue
        const key = `${record.agentId}\n${record.requestId}\n${record.index}`
        const begun = latest.get(key)
        latest.delete(key)
        const receipt = toReceipt(record)
        if (receipt !== undefined) latest.set(key, receipt)
        else if (begun !== undefined && 'isMade' in record) latest.set(key, withoutIntent(begun))
      }
      receipts.restore(latest.values(), judgeAndLog)
      if (lineage === undefined) {
        lineage = randomUUID()
        notify({ key: 'lineage', records: () => [{ lineage }], isUrgent: true })
      }
      publish()
    },
    onChange(next) {
      notify = next
      return receipts.onChange(({ receipt, to }) => {
        const { agentId, requestId, index, intent } = receipt
        const key = { agentId, requestId, index }
        const record = (): Receipt | Ended => {
          if (to === 'kept') return receipt
          // The journal has the rest.
          return to === 'made' ? { ...key, isMade: true } : { ...key, isGone: true }
        }
        // A change that was made is recorded in the write of its version. Until then its intent, and the disk, tell of it.
        const isWithVersion = to !== 'gone' && intent === undefined
        notify({
          key: receipt,
          records: () => [record()],
          ...(isWithVersion ? { joinsNext: true } : { isUrgent: true })
        })
      })
    },
    setWritable(next) {
      isWritable = next
      publish()
    }
  }
}

function isLineage(record: unknown): record is Lineage {
  return hasTypes(record, { lineage: 'string' })
}

function withoutIntent({ agentId, requestId, index, digest, at, outcome }: Receipt): Receipt {
  return { agentId, requestId, index, digest, at, outcome }
}

function isOfReceipt(record: unknown): record is Receipt | Ended {
  return hasTypes(record, { agentId: 'string', requestId: 'string', index: 'number' })
}

/** @returns undefined for a record of what became of a receipt */
function toReceipt(record: Receipt | Ended): Receipt | undefined {
  if (!isFields(record) || !hasTypes(record, { digest: 'string', at: 'number' })) return undefined
  const receipt = record as Receipt
  const { outcome, intent }: Fields = record
  if (!isFields(outcome) || !(isFields(outcome['result']) || isFields(outcome['error']))) return undefined
  if (intent === undefined) return receipt
  const known = toIntent(intent)
  return known && { ...receipt, intent: known }
}

function toIntent(value: unknown): Intent | undefined {
  if (!isFields(value)) return undefined
  const { steps, note } = value
  if (typeof note === 'string') return { note }
  return Array.isArray(steps) ? (steps.every(isNotedStep) ? { steps } : undefined) : fromEarlierIntent(value)
}
