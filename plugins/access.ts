// The door, the same for every route: who may speak to this server at all.
import { timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { OperationError } from '../src/errors.ts'
import type { Config } from '../src/config.ts'
import { sendError } from './errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for a route that shows the public contract only: no token is asked for. */
    isPublic?: boolean
  }
}

export default fp<{ config: Config }>(
  async (
    app,
    {
      config: {
        daemon: { host }
      }
    }
  ) => {
    const names = ['127.0.0.1', 'localhost', '[::1]', host.includes(':') ? `[${host}]` : host]
    app.addHook('onRequest', async (request, reply) => {
      const port = request.socket.localPort
      const { allowed_hosts, token } = app.settings.current.daemon
      const hosts = [...names.map((name) => `${name}:${port}`), ...allowed_hosts]
      const { isPublic = false } = request.routeOptions.config
      const refusal = checkOrigin(request, hosts) ?? (isPublic ? undefined : checkToken(request, token))
      if (refusal !== undefined) return sendError(request, reply, refusal)
      return undefined
    })
  },
  { name: 'access', dependencies: ['settings', 'errors'] }
)

/** A web page that has its name rebound to a loopback address, or that posts from another origin, is refused. */
function checkOrigin({ headers, raw }: FastifyRequest, hosts: readonly string[]): OperationError | undefined {
  const hostHeaders = raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length
  const { host, origin } = headers
  if (hostHeaders !== 1 || host === undefined || !hosts.includes(host.toLowerCase())) {
    return new OperationError(
      'FORBIDDEN_ORIGIN',
      `Host header not allowed. Use ${hosts[0]}, or add the host to daemon.allowed_hosts.`
    )
  }
  if (
    origin === undefined ||
    hosts.some(
      (allowed) => origin.toLowerCase() === `http://${allowed}` || origin.toLowerCase() === `https://${allowed}`
    )
  )
    return undefined
  return new OperationError(
    'FORBIDDEN_ORIGIN',
    'Origin not allowed: web pages of other origins may not call this server.'
  )
}

function checkToken({ headers }: FastifyRequest, token: string): OperationError | undefined {
  if (token === '') return undefined
  const expected = Buffer.from(`Bearer ${token}`)
  const given = Buffer.from(headers.authorization ?? '')
  if (given.length === expected.length && timingSafeEqual(given, expected)) return undefined
  return new OperationError('UNAUTHORIZED', 'Bearer token missing or wrong: send Authorization: Bearer <token>.')
}
