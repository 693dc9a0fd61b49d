// async_update: changes a file, given the hash of the version the change was made for (PRD 3.3).
import {
  BytesWritten,
  changeCall,
  Changed,
  DiffFormat,
  Encoding,
  FencingToken,
  Hash,
  Path,
  Replayed,
  replacedVersion,
  StatusOk,
  Timeout,
  Timestamp,
  VersionOf
} from './common.ts'
import { mergedAnswer, OnContention } from './contention.ts'
import { Patch } from './patches.ts'
import { inputObject, Type, type Static } from './typebox.ts'

/** One file of an update, alone or in a batch. */
export const updateItem = {
  path: Path,
  expected_hash: VersionOf('The version that the change is made for.'),
  content: Type.Optional(
    Type.String({ description: 'The whole new content. Pass one of content, patches and unified_diff.' })
  ),
  patches: Type.Optional(
    Type.Array(Patch, {
      minItems: 1,
      maxItems: 10000,
      description:
        'Edits, all or none: by text, applied in order to the running text, or by lines of the version expected.'
    })
  ),
  unified_diff: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'A unified diff of this one file, with context (diff -u, git diff); the names in it do not matter. A hunk whose lines are not at its line is made at the nearest place that has them; all or none.'
    })
  ),
  encoding: Encoding,
  fencing_token: FencingToken
}

export const UpdateInput = inputObject({
  ...updateItem,
  on_contention: OnContention,
  timeout: Timeout,
  diff_format: DiffFormat,
  ...changeCall
})
export type UpdateInput = Static<typeof UpdateInput>

export const UpdateOutput = Type.Object(
  {
    status: StatusOk,
    path: Path,
    previous_hash: Hash,
    hash: Hash,
    bytes_written: BytesWritten,
    changed: Changed,
    ...replacedVersion,
    ...mergedAnswer,
    replayed: Replayed,
    timestamp: Timestamp
  },
  { title: 'UpdateOutput', description: 'The new version is in the file.' }
)
