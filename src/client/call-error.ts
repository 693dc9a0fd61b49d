// CallError: a call that was answered with a failure, and the facts in that answer.
import type { ErrorEnvelope } from '../../schemas/errors.ts'
import type { FileEditingError } from '../../schemas/file-editing.ts'
import type { ErrorCode, OperationName } from './contract.ts'

/** The content of an envelope. */
interface Described {
  readonly code: ErrorCode | number
  readonly message: string
  readonly path: string | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined
}

/** The known facts of an answer that is a failure. */
export interface FailedAnswer {
  readonly operation: OperationName
  readonly httpStatus: number
  /** The Content-Type and Retry-After headers as received, null if absent. */
  readonly contentType: string | null
  readonly retryAfter: string | null
  /** The body as received. */
  readonly text: string
}

/** The server, or something in front of it, answered the call with a failure. `message` says what happened and what to do next. */
export class CallError extends Error {
  override readonly name = 'CallError'
  readonly operation: OperationName
  readonly httpStatus: number
  /**
   * The code of the error table, such as "FILE_NOT_FOUND"; for list_files, read_file and edit_file the JSON-RPC code, such
   * as -32001. Undefined if the answer has neither of the two error envelopes, so is not from an async-crud-mcp server.
   */
  readonly code: ErrorCode | number | undefined
  /** The path, or for read_file and edit_file the file name, as the caller spelt it, if the failure is about one. */
  readonly path: string | undefined
  /** Facts for programs; the keys depend on the code. For list_files, read_file and edit_file the `data` of the error. */
  readonly details: Readonly<Record<string, unknown>> | undefined
  /** Seconds after which the same call may succeed, if the answer has a Retry-After header in seconds. */
  readonly retryAfterSeconds: number | undefined
  /** The whole answer: its JSON, or its text if it is not JSON. */
  readonly body: unknown

  constructor({ operation, httpStatus, contentType, retryAfter, text }: FailedAnswer) {
    const json = parseJson(text)
    const described = readEnvelope(json)
    super(described?.message ?? describeForeignAnswer(operation, httpStatus, contentType, json !== undefined))
    this.operation = operation
    this.httpStatus = httpStatus
    this.code = described?.code
    this.path = described?.path
    this.details = described?.details
    this.retryAfterSeconds = retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined
    this.body = json === undefined ? text : json
  }
}

/** @returns undefined, which no JSON is, if the text is not JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function readEnvelope(body: unknown): Described | undefined {
  if (isErrorEnvelope(body)) {
    const { error_code: code, message, path, details } = body
    return { code, message, path, details }
  }
  if (!isFileEditingError(body)) return undefined
  const { code, message, data } = body.error
  return { code, message, path: data.filename, details: data }
}

function isErrorEnvelope(body: unknown): body is ErrorEnvelope {
  return isObject(body) && typeof body['error_code'] === 'string' && typeof body['message'] === 'string'
}

function isFileEditingError(body: unknown): body is FileEditingError {
  const error = isObject(body) ? body['error'] : undefined
  return (
    isObject(error) &&
    typeof error['code'] === 'number' &&
    typeof error['message'] === 'string' &&
    isObject(error['data'])
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function describeForeignAnswer(
  operation: OperationName,
  httpStatus: number,
  contentType: string | null,
  isJson: boolean
): string {
  const what = isJson ? 'is JSON, but not in the form of an async-crud-mcp server' : 'is not JSON'
  return `The answer to ${operation} (HTTP ${httpStatus}, ${contentType ?? 'no content type'}) ${what}. Check the url of the client and any proxy between.`
}
