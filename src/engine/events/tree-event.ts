// What those who follow a tree are told of, and how they narrow it.
import type { Event, EventType, Gap } from '../../../schemas/events.ts'

export type TreeEvent = Event | Gap

/** What is told to one who follows; what is left out does not narrow it. */
export interface EventFilter {
  readonly types?: ReadonlySet<EventType> | undefined
  /** Given a canonical path. */
  readonly matchesPath?: ((path: string) => boolean) | undefined
  /** The same of two filters whose `matchesPath` always say the same: one of them is asked then. */
  readonly pathKey?: string | undefined
  readonly agentId?: string | undefined
}

/** Is told in a later turn, in the order of the events. Must not throw, and must not wait. */
export type EventListener = (event: TreeEvent) => void
