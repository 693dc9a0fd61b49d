// Calls of tools that need nothing more of the SDK: once it has answered one on a connection, calls of the same form go straight to the operation.
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'
import type { Operation } from '../../operations/definition/define.ts'
import { agentIdIn, createProgress, makeCall, type McpServerOptions } from './server.ts'
import { encodeToolResult, runTool, type ToolOutcome } from './tools.ts'

/** For a text beyond what Node can hold in a string. */
export const tooLarge = { code: -32603, message: 'The answer is too large to be sent.' }

export interface DirectCallsOptions extends McpServerOptions {
  /** Sends the JSON of one message. */
  readonly send: (json: string) => void
}

/** What the SDK has accepted of a request, and what it has added to the result. */
interface Form {
  readonly envelope: string
  readonly additions: string
}

interface ToolCall {
  readonly id: RequestId
  readonly name: string
  readonly input: unknown
  readonly meta: Meta | undefined
  readonly envelope: string
}

type Meta = Readonly<Record<string, unknown>>

/**
 * The SDK alone knows the protocol: it answers the first call, and each whose form is another one, be it in a parameter of the
 * protocol that it has not yet seen on this connection.
 */
export function createDirectCalls({ operations, call, caller, maxWaitSeconds, send }: DirectCallsOptions) {
  const byName = new Map(operations.map((operation) => [operation.name, operation]))
  const running = new Set<{ readonly id: RequestId; readonly controller: AbortController }>()
  let asked: ToolCall | undefined
  let form: Form | undefined

  async function answer({ id, input, meta }: ToolCall, operation: Operation, additions: string): Promise<void> {
    const controller = new AbortController()
    const entry = { id, controller }
    running.add(entry)
    const token = meta?.['progressToken'] as string | number | undefined
    const progress =
      token === undefined
        ? undefined
        : createProgress(token, (notification) => {
            if (running.has(entry)) send(JSON.stringify({ jsonrpc: '2.0', ...notification }))
          })
    const about = makeCall(
      { caller, maxWaitSeconds },
      { agentId: agentIdIn(meta), signal: controller.signal, progress }
    )
    const outcome = await runTool(call, operation, input, about)
    // A cancelled request gets no answer.
    if (running.delete(entry)) send(encodeAnswer(id, outcome, additions))
  }

  return {
    /** @returns resolves when the call has been answered or cancelled; undefined for a message that is the SDK's */
    take(message: object): Promise<void> | undefined {
      const toolCall = readToolCall(message)
      const operation = byName.get(toolCall?.name ?? '')
      if (toolCall === undefined || operation === undefined) return undefined
      if (form?.envelope === toolCall.envelope) return answer(toolCall, operation, form.additions)
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
    cancel(id: unknown): void {
      for (const entry of running) {
        if (entry.id !== id) continue
        running.delete(entry)
        entry.controller.abort()
      }
    },
    close(): void {
      for (const { controller } of running) controller.abort()
      running.clear()
    }
  }
}

function encodeAnswer(id: RequestId, outcome: ToolOutcome, additions: string): string {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)}`
  try {
    return `${head},"result":${encodeToolResult(outcome, additions)}}`
  } catch {
    return `${head},"error":${JSON.stringify(tooLarge)}}`
  }
}

const memberNames = ['jsonrpc', 'id', 'method', 'params']
const paramNames = ['name', 'arguments', '_meta']

/** Undefined if anything in the message is not as in every call of a tool. */
function readToolCall(message: object): ToolCall | undefined {
  const { jsonrpc, id, method, params } = message as Record<string, unknown>
  if (method !== 'tools/call' || jsonrpc !== '2.0' || !isToken(id) || !isPlain(params)) return undefined
  if (!hasOnly(message, memberNames) || !hasOnly(params, paramNames)) return undefined
  const { name, arguments: input, _meta: meta } = params
  if (typeof name !== 'string' || !(input === undefined || isPlain(input))) return undefined
  if (meta === undefined) return { id, name, input, meta: undefined, envelope: '' }
  if (!isPlain(meta) || !(meta['progressToken'] === undefined || isToken(meta['progressToken']))) return undefined
  return { id, name, input, meta, envelope: envelopeOf(meta) }
}

/** The members of `_meta` that the protocol itself has defined. */
function envelopeOf(meta: Meta): string {
  const own = Object.entries(meta).filter(([key]) => key.startsWith('io.modelcontextprotocol/'))
  return own.length === 0 ? '' : JSON.stringify(own)
}

function additionsTo({
  content: _c,
  structuredContent: _s,
  isError: _e,
  ...additions
}: Readonly<Record<string, unknown>>): string {
  const json = JSON.stringify(additions)
  return json === '{}' ? '' : `,${json.slice(1, -1)}`
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isToken(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

function hasOnly(value: object, names: readonly string[]): boolean {
  for (const key in value) if (!names.includes(key)) return false
  return true
}
