// /files/<path>: files as plain HTTP resources, over the operations that all transports have.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { routes } from '../schemas/routes.ts'
import { isOperationError } from '../src/errors.ts'
import { readTrace } from '../src/support/trace-context.ts'
import { patch, put, remove } from '../src/transports/files/change.ts'
import type { FileReply, FileRequest } from '../src/transports/files/exchange.ts'
import { sendFile, sendFolder, sendPart } from '../src/transports/files/read.ts'
import { goneSignal } from '../src/transports/gone-signal.ts'
import { headerText } from '../src/transports/header-text.ts'
import { readBody } from '../src/transports/read-body.ts'
import { sendError } from './errors.ts'

const url = '/files/*'

export default fp(
  async (app) => {
    const { requestBudget: budget } = app
    const maxBytes = app.initialConfig.bodyLimit as number

    await app.register(async (scope) => {
      // Bytes of any type; each handler reads them itself.
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
      // PUT takes any type, and so one of no valid form, which Fastify would refuse.
      scope.addHook('onRequest', async ({ method, raw }) => {
        if (method === 'PUT' || method === 'DELETE') delete raw.headers['content-type']
      })
      const typed = scope.withTypeProvider<TypeBoxTypeProvider>()
      typed.get(url, { schema: routes[url] }, async (request, reply) => {
        const asked = exchange(request, reply)
        const { path } = asked
        if (path === '' || path.endsWith('/')) return sendFolder(path, request.query, asked, reply)
        try {
          return await sendFile(path, asked, reply)
        } catch (error) {
          if (isOperationError(error, 'FILE_TOO_LARGE')) return sendPart(path, error, asked, reply)
          if (!isOperationError(error, 'NOT_A_FILE')) throw error
          return await sendFolder(path, request.query, asked, reply).catch(() => Promise.reject(error))
        }
      })
      for (const [method, handle] of Object.entries({ PUT: put, PATCH: patch, DELETE: remove }))
        scope.route({ method, url, handler: (request, reply) => handle(exchange(request, reply), reply) })
    })

    function exchange(request: FastifyRequest, reply: FastifyReply): FileRequest {
      const { method, headers, raw, params } = request
      return {
        method,
        headers,
        path: (params as { '*': string })['*'],
        body: () => readBody(raw, reply.raw, { maxBytes, budget }),
        call(name, input, takesNotices, isShown = true) {
          const agentId = isShown ? headerText(headers['x-agent-id']) : undefined
          const requestId = headerText(headers['idempotency-key'])
          const changeSet = headerText(headers['x-change-set'])
          const caller = {
            agentId,
            requestId,
            changeSet,
            transport: 'rest',
            takesNotices,
            trace: readTrace(headers)
          } as const
          return app.call(name, input, { caller, signal: goneSignal(reply.raw) })
        },
        refuse: (error, status): FileReply => sendError(request, reply, error, status)
      }
    }
  },
  { name: 'file-routes', dependencies: ['authority', 'body', 'errors', 'access', 'request-budget'] }
)
