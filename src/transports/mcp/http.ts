// MCP over HTTP on one URL: the 2026-07-28 revision request by request, 2025-era clients in sessions.
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, isLegacyRequest, type McpHandlerRequestOptions } from '@modelcontextprotocol/server'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createDirectHttp, createScope } from './direct-http.ts'
import { refuseMessage, toFullMessage } from './full-message.ts'
import { createListening, isListen } from './http-listen.ts'
import { createMcpSessions, type McpSessionsOptions } from './http-sessions.ts'
import { createMcpServer } from './server.ts'

export interface McpHttpOptions extends McpSessionsOptions {
  /** Streams of `subscriptions/listen` at once. */
  readonly maxListeners: number
}

export interface McpHttp {
  /** Answers one HTTP request; `body` is undefined for GET and DELETE. */
  handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>
  /** Number of 2025-era sessions. */
  readonly sessionCount: () => number
  close(): Promise<void>
}

export function createMcpHttp(options: McpHttpOptions): McpHttp {
  const { onError } = options
  const sessions = createMcpSessions(options)
  const listening = createListening(options)
  const direct = createDirectHttp(options)
  const sessionless = createScope()
  const modern = createMcpHandler(() => createMcpServer(options), {
    legacy: 'reject',
    onerror: onError,
    bus: listening.bus,
    maxSubscriptions: options.maxListeners
  })

  async function fetch(
    response: ServerResponse,
    request: Request,
    requestOptions?: McpHandlerRequestOptions
  ): Promise<Response> {
    const isLegacy = await isLegacyRequest(request, requestOptions?.parsedBody)
    if (isLegacy) return sessions.serve(response, request, requestOptions)
    if (!isListen(requestOptions?.parsedBody)) return modern.fetch(request, requestOptions)
    return listening.serve(modern, request, requestOptions ?? {}, () => response.writableNeedDrain)
  }

  return {
    async handle(request, response, body) {
      sessions.countUse(request, response)
      const full = toFullMessage(body)
      const parsedBody = full instanceof Promise ? ((await full) as unknown) : full
      const scope = request.headers['mcp-session-id'] === undefined ? sessionless : sessions.scopeOf(request)
      const taken = scope && direct.take(request, response, parsedBody, scope)
      if (taken?.answered !== undefined) return taken.answered
      const refusal = refuseMessage(parsedBody)
      if (refusal !== undefined) return sendRefusal(response, refusal)
      const serve = async (...asked: [Request, McpHandlerRequestOptions?]): Promise<Response> => {
        const answered = await fetch(response, ...asked)
        taken?.learn(answered).catch(onError)
        return answered
      }
      const answer = toNodeHandler({ fetch: serve }, { onerror: onError })
      // The SDK's structural type requires what Node's own type leaves optional.
      return answer(request as Parameters<typeof answer>[0], response, parsedBody)
    },
    sessionCount: sessions.count,
    async close() {
      await sessions.close()
      await modern.close()
    }
  }
}

function sendRefusal(response: ServerResponse, refusal: object): void {
  const content = JSON.stringify(refusal)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) })
  response.end(content)
}
