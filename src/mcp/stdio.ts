// MCP on a stream that something else reads and writes: the SDK decides the era of the connection by its first message.
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  parseJSONRPCMessage,
  type JSONRPCMessage,
  type RequestId,
  type Transport
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createMcpServer, type McpServerOptions } from './server.ts'

export interface McpStreamOptions extends McpServerOptions {
  /** Writes one message. */
  readonly send: (message: object) => void
  readonly onError: (error: Error) => void
}

export function createMcpStream({ send, onError, ...options }: McpStreamOptions) {
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
      try {
        send(message)
      } catch (error) {
        // Too long for a text: an error is better than silence.
        if (!isAnswer) throw error
        send({
          jsonrpc: '2.0',
          id: message.id,
          error: { code: -32603, message: 'The answer is too large to be sent.' }
        })
      }
      if (isAnswer) settle(message.id)
    },
    async close() {
      for (const resolvers of waiting.values()) for (const resolve of resolvers) resolve()
      waiting.clear()
      transport.onclose?.()
    }
  }
  const handle = serveStdio(() => createMcpServer(options), { transport, onerror: onError })

  return {
    /** Resolves when a request has been answered or cancelled; anything else at once. @throws Error where it is no message of MCP */
    async receive(value: object): Promise<void> {
      const message: JSONRPCMessage = parseJSONRPCMessage(value)
      const answered = isAnswered(message)
        ? new Promise<void>((resolve) => {
            waiting.set(message.id, [...(waiting.get(message.id) ?? []), resolve])
          })
        : undefined
      transport.onmessage?.(message)
      // A cancelled request gets no answer.
      if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled')
        settle(message.params?.['requestId'] as RequestId | undefined)
      await answered
    },
    close: (): Promise<void> => handle.close()
  }
}

/** A subscription stays open for as long as the connection. */
function isAnswered(message: JSONRPCMessage): message is Extract<JSONRPCMessage, { id: RequestId; method: string }> {
  return isJSONRPCRequest(message) && message.method !== 'subscriptions/listen'
}
