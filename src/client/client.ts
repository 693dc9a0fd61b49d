// The typed client: every operation of a server over REST. It runs wherever fetch does and depends on nothing else.
import { CallError, parseJson } from './call-error.ts'
import type { Contention, ContendingName, Inputs, OperationName, Outputs } from './contract.ts'

export type { Contention, ErrorCode, OperationName } from './contract.ts'
export { CallError } from './call-error.ts'

/** The input of `readPart`. */
export type PartInput = Inputs['async_read']
/** A part of a file by bytes. Of a file that is too large to be read whole the hash is not known. */
export type Part = Outputs['async_read']

/** The input of an operation: a property with a default may be left out, at every depth. */
export type CallInput<Name extends OperationName> = Name extends 'async_read'
  ? Omit<PartInput, 'byte_offset' | 'byte_limit'>
  : Name extends OperationName
    ? Inputs[Name]
    : never

/**
 * The answer of a successful call. If the operation can come too late, `status` is "ok" or "contention", which tells
 * the two apart.
 */
export type CallAnswer<Name extends OperationName> = Name extends 'async_read'
  ? Part & { readonly hash: string; readonly total_lines: number }
  : Name extends OperationName
    ? Outputs[Name] | (Name extends ContendingName ? Contention : never)
    : never

/** The part of `fetch` that the client uses, so that a caller can pass its own: with a proxy, retries, a log. */
export type Fetch = (
  url: string,
  init: {
    readonly method: 'POST'
    readonly headers: Record<string, string>
    readonly body: string
    readonly redirect: 'error'
    readonly signal?: AbortSignal
  }
) => Promise<{
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}>

export interface ClientOptions {
  /** Where the server is, such as "http://127.0.0.1:8720", with or without a slash at the end. */
  readonly url: string
  /** The server's bearer token, if it was started with one. */
  readonly token?: string
  /**
   * Name of the calling agent: shown to other agents in `modified_by` and `async_status`, and the holder of leases. Printable ASCII, since
   * it travels as a header. A call that takes `agent_id` can pass another name, which takes precedence. Default: the caller is unnamed.
   */
  readonly agentId?: string
  /** Default: the global fetch. */
  readonly fetch?: Fetch
}

export interface CallOptions {
  /** Cancels the call: a call that waits for a lock leaves the queue, and nothing is changed. Default: nothing cancels it. */
  readonly signal?: AbortSignal
}

export interface Client {
  /**
   * Calls one operation.
   * @param name such as "async_read"
   * @param input a property with a default may be left out
   * @returns the answer: `status` is "ok" or, if the file is no longer the named version, "contention" with the difference.
   *   list_files, read_file and edit_file answer without a status
   * @throws CallError if the answer is a failure or not from such a server. Without an answer it rejects with the rejection of
   * fetch: the signal's reason after an abort, a TypeError if there is no connection or a redirect
   */
  call<Name extends OperationName>(name: Name, input: CallInput<Name>, options?: CallOptions): Promise<CallAnswer<Name>>
  /**
   * Reads a part of a file by bytes: async_read with byte_offset or byte_limit. Rejects as `call` does.
   * @param input also for a file larger than crud.max_file_size_bytes, whose part comes without a hash
   */
  readPart(input: PartInput, options?: CallOptions): Promise<Part>
}

/**
 * A client of the server at `url`. It holds no connection and needs no closing.
 * @throws TypeError if an option cannot be used; the message names it
 */
export function createClient({ url, token, agentId, fetch = globalThis.fetch }: ClientOptions): Client {
  const base = toBase(url)
  const headers = {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${checkHeader('token', token)}` }),
    ...(agentId !== undefined && { 'x-agent-id': checkHeader('agentId', agentId) })
  }

  async function call<Name extends OperationName>(
    name: Name,
    input: CallInput<Name>,
    { signal }: CallOptions = {}
  ): Promise<CallAnswer<Name>> {
    const answer = await fetch(`${base}${name}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(input),
      // If followed, it would become a GET, or carry the content of files to another server.
      redirect: 'error',
      ...(signal !== undefined && { signal })
    })
    const text = await answer.text()
    const body = parseJson(text)
    if (isAnswer(name, answer.status, body)) return body as CallAnswer<Name>
    const [contentType, retryAfter] = [answer.headers.get('content-type'), answer.headers.get('retry-after')]
    throw new CallError({ operation: name, httpStatus: answer.status, contentType, retryAfter, text })
  }

  return { call, readPart: (input, options) => call('async_read', input, options) }
}

/** The operations on one folder: their answers have no status. */
const withoutStatus: ReadonlySet<OperationName> = new Set(['list_files', 'read_file', 'edit_file'])

/** Contention has the HTTP status of a failure but is none: it is an outcome to act on. */
function isAnswer(name: OperationName, httpStatus: number, body: unknown): boolean {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return false
  const status = 'status' in body ? body.status : undefined
  if (httpStatus === 409) return status === 'contention'
  return httpStatus === 200 && status === (withoutStatus.has(name) ? undefined : 'ok')
}

/** The URL with a slash at its end, to which the name of an operation is appended. */
function toBase(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (
    parsed === undefined ||
    !['http:', 'https:'].includes(parsed.protocol) ||
    parsed.search !== '' ||
    parsed.hash !== ''
  )
    throw new TypeError(`url must be an http or https URL without query, such as http://127.0.0.1:8720, not ${url}`)
  if (parsed.username !== '' || parsed.password !== '')
    throw new TypeError('url must not hold a user name or a password: pass a token')
  return parsed.href.endsWith('/') ? parsed.href : `${parsed.href}/`
}

/** The message does not contain the value: it may be a secret. */
function checkHeader(option: string, value: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)) return value
  throw new TypeError(`${option} must be printable ASCII without spaces around it, and not empty`)
}
