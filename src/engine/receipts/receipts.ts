// Receipts: the answers to changes that their callers have named, for those who did not get the answer and ask again.
import { cancellationOf, OperationError, type ErrorOnWire } from '../../errors.ts'
import { withResolvers } from '../../support/with-resolvers.ts'
import type { Intent, Verdict } from './intent.ts'

/** What a change was answered. */
export type Outcome = { readonly result: object } | { readonly error: ErrorOnWire }

/** Of one change: of a call, or of one file of a batch. Plain JSON. */
export interface Receipt {
  readonly agentId: string
  readonly requestId: string
  /** Of the file in a batch, else 0. */
  readonly index: number
  /** Of the operation and the whole input. */
  readonly digest: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly outcome: Outcome
  /** Present until it is known that the change was made. */
  readonly intent?: Intent
}

/** Names a change. */
export interface ReceiptKey {
  readonly agentId: string
  readonly requestId: string
}

interface Request extends ReceiptKey {
  readonly digest: string
  /** False if a relay gave the name: then its caller must not see that an answer is a repeated one. */
  readonly isNamedByCaller: boolean
  /** The lineage of the authority that may have made the change, if the call is asked again after the loss of that authority. */
  readonly repeats?: string | undefined
}

/** How receipts change. */
export interface ReceiptChange {
  readonly receipt: Receipt
  /** `made`: the change that was begun is made, and answered as it was going to be. `gone`: it was not made. */
  readonly to: 'kept' | 'made' | 'gone'
}

/** The receipt of the change that a call is about to make. */
export interface ReceiptTurn {
  readonly isNamedByCaller: boolean
  /** That of one file of a batch. */
  readonly item: (index: number) => ReceiptTurn
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

export interface ReceiptOptions {
  readonly keepMs: number
  /** Of each agent. */
  readonly maxBytesPerAgent: number
  /** Of all agents; the one that holds most makes room. */
  readonly maxBytes: number
  readonly now?: () => number
}

/** All receipts of one request. */
interface Entry extends ReceiptKey {
  readonly digest: string
  readonly receipts: Map<number, Receipt>
  at: number
  bytes: number
  /** Settles when the call under way ends. */
  running: Promise<void> | undefined
}

interface Share {
  /** By request id, the oldest first. */
  readonly entries: Map<string, Entry>
  bytes: number
}

export type Receipts = ReturnType<typeof createReceipts>

/** Agents that use more than this of their room make room for all first. There are never many of them. */
const heavyShare = 1 / 4

/** In memory, beside the answer. */
const entryBytes = 400

// Longer than 150 lines: the states of a receipt, and all ways between them, in one place.
export function createReceipts({ keepMs, maxBytesPerAgent, maxBytes, now = Date.now }: ReceiptOptions) {
  const shares = new Map<string, Share>()
  /** By their last change, the oldest first. */
  const all = new Set<Entry>()
  const heavy = new Set<Share>()
  const listeners = new Set<(change: ReceiptChange) => void>()
  const lineageListeners = new Set<() => void>()
  let lineage: string | undefined
  let bytes = 0

  function find({ agentId, requestId }: ReceiptKey): Entry | undefined {
    return shares.get(agentId)?.entries.get(requestId)
  }

  function add(entry: Entry): void {
    const share = shares.get(entry.agentId) ?? { entries: new Map(), bytes: 0 }
    shares.set(entry.agentId, share)
    share.entries.set(entry.requestId, entry)
    all.add(entry)
    weigh(entry, entryBytes + entry.agentId.length + entry.requestId.length)
  }

  function weigh(entry: Entry, change: number): void {
    const share = shares.get(entry.agentId)
    entry.bytes += change
    bytes += change
    if (share === undefined) return
    share.bytes += change
    if (share.bytes > maxBytesPerAgent * heavyShare) heavy.add(share)
    else heavy.delete(share)
  }

  function remove(entry: Entry): void {
    const share = shares.get(entry.agentId)
    weigh(entry, -entry.bytes)
    all.delete(entry)
    share?.entries.delete(entry.requestId)
    if (share?.entries.size === 0) shares.delete(entry.agentId)
  }

  function forgetOld(): void {
    const oldest = now() - keepMs
    for (const entry of all) {
      if (entry.at > oldest) return
      if (entry.running === undefined) remove(entry)
    }
  }

  /** An agent makes room for itself first, then the one that holds most: no agent loses its receipts by what another one does. */
  function makeRoom(agentId: string): void {
    const own = () => {
      const share = shares.get(agentId)
      return share !== undefined && share.bytes > maxBytesPerAgent ? share : undefined
    }
    const most = () => (bytes > maxBytes ? heaviest() : undefined)
    for (const next of [own, most]) for (let share = next(); share !== undefined && removeOldest(share);) share = next()
  }

  /** Of the agents that hold much, the one that holds most; else the one with the oldest receipt. */
  function heaviest(): Share | undefined {
    let most: Share | undefined
    for (const share of heavy) if (share.bytes > (most?.bytes ?? 0)) most = share
    if (most !== undefined) return most
    for (const { agentId, running } of all) if (running === undefined) return shares.get(agentId)
    return undefined
  }

  /** @returns false if all are of calls under way */
  function removeOldest({ entries }: Share): boolean {
    for (const entry of entries.values()) {
      if (entry.running !== undefined) continue
      remove(entry)
      return true
    }
    return false
  }

  /** It counts as the agent's newest. */
  function renew(entry: Entry): void {
    const entries = shares.get(entry.agentId)?.entries
    entry.at = now()
    all.delete(entry)
    all.add(entry)
    entries?.delete(entry.requestId)
    entries?.set(entry.requestId, entry)
  }

  function keep(entry: Entry, receipt: Receipt, to: 'kept' | 'made' = 'kept'): void {
    drop(entry, receipt.index)
    settle(entry, receipt)
    notify({ receipt, to })
  }

  function notify(change: ReceiptChange): void {
    for (const listener of listeners) listener(change)
  }

  function drop(entry: Entry, index: number): Receipt | undefined {
    const receipt = entry.receipts.get(index)
    if (receipt === undefined) return undefined
    entry.receipts.delete(index)
    weigh(entry, -sizeOf(receipt))
    return receipt
  }

  function dropUnmade(entry: Entry, index: number): void {
    if (entry.receipts.get(index)?.intent === undefined) return
    const receipt = drop(entry, index)
    if (receipt !== undefined) notify({ receipt, to: 'gone' })
  }

  function turnOf(entry: Entry, index: number, isNamedByCaller: boolean): ReceiptTurn {
    const { agentId, requestId, digest } = entry
    const receiptOf = (outcome: Outcome) => ({ agentId, requestId, index, digest, at: now(), outcome })
    return {
      isNamedByCaller,
      item: (itemIndex) => turnOf(entry, itemIndex, isNamedByCaller),
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

  /** @throws OperationError INVALID_REQUEST, AUTHORITY_LOST */
  async function enter(request: Request, signal: AbortSignal): Promise<Entry> {
    for (;;) {
      forgetOld()
      const entry = find(request)
      if (entry === undefined) return begin(request)
      if (entry.digest !== request.digest) throw otherInput(request.requestId)
      if (entry.running === undefined) return entry
      await untilSettled(entry.running, signal)
    }
  }

  function begin({ agentId, requestId, digest, repeats }: Request): Entry {
    // Nothing is known of a change that was made under another journal.
    if (repeats !== undefined && repeats !== lineage) throw notKept()
    const entry = { agentId, requestId, digest, receipts: new Map(), at: now(), bytes: 0, running: undefined }
    add(entry)
    return entry
  }

  function settle(entry: Entry, receipt: Receipt): void {
    entry.receipts.set(receipt.index, receipt)
    weigh(entry, sizeOf(receipt))
  }

  function settleJudged(entry: Entry, { intent, ...receipt }: Receipt, verdict: Verdict): void {
    if (verdict === 'made') return keep(entry, receipt)
    if (verdict === 'unclear')
      return keep(entry, { ...receipt, outcome: { error: unclear(receipt.requestId).toWire() } })
    notify({ receipt: { ...receipt, ...(intent !== undefined && { intent }) }, to: 'gone' })
  }

  return {
    /** Names the journal in which the receipts are; undefined while there is none that takes them. */
    get lineage(): string | undefined {
      return lineage
    },
    setLineage(next: string | undefined): void {
      if (next === lineage) return
      lineage = next
      for (const listener of lineageListeners) listener()
    },
    onLineage: (listener: () => void): void => void lineageListeners.add(listener),
    /**
     * Carries out a request that has been named, one call with that name at a time.
     * @throws OperationError INVALID_REQUEST if the name belongs to another input
     */
    async run<Result>(
      request: Request,
      signal: AbortSignal,
      carryOut: (turn: ReceiptTurn) => Promise<Result>
    ): Promise<Result> {
      const entry = await enter(request, signal)
      const { promise, resolve } = withResolvers<void>()
      entry.running = promise
      try {
        return await carryOut(turnOf(entry, 0, request.isNamedByCaller))
      } finally {
        entry.running = undefined
        if (entry.receipts.size === 0) remove(entry)
        else renew(entry)
        makeRoom(entry.agentId)
        resolve()
      }
    },
    /** @returns ends it */
    onChange(listener: (change: ReceiptChange) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    *all(): Generator<Receipt> {
      for (const entry of all) yield* entry.receipts.values()
    },
    /** Receipts of earlier processes, the oldest first. @param judge of a change that a killed process was about to make */
    restore(restored: Iterable<Receipt>, judge: (intent: Intent) => Verdict): void {
      for (const { intent, ...receipt } of restored) {
        const { agentId, requestId, digest, at } = receipt
        // The clock may have been set back meanwhile.
        const entry = find(receipt) ?? {
          agentId,
          requestId,
          digest,
          receipts: new Map(),
          at: Math.min(at, now()),
          bytes: 0,
          running: undefined
        }
        if (entry.receipts.has(receipt.index) || entry.digest !== digest) continue
        if (entry.bytes === 0) add(entry)
        if (intent === undefined) settle(entry, receipt)
        else settleJudged(entry, { ...receipt, intent }, judge(intent))
        if (entry.receipts.size === 0) remove(entry)
        makeRoom(agentId)
      }
      forgetOld()
    },
    get bytes(): number {
      return bytes
    }
  }
}

/** An intent and its receipt have the same outcome as a rule: then it is measured once. */
const sizes = new WeakMap<Outcome, number>()

function sizeOf({ outcome }: Receipt): number {
  const known = sizes.get(outcome)
  if (known !== undefined) return known
  const size = JSON.stringify(outcome).length
  sizes.set(outcome, size)
  return size
}

function untilSettled(running: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(cancellationOf(signal))
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    void running.then(resolve).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

function otherInput(requestId: string): OperationError {
  const message = `The request_id ${JSON.stringify(requestId)} belongs to an earlier call with another input. Nothing was done. A repeat has the very same operation and input; give another call another request_id.`
  return new OperationError('INVALID_REQUEST', message)
}

function notKept(): OperationError {
  const message =
    'The process that carried out this call has ended, and its journal is gone or could not be written: it is not known whether a change was made. Read the file, then decide.'
  return new OperationError('AUTHORITY_LOST', message)
}

function unclear(requestId: string): OperationError {
  const message = `The process that carried out the call ${JSON.stringify(requestId)} was killed during the change, and another program has changed the file since: it is not known whether the change was made. Read the file, then decide; a new attempt needs another request_id.`
  return new OperationError('AUTHORITY_LOST', message)
}
