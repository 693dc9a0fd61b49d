// What transports and relays need from the engine of a tree, in this process or another.
import type { Activity } from '../../../schemas/activity.ts'
import type { LockList, LockListQuery } from '../../../schemas/lock-list.ts'
import type { CarryCall } from './context.ts'
import type { EventListener } from '../events/tree-event.ts'
import type { TrackedFiles } from '../versions/tracked-files.ts'

export interface EngineLink {
  readonly call: CarryCall
  /** Ends the leases of a session or connection that has ended. */
  readonly disconnect: (connection: string) => void
  /** Ends what is kept for a call that has ended without an answer from here, by the `place` of its caller. */
  readonly endPlace: (place: string) => void
  /** True if leases would end with the session or connection. */
  readonly holdsLeases: (connection: string) => Promise<boolean>
  /** True once its process stops while this one does not: the next authority answers what it refuses now. */
  readonly isLeaving?: () => boolean
  /** Names the journal that has the receipts of the changes made over this link; undefined if none has. */
  readonly lineage?: () => string | undefined
  readonly listLocks: (query: LockListQuery) => Promise<LockList>
  /** @param minutes how far back @param limit of agents and files listed */
  readonly listActivity: (minutes: number, limit: number) => Promise<Activity>
  /** Files whose versions are known, by path. @param after path of the last file of the page before */
  readonly listFiles: (after: string | undefined, limit: number) => Promise<TrackedFiles>
  /** Reports every event from the moment it resolves. @returns ends it */
  readonly feed: (listener: EventListener) => Promise<() => void>
}
