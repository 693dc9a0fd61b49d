// Reports releases and queue positions to an observer, once the table is consistent.
import type { Acquisition, QueueEntry } from './acquisition.ts'
import type { LeaseEnd, LockMode } from './lock.ts'
import type { KeyQueue } from './queue.ts'

export type ReleaseCause = 'released' | LeaseEnd['cause']

/** One key that a holder no longer holds. */
export interface Release {
  readonly path: string
  readonly agentId: string | undefined
  readonly isLease: boolean
  readonly mode: LockMode
  readonly cause: ReleaseCause
  /** Undefined if the lock did not have all its keys yet. */
  readonly fencingToken: number | undefined
  /** True for a lease that its agent has not learned of. */
  readonly isParked: boolean
  /** How many waited for the key when it was released. */
  readonly waiting: number
}

export interface QueueStanding {
  readonly path: string
  readonly agentId: string | undefined
  readonly operation: string
  /** 1 is next. */
  readonly position: number
  readonly depth: number
}

/** Called after the tick in which something happened. Must not throw. */
export interface LockObserver {
  onRelease(release: Release): void
  /** Called for each waiter that has joined a queue, and for each of the first hundred whose position has changed. */
  onPosition(standing: QueueStanding): void
}

/** Each grant changes all positions of a thousand waiters: those further back are reported as they come nearer. */
const maxReported = 100

/**
 * It only records what happens while the table changes, since no foreign code runs then. Without an observer there is no LockWatch,
 * and nothing is recorded.
 */
export class LockWatch {
  readonly #observer: LockObserver
  readonly #reported = new WeakMap<QueueEntry, number>()
  readonly #changed = new Set<KeyQueue>()
  #releases: Release[] = []
  #isReporting = false
  #isEnded = false

  constructor(observer: LockObserver) {
    this.#observer = observer
  }

  /** The acquisition is about to leave all queues in which it waits or holds. */
  leaves({ entries }: Acquisition, queues: ReadonlyMap<string, KeyQueue>, cause: ReleaseCause): void {
    for (const entry of entries) {
      const queue = entry.state === 'out' ? undefined : queues.get(entry.key)
      if (queue === undefined) continue
      if (entry.state === 'holding') this.releases(entry, queue, cause)
      else this.moves(queue)
    }
  }

  /** The place is about to release this key. */
  releases({ acquisition, isLease, mode }: QueueEntry, { path, depth }: KeyQueue, cause: ReleaseCause): void {
    const { agentId, fencingToken, isParked } = acquisition
    this.#releases.push({ path, agentId, isLease, mode, cause, fencingToken, isParked, waiting: depth })
    this.#reportSoon()
  }

  /** A waiter has joined the queue or leaves it. */
  moves(queue: KeyQueue): void {
    this.#changed.add(queue)
    this.#reportSoon()
  }

  end(): void {
    this.#isEnded = true
  }

  #reportSoon(): void {
    if (this.#isReporting) return
    this.#isReporting = true
    queueMicrotask(() => this.#report())
  }

  #report(): void {
    this.#isReporting = false
    const releases = this.#releases
    const queues = [...this.#changed]
    this.#releases = []
    this.#changed.clear()
    if (this.#isEnded) return
    for (const release of releases) this.#observer.onRelease(release)
    for (const queue of queues) this.#reportPositions(queue)
  }

  #reportPositions(queue: KeyQueue): void {
    const { path, depth } = queue
    let position = 0
    for (const entry of queue.waiters()) {
      position += 1
      const reported = this.#reported.get(entry)
      if (reported === position || (reported !== undefined && position > maxReported)) continue
      this.#reported.set(entry, position)
      const { agentId, operation } = entry.acquisition
      this.#observer.onPosition({ path, agentId, operation, position, depth })
    }
  }
}
