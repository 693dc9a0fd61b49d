// What calls about leases have in common: the files, how they are reserved, and what is told of each.
import { Path, shownText, Timestamp } from './common.ts'
import { Type, type Static, type TProperties } from './typebox.ts'

export const FilePaths = Type.Array(Path, {
  maxItems: 10000,
  description:
    'The files: existing ones, or names not yet taken. Handled in canonical order; several spellings of one file count once. At most locks.max_files_per_call (1000).'
})

export const TtlSeconds = (usual: string) =>
  Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      description: `How long the lease lasts after your last call that read or changed the file, or renewed the lease. Default: ${usual}. Clamped to locks.max_lease_ttl_seconds (3600).`
    })
  )

const Note = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 500,
    pattern: shownText,
    description: 'What you are doing; shown to agents that the lease blocks.'
  })
)

export const reservation = {
  mode: Type.String({
    enum: ['exclusive', 'shared'],
    default: 'exclusive',
    description:
      '"exclusive": the file is reserved for you alone. "shared": others can hold shared leases too. Both make changes by others wait; while another agent holds a shared lease, your own changes wait as well.'
  }),
  all_or_nothing: Type.Boolean({
    default: false,
    description:
      'True: all of the files, or none. If one cannot be leased, none of the others is kept, except leases that you held before.'
  }),
  ttl_seconds: TtlSeconds('locks.lease_ttl_seconds (300)'),
  note: Note
}

const Mode = Type.String({ enum: ['exclusive', 'shared'], description: 'Of the lease.' })
export const Token = Type.Integer({
  minimum: 1,
  description:
    'Number of your lease, larger than that of every lease before. Pass it as fencing_token with your changes: if the lease has ended by then, nothing is written.'
})
export const Filepath = Type.String({ description: 'As in your call.' })
export const HolderName = Type.Union([Type.String(), Type.Null()], {
  description: 'Agent that holds it (the operation, for a caller without a name); null if none does.'
})
const CarriedOut = Type.Literal('ok', {
  description: 'The call was carried out; the other properties have its results.'
})
export const all = (description: string) => Type.Boolean({ description })
export const Time = (description: string) => Type.String({ format: 'date-time', description })
export const Expiry = Type.Optional(Time('When it expires, unless a call of yours prolongs it.'))
const Message = Type.Optional(
  Type.String({ description: 'What differs from what you asked for, such as a clamped limit, and what to do next.' })
)
const Until = Type.Union([Timestamp, Type.Null()], {
  description: 'When it expires, unless it is prolonged; null if that is not known yet.'
})
export const name = {
  error_code: Type.Optional(
    Type.String({
      description: 'Why no lease can be taken under this name now; what is held under it is in the other properties.'
    })
  ),
  message: Type.Optional(Type.String({ description: 'Where the name leads now, and what to do.' }))
}
export const queueDepth = Type.Integer({ minimum: 0, description: 'Requests that wait for the file.' })

export const LockResult = Type.Object(
  {
    filepath: Filepath,
    acquired: Type.Boolean({ description: 'True if you hold the lease now.' }),
    holder: Type.Union([Type.String(), Type.Null()], {
      description: 'Who blocks you; null if you hold it, and if it is free but was not taken (all_or_nothing).'
    }),
    mode: Type.Optional(Mode),
    fencing_token: Type.Optional(Token),
    expires_at: Expiry,
    holder_note: Type.Optional(Type.String({ description: 'The note of the holder.' })),
    held_since: Type.Optional(Time('Since when the holder holds it.')),
    held_until: Type.Optional(Until),
    position: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Your place in its queue, or the one you would get; 1 is next.' })
    ),
    queue_depth: Type.Optional(queueDepth),
    message: Type.Optional(
      Type.String({ description: 'Present if the name leads elsewhere after the wait: what to do.' })
    )
  },
  { title: 'LockResult', description: 'Outcome for one file.' }
)
export type LockResult = Static<typeof LockResult>

export const lockOutput = <Properties extends TProperties>(
  properties: Properties,
  title: string,
  description: string
) => Type.Object({ status: CarriedOut, ...properties, message: Message, timestamp: Timestamp }, { title, description })

export const results = <Result extends TProperties>(result: Result, title: string) =>
  Type.Array(Type.Object(result, { title, description: 'Outcome for one file.' }), {
    description: 'One for each file, in canonical order.'
  })

export const acquired = {
  results: Type.Array(LockResult, { description: 'One for each file, in canonical order.' }),
  all_acquired: all('True if you hold every one of them.')
}
