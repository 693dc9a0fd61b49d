// What transports and relays need of the engine of a tree, wherever it runs.
import type { LockList } from '../../schemas/locks.ts'
import type { CallOperation } from './context.ts'
import type { EventListener } from './events/tree-event.ts'
import type { TrackedFiles } from './versions/tracked-files.ts'

export interface EngineLink {
  readonly call: CallOperation
  /** Ends the leases that were taken over a session or connection which has ended. */
  readonly disconnect: (connection: string) => void
  /** True where leases would end with the session or connection. */
  readonly holdsLeases: (connection: string) => Promise<boolean>
  /** True once its process stops while this one does not: what it refuses now, the next authority answers. */
  readonly isLeaving?: () => boolean
  /** @param limit of files listed */
  readonly listLocks: (limit: number) => Promise<LockList>
  /** Files whose versions are known, by path. @param after path of the last one that is known already */
  readonly listFiles: (after: string | undefined, limit: number) => Promise<TrackedFiles>
  /** Tells of every event from the moment it resolves. @returns ends it */
  readonly feed: (listener: EventListener) => Promise<() => void>
}
