// JSON-RPC 2.0 messages: what has come, told apart once.
import type { RpcError } from '../operations/envelopes.ts'

export type Id = string | number | null

/** A request, or a notification where it has no id. */
export interface Call {
  readonly id: Id | undefined
  readonly method: string
  readonly params: unknown
}

export interface Response {
  readonly jsonrpc: '2.0'
  readonly id: Id
  readonly result?: unknown
  readonly error?: Omit<RpcError, 'data'> & { readonly data?: object }
}

export type Message =
  | { readonly kind: 'call'; readonly call: Call }
  /** The answer to a request of the server's own. */
  | { readonly kind: 'response' }
  /** What has no method, a wrong version or an impossible id. `answer` is undefined for a notification: those are never answered. */
  | { readonly kind: 'invalid'; readonly answer: Response | undefined }

export const parseError = -32700
export const invalidRequest = -32600
export const methodNotFound = -32601

export function readMessage(value: unknown): Message {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refuse(null, 'A message is an object.')
  const { jsonrpc, id, method, params, result, error } = value as Record<string, unknown>
  if (method === undefined && (result !== undefined || error !== undefined)) return { kind: 'response' }
  if (typeof method !== 'string') return refuse(isId(id) ? id : null, 'method must be a string.')
  const isNotification = !('id' in value)
  const fault = faultOf(jsonrpc, id, isNotification)
  if (fault === undefined)
    return { kind: 'call', call: { id: isNotification ? undefined : (id as Id), method, params } }
  return isNotification ? { kind: 'invalid', answer: undefined } : refuse(isId(id) ? id : null, fault)
}

function faultOf(jsonrpc: unknown, id: unknown, isNotification: boolean): string | undefined {
  if (jsonrpc !== '2.0') return 'jsonrpc must be "2.0".'
  if (isNotification || isId(id)) return undefined
  return 'id must be a string, null, or a number that JSON keeps exactly.'
}

/** A whole number beyond 2^53 has lost its last digits by the time it is read; an answer to another id would go astray. */
function isId(id: unknown): id is Id {
  if (typeof id === 'number') return Number.isFinite(id) && (!Number.isInteger(id) || Number.isSafeInteger(id))
  return typeof id === 'string' || id === null
}

function refuse(id: Id, reason: string): Message {
  return { kind: 'invalid', answer: failure(id, invalidRequest, `Invalid request: ${reason}`) }
}

export function failure(id: Id, code: number, message: string): Response {
  return { jsonrpc: '2.0', id, error: { code, message } }
}
