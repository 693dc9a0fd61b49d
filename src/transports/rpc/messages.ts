// JSON-RPC 2.0 messages: classifies each incoming message once.
import { OperationError } from '../../errors.ts'
import type { OperationResult } from '../../engine/call/context.ts'
import { isFields } from '../../support/json-fields.ts'
import { envelopes, type RpcError } from '../../operations/definition/envelopes.ts'

export type Id = string | number | null

/** A request, or a notification if it has no id. */
export interface Call {
  readonly id: Id | undefined
  readonly method: string
  readonly params: unknown
}

export interface Response {
  readonly jsonrpc: '2.0'
  readonly id: Id
  readonly result?: OperationResult
  readonly error?: RpcError
}

export type Message =
  | { readonly kind: 'call'; readonly call: Call }
  /** The answer to a request of the server's own. */
  | { readonly kind: 'response' }
  /** No method, a wrong version or an impossible id. `answer` is undefined for a notification: those are never answered. */
  | { readonly kind: 'invalid'; readonly answer: Response | undefined }

export function readMessage(value: unknown): Message {
  if (!isFields(value)) return refuse(null, 'a message is an object.')
  const { jsonrpc, id, method, params, result, error } = value
  const isResponse = method === undefined && (result !== undefined || error !== undefined)
  if (isResponse && jsonrpc === '2.0' && isId(id)) return { kind: 'response' }
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

/** A whole number beyond 2^53 has lost its last digits when it is read; the answer would have another id. */
function isId(id: unknown): id is Id {
  if (typeof id === 'number') return Number.isFinite(id) && (!Number.isInteger(id) || Number.isSafeInteger(id))
  return typeof id === 'string' || id === null
}

function refuse(id: Id, reason: string): Message {
  return { kind: 'invalid', answer: failure(id, invalidRequest(reason)) }
}

/** -32600: the message is JSON, but not a request. */
export function invalidRequest(reason: string): OperationError {
  return new OperationError('INVALID_REQUEST', `Invalid request: ${reason}`, { jsonRpcCode: -32600 })
}

/** The FES 3.3 form for failures that never reach an operation. */
export function failure(id: Id, error: OperationError, operation?: string): Response {
  return { jsonrpc: '2.0', id, error: envelopes.bare.rpcError(error, { operation: operation?.toWellFormed() }) }
}
