// Sessions of 2025-era clients over HTTP: when they open, when their client counts as gone, and which one makes room for another.
import {
  isInitializeRequest,
  WebStandardStreamableHTTPServerTransport,
  type McpHandlerRequestOptions
} from '@modelcontextprotocol/server'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createScope, type DirectScope } from './direct-http.ts'
import { connectionOf } from './caller.ts'
import { clientInfoOf, createMcpServer, type McpServerOptions } from './server.ts'
import { createToolCalls } from './tool-call.ts'

export interface McpSessionsOptions {
  readonly maxSessions: number
  readonly sessionIdleMs: number
  /** A session whose client has closed its stream and sends nothing for this long counts as gone: its leases end, the session stays. */
  readonly sessionAwayMs: number
  readonly onError: (error: Error) => void
  /** Called for a session that has ended, or whose client is gone, with the connection name of its calls. */
  readonly onSessionEnd: (connection: string) => void
  /** True if leases would end with the session: such a session does not make room for another. */
  readonly holdsLeases: (connection: string) => Promise<boolean>
}

/** A stream that another one has replaced gets this long to be read to its end. */
const lingerMs = 1000

interface Session {
  /** Of calls that the SDK does not see; undefined until the session has its id. */
  direct: DirectScope | undefined
  readonly transport: WebStandardStreamableHTTPServerTransport
  /** Number of open requests and streams. */
  open: number
  /** Carries messages that are not answers; undefined while the client has no such stream. */
  stream: ServerResponse | undefined
  /** True once there has been one. A client that never opens one cannot be seen to go. */
  hadStream: boolean
  /** Runs while nothing is open. */
  away: NodeJS.Timeout | undefined
  /** Call it when there is a new one. */
  renew: () => void
  /** By performance.now(). */
  lastUsed: number
}

export function createMcpSessions(options: McpSessionsOptions) {
  const { maxSessions, sessionIdleMs, sessionAwayMs, onError, onSessionEnd, holdsLeases } = options
  const sessions = new Map<string, Session>()
  let opening = 0
  const sweep = setInterval(endIdleSessions, Math.min(sessionIdleMs, 60_000))
  sweep.unref()

  /**
   * @param server what a session that the request opens is offered
   * @param response the one being made: the request that the SDK gets has no reference to it
   */
  async function serve(
    server: McpServerOptions,
    response: ServerResponse,
    request: Request,
    requestOptions: McpHandlerRequestOptions | undefined
  ): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id !== null) {
      const session = sessions.get(id)
      if (session !== undefined) return answerIn(session, response, request, requestOptions)
      return rpcError(404, -32001, 'Session not found: it ended, or the server was restarted. Initialize again.')
    }
    if (!isInitializeRequest(requestOptions?.parsedBody)) {
      const hint = request.method === 'GET' ? '. This address is for MCP clients: they begin with POST' : ''
      return rpcError(400, -32000, `Bad Request: no Mcp-Session-Id header, and not an initialize request${hint}`)
    }
    // Clients often exit without ending their session: the session unused for longest makes room.
    if (sessions.size + opening >= maxSessions && !(await endOldestIdle())) {
      return rpcError(
        503,
        -32000,
        `All ${maxSessions} sessions are in use or hold leases (daemon.max_mcp_sessions). Try again later.`
      )
    }
    opening += 1
    try {
      return await (await openSession(server)).transport.handleRequest(request, requestOptions)
    } finally {
      opening -= 1
    }
  }

  async function answerIn(
    session: Session,
    response: ServerResponse,
    request: Request,
    requestOptions: McpHandlerRequestOptions | undefined
  ): Promise<Response> {
    let answered = await session.transport.handleRequest(request, requestOptions)
    if (request.method !== 'GET') return answered
    if (answered.status === 409) {
      // The SDK keeps to its one stream, which may be dead. Its client knows better: the new one takes over.
      dropStream(session)
      answered = await session.transport.handleRequest(request, requestOptions)
    }
    if (!answered.ok || response.destroyed) return answered
    session.stream = response
    session.hadStream = true
    // Node holds the headers back until the first bytes, which may be the SDK's keep-alive after 15 s.
    setImmediate(() => {
      if (response.headersSent) response.flushHeaders()
    })
    response.once('close', () => {
      if (session.stream !== response) return
      session.stream = undefined
      // The SDK would notice only at its next keep-alive, and until then refuse a client that opens the stream again.
      session.transport.closeStandaloneSSEStream()
    })
    session.renew()
    return answered
  }

  /** Ends the stream of a session; a dead one would not end by itself. */
  function dropStream({ transport, stream }: Session): void {
    transport.closeStandaloneSSEStream()
    if (stream !== undefined) setTimeout(() => stream.destroy(), lingerMs).unref()
  }

  async function openSession(serverOptions: McpServerOptions): Promise<Session> {
    const toolCalls = createToolCalls(serverOptions)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        session.direct = createScope(toolCalls, {
          id,
          connection: connectionOf(id),
          clientInfo: () => clientInfoOf(server)
        })
        sessions.set(id, session)
      }
    })
    const session: Session = {
      direct: undefined,
      transport,
      open: 0,
      stream: undefined,
      hadStream: false,
      away: undefined,
      renew: () => {},
      lastUsed: performance.now()
    }
    const server = createMcpServer(serverOptions, {
      onCancelled: (requestId) => endCancelled(transport, requestId),
      isBehind: () => session.stream?.writableNeedDrain === true,
      isAway: () => session.stream === undefined,
      onRenewal: (renew) => (session.renew = renew)
    })
    server.onerror = onError
    await server.connect(transport)
    const { onclose } = transport
    transport.onclose = () => {
      const connection = connectionOf(transport.sessionId)
      clearTimeout(session.away)
      session.direct?.running.cancelAll()
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId)
      if (connection !== undefined) onSessionEnd(connection)
      onclose?.()
    }
    return session
  }

  /** A session is in use from the arrival of a request until its answer, or the stream that it opened, has ended. */
  function countUse({ headers }: IncomingMessage, response: ServerResponse): void {
    const session = sessions.get(String(headers['mcp-session-id']))
    if (session === undefined) return
    session.open += 1
    clearTimeout(session.away)
    response.once('close', () => {
      session.open -= 1
      session.lastUsed = performance.now()
      if (session.open === 0) awaitReturn(session)
    })
  }

  /** Clients open their stream again after a break; a client that neither does so nor sends a request has gone. */
  function awaitReturn(session: Session): void {
    const { sessionId = '' } = session.transport
    const connection = connectionOf(sessionId)
    if (!session.hadStream || connection === undefined || !sessions.has(sessionId)) return
    session.away = setTimeout(() => onSessionEnd(connection), sessionAwayMs).unref()
  }

  /** False if every session is in use, or holds leases: its agent may be thinking. */
  async function endOldestIdle(): Promise<boolean> {
    const idle = [...sessions.values()].filter(({ open }) => open === 0).sort((a, b) => a.lastUsed - b.lastUsed)
    for (const session of idle) {
      const { transport } = session
      if (await holdsLeases(connectionOf(transport.sessionId) ?? '')) continue
      // The session may have been used or ended during the wait.
      if (session.open > 0 || !sessions.has(transport.sessionId ?? '')) continue
      transport.close().catch(onError)
      return true
    }
    return false
  }

  function endIdleSessions(): void {
    const limit = performance.now() - sessionIdleMs
    for (const { transport, open, lastUsed } of sessions.values()) {
      if (open === 0 && lastUsed < limit) transport.close().catch(onError)
    }
  }

  return {
    count: () => sessions.size,
    countUse,
    serve,
    /** Undefined for a session that is not there. */
    scopeOf: ({ headers }: IncomingMessage) => sessions.get(String(headers['mcp-session-id']))?.direct,
    async close() {
      clearInterval(sweep)
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()))
    }
  }
}

/** The SDK neither answers a cancelled request nor ends the stream that waits for the answer: both would stay as long as the session. */
function endCancelled(transport: WebStandardStreamableHTTPServerTransport, id: string | number): void {
  transport.closeSSEStream(id)
  transport.send({ jsonrpc: '2.0', id, error: { code: -32800, message: 'Request cancelled' } }).catch(() => {})
}

function rpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}
