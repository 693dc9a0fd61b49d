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
import { withNotices } from './notices.ts'
import { ReadInput, ReadOutput } from './read.ts'
import { RenameInput, RenameOutput } from './rename.ts'
import { ServerInfoInput, ServerInfoOutput } from './server-info.ts'
import { StatusInput, StatusOutput } from './status.ts'
import type { TObject } from './typebox.ts'
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

const plain = { contends: false, envelope: 'status' } as const
const contending = { contends: true, envelope: 'status' } as const
const bare = { contends: false, envelope: 'bare' } as const

export const contract = {
  async_read: { input: ReadInput, output: withNotices(ReadOutput), ...plain },
  async_write: { input: WriteInput, output: withNotices(WriteOutput), ...plain },
  async_update: { input: UpdateInput, output: withNotices(UpdateOutput), ...contending },
  async_delete: { input: DeleteInput, output: withNotices(DeleteOutput), ...contending },
  async_rename: { input: RenameInput, output: withNotices(RenameOutput), ...contending },
  async_append: { input: AppendInput, output: withNotices(AppendOutput), ...contending },
  async_list: { input: ListInput, output: withNotices(ListOutput), ...plain },
  async_status: { input: StatusInput, output: withNotices(StatusOutput), ...plain },
  get_server_info: { input: ServerInfoInput, output: withNotices(ServerInfoOutput), ...plain },
  async_batch_read: { input: BatchReadInput, output: withNotices(BatchReadOutput), ...plain },
  async_batch_write: { input: BatchWriteInput, output: withNotices(BatchWriteOutput), ...plain },
  async_batch_update: { input: BatchUpdateInput, output: withNotices(BatchUpdateOutput), ...plain },
  async_history: { input: HistoryInput, output: withNotices(HistoryOutput), ...plain },
  async_diff: { input: DiffInput, output: withNotices(DiffOutput), ...plain },
  async_restore: { input: RestoreInput, output: withNotices(RestoreOutput), ...contending },
  lock_try: { input: LockTryInput, output: withNotices(LockTryOutput), ...plain },
  lock_wait: { input: LockWaitInput, output: withNotices(LockWaitOutput), ...plain },
  lock_renew: { input: LockRenewInput, output: withNotices(LockRenewOutput), ...plain },
  lock_release: { input: LockReleaseInput, output: withNotices(LockReleaseOutput), ...plain },
  lock_release_all: { input: LockReleaseAllInput, output: withNotices(LockReleaseAllOutput), ...plain },
  lock_status: { input: LockStatusInput, output: withNotices(LockStatusOutput), ...plain },
  lock_break: { input: LockBreakInput, output: withNotices(LockBreakOutput), ...plain },
  list_files: { input: ListFilesInput, output: ListFilesOutput, ...bare },
  read_file: { input: ReadFileInput, output: ReadFileOutput, ...bare },
  edit_file: { input: EditFileInput, output: EditFileOutput, contends: true, envelope: 'bare' }
} as const satisfies Record<string, Shapes>

export type OperationName = keyof typeof contract
