// One request from its start to its end, and the places it takes in the queues on the way.
import type { Deadline } from './deadlines.ts'
import { lockExpired } from './errors.ts'
import type { Lock, LockRequest } from './lock.ts'
import { QueueEntry } from './queue.ts'

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
  timeoutAt: number
  ttlMs: number
  readonly resolve: (lock: Lock) => void
  readonly reject: (error: unknown) => void
  /** One for each key, in canonical order. */
  readonly entries: readonly QueueEntry[]
  onPosition: ((position: number, total: number) => void) | undefined
  /** From waiting to held and then to released or expired, or from waiting to failed; never back. */
  state: AcquisitionState = 'waiting'
  /** How many of its places have been granted. */
  granted = 0
  fencingToken: number | undefined
  /** Of a lease: shown to other agents. */
  note: string | undefined
  /** Of a lease: true from the end of its timeout, while its place is kept although no client waits for the answer. */
  isParked = false
  /** Removes the listener from the caller's signal. */
  detach: (() => void) | undefined
  /** The timeout while it waits, the end of the TTL once it is held. */
  endsAt: number
  slot = -1
  ticket = 0
  #controller: AbortController | undefined

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
    this.timeoutAt = now + options.timeoutMs
    this.ttlMs = requireDuration('ttlMs', options.ttlMs)
    this.resolve = resolve
    this.reject = reject
    this.entries =
      'key' in requests
        ? [new QueueEntry(this, requests)]
        : inCanonicalOrder(requests).map((request) => new QueueEntry(this, request))
    this.endsAt = this.timeoutAt
  }

  /** True for the reservation of a path for an agent, false for one operation on it. */
  get isLease(): boolean {
    return false
  }

  /** The place it waits at or is about to take; undefined once it has them all. */
  get waitsAt(): QueueEntry | undefined {
    return this.entries[this.granted]
  }

  get isWhole(): boolean {
    return this.state === 'held' && this.entries.every((entry) => entry.queue !== undefined)
  }

  holdsNothingBut(entry: QueueEntry): boolean {
    return this.state === 'held' && this.entries.every((other) => other === entry || other.queue === undefined)
  }

  /** Made when first asked for: most operations are over before anything could abort. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.state === 'expired') this.#controller.abort(lockExpired(this))
    return this.#controller.signal
  }

  expire(): void {
    this.state = 'expired'
    this.#controller?.abort(lockExpired(this))
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
