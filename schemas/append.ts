// async_append: adds to the end of a file (PRD 3.11).
import {
  changeCall,
  Changed,
  CreateDirs,
  DiffFormat,
  Encoding,
  ExpectedHash,
  FencingToken,
  Hash,
  Path,
  Replayed,
  replacedVersion,
  StatusOk,
  Timeout,
  Timestamp
} from './common.ts'
import { mergedAnswer, OnContention } from './contention.ts'
import { inputObject, Type, type Static } from './typebox.ts'

export const AppendInput = inputObject({
  path: Path,
  content: Type.String({ description: 'Text to add, exactly as it is.' }),
  encoding: Encoding,
  create_if_missing: Type.Boolean({ default: false, description: 'Create the file if there is none.' }),
  create_dirs: CreateDirs,
  separator: Type.String({
    default: '',
    maxLength: 10000,
    description: 'Put between the existing text and the new text; not into an empty file.'
  }),
  expected_hash: ExpectedHash(
    'The version that you know, if the end of the file matters to what you add: another version is contention. Without it an append never contends.'
  ),
  on_contention: OnContention,
  diff_format: DiffFormat,
  timeout: Timeout,
  fencing_token: FencingToken,
  ...changeCall
})
export type AppendInput = Static<typeof AppendInput>

export const AppendOutput = Type.Object(
  {
    status: StatusOk,
    path: Path,
    hash: Hash,
    bytes_appended: Type.Integer({ minimum: 0, description: 'Bytes added, the separator included.' }),
    total_size_bytes: Type.Integer({ minimum: 0, description: 'Size of the file now.' }),
    changed: Changed,
    ...replacedVersion,
    ...mergedAnswer,
    replayed: Replayed,
    timestamp: Timestamp
  },
  { title: 'AppendOutput', description: 'The text is at the end of the file.' }
)
