// Leases: files that an agent reserves beyond one operation (LOCK), from try to release.
import { AgentId, shownText } from './common.ts'
import {
  acquired,
  all,
  Expiry,
  Filepath,
  FilePaths,
  HolderName,
  lockOutput,
  name,
  queueDepth,
  reservation,
  results,
  Time,
  Token,
  TtlSeconds
} from './leases.ts'
import { Holder } from './status.ts'
import { inputObject, Type, type Static } from './typebox.ts'

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
