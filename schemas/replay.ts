// replay: the tree as it was after a change of the log, for the board: its files, one file's text with its authors, who held and who waited.
import { AgentId, commandFacts, ForgottenBefore, HashOrNull, Path, StatusOk, Timestamp } from './common.ts'
import { BlameRange } from './blame.ts'
import { inputObject, Type, type Static } from './typebox.ts'

const Seq = (description: string) => Type.Integer({ minimum: 0, description })

export const ReplayInput = inputObject({
  seq: Type.Optional(
    Seq(
      'The moment right after this change, or the last one before it, by its number in the log; 0: before all of them.'
    )
  ),
  at: Type.Optional(
    Type.String({ format: 'date-time', description: 'Instead of seq: the last change up to this time. Default: now.' })
  ),
  path: Type.Optional(Path),
  contains: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description: 'Only files whose path contains this, in upper or lower case.'
    })
  ),
  limit: Type.Integer({ minimum: 0, maximum: 10_000, default: 1000, description: 'Files, and locks, listed at most.' }),
  with_log: Type.Boolean({
    default: false,
    description: 'Adds the numbers and times of all changes, and the files that the log does not know.'
  }),
  agent_id: AgentId
})
export type ReplayInput = Static<typeof ReplayInput>

const agent = Type.Union([Type.String(), Type.Null()], {
  description: 'The agent; "external" for what was made outside the server; null without a name.'
})

const Change = Type.Object(
  {
    seq: Seq('Its number in the log: of its last step, if it is one of several files.'),
    at: Timestamp,
    agent_id: Type.String({ description: 'Who made it; "external" if it was made outside the server.' }),
    operation: Type.String({ description: 'The operation that made it.' }),
    change_set: Type.Optional(Type.String({ description: 'The task or the transaction to which it belongs.' })),
    ...commandFacts,
    paths: Type.Array(Path, { description: 'The files that it has changed; a hundred at most.' })
  },
  { title: 'ReplayChange', description: 'One change of the log.' }
)

const Kept = Type.Boolean({ description: 'True if its bytes are kept, so that the text can be shown.' })

const File = Type.Object(
  {
    path: Path,
    hash: HashOrNull('The version; null if it is not known, was not read, or is a link.'),
    kept: Kept,
    link: Type.Optional(Type.String({ description: 'What it points to, if it is a symbolic link.' })),
    agent_id: Type.Optional(Type.String({ description: 'Who made this version; absent if it was there before.' })),
    at: Type.Optional(Timestamp),
    seen_later: Type.Optional(
      Type.Literal(true, {
        description: 'The server looked at it only later, and takes it as unchanged until then.'
      })
    )
  },
  { title: 'ReplayFile', description: 'A file that was there.' }
)

const Held = Type.Object(
  {
    path: Path,
    agent_id: agent,
    waits: Type.Boolean({ description: 'True for a request that waited, false for a lease.' }),
    mode: Type.Optional(Type.String({ enum: ['shared', 'exclusive'], description: 'Of a lease.' })),
    note: Type.Optional(Type.String({ description: 'Why the agent holds it.' })),
    since: Timestamp
  },
  { title: 'ReplayLock', description: 'A lease that was held, or a request that waited.' }
)

const Text = Type.Object(
  {
    path: Path,
    exists: Type.Boolean({ description: 'False if no such file was there.' }),
    hash: HashOrNull('The version; null if it is not known.'),
    kept: Kept,
    content: Type.Union([Type.String(), Type.Null()], {
      description: 'The text, exactly as it was; null if it is not kept, or no text in crud.default_encoding.'
    }),
    ranges: Type.Array(BlameRange, { description: 'Who had made each line by then, in order.' })
  },
  { title: 'ReplayText', description: 'One file as it was.' }
)

const Log = Type.Object(
  {
    seqs: Type.Array(Seq('Number of a change.'), { description: 'The oldest first; the last 20,000.' }),
    times: Type.Array(Type.Integer({ description: 'Milliseconds since 1970.' }), {
      description: 'Of the same changes.'
    }),
    other_files: Type.Array(Path, {
      description:
        'Files that are there now and that the log does not know, so that they count as unchanged: 10,000 at most, without those that Git ignores; none if the tree has more entries than crud.max_list_entries.'
    })
  },
  { title: 'ReplayLog', description: 'What there is to replay.' }
)

export const ReplayOutput = Type.Object(
  {
    status: StatusOk,
    seq: Seq('The moment that is shown: right after this change. 0: before all that the log has.'),
    change: Type.Optional(Change),
    files: Type.Array(File, { description: 'That the log knows, sorted by path.' }),
    total_files: Seq('Of these, listed or not.'),
    locks: Type.Array(Held, { description: 'Who held and who waited at the time of the change, as far as known.' }),
    locks_known_since: Timestamp,
    file: Type.Optional(Text),
    log: Type.Optional(Log),
    forgotten_before: ForgottenBefore,
    timestamp: Timestamp
  },
  { title: 'ReplayOutput', description: 'The tree as it was at a moment.' }
)
export type ReplayOutput = Static<typeof ReplayOutput>
