// The two envelopes: the form in which each transport gives a failure to the caller of an operation.
import type { EnvelopeName } from '../../../schemas/contract.ts'
import { ErrorEnvelope, errorTable, type ErrorCode } from '../../../schemas/errors.ts'
import { FileEditingError } from '../../../schemas/file-editing.ts'
import type { TObject } from '../../../schemas/typebox.ts'
import type { OperationError } from '../../errors.ts'
import { timestamp } from '../../support/timestamp.ts'
import { beginningOf } from '../../support/cut-text.ts'
import { firstDigits } from '../../support/hash-digits.ts'

/** The known facts of the failed call. */
export interface FailedCall {
  /** Undefined if the request did not get that far. */
  readonly operation?: string | undefined
  /** As received, checked or not. */
  readonly input?: unknown
}

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data: object
}

export interface Envelope {
  /** The schema of `body`. */
  readonly schema: TObject
  readonly httpStatus: (code: ErrorCode) => number
  /** The body over REST, and the structured content over MCP. */
  readonly body: (error: OperationError, call: FailedCall) => Record<string, unknown>
  /** The error object over JSON-RPC. */
  readonly rpcError: (error: OperationError, call: FailedCall) => RpcError
}

const status: Envelope = {
  schema: ErrorEnvelope,
  httpStatus: (code) => errorTable[code].httpStatus,
  body: (error) => error.toEnvelope(),
  rpcError: (error) => ({ code: error.jsonRpcCode, message: error.message, data: error.toEnvelope() })
}

const bare: Envelope = {
  schema: FileEditingError,
  // FES knows no 408: the holder of the lock is changing the file, which is its 409.
  httpStatus: (code) => (code === 'LOCK_TIMEOUT' ? 409 : errorTable[code].httpStatus),
  body: (error, call) => ({ error: bareError(error, call) }),
  rpcError: bareError
}

export const envelopes: Readonly<Record<EnvelopeName, Envelope>> = { status, bare }

/** FES 3.3. */
function bareError(error: OperationError, { operation, input }: FailedCall): FileEditingError['error'] {
  const filename = nameOf(input)
  return {
    code: isFieldMissing(error) ? -32600 : error.jsonRpcCode,
    message: inFolder(error, filename),
    data: {
      ...(filename !== undefined && { filename }),
      ...(operation !== undefined && { operation }),
      timestamp: timestamp(),
      details: `${error.code}: ${meaningOf(error)}`
    }
  }
}

/** FES has one line of text for what other answers give in `details`. */
function meaningOf({ code, details }: OperationError): string {
  const { applied, hash, ...others } = details ?? {}
  if (applied !== true) return errorTable[code].meaning
  const facts = { applied, ...(typeof hash === 'string' && { hash: firstDigits(hash) }), ...others }
  return `The change was made. ${JSON.stringify(facts)}`
}

/** Advice of these operations if the message speaks of others, or of their parameters: they see other files and take no encoding. */
const folderAdvice: Partial<Record<ErrorCode, (name: string) => string>> = {
  FILE_NOT_FOUND: (name) =>
    `File does not exist: ${name}. list_files shows the files there; edit_file with create_if_missing: true creates it.`,
  NOT_A_FILE: (name) => `Not a regular file: ${name}. list_files shows the files that can be read and edited.`,
  DIR_NOT_FOUND: () => 'The folder that the server serves is gone. Ask the operator to restore it.',
  ENCODING_ERROR: (name) =>
    `The file is not valid UTF-8: ${name}. read_file and edit_file take only UTF-8; list_files shows such files with lines: -1.`,
  OVERLOADED: () =>
    'The folder has more entries than the server lists (crud.max_list_entries). Read a file by its name with read_file.'
}

function inFolder({ code, message, details }: OperationError, name = ''): string {
  // It speaks of no operation, and may name a file that is called as one.
  if (details?.['gone'] !== undefined) return message
  return /\basync_\w+|\bpass encoding\b/.test(message.replaceAll(name, ''))
    ? (folderAdvice[code]?.(name) ?? message)
    : message
}

function isFieldMissing({ code, details }: OperationError): boolean {
  const faults = details?.['faults']
  return code === 'INVALID_REQUEST' && Array.isArray(faults) && faults.some(({ rule }) => rule === 'required')
}

const maxNameLength = 255

function nameOf(input: unknown): string | undefined {
  const name = typeof input === 'object' && input !== null && 'name' in input ? input.name : undefined
  return typeof name === 'string' ? beginningOf(name, maxNameLength) : undefined
}
