// The contract in one view: each operation's name with the shapes of its input and of its answer. The typed client is derived from it.
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
import { ListInput, ListOutput } from './list.ts'
import { ReadInput, ReadOutput } from './read.ts'
import { RenameInput, RenameOutput } from './rename.ts'
import { StatusInput, StatusOutput } from './status.ts'
import type { TObject } from './typebox.ts'
import { UpdateInput, UpdateOutput } from './update.ts'
import { WriteInput, WriteOutput } from './write.ts'

/**
 * Which of the two envelopes an operation answers in: `status`, the PRD's, where every answer has a status; `bare`, that of FES,
 * where a success is the bare output and a failure `{ error: { code, message, data } }`.
 */
export type EnvelopeName = 'status' | 'bare'

export interface Shapes {
  readonly input: TObject
  /** The answer of a call that has succeeded. */
  readonly output: TObject
  /** True where it can also answer `contention`. */
  readonly contends: boolean
  readonly envelope: EnvelopeName
}

const plain = { contends: false, envelope: 'status' } as const
const contending = { contends: true, envelope: 'status' } as const
const bare = { contends: false, envelope: 'bare' } as const

export const contract = {
  async_read: { input: ReadInput, output: ReadOutput, ...plain },
  async_write: { input: WriteInput, output: WriteOutput, ...plain },
  async_update: { input: UpdateInput, output: UpdateOutput, ...contending },
  async_delete: { input: DeleteInput, output: DeleteOutput, ...contending },
  async_rename: { input: RenameInput, output: RenameOutput, ...contending },
  async_append: { input: AppendInput, output: AppendOutput, ...plain },
  async_list: { input: ListInput, output: ListOutput, ...plain },
  async_status: { input: StatusInput, output: StatusOutput, ...plain },
  async_batch_read: { input: BatchReadInput, output: BatchReadOutput, ...plain },
  async_batch_write: { input: BatchWriteInput, output: BatchWriteOutput, ...plain },
  async_batch_update: { input: BatchUpdateInput, output: BatchUpdateOutput, ...plain },
  list_files: { input: ListFilesInput, output: ListFilesOutput, ...bare },
  read_file: { input: ReadFileInput, output: ReadFileOutput, ...bare },
  edit_file: { input: EditFileInput, output: EditFileOutput, ...bare }
} as const satisfies Record<string, Shapes>

export type OperationName = keyof typeof contract
