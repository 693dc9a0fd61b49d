// Access control, the same for every route: which clients may call this server.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { OperationError } from '../../src/errors.ts'
import type { Config } from '../../src/config/config.ts'
import { createAccess } from '../../src/transports/access.ts'
import { answerPreflight, isPreflight, letRead } from '../../src/transports/cross-origin.ts'
import { securityHeaders } from '../../src/transports/security-headers.ts'
import { pathOf, sendError } from '../../src/transports/send-error.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for a route that shows only the public contract: it needs no token. */
    isPublic?: boolean
  }
  interface FastifyInstance {
    /** Undefined if the request may go on. */
    refusalOf: (request: FastifyRequest) => OperationError | undefined | Promise<OperationError | undefined>
  }
}

export default fp<{ config: Config }>(
  async (app, { config: { daemon } }) => {
    const settings = () => app.settings.current.daemon
    const access = createAccess({ host: daemon.host, sameUserOnly: daemon.same_user_only, settings })
    // Fastify's own errors come without a route.
    app.decorate('refusalOf', ({ raw, routeOptions }) => access.refusalOf(raw, routeOptions.config?.isPublic === true))
    // Set before Fastify sees the request, so that every answer has them, even one that Fastify does not send.
    const headers = Object.entries(securityHeaders)
    const setHeaders = ({ headers: { origin } }: IncomingMessage, response: ServerResponse) => {
      for (const [name, value] of headers) response.setHeader(name, value)
      if (access.isAdmitted(origin)) letRead(response, origin)
    }
    app.server.prependListener('request', setHeaders).prependListener('checkExpectation', setHeaders)
    app.addHook('onRequest', (request, reply, done) => {
      const admit = (refusal: OperationError | undefined): void => {
        const isAsked = isPreflight(request) && access.isAdmitted(request.headers.origin)
        if (refusal === undefined && !isAsked) return done()
        if (refusal === undefined) return answerPreflight(reply.hijack().request.raw, reply.raw)
        app.log.debug({ code: refusal.code, path: pathOf(request).slice(0, 200) }, 'access refused')
        sendError(request, reply, refusal)
      }
      const refusal = app.refusalOf(request)
      const fail = (error: Error): void => done(error)
      if (refusal instanceof Promise) refusal.then(admit, fail)
      else admit(refusal)
    })
    app.addHook('onListen', () => {
      if (!access.isUserKnown && settings().token === '')
        app.log.warn(
          'this system does not show which user a connection belongs to: every user of this machine can call the server'
        )
    })
  },
  { name: 'access', dependencies: ['settings', 'errors'] }
)
