// The hub of events: what happens to files and locks goes in, whoever follows it is told. Costs nothing while nobody follows.
import { randomBytes } from 'node:crypto'
import type { Event, EventType, Gap } from '../../schemas/events.ts'
import { serverStopping } from '../errors.ts'

/** An event before it has its place in the stream. */
export type NewEvent = Event extends infer One ? (One extends Event ? Omit<One, 'id' | 'at'> : never) : never

export type TreeEvent = Event | Gap

/** What is told to one who follows; what is left out does not narrow it. */
export interface EventFilter {
  readonly types?: ReadonlySet<EventType> | undefined
  /** Given a canonical path. */
  readonly matchesPath?: ((path: string) => boolean) | undefined
  readonly agentId?: string | undefined
}

/** Must not throw, and must not wait. */
export type EventListener = (event: TreeEvent) => void

/** Something that tells the hub of events while somebody follows. @returns ends it */
export type EventSource = (publish: (event: NewEvent) => void) => () => void

export interface Following {
  /** What was missed since the event that was named, oldest first; begins with a gap where not all of it is kept. */
  readonly missed: readonly TreeEvent[]
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

interface Follower extends FollowOptions {
  readonly filter: EventFilter
  readonly listener: EventListener
}

export function createEvents({ maxKept = () => 1000, keepMs = 60_000, now = Date.now }: EventsOptions = {}) {
  const followers = new Set<Follower>()
  const sources = new Map<EventSource, (() => void) | undefined>()
  let kept: TreeEvent[] = []
  /** The event before the first one that is kept. */
  let before = ''
  let series = ''
  let count = 0
  let isActive = false
  let isClosed = false
  let rest: NodeJS.Timeout | undefined

  function begin(): void {
    clearTimeout(rest)
    if (isActive) return
    isActive = true
    series = randomBytes(6).toString('hex')
    count = 0
    before = nextId()
    for (const source of sources.keys()) sources.set(source, source(publish))
  }

  /** Ids of this time lead nowhere from now on: what happens until the next one comes is told to nobody. */
  function stop(): void {
    clearTimeout(rest)
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
    if (isActive) pass({ ...event, id: nextId(), at: new Date(now()).toISOString() })
  }

  /** An event that has its place already: another process has made it. */
  function pass(event: TreeEvent): void {
    if (!isActive) return
    kept.push(event)
    const limit = maxKept()
    // Cut by halves: shifting a long list for each event would cost more than all the rest.
    if (kept.length >= 2 * limit + 16) keepLast(limit)
    for (const { filter, listener } of followers) if (isWanted(event, filter)) listener(event)
  }

  function keepLast(limit: number): void {
    const dropped = kept.length - limit
    if (dropped <= 0) return
    before = kept[dropped - 1]?.id ?? before
    kept = kept.slice(dropped)
  }

  function makeGap(reason: Gap['reason'], id = nextId()): Gap {
    return { id, type: 'gap', at: new Date(now()).toISOString(), reason }
  }

  function missedSince(id: string, filter: EventFilter): readonly TreeEvent[] {
    keepLast(maxKept())
    const index = kept.findLastIndex((event) => event.id === id)
    const isKnown = index !== -1 || id === before
    const later = kept.slice(index + 1).filter((event) => isWanted(event, filter))
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
      return followers.size
    },
    /** The last event there was: whoever comes back from here misses nothing. */
    get position(): string {
      return kept.at(-1)?.id ?? before
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
      const missed = after === undefined ? [] : missedSince(after, filter)
      const follower = { filter, listener, onStop }
      followers.add(follower)
      return {
        missed,
        end() {
          if (!followers.delete(follower) || followers.size > 0) return
          rest = setTimeout(stop, keepMs)
          rest.unref()
        }
      }
    },
    /** The server stops: those who follow are told. */
    close(): void {
      isClosed = true
      stop()
      for (const { onStop } of followers) onStop?.()
      followers.clear()
    }
  }
}

function isWanted(event: TreeEvent, { types, matchesPath, agentId }: EventFilter): boolean {
  if (event.type === 'gap') return true
  if (types !== undefined && !types.has(event.type)) return false
  if (agentId !== undefined && event.agent_id !== agentId) return false
  // Nobody knows which of very many files are meant.
  return matchesPath === undefined || !('path' in event) || matchesPath(event.path)
}
