// list_files, read_file, edit_file: one flat folder, files by their names (FES 3.1). The shapes are exactly those of the specification.
import {
  AgentId,
  changeCall,
  DiffFormat,
  ExpectedHash,
  FencingToken,
  Hash,
  Replayed,
  replacedVersion
} from './common.ts'
import { mergedAnswer, OnContention } from './contention.ts'
import { inputObject, Type, type Static } from './typebox.ts'

const closed = { additionalProperties: false }

export const FileName = Type.String({
  pattern: '^[a-zA-Z0-9._-]+$',
  minLength: 1,
  maxLength: 255,
  description: 'Filename without path components.'
})

const LineNumber = (description: string) => Type.Integer({ minimum: 1, description })
const Count = (description: string) => Type.Integer({ minimum: 0, description })

export const ListFilesInput = inputObject({})

export const ListFilesOutput = Type.Object(
  {
    files: Type.Array(
      Type.Object(
        {
          name: Type.String({ description: 'Filename without path.' }),
          size: Count('File size in bytes.'),
          modified: Type.String({ format: 'date-time', description: 'Last modified timestamp.' }),
          readable: Type.Boolean({
            description: 'Whether the file may be read: by its mode, and by a name that read_file takes.'
          }),
          writable: Type.Boolean({
            description:
              'Whether the file may be changed: by its mode, its folder, the settings, and by a name that edit_file takes.'
          }),
          lines: Type.Integer({
            minimum: -1,
            description: 'Number of lines in file (-1 if unable to count: too large, not UTF-8, or not readable).'
          })
        },
        { ...closed, title: 'ListedFile', description: 'One file of the folder.' }
      ),
      { description: 'The regular files of the folder that are not hidden, sorted by name.' }
    ),
    total_count: Count('Total number of files.'),
    directory: Type.String({ description: 'Working directory path.' })
  },
  { ...closed, title: 'ListFilesOutput', description: 'The files of the folder.' }
)

export const ReadFileInput = inputObject({
  name: FileName,
  start_line: Type.Optional(LineNumber('Starting line number (1-based, inclusive).')),
  end_line: Type.Optional(LineNumber('Ending line number (1-based, inclusive).')),
  agent_id: AgentId
})
export type ReadFileInput = Static<typeof ReadFileInput>

export const ReadFileOutput = Type.Object(
  {
    content: Type.String({
      description: 'File content or specified line range: its lines joined by \\n, without a final line break.'
    }),
    total_lines: Count('Total number of lines in the file.'),
    next_start_line: Type.Optional(LineNumber('Over MCP, if lines are left: the start_line to go on with.')),
    range_requested: Type.Optional(
      Type.Object(
        {
          start_line: Type.Optional(LineNumber('As requested.')),
          end_line: Type.Optional(LineNumber('As requested.'))
        },
        { title: 'RequestedRange', description: 'Echo of requested range parameters.' }
      )
    )
  },
  { ...closed, title: 'ReadFileOutput', description: 'Lines of one file.' }
)

export const LineEdit = Type.Object(
  {
    line: LineNumber('Line number to edit (1-based), in the file as it is before this call.'),
    content: Type.Optional(
      Type.String({
        description: 'New content for the line (not required for delete). Line breaks in it make several lines.'
      })
    ),
    operation: Type.String({
      enum: ['replace', 'insert', 'delete'],
      description: 'Type of edit operation; insert puts the content before the line.'
    })
  },
  { ...closed, title: 'LineEdit', description: 'One edit.' }
)
export type LineEdit = Static<typeof LineEdit>

export const EditFileInput = inputObject({
  name: FileName,
  edits: Type.Optional(Type.Array(LineEdit, { maxItems: 1000, description: 'Array of line-based edit operations.' })),
  append: Type.Optional(Type.String({ description: 'Content to append to end of file.' })),
  create_if_missing: Type.Boolean({ default: false, description: "Create file if it doesn't exist." }),
  expected_hash: ExpectedHash(
    'The version whose lines you mean, by its hash (async_read gives it): if the file is another one by now, nothing is written and the answer is contention with the diff. Without it line numbers mean the file as it is when the call gets its turn.'
  ),
  on_contention: OnContention,
  diff_format: DiffFormat,
  fencing_token: FencingToken,
  ...changeCall
})
export type EditFileInput = Static<typeof EditFileInput>

export const EditFileOutput = Type.Object(
  {
    success: Type.Literal(true, { description: 'Operation success indicator.' }),
    lines_modified: Count('Number of lines inserted, replaced and deleted, appended ones included.'),
    file_created: Type.Boolean({ description: 'Whether a new file was created.' }),
    new_total_lines: Count('Total lines in file after edit, as the next read_file reports them.'),
    previous_hash: Type.Optional(Hash),
    hash: Type.Optional(Hash),
    ...replacedVersion,
    ...mergedAnswer,
    replayed: Replayed
  },
  {
    ...closed,
    title: 'EditFileOutput',
    description: 'The edits are in the file, and on disk. With expected_hash the answer also names the versions.'
  }
)

export const FileEditingError = Type.Object(
  {
    error: Type.Object(
      {
        code: Type.Integer({
          enum: [-32700, -32600, -32601, -32602, -32603, -32001],
          description:
            'Parse error, invalid request (a required field is missing), method not found, invalid params, internal error, file system error.'
        }),
        message: Type.String({ description: 'What happened, on which file, and what to do next.' }),
        data: Type.Object(
          {
            filename: Type.Optional(Type.String({ description: 'The name as the caller spelt it.' })),
            operation: Type.Optional(Type.String({ description: 'Name of the operation.' })),
            timestamp: Type.String({ format: 'date-time', description: 'UTC time, ISO 8601.' }),
            details: Type.String({
              description:
                'The code of the error table and its meaning, or that the change was made and what is unsure about it.'
            })
          },
          { title: 'FileEditingErrorData', description: 'Context of the failure.' }
        )
      },
      { title: 'FileEditingErrorBody', description: 'The error object of JSON-RPC.' }
    )
  },
  {
    title: 'FileEditingError',
    description:
      'The answer of list_files, read_file or edit_file that failed. Nothing was changed, unless data.details says so.'
  }
)
export type FileEditingError = Static<typeof FileEditingError>
