// Why a request may not call this server: the name that it is meant for, the page that sends it, its token.
import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { OperationError } from '../errors.ts'
import { isLoopback } from '../support/loopback.ts'
import { headerText } from './header-text.ts'

/** Names that a Host header may have, with their ports. */
export type Hosts = ReadonlySet<string>

/** Refuses a web page that rebinds its name to a loopback address, and a request meant for another server. */
export function checkHost(
  { headers: { host }, rawHeaders, url = '' }: IncomingMessage,
  hosts: Hosts
): OperationError | undefined {
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
export function checkOrigin(request: IncomingMessage, hosts: Hosts): OperationError | undefined {
  const { origin } = request.headers
  const isOwnOrigin = origin === undefined || isOneOf(hosts, /^https?:\/\/(.*)$/i.exec(origin)?.[1])
  if (isOwnOrigin && !isEmbedded(request)) return undefined
  return new OperationError(
    'FORBIDDEN_ORIGIN',
    'Origin not allowed: web pages of other origins may not call this server, nor show it in a frame. Open the address in a tab of its own, or add the origin to daemon.allowed_origins.'
  )
}

/** Browsers send no Origin if a page embeds an address as an image, a script or a frame, but send this header. A link may be followed. */
function isEmbedded({ headers, method }: IncomingMessage): boolean {
  if (!isOneOf(foreignSites, headers['sec-fetch-site'])) return false
  const isLink = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  return !isLink || (method !== 'GET' && method !== 'HEAD')
}

const foreignSites: ReadonlySet<string> = new Set(['cross-site', 'same-site'])

function isOneOf(allowed: ReadonlySet<string>, value: string | string[] | undefined): boolean {
  return typeof value === 'string' && allowed.has(value.toLowerCase())
}

/** @param token of the server; empty if it wants none */
export function checkToken({ headers, socket }: IncomingMessage, token: string): OperationError | undefined {
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
