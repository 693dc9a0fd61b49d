// What a request for GET /events asks for, and how it is confirmed or refused.
import type { IncomingHttpHeaders } from 'node:http'
import { eventTypes, type Ready } from '../../../schemas/events.ts'
import type { FilterInput } from '../../engine/events/event-filter.ts'
import type { EventFilter } from '../../engine/events/tree-event.ts'
import { OperationError } from '../../errors.ts'
import { timestamp } from '../../support/timestamp.ts'

const maxIdLength = 100

/** The header that EventSource sends when it reconnects. */
export function readLastId({ 'last-event-id': id }: IncomingHttpHeaders): string | undefined {
  if (id === undefined || id === '') return undefined
  if (typeof id === 'string' && id.length <= maxIdLength) return id
  throw new OperationError('INVALID_REQUEST', 'Last-Event-ID is not valid: pass the id of the last event.')
}

export function describe({ paths, agentId }: FilterInput, { types }: EventFilter): Ready {
  return {
    type: 'ready',
    at: timestamp(),
    types: types === undefined ? [...eventTypes] : [...types],
    paths: paths.length === 0 ? null : [...paths],
    agent_id: agentId ?? null
  }
}

export function tooManyStreams(limit: number): OperationError {
  const message = `${limit} streams of events are open, as many as events.max_subscribers allows. Try again later, or follow several files with one stream.`
  return new OperationError('OVERLOADED', message, { details: { retry_after_seconds: 1 } })
}
