// async_status: the server, or the queue of one file (PRD 3.5).
import { AgentId, HashOrNull, Modification, Path, StatusOk, Timestamp } from './common.ts'
import { inputObject, Type, type Static } from './typebox.ts'

export const StatusInput = inputObject({
  path: Type.Union([Path, Type.Null()], { default: null, description: 'A file; null asks about the whole server.' }),
  agent_id: AgentId
})
export type StatusInput = Static<typeof StatusInput>

const count = (description: string) => Type.Integer({ minimum: 0, description })
const agent = Type.Union([Type.String(), Type.Null()], { description: 'Agent id, if known.' })
const mode = Type.String({ enum: ['shared', 'exclusive'], description: 'Kind of lock.' })

const Note = Type.Optional(Type.String({ description: 'Note of the holder of a lease for others.' }))

export const Holder = Type.Object(
  {
    type: Type.String({ description: '"lease", or the operation without "async_".' }),
    mode,
    agent_id: agent,
    note: Note,
    acquired_at: Timestamp,
    expires_at: Type.Union([Timestamp, Type.Null()], {
      description: 'When its lock expires; null while it still waits for another file of the same call.'
    }),
    fencing_token: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'Larger than that of every lock granted before. Agents see only their own, GET /locks shows all; absent while expires_at is null.'
      })
    ),
    waits_for: Type.Optional(Type.String({ description: 'The other file that it still waits for.' }))
  },
  { title: 'Holder', description: 'A holder of the lock of a file.' }
)

export const PendingRequest = Type.Object(
  {
    type: Type.String({ description: '"lease", or the operation without "async_".' }),
    mode,
    agent_id: agent,
    note: Note,
    queued_at: Timestamp,
    timeout_at: Timestamp,
    parked: Type.Optional(
      Type.Boolean({
        description: 'True if no call waits at the moment: the place is kept until timeout_at.'
      })
    )
  },
  { title: 'PendingRequest', description: 'A waiter for the lock of a file.' }
)

export const StatusOutput = Type.Object(
  {
    status: StatusOk,
    server: Type.Optional(
      Type.Object(
        {
          version: Type.String({ description: 'Of the server.' }),
          uptime_seconds: Type.Number({
            minimum: 0,
            description: 'Since the start of the process that runs the engine.'
          }),
          transport: Type.String({ description: 'How it serves.' }),
          port: Type.Union([Type.Integer(), Type.Null()], { description: 'HTTP port.' }),
          persistence: Type.String({ enum: ['enabled', 'disabled'], description: 'Whether state survives a restart.' })
        },
        { title: 'ServerStatus', description: 'The process. Without path only.' }
      )
    ),
    tracked_files: Type.Optional(count('Files whose versions are remembered. Without path only.')),
    active_locks: Type.Optional(
      Type.Object(
        {
          read: count('Shared locks held.'),
          write: count('Exclusive locks held.'),
          leases: count('Those of them that agents hold beyond one operation.')
        },
        { title: 'ActiveLocks', description: 'Locks held. Without path only.' }
      )
    ),
    base_directories: Type.Optional(Type.Array(Type.String(), { description: 'The roots. Without path only.' })),
    queue_depth: count('Requests that wait: for this file, or in all.'),
    path: Type.Optional(Path),
    exists: Type.Optional(Type.Boolean({ description: 'With path only.' })),
    hash: Type.Optional(HashOrNull('Hash right now; null if there is no readable file. With path only.')),
    last_change: Type.Optional(
      Type.Union([Modification, Type.Null()], {
        description: 'The last known change; null if there is none. With path only.'
      })
    ),
    lock_state: Type.Optional(
      Type.String({ enum: ['unlocked', 'read_locked', 'write_locked'], description: 'With path only.' })
    ),
    active_readers: Type.Optional(count('Shared locks held on this file. With path only.')),
    holders: Type.Optional(Type.Array(Holder, { description: 'Who holds the lock. With path only.' })),
    pending_requests: Type.Optional(
      Type.Array(PendingRequest, { description: 'Who waits, in order. With path only.' })
    ),
    timestamp: Timestamp
  },
  { title: 'StatusOutput', description: 'State of the server or of one file.' }
)
