// One key's FIFO queue: who holds the lock, who waits for it, and the rule by which it is granted.
import type { Acquisition } from './acquisition.ts'
import type { LockMode, LockRequest } from './lock.ts'
import { Positions, type Standing } from './positions.ts'

/** One key of one acquisition: perhaps a waiter of the key's queue first, then a holder, then neither. */
export class Place {
  readonly acquisition: Acquisition
  readonly key: string
  readonly path: string
  readonly mode: LockMode
  /** The queue it waits in or holds; undefined before and after. */
  queue: KeyQueue | undefined
  /** When it became what it is now: waiter or holder. */
  since = 0
  ticket = 0
  standing: Standing | undefined
  ahead: Place | undefined
  behind: Place | undefined

  constructor(acquisition: Acquisition, { key, path, mode }: LockRequest) {
    this.acquisition = acquisition
    this.key = key
    this.path = path
    this.mode = mode
  }
}

/**
 * Waiters are a linked list: whoever gives up in the middle of 10,000 leaves in constant time. The holders are several
 * shared ones or a single exclusive one, never both.
 */
export class KeyQueue {
  readonly key: string
  /** As the first who came spelt it. */
  readonly path: string
  readonly holders = new Set<Place>()
  /** Number of waiters. */
  depth = 0
  /** True while the manager grants from it; keeps a grant that fails on its next key from granting here a second time. */
  isPromoting = false
  #first: Place | undefined
  #last: Place | undefined
  /** Means something only while there are holders; the first of them sets it. */
  #isExclusive = false
  #tickets = 0
  #positions: Positions | undefined

  constructor(key: string, path: string) {
    this.key = key
    this.path = path
  }

  get isUnused(): boolean {
    return this.depth === 0 && this.holders.size === 0
  }

  /** No overtaking: whoever comes is granted at once only if nobody waits, even where the holders would admit it. */
  isFreeFor(mode: LockMode): boolean {
    return this.depth === 0 && this.#admits(mode)
  }

  hold(place: Place, now: number): void {
    this.holders.add(place)
    this.#isExclusive = place.mode === 'exclusive'
    place.queue = this
    place.since = now
  }

  /** False when the place does not hold this key. */
  release(place: Place): boolean {
    if (!this.holders.delete(place)) return false
    place.queue = undefined
    return true
  }

  join(place: Place, now: number): void {
    this.depth += 1
    this.#tickets += 1
    place.queue = this
    place.since = now
    place.ticket = this.#tickets
    place.ahead = this.#last
    if (this.#last === undefined) this.#first = place
    else this.#last.behind = place
    this.#last = place
    this.#listen(place)
    this.#positions?.joined(this.depth)
  }

  leave(place: Place): void {
    const { ahead, behind } = place
    if (ahead === undefined) this.#first = behind
    else ahead.behind = behind
    if (behind === undefined) this.#last = ahead
    else behind.ahead = ahead
    place.ahead = undefined
    place.behind = undefined
    place.queue = undefined
    this.depth -= 1
    if (place.standing !== undefined) this.#positions?.delete(place.standing)
    this.#positions?.left(place.ticket, this.depth)
  }

  /** Makes the first waiter a holder if the present holders admit it; adjacent readers follow one another this way. */
  grantFirst(now: number): Place | undefined {
    const first = this.#first
    if (first === undefined || !this.#admits(first.mode)) return undefined
    this.leave(first)
    this.hold(first, now)
    return first
  }

  holderWith(fencingToken: number): Place | undefined {
    for (const place of this.holders) if (place.acquisition.fencingToken === fencingToken) return place
    return undefined
  }

  /** 1 is next. Counts its way, so it is for messages only. */
  positionOf(place: Place): number {
    let position = 1
    for (let other = place.ahead; other !== undefined; other = other.ahead) position += 1
    return position
  }

  *waiters(): Iterable<Place> {
    for (let place = this.#first; place !== undefined; place = place.behind) yield place
  }

  #admits(mode: LockMode): boolean {
    return this.holders.size === 0 || (mode === 'shared' && !this.#isExclusive)
  }

  #listen(place: Place): void {
    const { onPosition } = place.acquisition
    if (onPosition === undefined) return
    place.standing = { ticket: place.ticket, onPosition, position: this.depth, toldPosition: 0, toldTotal: 0 }
    this.#positions ??= new Positions()
    this.#positions.add(place.standing)
  }
}
