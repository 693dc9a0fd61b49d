// /files/<path>: files as plain HTTP resources, over the operations that all transports have.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { routes } from '../../schemas/routes.ts'
import { patch, put, remove } from '../../src/transports/files/change.ts'
import { get } from '../../src/transports/files/read.ts'
import { toExchange } from '../../src/transports/files/to-exchange.ts'

const url = '/files/*'

export default fp(
  async (app) => {
    const options = { call: app.call, budget: app.requestBudget, maxBytes: app.initialConfig.bodyLimit as number }
    const exchange = (request: FastifyRequest, reply: FastifyReply) => toExchange(request, reply, options)

    await app.register(async (scope) => {
      // Bytes of any type; each handler reads them itself.
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
      // PUT takes any type, and so one of no valid form, which Fastify would refuse.
      scope.addHook('onRequest', async ({ method, raw }) => {
        if (method === 'PUT' || method === 'DELETE') delete raw.headers['content-type']
      })
      const typed = scope.withTypeProvider<TypeBoxTypeProvider>()
      typed.get(url, { schema: routes[url] }, (request, reply) => get(exchange(request, reply), request.query, reply))
      for (const [method, handle] of Object.entries({ PUT: put, PATCH: patch, DELETE: remove }))
        scope.route({ method, url, handler: (request, reply) => handle(exchange(request, reply), reply) })
    })
  },
  { name: 'file-routes', dependencies: ['authority', 'body', 'errors', 'access', 'request-budget'] }
)
