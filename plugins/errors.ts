// Every failure that does not come from an operation's own answer, in the envelope of what was asked for.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { isErrno, OperationError, toOperationError } from '../src/errors.ts'
import { envelopes } from '../src/operations/envelopes.ts'
import { suggest } from '../src/suggest.ts'
import { operations } from '../src/operations/index.ts'

/** Of every answer that is JSON. */
export const jsonType = 'application/json; charset=utf-8'

export default fp(
  async (app) => {
    app.setErrorHandler((error: unknown, request, reply) => {
      const failure = toFailure(error)
      if (failure.code === 'CANCELLED') app.log.info('client disconnected while it sent a request')
      // Without this a body that is still on its way would be cut off, and most clients would not see the answer.
      if (failure.code === 'FILE_TOO_LARGE') reply.removeHeader('connection')
      if (failure.httpStatus === 500) app.log.error({ err: failure.cause ?? failure }, 'request failed')
      return sendError(request, reply, failure)
    })

    app.server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => latest.set(socket, response))
    app.server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
      const failure = new OperationError('INVALID_REQUEST', 'The only Expect header understood is 100-continue.')
      response.writeHead(417, { 'content-type': jsonType }).end(JSON.stringify(failure.toEnvelope()))
    })

    app.setNotFoundHandler((request, reply) => {
      const path = pathOf(request)
      const allowed = (['GET', 'POST', 'DELETE'] as const).filter((method) => app.hasRoute({ url: path, method }))
      if (allowed.length === 0) return sendError(request, reply, notFound(request, path))
      const message = `${path} answers ${allowed.join(', ')}, not ${request.method}.`
      return sendError(
        request,
        reply.header('allow', allowed.join(', ')),
        new OperationError('METHOD_NOT_ALLOWED', message)
      )
    })
  },
  { name: 'errors' }
)

const byPath = new Map(operations.map((operation) => [`/${operation.name}`, operation]))

/** Answers in the envelope of the operation that was asked for, with its status. */
export function sendError(request: FastifyRequest, reply: FastifyReply, error: OperationError): FastifyReply {
  const operation = byPath.get(request.routeOptions.url ?? pathOf(request))
  const envelope = operation?.envelope ?? envelopes.status
  const retryAfter = error.details?.['retry_after_seconds']
  if (typeof retryAfter === 'number') reply.header('retry-after', Math.ceil(retryAfter))
  return reply
    .code(envelope.httpStatus(error.code))
    .type(jsonType)
    .send(envelope.body(error, { operation: operation?.name, input: request.body }))
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?')[0] ?? ''
}

function notFound({ method }: FastifyRequest, path: string): OperationError {
  const hint = suggest(path, [...byPath.keys()])
  const message = `Nothing answers ${method} ${path.slice(0, 200)}${hint} GET /openapi.json lists all operations.`
  return new OperationError('ROUTE_NOT_FOUND', message)
}

/** Whatever Fastify or a handler threw, in the words of the error table. */
export function toFailure(error: unknown): OperationError {
  if (isErrno(error, 'ECONNRESET', 'ECONNABORTED'))
    return new OperationError('CANCELLED', 'The client closed the connection.', { cause: error })
  if (!isFastifyError(error)) return toOperationError(error)
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new OperationError(
        'FILE_TOO_LARGE',
        'The request body is larger than the server allows (crud.max_file_size_bytes).',
        { cause: error }
      )
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new OperationError(
        'UNSUPPORTED_MEDIA_TYPE',
        'Request bodies are JSON: send Content-Type: application/json.',
        { cause: error }
      )
    default:
      // Fastify's other complaints about a request: a wrong Content-Length, a bad URL.
      if (error.statusCode !== undefined && error.statusCode < 500) {
        return new OperationError('INVALID_REQUEST', `The request is malformed: ${error.message}`, { cause: error })
      }
      return toOperationError(error)
  }
}

/** The last response begun on each connection. */
const latest = new WeakMap<Socket, ServerResponse>()

/** What Node's own parser refuses never becomes a request: the answer is written onto the connection. */
export function answerUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
  const response = latest.get(socket)
  // An answer that is on its way goes out first; to a request that has had its answer there is nothing more to say.
  if (response?.writableFinished === false) return void response.once('close', () => socket.destroy())
  if (error.code === 'ECONNRESET' || !socket.writable || response?.req.complete === false) {
    socket.destroy()
    return
  }
  const status = unparsableStatus[error.code ?? ''] ?? '400 Bad Request'
  const message = `The HTTP request is malformed or incomplete (${status}). It was not carried out.`
  const body = JSON.stringify(new OperationError('INVALID_REQUEST', message).toEnvelope())
  const headers = `content-type: ${jsonType}\r\ncontent-length: ${Buffer.byteLength(body)}`
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\n${headers}\r\n\r\n${body}`)
}

const unparsableStatus: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large'
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_')
}
