// Answers a failure in the envelope of the called operation.
import type { OperationError } from '../errors.ts'
import { envelopes } from '../operations/definition/envelopes.ts'
import { operations } from '../operations/index.ts'
import { jsonType } from './json-type.ts'
import type { Asked, Reply } from './reply.ts'

const byPath = new Map(operations.map((operation) => [`/${operation.name}`, operation]))

/** With the status of the envelope, unless the route has another one for it. */
export function sendError<One extends Reply>(request: Asked, reply: One, error: OperationError, status?: number): One {
  const operation = byPath.get(request.routeOptions.url ?? pathOf(request))
  const envelope = operation?.envelope ?? envelopes.status
  const retryAfter = error.details?.['retry_after_seconds']
  if (typeof retryAfter === 'number') reply.header('retry-after', Math.ceil(retryAfter))
  reply
    .code(status ?? envelope.httpStatus(error.code))
    .type(jsonType)
    .send(envelope.body(error, { operation: operation?.name, input: request.body }))
  return reply
}

/** Without the query, which may contain a secret: nothing else of an address is logged or answered. */
export function pathOf({ url }: Pick<Asked, 'url'>): string {
  return url.split('?')[0] ?? ''
}
