// async_rename: renames or moves a file (PRD 3.9).
import { AgentId, CreateDirs, DiffFormat, ExpectedHash, Hash, Path, StatusOk, Timeout, Timestamp } from './common.ts'
import { inputObject, Type, type Static } from './typebox.ts'

export const RenameInput = inputObject({
  old_path: Path,
  new_path: Path,
  expected_hash: ExpectedHash('Rename only this version of the source; another one is answered with contention.'),
  overwrite: Type.Boolean({ default: false, description: 'Replace a file that stands at new_path.' }),
  create_dirs: CreateDirs,
  timeout: Timeout,
  fencing_token: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        'The fencing_token of your lease on old_path: where that lease has ended meanwhile, nothing is renamed.'
    })
  ),
  diff_format: DiffFormat,
  agent_id: AgentId
})
export type RenameInput = Static<typeof RenameInput>

export const RenameOutput = Type.Object(
  {
    status: StatusOk,
    old_path: Path,
    new_path: Path,
    hash: Type.Union([Hash, Type.Null()], {
      description: 'Hash of the file; null for a broken link and for a file above the size limit.'
    }),
    changed: Type.Boolean({
      description: 'False where both are one name, or two names (hard links) of one file: nothing was done, both stay.'
    }),
    cross_filesystem: Type.Optional(
      Type.Boolean({ description: 'True where the file had to be copied to another file system, which is not atomic.' })
    ),
    timestamp: Timestamp
  },
  { title: 'RenameOutput', description: 'The file has its new name.' }
)
