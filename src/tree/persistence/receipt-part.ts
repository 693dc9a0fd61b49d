// The receipts of named changes: with them, and the disk, the next authority knows which changes the one before it has made.
import { randomUUID } from 'node:crypto'
import type { Logger } from '../../support/logger.ts'
import type { Commits } from '../../engine/commit/commits.ts'
import type { FileStore } from '../../engine/files/file-store.ts'
import { judge, type Intent } from '../../engine/commit/intent.ts'
import type { Receipt, ReceiptKey } from '../../engine/receipts/receipt.ts'
import type { Receipts } from '../../engine/receipts/receipts.ts'
import { hasTypes, isFields } from './fields.ts'
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
  readonly files: Pick<FileStore, 'openCanonical'>
  readonly commits: Pick<Commits, 'stages' | 'wasTransactionMade'>
  readonly log: Logger
}

export function createReceiptPart({ receipts, files, commits, log }: Options): ReceiptPart {
  let lineage: string | undefined
  let isWritable = true
  let notify: Parameters<PersistedPart['onChange']>[0] = () => {}

  function publish(): void {
    receipts.setLineage(isWritable ? lineage : undefined)
  }

  function judgeAndLog(intent: Intent) {
    const verdict = judge(intent, { ...files, ...commits })
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
        if (isReceipt(record)) latest.set(key, record)
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

function isReceipt(record: Receipt | Ended): record is Receipt {
  if (!isFields(record) || !hasTypes(record, { digest: 'string', at: 'number' })) return false
  const { outcome, intent } = record
  if (!isFields(outcome) || !(isFields(outcome['result']) || isFields(outcome['error']))) return false
  return intent === undefined || isIntent(intent)
}

const models = {
  write: { path: 'string', staged: 'string', node: 'string', after: 'string' },
  delete: { path: 'string', node: 'string' },
  rename: { from: 'string', to: 'string', node: 'string' },
  transaction: { record: 'string' }
} as const

function isIntent(value: unknown): value is Intent {
  if (!isFields(value)) return false
  const model = models[value['kind'] as keyof typeof models] as Parameters<typeof hasTypes>[1] | undefined
  return model !== undefined && hasTypes(value, model)
}
