// async_read: content of a file, whole or by lines, with the hash of the whole (PRD 3.1).
import { AgentId, Snapshot, DiffFormat, Encoding, HashOf, Path, StatusOk, Timestamp, VersionOf } from './common.ts'
import { Diff } from './diff.ts'
import { inputObject, Type, type Static } from './typebox.ts'

const Limit = Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
  default: null,
  description: 'Maximum number of lines to return; null returns all, 0 none (only the hash and the counts).'
})

/** One file of a read, alone or in a batch. */
export const readItem = {
  path: Path,
  offset: Type.Integer({ minimum: 0, default: 0, description: 'First line to return, 0-based.' }),
  limit: Limit,
  line_numbers: Type.Boolean({
    default: false,
    description:
      'Put its number and a tab before each line of content, as cat -n does, without padding: "1\\t". They are no part of the file. Not for a part by bytes.'
  }),
  encoding: Encoding,
  known_hash: Type.Optional(
    VersionOf(
      'The version that you know. If it is still current, the answer is not_modified, without content; if it has changed and you know it as a whole, the difference, if that is shorter. Lines that no answer has given you come as content.'
    )
  )
}

export const ReadInput = inputObject({
  ...readItem,
  byte_offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        'First byte of a part by bytes, 0-based: of a long line, or of a file larger than crud.max_file_size_bytes. Without offset, limit, known_hash and snapshot.'
    })
  ),
  byte_limit: Type.Optional(
    Type.Integer({
      minimum: 4,
      description:
        'Bytes of the part at most: room for one character at least. Default, and most: crud.max_file_size_bytes. No character is cut: byte_range says which bytes the content is.'
    })
  ),
  diff_format: DiffFormat,
  snapshot: Type.Optional(Snapshot),
  include_modified: Type.Boolean({ default: false, description: 'Also answer when the file was last changed.' }),
  agent_id: AgentId
})
export type ReadInput = Static<typeof ReadInput>

export const ReadOutput = Type.Object(
  {
    status: StatusOk,
    path: Path,
    content: Type.Optional(
      Type.String({
        description:
          'The lines asked for, with their line ends exactly as in the file and, if asked for, their numbers. Absent only with known_hash, if not_modified or diff is there instead.'
      })
    ),
    not_modified: Type.Optional(
      Type.Literal(true, { description: 'The file is the version that known_hash names: there is nothing to send.' })
    ),
    diff: Type.Optional(Diff),
    snapshot: Type.Optional(
      Type.String({ description: 'As asked: this is the file as it was then, not as it is now.' })
    ),
    encoding: Type.String({ description: 'Encoding the file was decoded with.' }),
    hash: Type.Optional(
      HashOf(
        'Hash of the whole file. Absent for a part of a file larger than crud.max_file_size_bytes: it is not read whole.'
      )
    ),
    total_lines: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Lines of the whole file. Absent for a part by bytes.' })
    ),
    byte_range: Type.Optional(
      Type.Object(
        {
          start: Type.Integer({ minimum: 0, description: 'Offset of the first byte.' }),
          end: Type.Integer({
            minimum: 0,
            description: 'Offset behind the last byte: the byte_offset of the next part.'
          })
        },
        { description: 'Of a part by bytes: where it is in the file.' }
      )
    ),
    total_bytes: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Of a part by bytes: the size of the whole file.' })
    ),
    message: Type.Optional(
      Type.String({
        description:
          'If the file ends before `offset`: says so. Over MCP, if the answer has only the beginning of what was asked for: how to go on.'
      })
    ),
    next_offset: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Over MCP, if lines are left: the offset to go on with.' })
    ),
    next_byte_offset: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'Over MCP, if the rest of a long line is left, or of a part by bytes: the byte_offset to go on with.'
      })
    ),
    offset: Type.Integer({ minimum: 0, description: 'As asked.' }),
    limit: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description: 'As asked.' }),
    lines_returned: Type.Integer({ minimum: 0, description: 'Lines in content; 0 if it is absent.' }),
    modified: Type.Optional(
      Type.String({ format: 'date-time', description: 'Its last change, by the file system. With include_modified.' })
    ),
    timestamp: Timestamp
  },
  { title: 'ReadOutput', description: 'One version of a file.' }
)
