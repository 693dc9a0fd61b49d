// What an agent is told with any answer, though it did not ask.
import { Timestamp } from './common.ts'
import { Type, type Static } from './typebox.ts'

export const Notice = Type.Object(
  {
    type: Type.String({ enum: ['lease_lost'], description: 'A lease of yours ended without your releasing it.' }),
    path: Type.String({ description: 'The file.' }),
    message: Type.String({ description: 'What happened, and what to do next.' }),
    at: Timestamp,
    fencing_token: Type.Integer({ minimum: 0, description: 'Of the lease that ended.' }),
    cause: Type.String({
      enum: ['expired', 'broken', 'disconnected'],
      description: 'Its time was over; an operator broke it; the connection over which it was taken ended.'
    }),
    reason: Type.Optional(Type.String({ description: "The operator's reason." })),
    by: Type.Optional(Type.String({ description: 'Who broke it, where known.' }))
  },
  { title: 'Notice', description: 'Something that an agent must know; told once.' }
)
export type Notice = Static<typeof Notice>

/** Properties of every answer in the PRD's envelope. */
export const notices = {
  notices: Type.Optional(
    Type.Array(Notice, { description: 'What happened to you meanwhile; at most five, each told once.' })
  ),
  further_notices: Type.Optional(Type.Integer({ minimum: 1, description: 'How many more there were.' }))
}
