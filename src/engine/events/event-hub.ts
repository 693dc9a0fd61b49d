// The hub of events: takes what happens to files and locks, and delivers it to followers. Costs nothing without followers.
import { randomBytes } from 'node:crypto'
import type { Event, Gap } from '../../../schemas/events.ts'
import { serverStopping } from '../../errors.ts'
import { createEventDelivery, isWanted } from './event-delivery.ts'
import { timestamp } from '../../support/timestamp.ts'
import { logNumberOf, type EventListener, type EventFilter, type Recalled, type TreeEvent } from './tree-event.ts'

/** An event before it has its place in the stream. */
export type NewEvent = Event extends infer One ? (One extends Event ? Omit<One, 'id' | 'at'> : never) : never

/** When it happened, by default now; and its number in the log, if it is a change. */
interface Place {
  readonly at: number
  readonly seq?: number
}

export type Publish = (event: NewEvent, place?: Place) => void

/** Publishes events to the hub while it has followers. @returns ends it */
export type EventSource = (publish: Publish) => () => void

export interface Following {
  /** What came after the named event, oldest first and unfiltered; begins with a gap if not all of it is kept. */
  readonly missed: readonly TreeEvent[]
  /** Whether a missed event passes the filter. */
  readonly isWanted: (event: TreeEvent) => boolean
  /** The last event that was examined: a client that comes back from here misses nothing. */
  readonly position: () => string
  readonly end: () => void
}

export interface EventsOptions {
  /** Events kept for clients that come back. */
  readonly maxKept?: () => number
  /** How long events are made and kept after the last follower has gone, in milliseconds. */
  readonly keepMs?: number
  readonly now?: () => number
  /** Of the newest change in the log. */
  readonly logNumber?: () => number
}

export type Events = ReturnType<typeof createEvents>

export interface FollowOptions {
  /** The event that a returning client saw last. */
  readonly after?: string | undefined
  /** What the log has of the time since, if the hub has not kept it. */
  readonly recalled?: Recalled | undefined
  /** Called when the server stops, so that no more events come. */
  readonly onStop?: (() => void) | undefined
}

export function createEvents(options: EventsOptions = {}) {
  const { maxKept = () => 1000, keepMs = 60_000, now = Date.now, logNumber = () => 0 } = options
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

  /** Without a follower, goes on for `keepMs`, so that a client can come or come back. */
  function rest(): void {
    clearTimeout(resting)
    if (delivery.followers > 0) return
    resting = setTimeout(stop, keepMs)
    resting.unref()
  }

  /** From now on the ids of this series are unknown: what happens until the next follower comes reaches no client. */
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

  function nextId(number = logNumber()): string {
    count += 1
    return `${series}-${count}-${number}`
  }

  function publish(event: NewEvent, place?: Place): void {
    if (isActive) pass({ ...event, id: nextId(place?.seq), at: timestamp(place?.at ?? now()) })
  }

  /** An event that already has its id: another process made it. */
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

  function isKept(id: string): boolean {
    keepLast(maxKept())
    return id === before || kept.some((event) => event.id === id)
  }

  function missedSince(id: string, { types }: EventFilter, recalled: Recalled | undefined): readonly TreeEvent[] {
    if (isKept(id)) return kept.slice(kept.findLastIndex((event) => event.id === id) + 1)
    const numberOf = (event: string) => logNumberOf(event) ?? 0
    // The log has changes of files, and nothing else.
    const isAll =
      recalled?.isWhole === true && types !== undefined && [...types].every((type) => type === 'file_changed')
    const isMore = recalled?.events.some((event) => numberOf(event.id) <= numberOf(before)) === true
    // The gap replaces what is missing: a client that comes back from there gets what follows.
    if (recalled === undefined || (!isAll && !isMore)) return [makeGap('not_kept', before), ...kept]
    const isLater = (event: TreeEvent) => event.type !== 'file_changed' || numberOf(event.id) > recalled.upTo
    return [...(isAll ? [] : [makeGap('not_kept', id)]), ...recalled.events, ...kept.filter(isLater)]
  }

  return {
    /** True if all is kept that came after the event. */
    isKept,
    /** True if an event would be delivered or kept. Costly work for an event is done only then. */
    get isFollowed(): boolean {
      return isActive
    },
    /** Number of followers. */
    get followers(): number {
      return delivery.followers
    },
    /** The last event so far. */
    get position(): string {
      return lastId()
    },
    publish,
    pass,
    /** Tells every follower that events are missing. */
    gap: (reason: Gap['reason']): void => {
      if (isActive) pass(makeGap(reason))
    },
    makeGap,
    /** The source runs from the first follower until `keepMs` after the last one. */
    addSource(source: EventSource): void {
      sources.set(source, isActive ? source(publish) : undefined)
    },
    /** @throws OperationError OVERLOADED while the server stops */
    follow(filter: EventFilter, listener: EventListener, { after, recalled, onStop }: FollowOptions = {}): Following {
      if (isClosed) throw serverStopping()
      begin()
      const missed = after === undefined ? [] : missedSince(after, filter, recalled)
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
    /** A client is about to follow. If it does not, the hub acts as if it had gone. */
    expect(): void {
      if (isClosed) return
      begin()
      rest()
    },
    /** The server stops: every follower learns of it. */
    close(): void {
      isClosed = true
      delivery.close()
      stop()
    }
  }
}
