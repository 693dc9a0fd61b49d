// MCP over HTTP on one URL: the 2026-07-28 revision request by request, 2025-era clients in sessions.
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, isLegacyRequest, type McpHandlerRequestOptions } from '@modelcontextprotocol/server'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createChosenTools } from './chosen-tools.ts'
import { createScope, takeDirectly } from './direct-http.ts'
import { refuseMessage, toFullMessage } from './full-message.ts'
import { createListening, isListen } from './http-listen.ts'
import { createMcpSessions, type McpSessionsOptions } from './http-sessions.ts'
import { toErrorAnswer } from './resources.ts'
import { createMcpServer, type McpServerOptions } from './server.ts'
import { createToolCalls } from './tool-call.ts'

export interface McpHttpOptions extends McpSessionsOptions, Omit<McpServerOptions, 'operations'> {
  /** Streams of `subscriptions/listen` at once. */
  readonly maxListeners: number
}

export type McpHttp = ReturnType<typeof createMcpHttp>

export function createMcpHttp(options: McpHttpOptions) {
  const { onError, settings } = options
  const chosenBy = createChosenTools(settings, (operations) => {
    const server = { ...options, operations }
    return { server, sessionless: createScope(createToolCalls(server)) }
  })
  const sessions = createMcpSessions(options)
  const listening = createListening(options)
  const modern = createMcpHandler(({ requestInfo }) => createMcpServer(chosenBy(requestInfo?.url).server), {
    legacy: 'reject',
    onerror: onError,
    bus: listening.bus,
    maxSubscriptions: options.maxListeners
  })

  function chosenFor({ url }: IncomingMessage, message: unknown) {
    try {
      return chosenBy(url)
    } catch (error) {
      return toErrorAnswer(message, error)
    }
  }

  async function fetch(
    server: McpServerOptions,
    response: ServerResponse,
    request: Request,
    requestOptions?: McpHandlerRequestOptions
  ): Promise<Response> {
    const isLegacy = await isLegacyRequest(request, requestOptions?.parsedBody)
    if (isLegacy) return sessions.serve(server, response, request, requestOptions)
    if (!isListen(requestOptions?.parsedBody)) return modern.fetch(request, requestOptions)
    return listening.serve(modern, request, requestOptions ?? {}, () => response.writableNeedDrain)
  }

  return {
    /** Answers one HTTP request; `body` is undefined for GET and DELETE. */
    async handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
      sessions.countUse(request, response)
      const full = toFullMessage(body)
      const parsedBody = full instanceof Promise ? ((await full) as unknown) : full
      const chosen = chosenFor(request, parsedBody)
      if ('error' in chosen) return sendRefusal(response, chosen, 400)
      const { server, sessionless } = chosen
      const scope = request.headers['mcp-session-id'] === undefined ? sessionless : sessions.scopeOf(request)
      const taken = scope && takeDirectly(request, response, parsedBody, scope)
      if (taken?.answered !== undefined) return taken.answered
      const refusal = refuseMessage(parsedBody)
      if (refusal !== undefined) return sendRefusal(response, refusal)
      const serve = async (...asked: [Request, McpHandlerRequestOptions?]): Promise<Response> => {
        const answered = await fetch(server, response, ...asked)
        taken?.learn(answered).catch(onError)
        return answered
      }
      const answer = toNodeHandler({ fetch: serve }, { onerror: onError })
      // The SDK's structural type requires what Node's own type leaves optional.
      return answer(request as Parameters<typeof answer>[0], response, parsedBody)
    },
    /** Number of 2025-era sessions. */
    sessionCount: sessions.count,
    async close(): Promise<void> {
      await sessions.close()
      await modern.close()
    }
  }
}

function sendRefusal(response: ServerResponse, refusal: object, status = 200): void {
  const content = JSON.stringify(refusal)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) })
  response.end(content)
}
