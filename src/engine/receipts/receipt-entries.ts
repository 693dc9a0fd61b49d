// The receipts of all requests, within bounds of age and bytes.
import { systemClock } from '../locks/clock.ts'
import type { Outcome, Receipt, ReceiptKey } from './receipt.ts'

export interface ReceiptBounds {
  readonly keepMs: number
  /** Of each agent. */
  readonly maxBytesPerAgent: number
  /** Of all agents; the one that holds most makes room. */
  readonly maxBytes: number
  /** A monotonic clock: a change whose receipt is forgotten early is made twice. */
  readonly now?: () => number
}

/** All receipts of one request. */
export interface ReceiptEntry extends ReceiptKey {
  readonly digest: string
  readonly receipts: Map<number, Receipt>
  /** When a call of that name last ended, by the clock of the bounds. */
  at: number
  bytes: number
  /** Settles when the call under way ends. */
  running: Promise<void> | undefined
  /** How many calls are under way or wait for that: until they have ended, the entry stays. */
  calls: number
}

interface Share {
  /** By request id, the oldest first. */
  readonly entries: Map<string, ReceiptEntry>
  bytes: number
}

/** Agents that use more than this of their room make room for all first. There are never many of them. */
const heavyShare = 1 / 4

/** In memory, beside the answer. */
const entryBytes = 400

export function createReceiptEntries(bounds: ReceiptBounds) {
  const { keepMs, maxBytesPerAgent, maxBytes, now = () => systemClock.now() } = bounds
  const shares = new Map<string, Share>()
  /** By their last change, the oldest first. */
  const all = new Set<ReceiptEntry>()
  const heavy = new Set<Share>()
  let bytes = 0

  function find({ agentId, requestId }: ReceiptKey): ReceiptEntry | undefined {
    return shares.get(agentId)?.entries.get(requestId)
  }

  /** Of a request that has none. */
  function add(request: Pick<ReceiptEntry, 'agentId' | 'requestId' | 'digest'>): ReceiptEntry {
    const entry: ReceiptEntry = { ...request, receipts: new Map(), at: now(), bytes: 0, running: undefined, calls: 0 }
    const share = shares.get(entry.agentId) ?? { entries: new Map(), bytes: 0 }
    shares.set(entry.agentId, share)
    share.entries.set(entry.requestId, entry)
    all.add(entry)
    weigh(entry, entryBytes + entry.agentId.length + entry.requestId.length)
    return entry
  }

  function weigh(entry: ReceiptEntry, change: number): void {
    const share = shares.get(entry.agentId)
    entry.bytes += change
    bytes += change
    if (share === undefined) return
    share.bytes += change
    if (share.bytes > maxBytesPerAgent * heavyShare) heavy.add(share)
    else heavy.delete(share)
  }

  function remove(entry: ReceiptEntry): void {
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
      if (entry.calls === 0) remove(entry)
    }
  }

  /** An agent makes room for itself first, then the one that holds most: no agent loses its receipts by what another one does. */
  function makeRoom(agentId: string): void {
    const own = () => {
      const share = shares.get(agentId)
      // The last answer is kept, however long it is: to be forgotten at once it would not have had to be made.
      return share !== undefined && share.bytes > maxBytesPerAgent && share.entries.size > 1 ? share : undefined
    }
    const most = () => (bytes > maxBytes ? heaviest() : undefined)
    for (const next of [own, most]) for (let share = next(); share !== undefined && removeOldest(share);) share = next()
  }

  /** Of the agents that hold much, the one that holds most; else the one with the oldest receipt. */
  function heaviest(): Share | undefined {
    let most: Share | undefined
    for (const share of heavy) if (share.bytes > (most?.bytes ?? 0)) most = share
    if (most !== undefined) return most
    for (const { agentId, calls } of all) if (calls === 0) return shares.get(agentId)
    return undefined
  }

  /** @returns false if calls need all of them */
  function removeOldest({ entries }: Share): boolean {
    for (const entry of entries.values()) {
      if (entry.calls > 0) continue
      remove(entry)
      return true
    }
    return false
  }

  /** It counts as the agent's newest. */
  function renew(entry: ReceiptEntry): void {
    const entries = shares.get(entry.agentId)?.entries
    entry.at = now()
    all.delete(entry)
    all.add(entry)
    entries?.delete(entry.requestId)
    entries?.set(entry.requestId, entry)
  }

  function put(entry: ReceiptEntry, receipt: Receipt): void {
    entry.receipts.set(receipt.index, receipt)
    weigh(entry, sizeOf(receipt))
  }

  function drop(entry: ReceiptEntry, index: number): Receipt | undefined {
    const receipt = entry.receipts.get(index)
    if (receipt === undefined) return undefined
    entry.receipts.delete(index)
    weigh(entry, -sizeOf(receipt))
    return receipt
  }

  return {
    find,
    add,
    put,
    drop,
    remove,
    renew,
    makeRoom,
    forgetOld,
    byLastChange: (): Iterable<ReceiptEntry> => all,
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
