// The events that followers of a tree get, and the filter that narrows them.
import type { Event, EventType, FileChanged, Gap } from '../../../schemas/events.ts'
import type { Static } from '../../../schemas/typebox.ts'

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

export type FileEvent = Static<typeof FileChanged>

/** What the log knows of the changes after one of them. */
export interface Recalled {
  /** Oldest first. */
  readonly events: readonly FileEvent[]
  /** False if others may have been made that the log does not know any more. */
  readonly isWhole: boolean
  /** Later changes are not among them. */
  readonly upTo: number
}

/** Of an event that is read from the log. */
export function loggedId(number: number): string {
  return `log-0-${number}`
}

/** The newest change in the log when the event happened; undefined for what is no id of this version. */
export function logNumberOf(id: string): number | undefined {
  const digits = /^\w+-\d+-(\d{1,16})$/.exec(id)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
