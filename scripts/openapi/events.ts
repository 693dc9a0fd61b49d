// GET /events in the OpenAPI document.
import { StreamedEvent } from '../../schemas/events.ts'
import { routes } from '../../schemas/routes.ts'
import type { JsonObject } from './components.ts'
import { describeQuery } from './query.ts'
import { describeRefusals, type Workshop } from './responses.ts'

export function describeEvents(workshop: Workshop): JsonObject {
  const { components } = workshop
  const schema = { oneOf: StreamedEvent.anyOf.map((part) => components.schema(part)) }
  return {
    operationId: 'follow_events',
    summary: 'Stream events',
    description: [
      'Server-Sent Events for scripts and dashboards, until the client or the server ends them. The first is `ready`; a comment comes now and then if nothing happens.',
      'Each has its type as `event`, its id as `id`, and as `data` one line of JSON of the schema below. There is never content of a file in it.',
      'What was missed between two streams is sent first if Last-Event-ID says since when; if not all of it is kept, a `gap` says so.'
    ].join('\n'),
    tags: ['files'],
    parameters: [
      ...describeQuery(routes['/events'].querystring, workshop),
      {
        name: 'Last-Event-ID',
        in: 'header',
        required: false,
        description: 'Id of the last event, from a client that comes back. EventSource sends it by itself.',
        schema: { type: 'string', maxLength: 100 }
      }
    ],
    responses: {
      '200': {
        description: 'The stream.',
        content: { 'text/event-stream': { schema, examples } }
      },
      ...describeRefusals(
        [
          'INVALID_REQUEST',
          'INVALID_PATTERN',
          'UNAUTHORIZED',
          'FORBIDDEN_ORIGIN',
          'PATH_OUTSIDE_BASE',
          'METHOD_NOT_ALLOWED',
          'OVERLOADED'
        ],
        workshop
      )
    }
  }
}

const at = '2026-01-01T12:00:00.000Z'
const [hash, previous_hash] = ['5', '4'].map((digit) => `sha256:${digit.repeat(64)}`) as [string, string]

/** Two events of a stream: their data. */
const examples: JsonObject = {
  ready: {
    summary: 'What the stream follows.',
    value: { type: 'ready', at, types: ['file_changed', 'contention'], paths: ['src/**'], agent_id: null }
  },
  changed: {
    summary: 'Bob has changed a file.',
    value: {
      type: 'file_changed',
      path: '/home/ann/project/src/app.ts',
      agent_id: 'bob',
      operation: 'async_update',
      hash,
      previous_hash,
      id: '1f4c9a2b7d3e-42',
      at
    }
  }
}
