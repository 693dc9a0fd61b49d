// async_delete: deletes a file (PRD 3.4).
import {
  changeCall,
  DiffFormat,
  ExpectedHash,
  FencingToken,
  HashOrNull,
  Kept,
  Path,
  Replayed,
  StatusOk,
  Timeout,
  Timestamp
} from './common.ts'
import { inputObject, Type, type Static } from './typebox.ts'

export const DeleteInput = inputObject({
  path: Path,
  expected_hash: ExpectedHash(
    'Delete only this version; the answer for another one is contention. null deletes any version.'
  ),
  timeout: Timeout,
  fencing_token: FencingToken,
  diff_format: DiffFormat,
  ...changeCall
})
export type DeleteInput = Static<typeof DeleteInput>

export const DeleteOutput = Type.Object(
  {
    status: StatusOk,
    path: Path,
    deleted_hash: HashOrNull('Hash of what was deleted; null for a broken link and for a file above the size limit.'),
    kept: Kept,
    replayed: Replayed,
    timestamp: Timestamp
  },
  { title: 'DeleteOutput', description: 'The file is gone.' }
)
