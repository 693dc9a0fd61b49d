// async_write: creates a file (PRD 3.2).
import {
  BytesWritten,
  changeCall,
  CreateDirs,
  Encoding,
  FencingToken,
  Hash,
  Path,
  Replayed,
  StatusOk,
  Timeout,
  Timestamp
} from './common.ts'
import { inputObject, Type, type Static } from './typebox.ts'

/** One file of a write, alone or in a batch. */
export const writeItem = {
  path: Path,
  content: Type.String({ description: 'The whole content, written exactly as it is.' }),
  encoding: Encoding,
  create_dirs: CreateDirs,
  fencing_token: FencingToken
}

export const WriteInput = inputObject({
  ...writeItem,
  timeout: Timeout,
  ...changeCall
})
export type WriteInput = Static<typeof WriteInput>

export const WriteOutput = Type.Object(
  { status: StatusOk, path: Path, hash: Hash, bytes_written: BytesWritten, replayed: Replayed, timestamp: Timestamp },
  { title: 'WriteOutput', description: 'The file was created.' }
)
