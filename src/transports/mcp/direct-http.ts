// Calls of tools over HTTP, answered without the SDK once it has answered one of the same form.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import { headerText } from '../header-text.ts'
import { readTrace } from '../../support/trace-context.ts'
import { untilAnswered } from '../../support/until-answered.ts'
import type { ClientInfo } from './client-forms.ts'
import { additionsTo, CancellableRequests, type ToolCall, type ToolCalls } from './tool-call.ts'

/** One session, or all requests that belong to none. */
export interface DirectScope {
  readonly toolCalls: ToolCalls
  /** What the SDK adds to results, by the form of the requests that it has accepted. */
  readonly forms: LRUCache<string, string>
  readonly running: CancellableRequests
  /** Undefined for requests that belong to no session. */
  readonly session: DirectSession | undefined
}

interface DirectSession {
  readonly id: string
  readonly connection: string | undefined
  /** As the client has named itself in its handshake. */
  readonly clientInfo: () => ClientInfo | undefined
}

/** A client has one or two. */
const maxForms = { session: 8, none: 256 }
/** In characters: what is remembered of a client stays small, whatever it sends. */
const maxFormLength = 4096

export function createScope(toolCalls: ToolCalls, session?: DirectScope['session']): DirectScope {
  return {
    toolCalls,
    forms: new LRUCache({ max: session === undefined ? maxForms.none : maxForms.session }),
    running: new CancellableRequests(),
    session
  }
}

/** A call of a tool that came as one request. */
interface HttpToolCall extends ToolCall {
  /** All of the request in which the protocol has its say. */
  readonly form: string
}

/**
 * @returns `answered` if the call is answered here, resolved when that is done or the client has gone; otherwise a function for
 * the SDK's answer; undefined if there is nothing to learn from it
 */
export function takeDirectly(request: IncomingMessage, response: ServerResponse, body: unknown, scope: DirectScope) {
  // Without a session, the end of its connection cancels a call.
  if (scope.session !== undefined) scope.running.cancel(cancelledId(body))
  const toolCall = read(request, body, scope)
  if (toolCall === undefined) return undefined
  const additions = scope.forms.get(toolCall.form)
  if (additions !== undefined) return { answered: answer(toolCall, additions, scope, request, response) }
  return { learn: (sdkAnswer: Response) => learn(toolCall, sdkAnswer, scope) }
}

/** Undefined for a request that is always the SDK's. */
function read({ method, headers }: IncomingMessage, body: unknown, scope: DirectScope): HttpToolCall | undefined {
  const toolCall = method === 'POST' ? scope.toolCalls.read(body) : undefined
  // Progress needs a stream; and only an earlier revision has sessions.
  if (toolCall === undefined || toolCall.meta?.['progressToken'] !== undefined) return undefined
  if (toolCall.envelope !== '' && scope.session !== undefined) return undefined
  const headerForm = formOf(headers, toolCall.operation.name)
  if (headerForm === undefined || headerForm.length + toolCall.envelope.length > maxFormLength) return undefined
  return { form: `${headerForm}${toolCall.envelope}`, ...toolCall }
}

async function answer(
  toolCall: HttpToolCall,
  additions: string,
  { toolCalls, running, session }: DirectScope,
  { headers }: IncomingMessage,
  response: ServerResponse
): Promise<void> {
  const { signal, cancel, end } = running.begin(toolCall.id)
  untilAnswered(response, cancel)
  const agentId = headerText(headers['x-agent-id'])
  const { connection, clientInfo } = session ?? {}
  const requester = { agentId, connection, trace: readTrace(headers), signal, client: clientInfo?.() }
  const json = await toolCalls.answer(toolCall, additions, requester)
  if (response.destroyed) return
  const content = end() ? json : JSON.stringify({ jsonrpc: '2.0', id: toolCall.id, error: cancelled })
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(content),
    ...(session && { 'mcp-session-id': session.id })
  })
  response.end(content)
}

async function learn({ form }: HttpToolCall, answer: Response, { forms }: DirectScope): Promise<void> {
  if (!answer.ok) return
  const text = await answer.clone().text()
  // A stream has one event, which is the answer.
  const json = text.startsWith('{') ? text : (/^data: ([^\n]*)/m.exec(text)?.[1] ?? '{}')
  const { result } = JSON.parse(json) as { result?: Record<string, unknown> }
  if (result !== undefined) forms.set(form, additionsTo(result))
}

/** The request that a message cancels. */
function cancelledId(message: unknown): unknown {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: { requestId?: unknown } }
  return method === 'notifications/cancelled' ? params?.requestId : undefined
}

const cancelled = { code: -32800, message: 'Request cancelled' }

/** Headers that every call of a tool may have. Of another one of the protocol, the SDK knows what it asks for. */
const usualHeaders = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id']

function formOf(headers: IncomingHttpHeaders, toolName: string): string | undefined {
  let form = ''
  for (const name in headers) {
    if (!usualHeaders.includes(name)) {
      if (name.startsWith('mcp-')) return undefined
    } else if (name === 'mcp-name') {
      if (headers[name] !== toolName) return undefined
      form += 'mcp-name\n'
    } else if (name !== 'mcp-session-id') form += `${name}: ${String(headers[name])}\n`
  }
  return form
}
