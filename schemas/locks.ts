// Leases: files that an agent reserves beyond one operation (LOCK), from try to release.
import { AgentId, Path, shownText, Timestamp } from './common.ts'
import { Holder } from './status.ts'
import { inputObject, Type, type Static, type TProperties } from './typebox.ts'

const FilePaths = Type.Array(Path, {
  minItems: 1,
  maxItems: 10000,
  description:
    'The files: existing ones, or names not yet taken. Handled in canonical order; several spellings of one file count once. At most locks.max_files_per_call (1000).'
})

const TtlSeconds = (usual: string) =>
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

const reservation = {
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
const Token = Type.Integer({
  minimum: 1,
  description:
    'Number of your lease, larger than that of every lease before. Pass it as fencing_token with your changes: if the lease has ended by then, nothing is written.'
})
const Filepath = Type.String({ description: 'As in your call.' })
const HolderName = Type.Union([Type.String(), Type.Null()], {
  description: 'Agent that holds it (the operation, for a caller without a name); null if none does.'
})
const CarriedOut = Type.Literal('ok', {
  description: 'The call was carried out; the other properties have its results.'
})
const all = (description: string) => Type.Boolean({ description })
const Time = (description: string) => Type.String({ format: 'date-time', description })
const Expiry = Type.Optional(Time('When it expires, unless a call of yours prolongs it.'))
const Message = Type.Optional(
  Type.String({ description: 'What differs from what you asked for, such as a clamped limit, and what to do next.' })
)
const Until = Type.Union([Timestamp, Type.Null()], {
  description: 'When it expires, unless it is prolonged; null if that is not known yet.'
})
const name = {
  error_code: Type.Optional(
    Type.String({
      description: 'Why no lease can be taken under this name now; what is held under it is in the other properties.'
    })
  ),
  message: Type.Optional(Type.String({ description: 'Where the name leads now, and what to do.' }))
}
const queueDepth = Type.Integer({ minimum: 0, description: 'Requests that wait for the file.' })

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

const lockOutput = <Properties extends TProperties>(properties: Properties, title: string, description: string) =>
  Type.Object({ status: CarriedOut, ...properties, message: Message, timestamp: Timestamp }, { title, description })

const results = <Result extends TProperties>(result: Result, title: string) =>
  Type.Array(Type.Object(result, { title, description: 'Outcome for one file.' }), {
    description: 'One for each file, in canonical order.'
  })

const acquired = {
  results: Type.Array(LockResult, { description: 'One for each file, in canonical order.' }),
  all_acquired: all('True if you hold every one of them.')
}

export const LockTryInput = inputObject({ filepaths: FilePaths, ...reservation, agent_id: AgentId })
export type LockTryInput = Static<typeof LockTryInput>

export const LockTryOutput = lockOutput(
  acquired,
  'LockTryOutput',
  'Which files you hold now, and who holds the others.'
)

export const LockWaitInput = inputObject({
  filepaths: Type.Optional(FilePaths),
  ticket: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description:
        'From an earlier answer: goes on waiting in the places kept. Alone it means the same files; with filepaths, the places for files not named are given up. mode, all_or_nothing, ttl_seconds and note stay as in the first call.'
    })
  ),
  timeout_seconds: Type.Optional(
    Type.Number({
      minimum: 0,
      description:
        'Longest wait for each file; all are waited for at the same time. 0 does not wait. Default: crud.default_timeout (30). Clamped to crud.max_timeout (300).'
    })
  ),
  poll_interval_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Without effect: the next waiter gets its lease at once, in order of arrival.'
    })
  ),
  ...reservation,
  agent_id: AgentId
})
export type LockWaitInput = Static<typeof LockWaitInput>

export const LockWaitOutput = lockOutput(
  {
    ...acquired,
    ticket: Type.Optional(
      Type.String({
        description:
          'The wait ended before the time you asked for, and your places are kept: call lock_wait with this ticket to go on.'
      })
    ),
    ticket_expires_at: Type.Optional(Time('Until when your places are kept.'))
  },
  'LockWaitOutput',
  'Which files you hold now, and who holds the others.'
)

export const LockReleaseInput = inputObject({ filepaths: FilePaths, agent_id: AgentId })
export type LockReleaseInput = Static<typeof LockReleaseInput>

export const LockReleaseOutput = lockOutput(
  {
    results: results(
      {
        filepath: Filepath,
        released: Type.Boolean({
          description: 'True if you do not hold it any more, or never did; false if another agent does.'
        }),
        holder: Type.Union([Type.String(), Type.Null()], {
          description: 'The agent that holds it, if released is false; null otherwise.'
        }),
        ...name
      },
      'ReleaseResult'
    ),
    all_released: all('True if every one is released.')
  },
  'LockReleaseOutput',
  'The leases are released.'
)

export const LockStatusInput = inputObject({ filepaths: FilePaths, agent_id: AgentId })
export type LockStatusInput = Static<typeof LockStatusInput>

export const LockStatusOutput = lockOutput(
  {
    results: results(
      {
        filepath: Filepath,
        held_by_me: Type.Boolean({ description: 'True if you hold a lease on it.' }),
        holder: HolderName,
        fencing_token: Type.Optional(Token),
        expires_at: Expiry,
        holders: Type.Array(Holder, { description: 'All that hold it: leases and running operations.' }),
        queue_depth: queueDepth,
        ...name
      },
      'LockStatusResult'
    ),
    enforcement: Type.String({
      enum: ['holder', 'required', 'off'],
      description:
        'What leases mean for changes (locks.enforcement): with "required" each change needs an exclusive lease of its agent.'
    })
  },
  'LockStatusOutput',
  'Who holds the files.'
)

export const LockReleaseAllInput = inputObject({ agent_id: AgentId })
export type LockReleaseAllInput = Static<typeof LockReleaseAllInput>

export const LockReleaseAllOutput = lockOutput(
  { count: Type.Integer({ minimum: 0, description: 'Leases released.' }) },
  'LockReleaseAllOutput',
  'You hold no leases any more, and wait for none.'
)

export const LockRenewInput = inputObject({
  filepaths: FilePaths,
  ttl_seconds: TtlSeconds('as before'),
  agent_id: AgentId
})
export type LockRenewInput = Static<typeof LockRenewInput>

export const LockRenewOutput = lockOutput(
  {
    results: results(
      {
        filepath: Filepath,
        renewed: Type.Boolean({ description: 'False if you hold no lease on it: take a new one with lock_try.' }),
        holder: HolderName,
        fencing_token: Type.Optional(Token),
        expires_at: Expiry,
        ...name
      },
      'RenewResult'
    ),
    all_renewed: all('True if every one is renewed.')
  },
  'LockRenewOutput',
  'How long the leases last now.'
)

export const LockBreakInput = inputObject({
  filepaths: FilePaths,
  reason: Type.String({
    minLength: 1,
    maxLength: 500,
    pattern: shownText,
    description: 'Why; the former holders are notified.'
  }),
  agent_id: AgentId
})
export type LockBreakInput = Static<typeof LockBreakInput>

export const LockBreakOutput = lockOutput(
  {
    results: results(
      {
        filepath: Filepath,
        broken: Type.Boolean({ description: 'True if there was a lease.' }),
        former_holders: Type.Array(Type.String(), { description: 'Agents that have lost it.' }),
        ...name
      },
      'BreakResult'
    ),
    count: Type.Integer({ minimum: 0, description: 'Leases broken.' })
  },
  'LockBreakOutput',
  'The leases have ended, and the next waiters get the files.'
)
