// One request from its start to its end, and its entries in the queues of its keys.
import type { Deadline } from './deadlines.ts'
import type { Lock, LockMode, LockRequest } from './lock.ts'
import type { Standing } from './positions.ts'

type AcquisitionState = 'waiting' | 'held' | 'released' | 'expired' | 'failed'

interface AcquisitionOptions {
  readonly operation: string
  readonly agentId?: string | undefined
  readonly timeoutMs: number
  readonly ttlMs: number
}

/**
 * It takes its keys one after the other in canonical order and waits in one queue at a time. An acquisition that waits
 * at a key holds only keys before it, so operations cannot wait for each other in a cycle. The table is the wait-for
 * graph: from `waitsAt` to the holders of its queue and the waiters ahead of it.
 */
export class Acquisition implements Deadline {
  readonly operation: string
  readonly agentId: string | undefined
  timeoutMs: number
  ttlMs: number
  readonly resolve: (lock: Lock) => void
  readonly reject: (error: unknown) => void
  /** One for each key, in canonical order. */
  readonly entries: readonly QueueEntry[]
  onPosition: ((position: number, total: number) => void) | undefined
  /** From waiting to held and then to released or expired, or from waiting to failed; never back. */
  state: AcquisitionState = 'waiting'
  /** How many of its entries have been granted. */
  granted = 0
  fencingToken: number | undefined
  /** Of a lease: shown to other agents. */
  note: string | undefined
  /** Of a lease: true from the end of its timeout, while its place is kept although no client waits for the answer. */
  isParked = false
  /** Removes the listener from the caller's signal. */
  detach: (() => void) | undefined
  /** The end of its timeout while it waits, of its grace period while it is parked in a queue, of its TTL once it is held. */
  dueAt: number
  slot = -1
  ticket = 0
  #controller: AbortController | undefined
  #expiry: unknown

  constructor(
    requests: LockRequest | readonly LockRequest[],
    options: AcquisitionOptions,
    now: number,
    resolve: (lock: Lock) => void,
    reject: (error: unknown) => void
  ) {
    this.operation = options.operation
    this.agentId = options.agentId
    this.timeoutMs = requireDuration('timeoutMs', options.timeoutMs)
    this.dueAt = now + options.timeoutMs
    this.ttlMs = requireDuration('ttlMs', options.ttlMs)
    this.resolve = resolve
    this.reject = reject
    this.entries =
      'key' in requests
        ? [new QueueEntry(this, requests)]
        : inCanonicalOrder(requests).map((request) => new QueueEntry(this, request))
  }

  /** True for the reservation of a path for an agent, false for one operation on it. */
  get isLease(): boolean {
    return false
  }

  /** The entry that waits or is about to be granted; undefined once all are. */
  get waitsAt(): QueueEntry | undefined {
    return this.entries[this.granted]
  }

  /** What it waits for, otherwise all that it holds; for messages. */
  get path(): string {
    return this.waitsAt?.path ?? this.entries.map(({ path }) => path).join(', ')
  }

  get isWhole(): boolean {
    return this.entries.every(({ state }) => state === 'holding')
  }

  holdsNothingBut(entry: QueueEntry): boolean {
    return this.entries.every((other) => other === entry || other.state !== 'holding')
  }

  /** Made when first asked for: most operations are over before anything could abort. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.state === 'expired') this.#controller.abort(this.#expiry)
    return this.#controller.signal
  }

  /** @param reason what its signal aborts with */
  expire(reason: unknown): void {
    this.state = 'expired'
    this.#expiry = reason
    this.#controller?.abort(reason)
  }
}

/** One key of one acquisition. */
export class QueueEntry {
  readonly acquisition: Acquisition
  readonly key: string
  readonly path: string
  readonly isLease: boolean
  /** Changes for a lease only: its agent can request a stronger one. */
  mode: LockMode
  /** What it is in the queue of its key: perhaps a waiter first, then a holder, then out of it again. */
  state: 'out' | 'waiting' | 'holding' = 'out'
  /** When it became what it is now: waiter or holder. */
  since = 0
  ticket = 0
  standing: Standing | undefined
  ahead: QueueEntry | undefined
  behind: QueueEntry | undefined

  constructor(acquisition: Acquisition, { key, path, mode }: LockRequest) {
    this.acquisition = acquisition
    this.key = key
    this.path = path
    this.isLease = acquisition.isLease
    this.mode = mode
  }
}

/** Sorted by UTF-16 code units, the same on every machine; of two requests for one key the exclusive one counts. */
function inCanonicalOrder(requests: readonly LockRequest[]): LockRequest[] {
  if (requests.length === 0) throw new RangeError('requests: expected at least one, got none')
  const byKey = new Map<string, LockRequest>()
  for (const request of requests) {
    const known = byKey.get(request.key)
    if (known === undefined || known.mode === 'shared') byKey.set(request.key, request)
  }
  return [...byKey.values()].sort((one, other) => (one.key < other.key ? -1 : 1))
}

export function requireDuration(name: string, ms: number): number {
  if (ms >= 0) return ms
  throw new RangeError(`${name}: expected milliseconds of at least 0, got ${ms}`)
}
