// Calls of tools that need nothing more of the SDK: once it has answered one, calls of the same form go straight to the operation.
import type { RequestId } from '@modelcontextprotocol/server'
import type { Caller } from '../../engine/call/context.ts'
import type { Operation } from '../../operations/definition/define.ts'
import { LazyAbort } from '../../support/lazy-signal.ts'
import { readTrace } from '../../support/trace-context.ts'
import { joinPieces } from '../encode-result.ts'
import { agentIdIn, makeCall } from './caller.ts'
import { clientIn, type ClientInfo } from './client-forms.ts'
import { isFields, type Fields } from '../../support/json-fields.ts'
import { createProgress } from './progress.ts'
import type { McpServerOptions } from './server.ts'
import { encodeToolResult, runTool } from './tools.ts'

/** For a text beyond what Node can hold in a string. */
export const tooLarge = { code: -32603, message: 'The answer is too large to be sent.' }

export interface ToolCall {
  readonly id: RequestId
  readonly operation: Operation
  readonly input: unknown
  readonly meta: Fields | undefined
  /** JSON of the members of `_meta` that the protocol itself has defined. */
  readonly envelope: string
}

/** `agentId` comes before the name in `_meta`, `trace` after the one in it. */
interface Requester extends Pick<Caller, 'agentId' | 'connection' | 'trace'> {
  readonly signal: AbortSignal
  /** As the client has named itself for the whole connection, or session. */
  readonly client?: ClientInfo | undefined
  /** Sends a notification, if the client asked for progress. */
  readonly notify?: ((notification: object) => void) | undefined
}

export type ToolCalls = ReturnType<typeof createToolCalls>

/** The SDK alone knows the protocol: it answers the first call, and each whose form is another one. */
export function createToolCalls({ operations, settings, call, caller, maxWaitSeconds }: McpServerOptions) {
  const byName = new Map(operations.map((operation) => [operation.name, operation]))

  return {
    /** Undefined if anything in the message is not as in every call of a tool. */
    read(message: unknown): ToolCall | undefined {
      if (!isFields(message)) return undefined
      const { jsonrpc, id, method, params } = message
      if (method !== 'tools/call' || jsonrpc !== '2.0' || !isToken(id) || !isFields(params)) return undefined
      if (!hasOnly(message, memberNames) || !hasOnly(params, paramNames)) return undefined
      const { name, arguments: input, _meta: meta } = params
      const operation = byName.get(name as string)
      if (operation === undefined || !(input === undefined || isFields(input))) return undefined
      if (meta === undefined) return { id, operation, input, meta: undefined, envelope: '' }
      if (!isFields(meta) || !(meta['progressToken'] === undefined || isToken(meta['progressToken']))) return undefined
      return { id, operation, input, meta, envelope: envelopeOf(meta) }
    },
    /**
     * Never fails.
     * @param additions what the SDK adds to each result
     * @param end what follows the answer
     * @returns the JSON of the answer
     */
    async answer(toolCall: ToolCall, additions: string, requester: Requester, end = ''): Promise<string | Buffer> {
      const { id, operation, input, meta } = toolCall
      const { connection, signal, notify } = requester
      const agentId = requester.agentId ?? agentIdIn(meta) ?? connection
      const token = meta?.['progressToken'] as string | number | undefined
      const progress = token === undefined || notify === undefined ? undefined : createProgress(token, notify)
      const trace = readTrace(meta) ?? requester.trace
      const about = makeCall({ caller, maxWaitSeconds }, { agentId, connection, trace, signal, progress })
      const outcome = await runTool(call, settings, operation, input, about, requester.client ?? clientIn(meta))
      const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)}`
      try {
        return joinPieces([head, ',"result":', ...encodeToolResult(outcome, additions), `}${end}`])
      } catch {
        return `${head},"error":${JSON.stringify(tooLarge)}}${end}`
      }
    }
  }
}

/** What the SDK has added to a result: JSON of its members, from the comma before them. */
export function additionsTo({
  content: _c,
  structuredContent: _s,
  isError: _e,
  ...additions
}: Readonly<Record<string, unknown>>): string {
  const json = JSON.stringify(additions)
  return json === '{}' ? '' : `,${json.slice(1, -1)}`
}

interface RunningRequest {
  readonly id: RequestId
  readonly controller: LazyAbort
}

export interface CancellableRequest {
  readonly signal: AbortSignal
  readonly end: () => boolean
  readonly cancel: () => void
}

/** Requests under way, which their client can cancel by their ids. */
export class CancellableRequests {
  readonly #running = new Set<RunningRequest>()

  /** @returns `end` returns false if the request was cancelled */
  begin(id: RequestId): CancellableRequest {
    const controller = new LazyAbort()
    const entry = { id, controller }
    this.#running.add(entry)
    return {
      signal: controller.signal,
      end: () => this.#running.delete(entry),
      cancel: () => this.#cancel(entry)
    }
  }

  #cancel(entry: RunningRequest): void {
    if (this.#running.delete(entry)) entry.controller.abort()
  }

  /** Does nothing if no such request is under way. */
  cancel(id: unknown): void {
    for (const entry of this.#running) if (entry.id === id) this.#cancel(entry)
  }

  cancelAll(): void {
    for (const entry of this.#running) this.#cancel(entry)
  }
}

const memberNames = ['jsonrpc', 'id', 'method', 'params']
const paramNames = ['name', 'arguments', '_meta']

function envelopeOf(meta: Fields): string {
  const own = Object.entries(meta).filter(([key]) => key.startsWith('io.modelcontextprotocol/'))
  return own.length === 0 ? '' : JSON.stringify(own)
}

function isToken(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

function hasOnly(value: object, names: readonly string[]): boolean {
  for (const key in value) if (!names.includes(key)) return false
  return true
}
