// async_transaction: several changes of several files, all or none.
import {
  BytesWritten,
  changeCall,
  DiffFormat,
  DryRun,
  Encoding,
  ExpectedHash,
  FencingToken,
  HashOrNull,
  IsDryRun,
  Path,
  Replayed,
  replacedVersion,
  Timeout,
  Timestamp
} from './common.ts'
import { Contention, mergedAnswer } from './contention.ts'
import { Patch } from './patches.ts'
import { inputObject, Type, type Static } from './typebox.ts'

export const changeKinds = ['update', 'write', 'append', 'delete', 'rename'] as const

/** One change: what the operation of its kind takes for one file. */
export const TransactionChange = inputObject(
  {
    operation: Type.String({
      enum: changeKinds,
      description: 'What to do: each as the operation async_<name> does it.'
    }),
    path: Path,
    new_path: Type.Optional(Type.String({ ...Path, description: 'Of a rename.' })),
    expected_hash: ExpectedHash('The version that the change is for; an update must have it.'),
    content: Type.Optional(Type.String({ description: 'Of a write, an append, or an update.' })),
    patches: Type.Optional(Type.Array(Patch, { minItems: 1, maxItems: 10000, description: 'Of an update.' })),
    unified_diff: Type.Optional(Type.String({ minLength: 1, description: 'Of an update.' })),
    separator: Type.Optional(Type.String({ maxLength: 10000, description: 'Of an append.' })),
    create_if_missing: Type.Optional(Type.Boolean({ description: 'Of an append. Default: false.' })),
    create_dirs: Type.Optional(Type.Boolean({ description: 'Of a write, an append or a rename. Default: true.' })),
    overwrite: Type.Optional(Type.Boolean({ description: 'Of a rename. Default: false.' })),
    on_contention: Type.Optional(
      Type.String({ enum: ['report', 'merge'], description: 'Of an update or an append, instead of that of the call.' })
    ),
    encoding: Encoding,
    fencing_token: FencingToken
  },
  { title: 'TransactionChange', description: 'One change of one file.' }
)
export type TransactionChange = Static<typeof TransactionChange>

export const TransactionInput = inputObject({
  changes: Type.Array(TransactionChange, {
    minItems: 1,
    maxItems: 10000,
    description:
      'All made or none, all for the files as they are before the call: at most crud.max_transaction_changes (1000) over crud.max_transaction_files (500). Changes of one file are of one kind, and do not overlap.'
  }),
  on_contention: Type.String({
    enum: ['report', 'merge'],
    default: 'report',
    description: 'For all changes: "merge" merges those that touch no line that others have changed.'
  }),
  dry_run: DryRun,
  timeout: Timeout,
  diff_format: DiffFormat,
  ...changeCall
})
export type TransactionInput = Static<typeof TransactionInput>

export const ChangeResult = Type.Object(
  {
    operation: Type.String({ description: 'As asked.' }),
    path: Path,
    new_path: Type.Optional(Type.String({ description: 'As asked.' })),
    previous_hash: HashOrNull('The version before; null if there was no file.'),
    hash: HashOrNull('The version now; null if the file is gone.'),
    bytes_written: BytesWritten,
    changed: Type.Boolean({ description: 'False if the file already was as asked.' }),
    ...replacedVersion,
    ...mergedAnswer
  },
  { title: 'ChangeResult', description: 'What one change has made.' }
)
export type ChangeResult = Static<typeof ChangeResult>

export const TransactionOutput = Type.Object(
  {
    status: Type.String({
      enum: ['ok', 'contention'],
      description: 'ok: all is done, and on disk (unless dry_run). contention: nothing was changed.'
    }),
    message: Type.Optional(Type.String({ description: 'Of a contention: what to do next.' })),
    dry_run: IsDryRun,
    change_set: Type.Optional(
      Type.String({ description: 'To which these changes belong: for async_history, async_undo.' })
    ),
    changes: Type.Optional(
      Type.Array(ChangeResult, { description: 'One result for each change, in the order of the request.' })
    ),
    contentions: Type.Optional(
      Type.Array(Contention, { description: 'Every file that was not the version expected, with its diff.' })
    ),
    replayed: Replayed,
    timestamp: Timestamp
  },
  { title: 'TransactionOutput', description: 'All changes were made, or none.' }
)
export type TransactionOutput = Static<typeof TransactionOutput>
