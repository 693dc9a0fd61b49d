// What transports and relays need from the engine of a tree, in this process or another.
import type { ActivityQuery, TreeActivity } from '../../../schemas/activity.ts'
import type { LockList, LockListQuery } from '../../../schemas/lock-list.ts'
import type { CarryCall } from './context.ts'
import type { EventListener, Recalled } from '../events/tree-event.ts'
import type { TrackedFiles } from '../versions/tracked-files.ts'

/** What can be asked of a tree beside its operations: what each question says, and its answer. */
export interface Questions {
  /** Whether leases would end with the session or connection. */
  readonly holds_leases: { readonly asked: { readonly connection: string }; readonly answer: boolean }
  readonly list_locks: { readonly asked: LockListQuery; readonly answer: LockList }
  readonly list_activity: { readonly asked: ActivityQuery; readonly answer: TreeActivity }
  /** Files whose versions are known, by path; `after`: the last file of the page before. */
  readonly list_files: {
    readonly asked: { readonly after: string | undefined; readonly limit: number }
    readonly answer: TrackedFiles
  }
  /** The changes of files after one of them, by its number in the log; `limit`: so many, the newest. */
  readonly list_changes: {
    readonly asked: { readonly since: number; readonly limit: number }
    readonly answer: Recalled
  }
}

export type Question<Name extends keyof Questions = keyof Questions> = {
  readonly [Type in Name]: { readonly type: Type } & Questions[Type]['asked']
}[Name]

export type AskTree = <Name extends keyof Questions>(question: Question<Name>) => Promise<Questions[Name]['answer']>

export interface EngineLink {
  readonly call: CarryCall
  /** Ends the leases of a session or connection that has ended. */
  readonly disconnect: (connection: string) => void
  /** Ends what is kept for a call that has ended without an answer from here, by the `place` of its caller. */
  readonly endPlace: (place: string) => void
  readonly ask: AskTree
  /** True once its process stops while this one does not: the next authority answers what it refuses now. */
  readonly isLeaving?: () => boolean
  /** Names the journal that has the receipts of the changes made over this link; undefined if none has. */
  readonly lineage?: () => string | undefined
  /** Reports every event from the moment it resolves. @returns ends it */
  readonly feed: (listener: EventListener) => Promise<() => void>
}
