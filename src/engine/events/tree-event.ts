// The events that followers of a tree get, and the filter that narrows them.
import type { Event, EventType, Gap } from '../../../schemas/events.ts'

export type TreeEvent = Event | Gap

/** The events that one follower gets; an absent field does not narrow them. */
export interface EventFilter {
  readonly types?: ReadonlySet<EventType> | undefined
  /** Given a canonical path. */
  readonly matchesPath?: ((path: string) => boolean) | undefined
  /** Equal for two filters whose `matchesPath` always agree: only one of them is asked then. */
  readonly pathKey?: string | undefined
  readonly agentId?: string | undefined
}

/** Called in a later turn, in the order of the events. Must not throw, and must not block. */
export type EventListener = (event: TreeEvent) => void
