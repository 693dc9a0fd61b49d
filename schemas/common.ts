// The parameters and properties that several operations share.
import { Type, type Static } from './typebox.ts'

/** Text of which every byte can be said to a system call, or to Git. */
export const withoutNul = '^[^\\u0000]*$'

/** What any path is, absolute or not. */
export const pathText = { minLength: 1, maxLength: 4096, pattern: withoutNul }

export const Path = Type.String({
  ...pathText,
  description: 'Absolute path, or a path relative to the first root.'
})

/** The content hash: lower-case hex SHA-256 of all bytes of the file. */
export const HashOf = (description: string) => Type.String({ pattern: '^sha256:[0-9a-f]{64}$', description })

/** Of an input: a version of the file that the call is about. */
export const VersionOf = (description: string) =>
  Type.String({
    pattern: '^(?:sha256:)?[0-9a-f]{12,64}$',
    description: `${description} "sha256:" and the hex digits of its hash, all 64 or at least the first 12; the digits alone, too.`
  })

/** Of an answer: whole if any version known of the file has it. */
export const ExpectedVersion = VersionOf(
  'The version that the call names; as it names it if no known version begins so.'
)

export const Hash = HashOf('SHA-256 of the whole file, as "sha256:" and 64 lower-case hex digits.')

export const Timestamp = Type.String({ format: 'date-time', description: 'UTC time, ISO 8601.' })

export const Encoding = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 40,
    description: 'Encoding of the file, by its IANA name. Default: crud.default_encoding (utf-8).'
  })
)

export const Timeout = Type.Optional(
  Type.Number({
    minimum: 0,
    description:
      "Seconds to wait for the lock; 0 does not wait. Default: the server's crud.default_timeout (30). Clamped to crud.max_timeout (300)."
  })
)

export const DiffFormat = Type.Optional(
  Type.String({
    enum: ['json', 'unified'],
    description:
      'Form of the diff in the answer. Default: json, or unified if json costs more than 60 % of reading the file again. A diff that costs more than that in either form, or in the form chosen here more than reading, only names the changed lines.'
  })
)

export const CreateDirs = Type.Boolean({ default: true, description: 'Create missing parent directories.' })

const forbidden = '\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069'
const invisible =
  ' \\u00a0\\u00ad\\u034f\\u115f\\u1160\\u1680\\u180e\\u2000-\\u200f\\u202f\\u205f-\\u2064\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0'
/**
 * Words that other agents are shown, on one line: no control characters, line separators or bidi controls, and something visible.
 * Takes linear time and uses no lookahead, which not every engine has.
 */
export const shownText = `^[${invisible}]*[^${forbidden}${invisible}][^${forbidden}]*$`

/** What the name of an agent is. */
export const agentText = { minLength: 1, maxLength: 200, pattern: shownText }

export const AgentId = Type.Optional(
  Type.String({
    ...agentText,
    description: 'Your name; shown to other agents. Agents that share a connection each pass their own.'
  })
)

export const RequestId = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: `^[^${forbidden}]*$`,
    description:
      'Your name for this change, such as a UUID. If you got no answer, send the very same call again with the same request_id: the change is made once, and a repeat within crud.receipt_seconds (600) gets the recorded answer, whatever became of the file.'
  })
)

export const Snapshot = Type.String({
  pattern: '^snapshot-[0-9]{1,16}$',
  description: 'Names a moment: async_read with it gives a file as it was then, as long as that version is kept.'
})

/** What the name of a change set is. */
export const changeSetText = { minLength: 1, maxLength: 100, pattern: shownText }

export const ChangeSet = Type.Optional(
  Type.String({
    ...changeSetText,
    description:
      'Your name for the task that this change belongs to, such as "rename Config". async_history and async_undo find its changes by it.'
  })
)

/** What every change takes, whatever it changes. */
export const changeCall = { request_id: RequestId, change_set: ChangeSet, agent_id: AgentId }

/** Of a change that can be tried out first. */
export const DryRun = Type.Boolean({
  default: false,
  description: 'Check everything and answer what would happen, with the diff of each file; change nothing.'
})
export const IsDryRun = Type.Optional(
  Type.Literal(true, { description: 'Nothing was changed: this is what would happen.' })
)

/** Of answers from the versions that are known. */
export const ForgottenBefore = Type.Optional(
  Type.String({ format: 'date-time', description: 'Versions made before this time are not all known any more.' })
)

export const FencingToken = Type.Optional(
  Type.Integer({
    minimum: 0,
    description:
      'The fencing_token of your lease on the file (lock_try, lock_wait): if that lease has ended meanwhile, nothing is written.'
  })
)

export const HashOrNull = (description: string) => Type.Union([Hash, Type.Null()], { description })
export const ExpectedHash = (description: string) =>
  Type.Optional(Type.Union([VersionOf('The version.'), Type.Null()], { description }))

/** Properties of the answer of every operation that changes a file. */
export const Changed = Type.Boolean({ description: 'False if the file already was as asked: nothing was written.' })
export const Replayed = Type.Optional(
  Type.Literal(true, {
    description:
      'The answer was recorded when an earlier call with this request_id made the change; nothing was done now.'
  })
)
export const LinksBroken = Type.Optional(
  Type.Integer({ minimum: 1, description: 'Other names (hard links) of the file that still show the old bytes.' })
)
export const Kept = Type.Optional(
  Type.Literal(false, {
    description:
      'Present if the bytes that the change replaced or removed are not kept, since they are too many or could not be read: neither async_undo nor async_restore can bring them back.'
  })
)
/** What the answer of a change says of the version before it. */
export const replacedVersion = { links_broken: LinksBroken, kept: Kept }
export const BytesWritten = Type.Integer({
  minimum: 0,
  description: 'Size of the new version in bytes; 0 if nothing was written.'
})
export const StatusOk = Type.Literal('ok', { description: 'Done. A change is on disk as crud.durability says.' })

/** The roles of a process among those that serve its tree. */
export const treeRole = {
  role: Type.String({
    enum: ['none', 'authority', 'relay'],
    description:
      'If several processes serve one tree, one of them, the authority, runs the engine, and the others relay to it; none before the first call.'
  }),
  authority_pid: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
    description: 'Process id of the authority; null while unknown.'
  })
}

/** Of a change that a shell command made. */
export const commandFacts = {
  command: Type.Optional(
    Type.String({
      description: 'The shell command that made it: at most 500 characters, what looks like a secret as "***".'
    })
  ),
  attribution: Type.Optional(
    Type.String({
      enum: ['certain', 'one_of'],
      description:
        'one_of: one of `agents` made it, and it is not known which. Absent for changes that no shell command can have made.'
    })
  ),
  agents: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Who may have made it; "external" for somebody outside the server. agent_id is the first.'
    })
  )
}
export type CommandFacts = Static<ReturnType<typeof Type.Object<typeof commandFacts>>>

const mode = (description: string) => Type.Optional(Type.String({ pattern: '^[0-7]{3,4}$', description }))

/** Of a change of the permission bits. */
export const modeFacts = {
  previous_mode: mode('If it changed the mode: the permission bits before, in octal digits as chmod takes them.'),
  mode: mode('The permission bits since then.')
}
export type ModeFacts = Static<ReturnType<typeof Type.Object<typeof modeFacts>>>

export const Modification = Type.Object(
  {
    agent_id: Type.String({ description: 'Who made the change, or "external" for a change made outside the server.' }),
    operation: Type.String({
      description: 'The operation that made it; "external" for a change made outside the server.'
    }),
    at: Timestamp,
    ...commandFacts
  },
  { title: 'Modification', description: 'One change since the base, as far as known.' }
)
export type Modification = Static<typeof Modification>

export const EarlierModifications = Type.Optional(
  Type.Integer({ minimum: 1, description: 'How many more changes there were before those in modified_by.' })
)

/** Who has changed a file. */
export const modifications = (description: string) => ({
  modified_by: Type.Array(Modification, { description }),
  earlier_modifications: EarlierModifications
})

export const lineNumber = (description: string) => Type.Integer({ minimum: 0, description })
