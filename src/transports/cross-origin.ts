// What browsers ask and are told about pages of other origins (CORS, in the Fetch standard).
import type { IncomingMessage, ServerResponse } from 'node:http'

/** What scripts of such a page may read of an answer, beside what every page may. */
const exposed = [
  'Accept-Patch',
  'Accept-Ranges',
  'Allow',
  'Content-Range',
  'ETag',
  'Link',
  'Mcp-Protocol-Version',
  'Mcp-Session-Id',
  'Preference-Applied',
  'Retry-After',
  'X-Kept',
  'X-Wait-Seconds'
].join(', ')

const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE'
/** Seconds for which a browser need not ask again. Each request is checked all the same. */
const maxAge = 600

/** True for the question of a browser whether a page may send a request. It carries neither a token nor a body. */
export function isPreflight({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}

/** Lets a page of this origin read the answer. Cookies and other credentials of the browser are never asked for. */
export function letRead(response: ServerResponse, origin: string): void {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-expose-headers', exposed)
  response.setHeader('vary', 'origin')
}

/** Answers a preflight with yes. A page that may send any request may send any header. */
export function answerPreflight({ headers }: IncomingMessage, response: ServerResponse): void {
  response.setHeader('access-control-allow-methods', methods)
  response.setHeader('access-control-max-age', maxAge)
  const asked = headers['access-control-request-headers']
  if (asked !== undefined) response.setHeader('access-control-allow-headers', asked)
  // A page of the internet that asks for an address of this machine.
  if (headers['access-control-request-private-network'] === 'true')
    response.setHeader('access-control-allow-private-network', 'true')
  response.writeHead(204).end()
}
