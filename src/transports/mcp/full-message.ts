// A message of MCP in its full form: a null counts as left out, and arguments that are a string of JSON are parsed. The SDK refuses both, and says
// so in the words of its validator.
import { fromText } from '../../operations/definition/json-text.ts'
import { isFields, type Fields } from '../../support/json-fields.ts'

/** Deeper than anything of the protocol; what is below has no meaning for it. */
const maxDepth = 8

/** @returns the message itself if it is in its full form; a promise if its arguments are a large string */
export function toFullMessage(message: unknown): unknown {
  if (Array.isArray(message)) return message.some(isShort) ? completeAll(message) : message
  return isShort(message) ? complete(message) : message
}

async function completeAll(messages: readonly unknown[]): Promise<unknown[]> {
  return Promise.all(messages.map(async (message) => (isShort(message) ? complete(message) : message)))
}

/** True unless the message certainly is in its full form. Makes no copy: every call of a tool comes by here. */
function isShort(message: unknown): message is Fields {
  if (!isFields(message) || typeof message['method'] !== 'string') return false
  const { params } = message
  if (params === null || message['method'] === 'initialize') return true
  if (!isFields(params)) return false
  for (const name in params) {
    const value = params[name]
    if (name === 'arguments' ? value === null || typeof value === 'string' : hasNull(value, maxDepth)) return true
  }
  return false
}

function hasNull(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || depth === 0) return false
  if (value === null) return true
  for (const name in value) if (hasNull((value as Fields)[name], depth - 1)) return true
  return false
}

function complete({ params, ...message }: Fields): unknown {
  if (!isFields(params)) return params === null ? message : { ...message, params }
  const { arguments: input, ...others } = params
  const own = withCapabilities(others['_meta'], withoutNulls(others, maxDepth) as Fields)
  const full = message['method'] === 'initialize' ? withNames(own) : own
  const join = (value: unknown) => ({
    ...message,
    params: { ...full, ...(value !== null && value !== undefined && { arguments: value }) }
  })
  const value = typeof input === 'string' ? fromText(input, { type: 'object' }) : input
  return value instanceof Promise ? value.then(join) : join(value)
}

/** In `_meta` of the revision of 2026-07-28, which requires it. */
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'

/** A client that has none. */
function withCapabilities(given: unknown, full: Fields): Fields {
  if (!isFields(given) || given[capabilitiesKey] !== null) return full
  return { ...full, _meta: { ...(full['_meta'] as Fields), [capabilitiesKey]: {} } }
}

/** The handshake of a client that names neither itself nor what it can do. */
function withNames(params: Fields): Fields {
  const { capabilities = {}, clientInfo = {} } = params
  const info = isFields(clientInfo) ? { name: 'unknown', version: 'unknown', ...clientInfo } : clientInfo
  return { ...params, capabilities, clientInfo: info }
}

function withoutNulls(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth === 0) return value
  if (Array.isArray(value)) return value.map((item: unknown) => withoutNulls(item, depth - 1))
  const given = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(given.map(([name, member]) => [name, withoutNulls(member, depth - 1)]))
}

/** Of the requests that cannot do without them. */
const parameters: Readonly<Record<string, Readonly<Record<string, 'string' | 'object'>>>> = {
  initialize: { protocolVersion: 'string', capabilities: 'object', clientInfo: 'object' },
  'tools/call': { name: 'string', arguments: 'object' },
  'resources/read': { uri: 'string' },
  'resources/subscribe': { uri: 'string' },
  'resources/unsubscribe': { uri: 'string' }
}

/** What a request has that no revision takes, in an answer with words of our own; undefined if the SDK is to have its say. */
export function refuseMessage(message: unknown): object | undefined {
  if (!isFields(message) || message['jsonrpc'] !== '2.0') return undefined
  const { id, method, params = {} } = message
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return undefined
  const wanted = parameters[String(method)]
  if (wanted === undefined || !isFields(params)) return undefined
  const faults = Object.entries(wanted).flatMap(([name, type]) => {
    const value = params[name]
    const isGood = type === 'string' ? typeof value === 'string' : isFields(value)
    if (isGood || (name === 'arguments' && value === undefined)) return []
    return [`params.${name} must be ${type}, ${value === undefined ? 'and is missing' : `not ${kindOf(value)}`}`]
  })
  if (faults.length === 0) return undefined
  return {
    jsonrpc: '2.0',
    id,
    error: { code: -32602, message: `Invalid ${String(method)} request: ${faults.join('; ')}` }
  }
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value
}
