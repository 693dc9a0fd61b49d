// Tells somebody who looks on what is released and where the waiters stand, once the table is at rest.
import type { Acquisition } from './acquisition.ts'
import type { LeaseEnd, LockMode } from './lock.ts'
import type { KeyQueue, QueueEntry } from './queue.ts'

export type ReleaseCause = 'released' | LeaseEnd['cause']

/** One key that is no longer held by one who held it. */
export interface Release {
  readonly path: string
  readonly agentId: string | undefined
  readonly isLease: boolean
  readonly mode: LockMode
  readonly cause: ReleaseCause
  /** Of a lock that had all its keys. */
  readonly fencingToken: number | undefined
  /** True of a lease that nobody was ever told of. */
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
  /** Told of each waiter when it has joined a queue, and of each among the first hundred whose position has changed. */
  onPosition(standing: QueueStanding): void
}

/** Of a thousand waiters all positions change with each grant: those behind are told as they come nearer. */
const maxTold = 100

/**
 * It only notes what happens while the table changes, since no foreign code runs then. Without an observer there is none of these, and
 * nothing is noted.
 */
export class LockWatch {
  readonly #observer: LockObserver
  readonly #told = new WeakMap<QueueEntry, number>()
  readonly #changed = new Set<KeyQueue>()
  #releases: Release[] = []
  #isTelling = false
  #isEnded = false

  constructor(observer: LockObserver) {
    this.#observer = observer
  }

  /** It is about to leave all queues in which it waits or holds. */
  leaves(acquisition: Acquisition, cause: ReleaseCause): void {
    for (const place of acquisition.places) {
      const { queue } = place
      if (queue === undefined) continue
      if (queue.holders.has(place)) this.releases(place, queue, cause)
      else this.moves(queue)
    }
  }

  /** It is about to release this key. */
  releases({ acquisition, isLease, mode }: QueueEntry, { path, depth }: KeyQueue, cause: ReleaseCause): void {
    const { agentId, fencingToken, isParked } = acquisition
    this.#releases.push({ path, agentId, isLease, mode, cause, fencingToken, isParked, waiting: depth })
    this.#notifySoon()
  }

  /** Somebody has come to the queue of waiters, or leaves it. */
  moves(queue: KeyQueue): void {
    this.#changed.add(queue)
    this.#notifySoon()
  }

  end(): void {
    this.#isEnded = true
  }

  #notifySoon(): void {
    if (this.#isTelling) return
    this.#isTelling = true
    queueMicrotask(() => this.#tell())
  }

  #tell(): void {
    this.#isTelling = false
    const releases = this.#releases
    const queues = [...this.#changed]
    this.#releases = []
    this.#changed.clear()
    if (this.#isEnded) return
    for (const release of releases) this.#observer.onRelease(release)
    for (const queue of queues) this.#notifyPositions(queue)
  }

  #notifyPositions(queue: KeyQueue): void {
    const { path, depth } = queue
    let position = 0
    for (const place of queue.waiters()) {
      position += 1
      const told = this.#told.get(place)
      if (told === position || (told !== undefined && position > maxTold)) continue
      this.#told.set(place, position)
      const { agentId, operation } = place.acquisition
      this.#observer.onPosition({ path, agentId, operation, position, depth })
    }
  }
}
