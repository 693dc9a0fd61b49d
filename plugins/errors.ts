// Answers every failure outside an operation, in the envelope of the called operation.
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { isErrno, OperationError, toOperationError } from '../src/errors.ts'
import { envelopes } from '../src/operations/definition/envelopes.ts'
import { failBody } from '../src/transports/read-body.ts'
import { securityHeaders } from '../src/transports/security-headers.ts'
import { suggest } from '../src/support/suggest.ts'
import { operations } from '../src/operations/index.ts'

/** The type of every JSON answer. */
export const jsonType = 'application/json; charset=utf-8'

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

    app.server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => latest.set(socket, response))
    app.server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
      const failure = new OperationError('INVALID_REQUEST', 'The only supported Expect header is 100-continue.')
      response.writeHead(417, { 'content-type': jsonType }).end(JSON.stringify(failure.toEnvelope()))
    })

    app.setNotFoundHandler((request, reply) => {
      const path = pathOf(request)
      const url = path.startsWith('/files/') ? '/files/*' : path
      const allowed = methods.filter((method) => app.hasRoute({ url, method }))
      if (allowed.length === 0) return sendError(request, reply, notFound(request, path))
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

/** Addresses that clients try by the habits of other servers. */
const usualMistakes: readonly (readonly [RegExp, string])[] = [
  [
    /^\/(?:sse|messages?)\/?$/,
    'MCP is served over streamable HTTP at /mcp, not over SSE: set the type to "http" and the address to <this server>/mcp.'
  ],
  [/^\/(?:mcp\/.*|v1\/mcp|api\/mcp|mcp\/?)$/i, 'MCP is served at /mcp.'],
  [
    /^\/$/,
    'MCP is served at /mcp, each operation at POST /<name>. GET /docs shows what there is, GET /openapi.json the same for programs, GET /board what happens.'
  ],
  [
    /^\/(?:rpc|jsonrpc|json-rpc)\/?$/,
    'JSON-RPC is served on standard input and output (--stdio); over HTTP each operation is POST /<name>, and MCP is at /mcp.'
  ],
  [
    /^\/(?:swagger|api-docs|redoc|api)\/?$/,
    'The operations are shown at /docs, and described for programs at /openapi.json.'
  ],
  [
    /^\/(?:\.well-known\/(?:oauth-.*|openid-configuration.*)|register|authorize|token)$/,
    'This server has no OAuth: send its token as Authorization: Bearer <token>, if it has one.'
  ],
  [/^\/(?:healthz|livez|readyz|ping)\/?$/, 'GET /health says whether this server serves its tree.'],
  [/^\/hooks(?:\/.*)?$/, 'Hooks are taken at POST /hooks/claude-code, codex, gemini, cursor and opencode.']
]

/** No route, and no file: says what there is. */
export function notFound({ method }: FastifyRequest, path: string): OperationError {
  const [right] = hintAt(path)
  if (right !== undefined)
    return new OperationError('ROUTE_NOT_FOUND', `Nothing answers ${method} ${path.slice(0, 200)}. ${right}`)
  const hint = suggest(path, [...byPath.keys()]).replace('; known:', '; known by POST:')
  const end = hint.endsWith('?') ? '' : '.'
  const message = `Nothing answers ${method} ${path.slice(0, 200)}${hint}${end} GET /docs shows what there is, GET /openapi.json the same for programs, GET /board what happens.`
  return new OperationError('ROUTE_NOT_FOUND', message)
}

/** None, or one. */
function hintAt(path: string): readonly string[] {
  const found = usualMistakes.find(([form]) => form.test(path))
  return found === undefined ? [] : [found[1]]
}

/** The error table's words for anything that Fastify or a handler threw. */
export function toFailure(error: unknown): OperationError {
  if (isErrno(error, 'ECONNRESET', 'ECONNABORTED'))
    return new OperationError('CANCELLED', 'The client closed the connection.', { cause: error })
  if (!isFastifyError(error)) return toOperationError(error)
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new OperationError(
        'UNSUPPORTED_MEDIA_TYPE',
        'Request bodies are JSON: send Content-Type: application/json.',
        { cause: error }
      )
    default:
      // Fastify's other errors about a request: a wrong Content-Length, a bad URL.
      if (error.statusCode !== undefined && error.statusCode < 500) {
        return new OperationError('INVALID_REQUEST', `The request is malformed: ${error.message}`, { cause: error })
      }
      return toOperationError(error)
  }
}

/** The last response begun on each connection. */
const latest = new WeakMap<Socket, ServerResponse>()

/** Answers a request that Node's own parser refuses, or does not get in time. */
export function answerUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET') return void socket.destroy()
  const response = latest.get(socket)
  if (response === undefined || response.writableFinished) {
    // The rest of a request that has had its answer: nothing more is to be sent.
    if (!socket.writable || response?.req.complete === false) socket.destroy()
    else answerRaw(error, socket)
  } else if (response.req.complete || response.writableEnded) {
    // Pending answers go out first.
    response.once('close', () => answerUnparsable(error, socket))
  } else if (response.headersSent || response.req.method === 'GET') {
    // A stream that has begun, or may begin yet: the body of a GET has no reader that could end it.
    socket.destroy()
  } else {
    response.shouldKeepAlive = false
    failBody(response.req, unparsable(error))
  }
}

const lingerMs = 1000

/** No request, and so no response, exists. */
function answerRaw(error: NodeJS.ErrnoException, socket: Socket): void {
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : unparsable(error).httpStatus
  const body = JSON.stringify(unparsable(error).toEnvelope())
  const headers = {
    connection: 'close',
    'content-type': jsonType,
    'content-length': Buffer.byteLength(body),
    ...securityHeaders
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
  // A client that does not close its side must not keep the connection open.
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

function unparsable({ code }: NodeJS.ErrnoException): OperationError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const limits = 'daemon.header_timeout_seconds, daemon.request_timeout_seconds'
    const message = `The request did not arrive whole in time (${limits}). It was not carried out: send it again, on a new connection.`
    return new OperationError('REQUEST_TIMEOUT', message)
  }
  const reason = code === 'HPE_HEADER_OVERFLOW' ? 'its headers are too large' : 'it is not HTTP/1.1'
  const message = `The HTTP request cannot be read: ${reason}. It was not carried out: correct it, and send it on a new connection.`
  return new OperationError('INVALID_REQUEST', message)
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_')
}
