// The notices that any answer can carry to an agent, though it did not ask.
import { HashOf, HashOrNull, Modification, Timestamp } from './common.ts'
import { Type, type Static, type TObject, type TProperties } from './typebox.ts'

export const ChangedLines = Type.Object(
  {
    start_line: Type.Integer({ minimum: 0, description: 'First line, 1-based.' }),
    end_line: Type.Integer({
      minimum: 0,
      description: 'Last line, inclusive; one less than start_line if lines were removed before start_line.'
    })
  },
  { title: 'ChangedLines', description: 'Lines of the current version.' }
)

export const Notice = Type.Object(
  {
    type: Type.String({
      enum: ['file_changed', 'files_changed', 'lease_lost', 'no_authority'],
      description:
        'file_changed: others have changed a file that you have read. files_changed: very many of them at once. lease_lost: a lease of yours ended without your releasing it. no_authority: no host serves the tree of several hosts at the moment; the answer is what the disk has.'
    }),
    path: Type.String({ description: 'The file; for files_changed one of them.' }),
    message: Type.String({ description: 'What happened, and what to do next.' }),
    at: Timestamp,
    hash: Type.Optional(HashOrNull('For file_changed: the current version; null if the file is gone.')),
    known_hash: Type.Optional(
      HashOf(
        'For file_changed: the version that you read as a whole. async_read with this known_hash gives the difference.'
      )
    ),
    lines: Type.Optional(
      Type.Array(ChangedLines, {
        description:
          'For file_changed: lines changed since you read them or got a notice; at most 20. Absent if unknown.'
      })
    ),
    modified_by: Type.Optional(
      Type.Array(Modification, { description: 'Who has changed it, oldest first; the last five.' })
    ),
    renamed_to: Type.Optional(
      Type.String({ description: 'For file_changed: the new name of a file that was renamed.' })
    ),
    count: Type.Optional(Type.Integer({ minimum: 1, description: 'For files_changed: how many files.' })),
    paths: Type.Optional(Type.Array(Type.String(), { description: 'For files_changed: the first 20 of them.' })),
    fencing_token: Type.Optional(Type.Integer({ minimum: 0, description: 'For lease_lost: of the lease that ended.' })),
    cause: Type.Optional(
      Type.String({
        enum: ['expired', 'broken', 'disconnected'],
        description: 'For lease_lost: it expired; an operator broke it; the connection over which it was taken ended.'
      })
    ),
    reason: Type.Optional(Type.String({ description: "The operator's reason." })),
    by: Type.Optional(Type.String({ description: 'Who broke it, if known.' }))
  },
  { title: 'Notice', description: 'Something that an agent must know; reported once.' }
)
export type Notice = Static<typeof Notice>

/** Properties of every answer in the PRD's envelope. */
export const notices = {
  notices: Type.Optional(
    Type.Array(Notice, {
      description: 'Leases that you lost and changes of files that you read; at most five, each reported once.'
    })
  ),
  further_notices: Type.Optional(
    Type.Integer({ minimum: 1, description: 'How many more there are; those about files come with the next answers.' })
  )
}

/** The output of an operation with the properties that every answer with a status carries. */
export function withNotices<Properties extends TProperties>(
  output: TObject<Properties>
): TObject<Properties & typeof notices> {
  const { title, description } = output
  return Type.Object(
    { ...output.properties, ...notices },
    { ...(title !== undefined && { title }), ...(description !== undefined && { description }) }
  )
}
