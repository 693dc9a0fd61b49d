// What an operation gets besides its input. It knows no transport.
import type { ByteBudget } from '../budget/byte-budget.ts'
import type { Differ } from '../diff/differ.ts'
import type { Bases } from '../versions/bases.ts'
import type { History } from '../versions/history.ts'
import type { KnownText } from '../versions/known-text.ts'
import type { Layers } from '../layers/layers.ts'
import type { Logger } from '../../support/logger.ts'
import type { TraceContext } from '../../support/trace-context.ts'
import type { Commits } from '../commit/commits.ts'
import type { FileStore } from '../files/file-store.ts'
import type { LockManager } from '../locks/lock-manager.ts'
import type { Config } from '../../../schemas/config.ts'
import type { ActivityLog } from '../activity/activity.ts'
import type { Counts } from '../activity/counts.ts'
import type { Events } from '../events/event-hub.ts'
import type { Commands } from '../commands/commands.ts'
import type { NativeTurns } from '../leases/native-turns.ts'
import type { Report } from '../../support/progress.ts'
import type { LostLeases } from '../leases/lost-leases.ts'
import type { Tickets } from '../leases/tickets.ts'
import type { CallWork } from '../budget/work-budget.ts'
import type { ReadTracker } from '../seen/read-tracker.ts'
import type { Receipts, OwnReceipt } from '../receipts/receipts.ts'

/** The caller, as the transport knows it. */
export interface Caller {
  /** Undefined if the client named none; `agent_id` in the input comes first. */
  readonly agentId?: string | undefined
  /** The client's name for the task of its changes; `change_set` in the input comes first. */
  readonly changeSet?: string | undefined
  readonly transport: 'rest' | 'mcp' | 'stdio' | 'internal'
  /** The program that calls, with its version, as it names itself. */
  readonly client?: string | undefined
  /** The session or connection, if the transport has one; a lease taken over it ends with it. */
  readonly connection?: string | undefined
  /** False if the answer has no room for notices: they wait for another one. */
  readonly takesNotices?: boolean | undefined
  /** Of a call that a relay asks for: the name under which its places in line outlive the process, for the relay to ask again. */
  readonly place?: string | undefined
  /** How long the call has waited in processes that have gone, in milliseconds. */
  readonly waitedMs?: number | undefined
  /** Longest wait for a lock that this client survives, in seconds; undefined if it has no limit of its own. */
  readonly maxWaitSeconds?: number | undefined
  /** Characters of an answer that this client shows; what is beyond them is left for further calls. Undefined if it has no limit of its own. */
  readonly maxAnswerChars?: number | undefined
  /** True if the client gets a listing as lines, and not as an object for each entry. */
  readonly takesLines?: boolean | undefined
  /** Digits of a hash that the client is shown; undefined if it is shown all. */
  readonly hashDigits?: number | undefined
  /** True if the client shows its model a text as it is, and not as a string of JSON: a difference then comes as text. */
  readonly takesText?: boolean | undefined
  /** The client's name for the request (the header Idempotency-Key); `request_id` in the input must not differ. */
  readonly requestId?: string | undefined
  /** The trace that the call belongs to, and the span that asked for it. */
  readonly trace?: TraceContext | undefined
  /** A relay's own name for the request, which counts if the client gave none. */
  readonly callId?: string | undefined
  /** Names the journal of the authority that was asked before, and was lost: it may have carried the request out. */
  readonly repeats?: string | undefined
}

/** The parts of one engine, made once per process. */
export interface Engine {
  readonly locks: LockManager
  readonly files: FileStore
  readonly commits: Commits
  readonly differ: Differ
  readonly bases: Bases
  readonly history: History
  readonly events: Events
  readonly config: Config
  readonly server: ServerFacts
  readonly lostLeases: LostLeases
  readonly tickets: Tickets
  readonly reads: ReadTracker
  readonly receipts: Receipts
  readonly nativeTurns: NativeTurns
  readonly commands: Commands
  readonly layers: Layers
  readonly tree: TreeFacts
  readonly budget: ByteBudget
  readonly counts: Counts
  readonly activity: ActivityLog
}

/** What this process is among those that serve its tree. */
export interface TreeFacts {
  readonly role: () => 'none' | 'authority' | 'relay'
  /** Process id; null while it is not known. */
  readonly authorityPid: () => number | null
  /** Call it right before a change. @throws OperationError AUTHORITY_LOST if another process may change the files by now */
  readonly assertInPlace: () => void
}

/** What async_status reports about the process. */
export interface ServerFacts {
  readonly version: string
  /** Undefined until the server listens. */
  port: number | undefined
  /** Disabled until something is stored. */
  persistence: 'enabled' | 'disabled'
  readonly transport: string
  /** Number of tools offered over MCP. */
  readonly toolCount: number
}

/** True if the answer has room for another diff, which then counts. One that is left out is not shown to the caller. */
export type AnswerRoom = (diff: object | null) => boolean

/** Names the text that is also the `content` of a result: its JSON need not be made again for each answer. */
export const contentText = Symbol('text of the content')

/** `status` is `ok` or `contention` in the PRD's envelope, and absent in that of FES. */
export type OperationResult = Readonly<Record<string, unknown>> & {
  readonly status?: string
  readonly [contentText]?: KnownText
}

/** What may be asked again after the loss of the authority, which may have carried it out. */
export type Repeats =
  /** It changes nothing. */
  | 'always'
  /** What has come of it is in the journal: the next authority is asked if it continues that. */
  | 'same-journal'
  /** A receipt tells: the next authority decides, and gets the name of the lost one's journal. */
  | 'by-receipt'
  | 'never'

/** What a call takes along of its operation, whichever process carries it out. */
export interface CalledOperation {
  readonly name: string
  readonly repeats: Repeats
  /** True if it concerns only the called process. */
  readonly isLocal?: true
  /** True if it only reads what is on the disk: a process may answer it while no host serves the tree. */
  readonly readsDisk?: true
  /** True if its calls wait in places that outlive a process. */
  readonly keepsPlaces?: true
  /**
   * Checks the input, runs the operation, returns a plain result or throws.
   * @param rawInput anything; it is not changed
   * @throws OperationError, and nothing else
   */
  call(rawInput: unknown, context: OperationContext): Promise<OperationResult>
}

/** Calls an operation by name; every transport is a layer over this. */
export type CallOperation = (name: string, input: unknown, call: OwnParts) => Promise<OperationResult>

/** The same behind the transports, once the operation is found. */
export type CarryCall = (operation: CalledOperation, input: unknown, call: OwnParts) => Promise<OperationResult>

/** What is a call's own. */
export type OwnParts = Pick<OperationContext, 'caller' | 'signal' | 'progress' | 'onWait'>

export interface OperationContext extends Engine {
  readonly caller: Caller
  /** Aborted when the call is cancelled or its client has gone. */
  readonly signal: AbortSignal
  /** Reports to the client how far the call is, if it asked for that. */
  readonly progress?: Report | undefined
  /** Called when a wait for locks has ended: with its milliseconds, and `ok` or an error code. */
  readonly onWait?: ((ms: number, result: string) => void) | undefined
  readonly log: Logger
  /** The bytes that this call works on. */
  readonly work: CallWork
  /** Of the change that the call makes; undefined if the call has no name. */
  readonly receipt: OwnReceipt | undefined
  /** Of an answer that may hold many diffs; undefined if it holds one. */
  readonly room: AnswerRoom | undefined
  /** The same call, whose answer has this room. */
  withRoom(room: AnswerRoom): OperationContext
  /** The same call, made under this name and for this task. */
  withAgent(agentId: string | undefined, changeSet?: string): OperationContext
  /** The same call, as a part that reports its progress here. */
  withProgress(progress: Report | undefined): OperationContext
  /** The same call, for the change that has this receipt. */
  withReceipt(receipt: OwnReceipt | undefined): OperationContext
}
