// async_history, async_diff, async_restore: the versions of a file, and how to restore one.
import {
  AgentId,
  BytesWritten,
  changeCall,
  Changed,
  commandFacts,
  changeSetText,
  CreateDirs,
  DiffFormat,
  ExpectedHash,
  FencingToken,
  ForgottenBefore,
  Hash,
  HashOrNull,
  modeFacts,
  modifications,
  Path,
  Replayed,
  replacedVersion,
  StatusOk,
  Timeout,
  Timestamp,
  VersionOf
} from './common.ts'
import { Diff } from './diff.ts'
import { inputObject, Type, type Static } from './typebox.ts'

export const HistoryInput = inputObject({
  path: Type.Optional(Path),
  change_set: Type.Optional(Type.String({ ...changeSetText, description: 'Only versions of this change set.' })),
  by_agent: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'Only versions that this agent has made, or may have made; "external" for those made outside the server.'
    })
  ),
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'Maximum number of versions in one answer.'
  }),
  cursor: Type.Optional(
    Type.String({ maxLength: 32, description: 'next_cursor of the previous answer, to continue where it ended.' })
  ),
  agent_id: AgentId
})
export type HistoryInput = Static<typeof HistoryInput>

const lineCount = (description: string) => Type.Integer({ minimum: 0, description })

export const HistoryVersion = Type.Object(
  {
    path: Path,
    hash: HashOrNull('Null if the file was gone from then on, or has bytes that were not read; for a link, too.'),
    link: Type.Optional(Type.String({ description: 'What it points to, if it is a symbolic link.' })),
    previous_hash: Type.Optional(
      HashOrNull('The version before; null if there was no file, absent if it is not known.')
    ),
    agent_id: Type.Union([Type.String(), Type.Null()], {
      description: 'Who made it; "external" for a change made outside the server, null if it was there before.'
    }),
    operation: Type.Union([Type.String(), Type.Null()], {
      description: 'The operation that made it; "external" and null as for agent_id.'
    }),
    change_set: Type.Optional(Type.String({ description: 'The task or the transaction that it belongs to.' })),
    ...commandFacts,
    ...modeFacts,
    at: Timestamp,
    kept: Type.Boolean({ description: 'True if its bytes are kept: async_diff and async_restore can use it.' }),
    lines: Type.Optional(
      Type.Object(
        {
          added: lineCount('Lines added.'),
          removed: lineCount('Lines removed.'),
          modified: lineCount('Lines of the version before that were changed.')
        },
        {
          title: 'LinesChanged',
          description:
            'Compared with the version before, if both are kept, are text in crud.default_encoding, and there was time to count.'
        }
      )
    ),
    renamed_from: Type.Optional(Type.String({ description: 'Its path until then.' })),
    renamed_to: Type.Optional(Type.String({ description: 'Its path since then.' }))
  },
  { title: 'HistoryVersion', description: 'One version of one file.' }
)
export type HistoryVersion = Static<typeof HistoryVersion>

export const HistoryOutput = Type.Object(
  {
    status: StatusOk,
    versions: Type.Array(HistoryVersion, { description: 'The newest first.' }),
    next_cursor: Type.Optional(Type.String({ description: 'Present if there are older versions: pass it as cursor.' })),
    forgotten_before: ForgottenBefore,
    timestamp: Timestamp
  },
  { title: 'HistoryOutput', description: 'Versions that the server knows.' }
)

export const DiffInput = inputObject({
  path: Path,
  from_hash: VersionOf('The version to start from. Its bytes must be kept (async_history says kept).'),
  to_hash: Type.Optional(VersionOf('The version to end with; default: the current one.')),
  encoding: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'Encoding of both. Default: crud.default_encoding.' })
  ),
  diff_format: Type.Optional(
    Type.String({
      enum: ['json', 'unified'],
      description:
        'Form of the diff; with it the diff is whole, up to crud.diff_max_bytes. Default: the first of json and unified that costs at most 60 % of reading to_hash, else only the changed lines.'
    })
  ),
  agent_id: AgentId
})
export type DiffInput = Static<typeof DiffInput>

export const DiffOutput = Type.Object(
  {
    status: StatusOk,
    path: Path,
    from_hash: Hash,
    to_hash: Hash,
    diff: Type.Union([Diff, Type.Null()], {
      description:
        'The difference from from_hash to to_hash; null if it is larger than crud.diff_max_bytes and diff_format is given.'
    }),
    ...modifications(
      'The changes of this path after from_hash up to to_hash, oldest first, as far as known; the last ten.'
    ),
    timestamp: Timestamp
  },
  { title: 'DiffOutput', description: 'What differs between two versions.' }
)

export const RestoreInput = inputObject({
  path: Path,
  hash: VersionOf('The version to bring back. Its bytes must be kept (async_history says kept).'),
  expected_hash: ExpectedHash(
    'Restore over this version only; the answer for another one is contention. Without it, over the version that you read last. null restores over any version.'
  ),
  create_dirs: CreateDirs,
  timeout: Timeout,
  fencing_token: FencingToken,
  diff_format: DiffFormat,
  ...changeCall
})
export type RestoreInput = Static<typeof RestoreInput>

export const RestoreOutput = Type.Object(
  {
    status: StatusOk,
    path: Path,
    previous_hash: HashOrNull('The version before; null if there was no file.'),
    hash: Hash,
    bytes_written: BytesWritten,
    changed: Changed,
    ...replacedVersion,
    replayed: Replayed,
    timestamp: Timestamp
  },
  { title: 'RestoreOutput', description: 'The kept version is in the file again.' }
)
