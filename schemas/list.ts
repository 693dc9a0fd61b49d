// async_list: the entries of a directory (PRD 3.8).
import { AgentId, HashOrNull, Path, StatusOk, Timestamp } from './common.ts'
import { inputObject, Type, type Static } from './typebox.ts'

export const ListInput = inputObject({
  path: Path,
  pattern: Type.String({
    minLength: 1,
    default: '*',
    description:
      'Glob. Without "/" and "**" it is matched against the name, otherwise against the relative path, as deep as the pattern goes.'
  }),
  recursive: Type.Boolean({
    default: false,
    description: 'List subdirectories too; .git only if path or pattern names it.'
  }),
  include_hashes: Type.Boolean({
    default: false,
    description: 'Give the hash of files that were read or written before and are unchanged since.'
  }),
  ignore: Type.Boolean({ default: false, description: 'Leave out .git and what .gitignore files exclude.' }),
  limit: Type.Integer({
    minimum: 1,
    maximum: 100000,
    default: 1000,
    description: 'Maximum number of entries in the answer.'
  }),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 8192,
      description: 'next_cursor of the previous answer, to continue after it.'
    })
  ),
  agent_id: AgentId
})
export type ListInput = Static<typeof ListInput>

export const Entry = Type.Object(
  {
    name: Type.String({ description: 'Name, or path relative to the listed directory.' }),
    name_escaped: Type.Optional(
      Type.Boolean({
        description:
          'True: the name is not UTF-8. In it \\xHH is one byte and \\\\ a backslash. No operation reaches this entry.'
      })
    ),
    type: Type.String({
      enum: ['file', 'directory', 'symlink', 'other'],
      description: 'Links are shown, not followed.'
    }),
    size_bytes: Type.Optional(Type.Integer({ minimum: 0, description: 'Files only.' })),
    modified: Timestamp,
    hash: Type.Optional(HashOrNull('With include_hashes, files only; null if the server does not know it.'))
  },
  { title: 'Entry', description: 'One entry of a directory.' }
)
export type Entry = Static<typeof Entry>

export const ListOutput = Type.Object(
  {
    status: StatusOk,
    path: Path,
    entries: Type.Array(Entry, { description: 'Sorted by name in byte order.' }),
    total_entries: Type.Integer({ minimum: 0, description: 'Entries that match, on all pages.' }),
    pattern: Type.String({ description: 'As asked.' }),
    recursive: Type.Boolean({ description: 'As asked.' }),
    unreadable_directories: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Directories that the system refuses to list, 100 at most: their entries are missing here.'
      })
    ),
    next_cursor: Type.Optional(Type.String({ description: 'Present if there are more entries: pass it as cursor.' })),
    timestamp: Timestamp
  },
  { title: 'ListOutput', description: 'The entries of a directory at one moment.' }
)
