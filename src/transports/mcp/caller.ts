// Who calls, by what a request of MCP and its connection say; and how its signal and its progress reach the client.
import type { ServerContext } from '@modelcontextprotocol/server'
import { createHash } from 'node:crypto'
import type { CallOperation, Caller } from '../../engine/call/context.ts'
import { anySignal } from '../../support/lazy-signal.ts'
import type { Report } from '../../support/progress.ts'
import { readTrace } from '../../support/trace-context.ts'
import { headerText } from '../header-text.ts'
import { createProgress } from './progress.ts'

/** What a connection says of its calls, before they say anything themselves. */
export interface CallDefaults {
  /** The caller if neither header nor `_meta` nor session names one. */
  readonly caller: Caller
  /** Longest wait without progress notifications, in seconds. */
  readonly maxWaitSeconds: number
}

/** The caller, its time limit, and whether it wants progress. */
export function callOf(options: CallDefaults, context: ServerContext): Call {
  return makeCall(options, {
    agentId: agentIdOf(context),
    connection: connectionOf(context.sessionId),
    trace: traceOf(context),
    signal: signalOf(context),
    progress: progressOf(context)
  })
}

type Call = Parameters<CallOperation>[2]

/** @param about what the request says beyond the connection */
export function makeCall(
  { caller, maxWaitSeconds }: CallDefaults,
  {
    agentId,
    connection,
    trace,
    signal,
    progress
  }: Pick<Caller, 'agentId' | 'connection' | 'trace'> & Omit<Call, 'caller'>
): Call {
  return {
    caller: Object.assign({}, caller, {
      agentId: agentId ?? caller.agentId,
      connection: connection ?? caller.connection,
      ...(trace !== undefined && { trace }),
      ...(progress === undefined && { maxWaitSeconds })
    }),
    signal,
    progress
  }
}

/** In this order: header, `_meta`, session. The input's own agent_id comes before all of them, in the operation. */
function agentIdOf({ http, mcpReq, sessionId }: ServerContext): string | undefined {
  const header = headerText(http?.req?.headers.get('x-agent-id'))
  if (header !== undefined) return header
  return agentIdIn(mcpReq._meta) ?? connectionOf(sessionId)
}

/** Of `_meta`, which the call itself has; else of the request that carries it. */
function traceOf({ http, mcpReq }: ServerContext): Caller['trace'] {
  const headers = http?.req?.headers
  return (
    readTrace(mcpReq._meta) ??
    readTrace(headers && { traceparent: headers.get('traceparent'), tracestate: headers.get('tracestate') })
  )
}

/** The agent's name in a client's `_meta`. */
export function agentIdIn(meta: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const name = meta?.['async-crud-mcp/agent_id']
  return typeof name === 'string' && name !== '' ? name : undefined
}

/** The name of a 2025-era session. With the session's id itself, any reader of an answer could speak for the session. */
export function connectionOf(sessionId: string | undefined): string | undefined {
  return sessionId && `session-${createHash('sha256').update(sessionId).digest('hex').slice(0, 8)}`
}

/** Aborted when the call is cancelled, and when the connection that waits for the answer is closed. */
function signalOf({ http, mcpReq }: ServerContext): AbortSignal {
  const connection = http?.req?.signal
  return connection === undefined ? mcpReq.signal : anySignal(mcpReq.signal, connection)
}

/** Sends progress if the client asked for it. */
function progressOf({ mcpReq }: ServerContext): Report | undefined {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return undefined
  // Its signal shows that a client has gone.
  return createProgress(progressToken, (notification) => void mcpReq.notify(notification).catch(() => {}))
}
