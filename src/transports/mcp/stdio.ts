// MCP on a stream that another module reads and writes: the SDK decides the era of the connection by its first message.
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  parseJSONRPCMessage,
  type JSONRPCMessage,
  type RequestId,
  type Server,
  type Transport
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createDirectStdio } from './direct-stdio.ts'
import { refuseMessage, toFullMessage } from './full-message.ts'
import { isListen } from './http-listen.ts'
import { clientInfoOf, createMcpServer, type McpServerOptions } from './server.ts'
import { createStreamListening } from './stream-listening.ts'
import { tooLarge } from './tool-call.ts'

export interface McpStreamOptions extends McpServerOptions {
  /** Writes one message. */
  readonly send: (message: object) => void
  /** Writes one message: its JSON and a line feed. */
  readonly sendLine: (line: string | Buffer) => void
  /** True while the client does not read what was sent. */
  readonly isBehind: () => boolean
  readonly onError: (error: Error) => void
}

export function createMcpStream({ send, sendLine, isBehind, onError, ...options }: McpStreamOptions) {
  /** Requests not yet answered; a client may use an id again before its answer. */
  const waiting = new Map<RequestId, (() => void)[]>()

  function settle(id: RequestId | undefined): void {
    if (id === undefined) return
    const [first, ...others] = waiting.get(id) ?? []
    if (others.length > 0) waiting.set(id, others)
    else waiting.delete(id)
    first?.()
  }

  const transport: Transport = {
    start: async () => {},
    async send(message) {
      const isAnswer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)
      if (isAnswer) directCalls.learn(message)
      try {
        send(message)
      } catch (error) {
        // Too long for a text: an error is better than silence.
        if (!isAnswer) throw error
        send({ jsonrpc: '2.0', id: message.id, error: tooLarge })
      }
      if (!isAnswer) return
      settle(message.id)
      if (message.id !== undefined) listening.end(message.id)
    },
    async close() {
      for (const resolvers of waiting.values()) for (const resolve of resolvers) resolve()
      waiting.clear()
      listening.close()
      directCalls.close()
      transport.onclose?.()
    }
  }
  let server: Server | undefined
  const listening = createStreamListening({
    ...options,
    isBehind,
    // The SDK passes it on to the requests that listen for it.
    send: (uri) => void server?.sendResourceUpdated({ uri }).catch(() => {})
  })
  const directCalls = createDirectStdio({ ...options, sendLine, clientInfo: () => server && clientInfoOf(server) })
  const handle = serveStdio(() => (server = createMcpServer(options, { isBehind })), { transport, onerror: onError })

  return {
    /** Resolves when a request has been answered or cancelled; anything else at once. @throws Error if it is not a message of MCP */
    async receive(given: object): Promise<void> {
      const full = toFullMessage(given)
      const value = (full instanceof Promise ? await full : full) as object
      const answeredDirectly = directCalls.take(value)
      if (answeredDirectly !== undefined) return answeredDirectly
      const refused = refuseMessage(value)
      if (refused !== undefined) return send(refused)
      const message: JSONRPCMessage = parseJSONRPCMessage(value)
      const answered = isAnswered(message)
        ? new Promise<void>((resolve) => {
            waiting.set(message.id, [...(waiting.get(message.id) ?? []), resolve])
          })
        : undefined
      if (isJSONRPCRequest(message) && isListen(message)) {
        const refusal = await listening.begin(message.id, message)
        if (refusal !== undefined) return send(refusal)
        if (!listening.has(message.id)) return
      }
      transport.onmessage?.(message)
      // A cancelled request gets no answer.
      if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
        const id = message.params?.['requestId'] as RequestId | undefined
        directCalls.cancel(id)
        settle(id)
        if (id !== undefined) listening.end(id)
      }
      await answered
    },
    close: (): Promise<void> => handle.close()
  }
}

/** A subscription stays open as long as the connection. */
function isAnswered(message: JSONRPCMessage): message is Extract<JSONRPCMessage, { id: RequestId; method: string }> {
  return isJSONRPCRequest(message) && message.method !== 'subscriptions/listen'
}
