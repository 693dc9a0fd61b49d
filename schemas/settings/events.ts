// Settings of the events for followers of the tree.
import { Type } from '../typebox.ts'
import { live } from './annotations.ts'

export const events = Type.Object(
  {
    max_subscribers: Type.Integer({
      ...live,
      minimum: 0,
      maximum: 100_000,
      default: 1000,
      description: 'Streams of GET /events at once; one more is refused with OVERLOADED.'
    }),
    max_resources_per_session: Type.Integer({
      minimum: 0,
      maximum: 100_000,
      default: 1000,
      description: 'Files that one MCP session or connection can be subscribed to at once.'
    }),
    buffer_events: Type.Integer({
      ...live,
      minimum: 0,
      maximum: 1_000_000,
      default: 1000,
      description: 'Events kept in memory for clients that come back with Last-Event-ID.'
    }),
    buffer_bytes: Type.Integer({
      minimum: 1024,
      maximum: 1_073_741_824,
      default: 1_048_576,
      description: 'Bytes of events that one stream may leave unread; beyond it the stream is ended.'
    }),
    heartbeat_seconds: Type.Number({
      minimum: 0.05,
      maximum: 3600,
      default: 15,
      description: 'How often a stream gets a sign of life.'
    }),
    resume_seconds: Type.Number({
      minimum: 0,
      maximum: 86_400,
      default: 60,
      description: 'How long events are still kept after the last follower has gone.'
    })
  },
  { additionalProperties: false, default: {}, description: 'Events for clients that follow the tree.' }
)
