// The hub of events: what happens to files and locks goes in, whoever follows it is told. Costs nothing while nobody follows.
import { randomBytes } from 'node:crypto'
import type { Event, Gap } from '../../../schemas/events.ts'
import { serverStopping } from '../../errors.ts'
import { createEventDelivery, isWanted } from './event-delivery.ts'
import { timestamp } from '../../support/timestamp.ts'
import type { EventListener, EventFilter, TreeEvent } from './tree-event.ts'

/** An event before it has its place in the stream. */
export type NewEvent = Event extends infer One ? (One extends Event ? Omit<One, 'id' | 'at'> : never) : never

/** Something that tells the hub of events while somebody follows. @returns ends it */
export type EventSource = (publish: (event: NewEvent) => void) => () => void

export interface Following {
  /** What came after the event that was named, oldest first, for whomever; begins with a gap where not all of it is kept. */
  readonly missed: readonly TreeEvent[]
  /** Which of what came before passes the filter. */
  readonly isWanted: (event: TreeEvent) => boolean
  /** The last event that was looked at: who comes back from here misses nothing. */
  readonly position: () => string
  readonly end: () => void
}

export interface EventsOptions {
  /** Events kept for those who come back. */
  readonly maxKept?: () => number
  /** How long they are kept, and made, for them after the last one has gone, in milliseconds. */
  readonly keepMs?: number
  readonly now?: () => number
}

export type Events = ReturnType<typeof createEvents>

export interface FollowOptions {
  /** The event that was seen last, by somebody who comes back. */
  readonly after?: string | undefined
  /** Told when there will be no events any more, since the server stops. */
  readonly onStop?: (() => void) | undefined
}

export function createEvents({ maxKept = () => 1000, keepMs = 60_000, now = Date.now }: EventsOptions = {}) {
  const delivery = createEventDelivery((id) => makeGap('too_slow', id))
  const sources = new Map<EventSource, (() => void) | undefined>()
  let kept: TreeEvent[] = []
  /** The event before the first one that is kept. */
  let before = ''
  let series = ''
  let count = 0
  let isActive = false
  let isClosed = false
  let resting: NodeJS.Timeout | undefined

  function begin(): void {
    clearTimeout(resting)
    if (isActive) return
    isActive = true
    series = randomBytes(6).toString('hex')
    count = 0
    before = nextId()
    for (const source of sources.keys()) sources.set(source, source(publish))
  }

  /** Where nobody follows any more, or not yet: for the while that he may need. */
  function rest(): void {
    clearTimeout(resting)
    if (delivery.followers > 0) return
    resting = setTimeout(stop, keepMs)
    resting.unref()
  }

  /** Ids of this time lead nowhere from now on: what happens until the next one comes is told to nobody. */
  function stop(): void {
    clearTimeout(resting)
    if (!isActive) return
    isActive = false
    kept = []
    for (const [source, end] of sources) {
      end?.()
      sources.set(source, undefined)
    }
  }

  function nextId(): string {
    count += 1
    return `${series}-${count}`
  }

  function publish(event: NewEvent): void {
    if (isActive) pass({ ...event, id: nextId(), at: timestamp(now()) })
  }

  /** An event that has its place already: another process has made it. */
  function pass(event: TreeEvent): void {
    if (!isActive) return
    kept.push(event)
    const limit = maxKept()
    // Cut by halves: shifting a long list for each event would cost more than all the rest.
    if (kept.length >= 2 * limit + 16) keepLast(limit)
    delivery.put(event)
  }

  function keepLast(limit: number): void {
    const dropped = kept.length - limit
    if (dropped <= 0) return
    before = kept[dropped - 1]?.id ?? before
    kept = kept.slice(dropped)
  }

  function makeGap(reason: Gap['reason'], id = nextId()): Gap {
    return { id, type: 'gap', at: timestamp(now()), reason }
  }

  function lastId(): string {
    return kept.at(-1)?.id ?? before
  }

  function missedSince(id: string): readonly TreeEvent[] {
    keepLast(maxKept())
    const index = kept.findLastIndex((event) => event.id === id)
    const isKnown = index !== -1 || id === before
    const later = kept.slice(index + 1)
    // The gap takes the place of what is missing: whoever comes back from there gets what follows it.
    return isKnown ? later : [makeGap('not_kept', before), ...later]
  }

  return {
    /** True where an event would be told to somebody, or kept for him. What costs anything to find out is found out only then. */
    get isFollowed(): boolean {
      return isActive
    },
    /** Number of those who follow. */
    get followers(): number {
      return delivery.followers
    },
    /** The last event there was. */
    get position(): string {
      return lastId()
    },
    publish,
    pass,
    /** Tells everybody that events are missing. */
    gap: (reason: Gap['reason']): void => {
      if (isActive) pass(makeGap(reason))
    },
    makeGap,
    /** It is asked for events from the moment somebody follows until some time after nobody does. */
    addSource(source: EventSource): void {
      sources.set(source, isActive ? source(publish) : undefined)
    },
    /** @throws OperationError OVERLOADED while the server stops */
    follow(filter: EventFilter, listener: EventListener, { after, onStop }: FollowOptions = {}): Following {
      if (isClosed) throw serverStopping()
      begin()
      const missed = after === undefined ? [] : missedSince(after)
      const follower = delivery.add({ filter, listener, onStop }, lastId())
      return {
        missed,
        isWanted: (event) => isWanted(event, filter),
        position: () => follower.position,
        end() {
          if (delivery.remove(follower)) rest()
        }
      }
    },
    /** Somebody is about to follow: where he does not, it is as if he had gone. */
    expect(): void {
      if (isClosed) return
      begin()
      rest()
    },
    /** The server stops: those who follow are told. */
    close(): void {
      isClosed = true
      delivery.close()
      stop()
    }
  }
}
