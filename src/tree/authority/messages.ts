// What the processes of one tree say to each other, one JSON text a line. Version 4.
import type { Member } from '../state/state-file.ts'
import type { ErrorOnWire } from '../../errors.ts'
import type { Caller, OperationResult } from '../../engine/call/context.ts'
import type { Question } from '../../engine/call/engine-link.ts'
import type { Progress } from '../../support/progress.ts'
import type { TreeEvent } from '../../engine/events/tree-event.ts'

/** Increases with every change that an older process would misunderstand. */
export const protocol = 4

export interface Hello {
  readonly type: 'hello'
  readonly protocol: number
  /** What processes of one tree have in common: real paths, or the identity of a tree of several hosts and the paths of its further roots. */
  readonly roots: readonly string[]
  /** Other paths of the first of them. */
  readonly known_as: readonly string[]
  readonly member: Member
  /** The sessions and connections of the relay's clients that are alive: the leases that end with them stay. */
  readonly connections: readonly string[]
  /** A file of the volume that this host has looked at, for the authority to replace. */
  readonly mark?: string | undefined
}

/** Where the authority keeps the state of the tree: whichever relay takes over continues it. */
export interface StateOnDisk {
  readonly path: string
  readonly isKept: boolean
}

interface CallRequest {
  readonly type: 'call'
  readonly id: number
  readonly name: string
  readonly input?: unknown
  readonly caller: Caller
  /** Whether progress is wanted. */
  readonly progress: boolean
  /** Whether the relay wants to know how long the call waited for locks. */
  readonly waits: boolean
}

export type AskRequest = Question & { readonly id: number }

export type RelayMessage =
  | Hello
  | CallRequest
  | AskRequest
  /** Once answered, all events are sent as they happen. */
  | { readonly type: 'follow'; readonly id: number }
  | { readonly type: 'unfollow' }
  /** The request is answered all the same: what was done before this message came stays done. */
  | { readonly type: 'cancel'; readonly id: number; readonly reason: ErrorOnWire }
  | { readonly type: 'disconnect'; readonly connection: string }
  /** A call that has waited under this name, perhaps in an earlier authority, has ended. */
  | { readonly type: 'end_place'; readonly place: string }
  /** Are you there? */
  | { readonly type: 'ping' }
  /** The relay leaves the tree, and its clients with it. */
  | { readonly type: 'gone' }
  /** The relay knows that the authority leaves: it asks nothing more. */
  | { readonly type: 'left' }

/** The requests that a result or an error answers. */
export type RelayRequest = Extract<RelayMessage, { type: 'call' | 'follow' | Question['type'] }>

/** Settings of the engine; if those of a relay differ, these count. */
export type EngineSettings = Readonly<Record<'crud' | 'locks', Readonly<Record<string, unknown>>>>

export type AuthorityMessage =
  | {
      readonly type: 'welcome'
      readonly pid: number
      readonly settings: EngineSettings
      readonly state: StateOnDisk | undefined
      /** Real paths. */
      readonly roots: readonly string[]
      /** As in `lineage`. */
      readonly lineage: string | undefined
      /** What the file that the relay has named in `mark` says now. */
      readonly mark?: string | undefined
    }
  /** Names the journal that has the receipts of changes from now on; undefined if none has. */
  | { readonly type: 'lineage'; readonly lineage: string | undefined }
  | { readonly type: 'refused'; readonly message: string }
  | ({ readonly type: 'progress'; readonly id: number } & Progress)
  | { readonly type: 'waited'; readonly id: number; readonly ms: number; readonly result: string }
  | { readonly type: 'result'; readonly id: number; readonly result: OperationResult | object | boolean }
  | { readonly type: 'error'; readonly id: number; readonly error: ErrorOnWire }
  | { readonly type: 'event'; readonly event: TreeEvent }
  | { readonly type: 'pong' }
  /** The authority stops: it answers what it was asked, and must be asked nothing more. */
  | { readonly type: 'leaving' }
