// Calls of tools on one stream, answered without the SDK once it has answered one of the same form.
import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import type { ClientInfo } from './client-forms.ts'
import type { McpServerOptions } from './server.ts'
import { additionsTo, CancellableRequests, createToolCalls, type ToolCall } from './tool-call.ts'

export interface DirectStdioOptions extends McpServerOptions {
  /** Sends one message: its JSON and a line feed. */
  readonly sendLine: (line: string | Buffer) => void
  /** As the client has named itself in its handshake. */
  readonly clientInfo: () => ClientInfo | undefined
}

export function createDirectStdio({ sendLine, clientInfo, ...options }: DirectStdioOptions) {
  const toolCalls = createToolCalls(options)
  const running = new CancellableRequests()
  let asked: ToolCall | undefined
  let form: { readonly envelope: string; readonly additions: string } | undefined

  async function answer(toolCall: ToolCall, additions: string): Promise<void> {
    const request = running.begin(toolCall.id)
    const notify = (notification: object): void => {
      if (!request.signal.aborted) sendLine(`${JSON.stringify({ jsonrpc: '2.0', ...notification })}\n`)
    }
    const requester = { signal: request.signal, notify, client: clientInfo() }
    const line = await toolCalls.answer(toolCall, additions, requester, '\n')
    // A cancelled request gets no answer.
    if (request.end()) sendLine(line)
  }

  return {
    /** @returns resolves when the call has been answered or cancelled; undefined for a message that is the SDK's */
    take(message: object): Promise<void> | undefined {
      const toolCall = toolCalls.read(message)
      if (toolCall === undefined) return undefined
      if (form?.envelope === toolCall.envelope) return answer(toolCall, form.additions)
      asked = toolCall
      return undefined
    },
    /** @param message an answer of the SDK */
    learn(message: JSONRPCMessage): void {
      if (asked === undefined || !('id' in message) || message.id !== asked.id) return
      if ('result' in message) form = { envelope: asked.envelope, additions: additionsTo(message.result) }
      asked = undefined
    },
    /** Does nothing if no such call is under way here. */
    cancel: (id: unknown): void => running.cancel(id),
    close: (): void => running.cancelAll()
  }
}
