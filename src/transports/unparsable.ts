// Answers requests that Node's own parser refuses, or does not get in time.
import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { OperationError } from '../errors.ts'
import { jsonType } from './json-type.ts'
import { failBody } from './read-body.ts'
import { securityHeaders } from './security-headers.ts'

/** The last response begun on each connection. */
const latest = new WeakMap<Socket, ServerResponse>()

/** Call it once for a server whose unparsable requests are to be answered. */
export function followRequests(server: Server): void {
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => latest.set(socket, response))
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const failure = new OperationError('INVALID_REQUEST', 'The only supported Expect header is 100-continue.')
    response.writeHead(417, { 'content-type': jsonType }).end(JSON.stringify(failure.toEnvelope()))
  })
}

/** For `clientError`. */
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
