// Answers every failure outside an operation.
import fp from 'fastify-plugin'
import { toFailure } from '../../src/transports/failures.ts'
import { notFound, otherMethod } from '../../src/transports/route-hints.ts'
import { pathOf, sendError } from '../../src/transports/send-error.ts'
import { followRequests } from '../../src/transports/unparsable.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

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
      reply.header('allow', allowed.join(', '))
      return sendError(request, reply, otherMethod(request.method, path, allowed))
    })
  },
  { name: 'errors' }
)
