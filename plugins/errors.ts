// Answers every failure outside an operation, in the envelope of the called operation.
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { OperationError } from '../src/errors.ts'
import { envelopes } from '../src/operations/definition/envelopes.ts'
import { operations } from '../src/operations/index.ts'
import { toFailure } from '../src/transports/failures.ts'
import { jsonType } from '../src/transports/json-type.ts'
import { hintAt, notFound } from '../src/transports/route-hints.ts'
import { followRequests } from '../src/transports/unparsable.ts'

export default fp(
  async (app) => {
    app.setErrorHandler((error: unknown, request, reply) => {
      const failure = toFailure(error)
      if (failure.code === 'CANCELLED') app.log.info('client disconnected while it sent a request')
      // Fastify would cut off a body that is still on its way, and most clients would not see the answer.
      reply.removeHeader('connection')
      if (failure.httpStatus === 500) app.log.error({ err: failure.cause ?? failure }, 'request failed')
      return sendError(request, reply, failure)
    })

    followRequests(app.server)

    app.setNotFoundHandler((request, reply) => {
      const path = pathOf(request)
      const url = path.startsWith('/files/') ? '/files/*' : path
      const allowed = methods.filter((method) => app.hasRoute({ url, method }))
      if (allowed.length === 0) return sendError(request, reply, notFound(request.method, path))
      const message = [`${path} answers ${allowed.join(', ')}, not ${request.method}.`, ...hintAt(path)].join(' ')
      return sendError(
        request,
        reply.header('allow', allowed.join(', ')),
        new OperationError('METHOD_NOT_ALLOWED', message)
      )
    })
  },
  { name: 'errors' }
)

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const byPath = new Map(operations.map((operation) => [`/${operation.name}`, operation]))

/** Answers in the envelope of the called operation, with its status, unless the route has another one for it. */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: OperationError,
  status?: number
): FastifyReply {
  const operation = byPath.get(request.routeOptions.url ?? pathOf(request))
  const envelope = operation?.envelope ?? envelopes.status
  const retryAfter = error.details?.['retry_after_seconds']
  if (typeof retryAfter === 'number') reply.header('retry-after', Math.ceil(retryAfter))
  return reply
    .code(status ?? envelope.httpStatus(error.code))
    .type(jsonType)
    .send(envelope.body(error, { operation: operation?.name, input: request.body }))
}

/** Without the query, which may contain a secret: nothing else of an address is logged or answered. */
export function pathOf({ url }: FastifyRequest): string {
  return url.split('?')[0] ?? ''
}
