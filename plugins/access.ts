// Access control, the same for every route: which clients may call this server.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { OperationError } from '../src/errors.ts'
import type { Config } from '../src/config/config.ts'
import { checkHost, checkOrigin, checkToken, type Hosts } from '../src/transports/access-checks.ts'
import { createSameUserCheck } from '../src/transports/peer/same-user.ts'
import { answerPreflight, isPreflight, letRead } from '../src/transports/cross-origin.ts'
import { securityHeaders } from '../src/transports/security-headers.ts'
import { pathOf, sendError } from './errors.ts'

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
  async (
    app,
    {
      config: {
        daemon: { host, same_user_only }
      }
    }
  ) => {
    const names = ['127.0.0.1', 'localhost', '[::1]', host.includes(':') ? `[${host}]` : host]
    const sameUser = same_user_only ? createSameUserCheck() : undefined

    let known = { port: undefined as number | undefined, added: [] as readonly string[], hosts: new Set<string>() }
    /** Made anew only when it changes, and not for each request. */
    function hostsAt(port: number | undefined): Hosts {
      const added = app.settings.current.daemon.allowed_hosts
      if (known.port !== port || known.added !== added)
        known = { port, added, hosts: new Set([...names.map((name) => `${name}:${port}`), ...added]) }
      return known.hosts
    }

    const isAdmitted = (origin: string | undefined): origin is string =>
      origin !== undefined && app.settings.current.daemon.allowed_origins.includes(origin)

    function check(request: FastifyRequest): OperationError | undefined {
      const hosts = hostsAt(request.socket.localPort)
      const { origin } = request.headers
      // Fastify's own errors come without a route.
      const isPublic = request.routeOptions.config?.isPublic ?? isPreflight(request)
      return (
        checkHost(request.raw, hosts) ??
        (isAdmitted(origin) ? undefined : checkOrigin(request.raw, hosts)) ??
        (isPublic ? undefined : checkToken(request.raw, app.settings.current.daemon.token))
      )
    }

    const isAdmittedPreflight = (request: FastifyRequest) => isPreflight(request) && isAdmitted(request.headers.origin)

    app.decorate('refusalOf', (request) => {
      const refusal = sameUser?.refusalOf(request.socket)
      return refusal instanceof Promise ? refusal.then((late) => late ?? check(request)) : (refusal ?? check(request))
    })
    // Set before Fastify sees the request, so that every answer has them, even one that Fastify does not send.
    const headers = Object.entries(securityHeaders)
    const setHeaders = ({ headers: { origin } }: IncomingMessage, response: ServerResponse) => {
      for (const [name, value] of headers) response.setHeader(name, value)
      if (isAdmitted(origin)) letRead(response, origin)
    }
    app.server.prependListener('request', setHeaders).prependListener('checkExpectation', setHeaders)
    app.addHook('onRequest', (request, reply, done) => {
      const admit = (refusal: OperationError | undefined): void => {
        if (refusal === undefined && !isAdmittedPreflight(request)) return done()
        if (refusal === undefined) return answerPreflight(reply.hijack().request.raw, reply.raw)
        app.log.debug({ code: refusal.code, path: pathOf(request).slice(0, 200) }, 'access refused')
        sendError(request, reply, refusal)
      }
      const fail = (error: Error): void => done(error)
      const refusal = app.refusalOf(request)
      if (refusal instanceof Promise) refusal.then(admit, fail)
      else admit(refusal)
    })
    app.addHook('onListen', () => {
      if (same_user_only && sameUser === undefined && app.settings.current.daemon.token === '')
        app.log.warn(
          'this system does not show which user a connection belongs to: every user of this machine can call the server'
        )
    })
  },
  { name: 'access', dependencies: ['settings', 'errors'] }
)
