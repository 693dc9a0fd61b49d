// The events of a tree for its followers: changes of files, and what happens at their locks. Paths, hashes and names only, never content.
import { agentText, commandFacts, ExpectedVersion, Hash, HashOf, HashOrNull, pathText, Timestamp } from './common.ts'
import { inputObject, Type, type Static, type TProperties } from './typebox.ts'

/** In the order of the documentation. */
export const eventTypes = [
  'file_changed',
  'lease_granted',
  'lock_released',
  'queue_position',
  'lease_expired',
  'contention',
  'deadlock'
] as const
export type EventType = (typeof eventTypes)[number]

const EventPath = Type.String({ description: 'Absolute path of the file, with links resolved.' })
const SomeAgent = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
function event<Name extends string, Properties extends TProperties>(
  title: string,
  type: Name,
  description: string,
  properties: Properties
) {
  return Type.Object(
    {
      id: Type.String({ description: 'Names the event and its place in the stream: what Last-Event-ID takes.' }),
      type: Type.Literal(type, { description }),
      at: Timestamp,
      ...properties
    },
    { title, description }
  )
}

export const FileChanged = event('FileChangedEvent', 'file_changed', 'A file has another version now, or is gone.', {
  path: EventPath,
  agent_id: Type.String({ description: 'Who made the version; "external" for a change made outside the server.' }),
  operation: Type.String({ description: 'The operation that made it; "external" as above.' }),
  hash: HashOrNull('Of the new version; null if the file is gone.'),
  previous_hash: Type.Optional(
    HashOrNull('Of the version before; null if there was no file, absent if that is not known.')
  ),
  change_set: Type.Optional(Type.String({ description: 'The task or the transaction to which it belongs.' })),
  ...commandFacts,
  renamed_from: Type.Optional(Type.String({ description: 'Its path until then.' }))
})

export const FilesChanged = event(
  'FilesChangedEvent',
  'file_changed',
  'Very many files have changed at once, for example by a checkout: look again at those you use.',
  {
    bulk: Type.Literal(true, { description: 'One event for all of them, sent whichever paths are followed.' }),
    agent_id: Type.String({ description: 'Who changed them; "external" for changes made outside the server.' }),
    operation: Type.String({ description: 'The operation that changed them; "external" as above.' }),
    count: Type.Integer({ minimum: 1, description: 'How many files have changed.' }),
    paths: Type.Array(EventPath, { maxItems: 10, description: 'The first of them.' })
  }
)

export const LeaseGranted = event('LeaseGrantedEvent', 'lease_granted', 'An agent has a lease on a file from now on.', {
  path: EventPath,
  agent_id: Type.String({ description: 'Its holder.' }),
  mode: Type.String({ enum: ['shared', 'exclusive'], description: 'Kind of lock.' }),
  note: Type.Optional(Type.String({ description: 'Note of the holder for others.' })),
  expires_at: Timestamp
})

export const LockReleased = event(
  'LockReleasedEvent',
  'lock_released',
  'A file is no longer held: by a lease, or by an operation for which a request waited.',
  {
    path: EventPath,
    agent_id: SomeAgent('Who held it; null for an operation without an agent id.'),
    held_as: Type.String({ enum: ['lease', 'operation'], description: 'What it was held by.' }),
    mode: Type.String({ enum: ['shared', 'exclusive'], description: 'Kind of lock.' }),
    cause: Type.String({
      enum: ['released', 'expired', 'broken', 'disconnected'],
      description:
        'Its holder released it; it expired; an operator broke it; the connection over which it was taken ended.'
    }),
    waiting: Type.Integer({ minimum: 0, description: 'How many waited for the file at that moment.' })
  }
)

export const QueuePosition = event(
  'QueuePositionEvent',
  'queue_position',
  'A waiter has another position in the queue of a file. Sent for each waiter that joins, then for the first hundred.',
  {
    path: EventPath,
    agent_id: SomeAgent('Who waits; null for an operation without an agent id.'),
    operation: Type.String({ description: 'The operation that waits.' }),
    position: Type.Integer({ minimum: 1, description: '1 is next.' }),
    queue_depth: Type.Integer({ minimum: 1, description: 'How many wait.' })
  }
)

export const LeaseExpired = event(
  'LeaseExpiredEvent',
  'lease_expired',
  'A lease ended without its holder releasing it.',
  {
    path: EventPath,
    agent_id: Type.String({ description: 'Its holder.' }),
    fencing_token: Type.Integer({ minimum: 0, description: 'Of the lease that ended.' }),
    cause: Type.String({
      enum: ['expired', 'broken', 'disconnected'],
      description: 'It expired; an operator broke it; the connection over which it was taken ended.'
    })
  }
)

/** What is known of a change that came too late. */
export const lateFacts = {
  path: EventPath,
  agent_id: SomeAgent('Who came too late; null without an agent id.'),
  expected_hash: ExpectedVersion,
  current_hash: Hash,
  merged: Type.Boolean({ description: 'True if the change was merged with the current version and written.' }),
  operation: Type.Optional(Type.String({ description: 'The operation that was refused; absent if it was merged.' })),
  tried_hash: Type.Optional(
    HashOf(
      'What a refused change would have made of expected_hash: async_diff takes it as long as it is kept. Absent if it has no text of its own, such as a deletion, or is large.'
    )
  )
}

export const ContentionMet = event(
  'ContentionEvent',
  'contention',
  'An operation wanted to change a version that was no longer current.',
  lateFacts
)

export const CircleRefused = event(
  'DeadlockEvent',
  'deadlock',
  'A request was refused, since it would have waited for ever.',
  {
    path: EventPath,
    agent_id: SomeAgent('Who was refused; null if that is not known.'),
    operation: Type.String({ description: 'The operation that was refused.' }),
    waits: Type.Array(
      Type.Object(
        {
          agent_id: Type.String({
            description: 'Who waits, or would wait; an operation without an agent id by its name.'
          }),
          waits_for: Type.String({ description: 'The file.' })
        },
        { title: 'CircleMember', description: 'One wait of the circle.' }
      ),
      { description: 'The circle: each waits for the next, the last for the first, which is the refused one.' }
    )
  }
)

export const Event = Type.Union(
  [FileChanged, FilesChanged, LeaseGranted, LockReleased, QueuePosition, LeaseExpired, ContentionMet, CircleRefused],
  { title: 'Event', description: 'What happened to a file or its locks.' }
)
export type Event = Static<typeof Event>

/** The querystring of GET /events. */
export const EventsQuery = inputObject({
  types: Type.Optional(
    Type.Array(Type.String({ enum: eventTypes }), {
      description: 'Types to follow, with commas between them. Default: all.'
    })
  ),
  path: Type.Optional(
    Type.Array(Type.String(pathText), {
      maxItems: 50,
      description:
        'Files to follow: a path, that of a folder for all below it, or a pattern relative to the roots, such as src/**. May be given 50 times, with 8192 characters in all, of which patterns must be few or short: about twelve ordinary ones. Default: all.'
    })
  ),
  agent_id: Type.Optional(
    Type.String({
      ...agentText,
      description: 'The agent to follow; "external" for changes made outside the server. Default: all.'
    })
  )
})
export type EventsQuery = Static<typeof EventsQuery>

/** Every follower gets it, whatever it follows. */
export const Gap = event('GapEvent', 'gap', 'Some events are missing from here on: look again at what you use.', {
  reason: Type.String({
    enum: ['not_kept', 'too_slow', 'authority_changed'],
    description:
      'What came after Last-Event-ID is no longer kept; the events were not read in time, and the stream ends here; another process serves the tree now.'
  })
})
export type Gap = Static<typeof Gap>

/** The first event of each stream. */
export const Ready = Type.Object(
  {
    type: Type.Literal('ready', { description: 'Events are sent from now on.' }),
    at: Timestamp,
    types: Type.Array(Type.String({ enum: eventTypes }), { description: 'Those that are followed.' }),
    paths: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: 'Paths and patterns that are followed; null if all are.'
    }),
    agent_id: SomeAgent('The agent that is followed; null if all are.')
  },
  { title: 'ReadyEvent', description: 'What this stream follows.' }
)
export type Ready = Static<typeof Ready>

/** The data of one event of GET /events. */
export const StreamedEvent = Type.Union([Ready, ...Event.anyOf, Gap])
