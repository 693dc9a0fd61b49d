// Access control, the same for every route: which clients may call this server.
import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { OperationError } from '../src/errors.ts'
import type { Config } from '../src/config/config.ts'
import { isLoopback } from '../src/support/loopback.ts'
import { createSameUserCheck } from '../src/transports/peer/same-user.ts'
import { answerPreflight, isPreflight, letRead } from '../src/transports/cross-origin.ts'
import { headerText } from '../src/transports/header-text.ts'
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
        checkHost(request, hosts) ??
        (isAdmitted(origin) ? undefined : checkOrigin(request, hosts)) ??
        (isPublic ? undefined : checkToken(request, app.settings.current.daemon.token))
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

/** Names that a Host header may have, with their ports. */
type Hosts = ReadonlySet<string>

/** Refuses a web page that rebinds its name to a loopback address, and a request meant for another server. */
function checkHost({ headers: { host }, raw }: FastifyRequest, hosts: Hosts): OperationError | undefined {
  const { rawHeaders, url = '' } = raw
  let hostHeaders = 0
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === 'host') hostHeaders += 1
  // A request line may name the server too, as for a proxy; such a name takes precedence over the header.
  const [, target = host] = url.startsWith('/') ? [] : (/^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(url) ?? [])
  if (hostHeaders === 1 && isOneOf(hosts, host) && isOneOf(hosts, target)) return undefined
  return new OperationError(
    'FORBIDDEN_ORIGIN',
    `Host header not allowed. Use ${[...hosts][0]}, or add the host to daemon.allowed_hosts.`
  )
}

/** Refuses a web page of another origin, whether or not it could see the answer. */
function checkOrigin(request: FastifyRequest, hosts: Hosts): OperationError | undefined {
  const { origin } = request.headers
  const isOwnOrigin = origin === undefined || isOneOf(hosts, /^https?:\/\/(.*)$/i.exec(origin)?.[1])
  if (isOwnOrigin && !isEmbedded(request)) return undefined
  return new OperationError(
    'FORBIDDEN_ORIGIN',
    'Origin not allowed: web pages of other origins may not call this server, nor show it in a frame. Open the address in a tab of its own, or add the origin to daemon.allowed_origins.'
  )
}

/** Browsers send no Origin if a page embeds an address as an image, a script or a frame, but send this header. A link may be followed. */
function isEmbedded({ headers, method }: FastifyRequest): boolean {
  if (!isOneOf(foreignSites, headers['sec-fetch-site'])) return false
  const isLink = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  return !isLink || (method !== 'GET' && method !== 'HEAD')
}

const foreignSites: ReadonlySet<string> = new Set(['cross-site', 'same-site'])

function isOneOf(allowed: ReadonlySet<string>, value: string | string[] | undefined): boolean {
  return typeof value === 'string' && allowed.has(value.toLowerCase())
}

function checkToken({ headers, socket }: FastifyRequest, token: string): OperationError | undefined {
  if (token === '') {
    // No such server starts, but a token can be removed while it runs.
    if (isLoopback(socket.localAddress ?? '')) return undefined
    return new OperationError('UNAUTHORIZED', 'Without a token this server answers only on loopback addresses.')
  }
  const expected = Buffer.from(token)
  // The name of a scheme ignores case (RFC 9110, 11.1).
  const [, bearer = ''] = /^bearer +(.*)$/i.exec(headerText(headers.authorization) ?? '') ?? []
  const given = Buffer.from(bearer)
  if (given.length === expected.length && timingSafeEqual(given, expected)) return undefined
  return new OperationError('UNAUTHORIZED', 'Bearer token missing or wrong: send Authorization: Bearer <token>.')
}
