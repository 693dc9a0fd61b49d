// The contract in one view: each operation's name, input and answer. The typed client is derived from it.
import { AppendInput, AppendOutput } from './append.ts'
import {
  BatchReadInput,
  BatchReadOutput,
  BatchUpdateInput,
  BatchUpdateOutput,
  BatchWriteInput,
  BatchWriteOutput
} from './batch.ts'
import { BlameInput, BlameOutput } from './blame.ts'
import { DeleteInput, DeleteOutput } from './delete.ts'
import {
  EditFileInput,
  EditFileOutput,
  ListFilesInput,
  ListFilesOutput,
  ReadFileInput,
  ReadFileOutput
} from './file-editing.ts'
import { DiffInput, DiffOutput, HistoryInput, HistoryOutput, RestoreInput, RestoreOutput } from './history.ts'
import {
  LandFinishInput,
  LandFinishOutput,
  LandInput,
  LandOutput,
  LandPrepareInput,
  LandPrepareOutput
} from './land.ts'
import {
  LayerApplyInput,
  LayerApplyOutput,
  LayerBeginInput,
  LayerBeginOutput,
  LayerDropInput,
  LayerDropOutput,
  LayerEndInput,
  LayerEndOutput,
  LayerListInput,
  LayerListOutput
} from './layers.ts'
import { ListInput, ListOutput } from './list.ts'
import {
  LockBreakInput,
  LockBreakOutput,
  LockReleaseAllInput,
  LockReleaseAllOutput,
  LockReleaseInput,
  LockReleaseOutput,
  LockRenewInput,
  LockRenewOutput,
  LockStatusInput,
  LockStatusOutput,
  LockTryInput,
  LockTryOutput,
  LockWaitInput,
  LockWaitOutput
} from './locks.ts'
import { NativeHookInput, NativeHookOutput } from './native-hook.ts'
import { withNotices } from './notices.ts'
import { ReadInput, ReadOutput } from './read.ts'
import { RenameInput, RenameOutput } from './rename.ts'
import { ReplayInput, ReplayOutput } from './replay.ts'
import { ServerInfoInput, ServerInfoOutput } from './server-info.ts'
import { StatusInput, StatusOutput } from './status.ts'
import { TransactionInput, TransactionOutput } from './transaction.ts'
import type { TObject, TProperties } from './typebox.ts'
import { UndoInput, UndoOutput } from './undo.ts'
import { UpdateInput, UpdateOutput } from './update.ts'
import { WriteInput, WriteOutput } from './write.ts'

/**
 * The envelope of an operation's answers: `status`, the PRD's, in which every answer has a status; `bare`, that of FES,
 * in which a success is the bare output and a failure `{ error: { code, message, data } }`.
 */
export type EnvelopeName = 'status' | 'bare'

export interface Shapes {
  readonly input: TObject
  /** The answer of a successful call. */
  readonly output: TObject
  /** True if it can also answer `contention`. */
  readonly contends: boolean
  readonly envelope: EnvelopeName
}

/** Every answer can bring notices; the form of FES has no room for them. */
function plain<Input extends TObject, Output extends TProperties>(input: Input, output: TObject<Output>) {
  return { input, output: withNotices(output), contends: false, envelope: 'status' } as const
}

function contending<Input extends TObject, Output extends TProperties>(input: Input, output: TObject<Output>) {
  return { input, output: withNotices(output), contends: true, envelope: 'status' } as const
}

const bare = { contends: false, envelope: 'bare' } as const

export const contract = {
  async_read: plain(ReadInput, ReadOutput),
  async_write: plain(WriteInput, WriteOutput),
  async_update: contending(UpdateInput, UpdateOutput),
  async_delete: contending(DeleteInput, DeleteOutput),
  async_rename: contending(RenameInput, RenameOutput),
  async_append: contending(AppendInput, AppendOutput),
  async_list: plain(ListInput, ListOutput),
  async_status: plain(StatusInput, StatusOutput),
  get_server_info: plain(ServerInfoInput, ServerInfoOutput),
  async_batch_read: plain(BatchReadInput, BatchReadOutput),
  async_batch_write: plain(BatchWriteInput, BatchWriteOutput),
  async_batch_update: plain(BatchUpdateInput, BatchUpdateOutput),
  async_history: plain(HistoryInput, HistoryOutput),
  async_diff: plain(DiffInput, DiffOutput),
  async_restore: contending(RestoreInput, RestoreOutput),
  async_transaction: plain(TransactionInput, TransactionOutput),
  async_undo: plain(UndoInput, UndoOutput),
  async_blame: plain(BlameInput, BlameOutput),
  land: plain(LandInput, LandOutput),
  lock_try: plain(LockTryInput, LockTryOutput),
  lock_wait: plain(LockWaitInput, LockWaitOutput),
  lock_renew: plain(LockRenewInput, LockRenewOutput),
  lock_release: plain(LockReleaseInput, LockReleaseOutput),
  lock_release_all: plain(LockReleaseAllInput, LockReleaseAllOutput),
  lock_status: plain(LockStatusInput, LockStatusOutput),
  lock_break: plain(LockBreakInput, LockBreakOutput),
  land_prepare: plain(LandPrepareInput, LandPrepareOutput),
  land_finish: plain(LandFinishInput, LandFinishOutput),
  native_hook: plain(NativeHookInput, NativeHookOutput),
  layer_begin: plain(LayerBeginInput, LayerBeginOutput),
  layer_end: plain(LayerEndInput, LayerEndOutput),
  layer_apply: plain(LayerApplyInput, LayerApplyOutput),
  layer_list: plain(LayerListInput, LayerListOutput),
  layer_drop: plain(LayerDropInput, LayerDropOutput),
  replay: plain(ReplayInput, ReplayOutput),
  list_files: { input: ListFilesInput, output: ListFilesOutput, ...bare },
  read_file: { input: ReadFileInput, output: ReadFileOutput, ...bare },
  edit_file: { input: EditFileInput, output: EditFileOutput, contends: true, envelope: 'bare' }
} as const satisfies Record<string, Shapes>

export type OperationName = keyof typeof contract
