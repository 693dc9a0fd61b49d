// Receipts: the answers to changes that their callers have named, for those who did not get the answer and ask again.
import { OperationError } from '../../errors.ts'
import { orAborted } from '../../support/shared-rounds.ts'
import { withResolvers } from '../../support/with-resolvers.ts'
import { adviceAfterLoss } from './after-loss.ts'
import type { Intent, Verdict } from '../commit/note.ts'
import { createReceiptEntries, type ReceiptBounds, type ReceiptEntry } from './receipt-entries.ts'
import type { Outcome, Receipt, ReceiptKey } from './receipt.ts'
import { createListeners } from '../../support/listeners.ts'

interface Request extends ReceiptKey {
  readonly operation: string
  readonly digest: string
  /** False if a relay gave the name: then its caller must not see that an answer is a repeated one. */
  readonly isNamedByCaller: boolean
  /** The lineage of the authority that may have made the change, if the call is asked again after the loss of that authority. */
  readonly repeats?: string | undefined
}

interface Entered {
  readonly entry: ReceiptEntry
  /** The call is over: the next one of that name may begin. */
  readonly end: () => void
}

/** Of a change that a process was about to make. */
type Begun = Receipt & { readonly intent: Intent }

/** How receipts change. */
export interface ReceiptChange {
  readonly receipt: Receipt
  /** `made`: the change that was begun is made, and answered as it was going to be. `gone`: it was not made. */
  readonly to: 'kept' | 'made' | 'gone'
}

/** The receipt of the change that a call is about to make. */
export interface OwnReceipt {
  readonly isNamedByCaller: boolean
  /** That of one file of a batch. */
  readonly item: (index: number) => OwnReceipt
  /** The answer of an earlier call. */
  readonly recorded: () => Outcome | undefined
  /** Call it in the tick of the change, right before it. @returns says that the change could not be made */
  readonly begin: (intent: Intent, result: object) => () => void
  /**
   * The change that was begun is made. Call it in the tick in which the version is recorded, right before that.
   * @param result if it is another one than was expected
   */
  readonly made: (result?: object) => void
  /** Nothing remains of a change that was begun and not made. */
  readonly drop: () => void
  /** The answer of a call that has ended, unless its change has one. */
  readonly record: (outcome: Outcome) => void
}

export type Receipts = ReturnType<typeof createReceipts>

export function createReceipts(options: ReceiptBounds) {
  const entries = createReceiptEntries(options)
  const changes = createListeners<[change: ReceiptChange]>()
  const lineages = createListeners<[]>()
  let lineage: string | undefined

  function keep(entry: ReceiptEntry, receipt: Receipt, to: 'kept' | 'made' = 'kept'): void {
    entries.drop(entry, receipt.index)
    entries.put(entry, receipt)
    changes.call({ receipt, to })
  }

  function dropUnmade(entry: ReceiptEntry, index: number): void {
    if (entry.receipts.get(index)?.intent === undefined) return
    const receipt = entries.drop(entry, index)
    if (receipt !== undefined) changes.call({ receipt, to: 'gone' })
  }

  function ownReceiptOf(entry: ReceiptEntry, index: number, isNamedByCaller: boolean): OwnReceipt {
    const { agentId, requestId, digest } = entry
    const receiptOf = (outcome: Outcome) => ({ agentId, requestId, index, digest, at: Date.now(), outcome })
    return {
      isNamedByCaller,
      item: (itemIndex) => ownReceiptOf(entry, itemIndex, isNamedByCaller),
      recorded() {
        const receipt = entry.receipts.get(index)
        return receipt?.intent === undefined ? receipt?.outcome : undefined
      },
      begin(intent, result) {
        keep(entry, { ...receiptOf({ result }), intent })
        return () => dropUnmade(entry, index)
      },
      made(result) {
        const receipt = entry.receipts.get(index)
        if (receipt?.intent === undefined) return
        if (result === undefined) keep(entry, receiptOf(receipt.outcome), 'made')
        else keep(entry, receiptOf({ result }))
      },
      drop: () => dropUnmade(entry, index),
      record(outcome) {
        const receipt = entry.receipts.get(index)
        // The answer of a change stays as it was recorded with the change, unless that turned out to be in doubt.
        if (receipt === undefined || receipt.intent !== undefined || 'error' in outcome) keep(entry, receiptOf(outcome))
      }
    }
  }

  /**
   * Resolves once no other call of that name is under way.
   * @throws OperationError INVALID_REQUEST, AUTHORITY_LOST
   */
  async function enter(request: Request, signal: AbortSignal): Promise<Entered> {
    entries.forgetOld()
    const entry = entries.find(request) ?? begin(request)
    if (entry.digest !== request.digest) throw otherInput(request.requestId)
    entry.calls += 1
    try {
      while (entry.running !== undefined) await orAborted(entry.running, signal)
      requireSameJournal(entry, request)
    } catch (error) {
      leave(entry)
      throw error
    }
    // No await may stand between the look at `running` and this note: two calls would both find that none is under way.
    const { promise, resolve } = withResolvers<void>()
    entry.running = promise
    const end = () => {
      entry.running = undefined
      leave(entry)
      resolve()
    }
    return { entry, end }
  }

  function begin({ agentId, requestId, digest }: Request): ReceiptEntry {
    return entries.add({ agentId, requestId, digest })
  }

  /** Nothing is known of a change that was made under another journal. */
  function requireSameJournal({ receipts }: ReceiptEntry, { operation, repeats }: Request): void {
    if (receipts.size === 0 && repeats !== undefined && repeats !== lineage) throw notKept(operation)
  }

  function leave(entry: ReceiptEntry): void {
    entry.calls -= 1
    if (entry.receipts.size > 0) entries.renew(entry)
    else if (entry.calls === 0) entries.remove(entry)
    entries.makeRoom(entry.agentId)
  }

  function settleJudged(entry: ReceiptEntry, { intent, ...receipt }: Begun, verdict: Verdict): void {
    if (verdict === 'made') return keep(entry, receipt)
    if (verdict === 'unclear')
      return keep(entry, { ...receipt, outcome: { error: unclear(receipt.requestId, intent).toWire() } })
    changes.call({ receipt: { ...receipt, intent }, to: 'gone' })
  }

  return {
    /** Names the journal in which the receipts are; undefined while there is none that takes them. */
    get lineage(): string | undefined {
      return lineage
    },
    setLineage(next: string | undefined): void {
      if (next === lineage) return
      lineage = next
      lineages.call()
    },
    onLineage: (listener: () => void): void => void lineages.add(listener),
    /**
     * Carries out a request that has been named, one call with that name at a time.
     * @throws OperationError INVALID_REQUEST if the name belongs to another input
     */
    async run<Result>(
      request: Request,
      signal: AbortSignal,
      carryOut: (receipt: OwnReceipt) => Promise<Result>
    ): Promise<Result> {
      const { entry, end } = await enter(request, signal)
      try {
        return await carryOut(ownReceiptOf(entry, 0, request.isNamedByCaller))
      } finally {
        end()
      }
    },
    /** @returns ends it */
    onChange: changes.add,
    *all(): Generator<Receipt> {
      for (const entry of entries.byLastChange()) yield* entry.receipts.values()
    },
    /**
     * Receipts of earlier processes, the oldest first. Their time begins anew: the clocks of two processes may be any time apart.
     * @param judge of a change that a killed process was about to make
     */
    restore(restored: Iterable<Receipt>, judge: (intent: Intent) => Verdict): void {
      for (const { intent, ...receipt } of restored) {
        const { agentId, requestId, digest } = receipt
        const known = entries.find(receipt)
        if (known !== undefined && (known.digest !== digest || known.receipts.has(receipt.index))) continue
        const entry = known ?? entries.add({ agentId, requestId, digest })
        if (intent === undefined) entries.put(entry, receipt)
        else settleJudged(entry, { ...receipt, intent }, judge(intent))
        if (entry.receipts.size === 0 && entry.calls === 0) entries.remove(entry)
        entries.makeRoom(agentId)
      }
    },
    get bytes(): number {
      return entries.bytes
    }
  }
}

function otherInput(requestId: string): OperationError {
  const message = `The request_id ${JSON.stringify(requestId)} belongs to an earlier call with another input. Nothing was done. A repeat has the very same operation and input; give another call another request_id.`
  return new OperationError('INVALID_REQUEST', message)
}

function notKept(operation: string): OperationError {
  const message = 'The process that carried out this call has ended, and its journal is gone or could not be written.'
  return new OperationError('AUTHORITY_LOST', `${message} ${adviceAfterLoss(operation)}`)
}

function unclear(requestId: string, intent: Intent): OperationError {
  const look = 'steps' in intent && intent.steps.length > 1 ? 'Look for both names with async_status' : 'Read the file'
  const message = `The process that carried out the call ${JSON.stringify(requestId)} was killed during the change, and another program has changed the file since: it is not known whether the change was made. ${look}, then decide; a new attempt needs another request_id.`
  return new OperationError('AUTHORITY_LOST', message)
}
