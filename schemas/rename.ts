// async_rename: renames or moves a file (PRD 3.9).
import {
  changeCall,
  CreateDirs,
  DiffFormat,
  ExpectedHash,
  HashOrNull,
  Kept,
  Path,
  Replayed,
  StatusOk,
  Timeout,
  Timestamp
} from './common.ts'
import { inputObject, Type, type Static } from './typebox.ts'

export const RenameInput = inputObject({
  old_path: Path,
  new_path: Path,
  expected_hash: ExpectedHash('Rename only this version of the source; the answer for another one is contention.'),
  overwrite: Type.Boolean({ default: false, description: 'Replace an existing file at new_path.' }),
  create_dirs: CreateDirs,
  timeout: Timeout,
  fencing_token: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'The fencing_token of your lease on old_path: if that lease has ended meanwhile, nothing is renamed.'
    })
  ),
  diff_format: DiffFormat,
  ...changeCall
})
export type RenameInput = Static<typeof RenameInput>

export const RenameOutput = Type.Object(
  {
    status: StatusOk,
    old_path: Path,
    new_path: Path,
    hash: HashOrNull('Hash of the file; null for a broken link and for a file above the size limit.'),
    changed: Type.Boolean({
      description: 'False if both are one name, or two names (hard links) of one file: nothing was done, both stay.'
    }),
    cross_filesystem: Type.Optional(
      Type.Boolean({ description: 'True if the file had to be copied to another file system, which is not atomic.' })
    ),
    kept: Kept,
    message: Type.Optional(Type.String({ description: 'Of a renamed link that leads nowhere from its new place.' })),
    replayed: Replayed,
    timestamp: Timestamp
  },
  { title: 'RenameOutput', description: 'The file has its new name.' }
)
