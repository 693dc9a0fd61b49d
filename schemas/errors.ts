// The error table: every code an operation can answer with, what it means on each transport, and whether trying again can help.
import { notices } from './notices.ts'
import { Type, type Static } from './typebox.ts'

interface ErrorEntry {
  /** HTTP status of the REST answer. */
  readonly httpStatus: number
  /** JSON-RPC error code of the plain JSON-RPC answer (FES 3.3). */
  readonly jsonRpcCode: number
  /** True if the same call can succeed later without the caller changing anything. */
  readonly retryable: boolean
  readonly meaning: string
}

const invalidParams = -32602
const internalError = -32603
const fileSystemError = -32001

export const errorTable = {
  FILE_NOT_FOUND: {
    httpStatus: 404,
    jsonRpcCode: fileSystemError,
    retryable: false,
    meaning: 'The file does not exist.'
  },
  FILE_EXISTS: {
    httpStatus: 409,
    jsonRpcCode: fileSystemError,
    retryable: false,
    meaning: 'The file to be created, or the new name of a rename, already exists.'
  },
  ACCESS_DENIED: {
    httpStatus: 403,
    jsonRpcCode: fileSystemError,
    retryable: false,
    meaning: 'The operating system or the list of protected paths forbids the access.'
  },
  PATH_OUTSIDE_BASE: {
    httpStatus: 403,
    jsonRpcCode: invalidParams,
    retryable: false,
    meaning: 'The path lies outside every root, or a symbolic link on its way leaves them.'
  },
  LOCK_TIMEOUT: {
    httpStatus: 408,
    jsonRpcCode: fileSystemError,
    retryable: true,
    meaning: 'The lock was not granted within the timeout.'
  },
  ENCODING_ERROR: {
    httpStatus: 400,
    jsonRpcCode: fileSystemError,
    retryable: false,
    meaning: 'The encoding is unknown, or the bytes or the text are not valid in it.'
  },
  INVALID_PATCH: {
    httpStatus: 400,
    jsonRpcCode: invalidParams,
    retryable: false,
    meaning:
      'A patch does not apply: its old_string is missing or occurs several times, or the file does not have the lines of a hunk.'
  },
  CONTENT_OR_PATCHES_REQUIRED: {
    httpStatus: 400,
    jsonRpcCode: invalidParams,
    retryable: false,
    meaning: 'An update carries neither content nor patches nor unified_diff.'
  },
  FILE_TOO_LARGE: {
    httpStatus: 413,
    jsonRpcCode: fileSystemError,
    retryable: false,
    meaning: 'The file or the request is larger than the configured maximum.'
  },
  READ_ERROR: {
    httpStatus: 500,
    jsonRpcCode: internalError,
    retryable: true,
    meaning: 'The operating system failed to read; nothing was changed.'
  },
  WRITE_ERROR: {
    httpStatus: 500,
    jsonRpcCode: internalError,
    retryable: true,
    meaning: 'The operating system failed to write; the file is as it was, unless details.applied is true.'
  },
  DELETE_ERROR: {
    httpStatus: 500,
    jsonRpcCode: internalError,
    retryable: true,
    meaning: 'The operating system failed to delete; the file is there, unless details.applied is true.'
  },
  RENAME_ERROR: {
    httpStatus: 500,
    jsonRpcCode: internalError,
    retryable: true,
    meaning: 'The operating system failed to rename; nothing was changed, unless details.applied is true.'
  },
  DIR_NOT_FOUND: {
    httpStatus: 404,
    jsonRpcCode: fileSystemError,
    retryable: false,
    meaning: 'The directory does not exist.'
  },
  SERVER_ERROR: {
    httpStatus: 500,
    jsonRpcCode: internalError,
    retryable: true,
    meaning: 'An unexpected failure of the server; the cause is in its log.'
  },
  INVALID_REQUEST: {
    httpStatus: 400,
    jsonRpcCode: invalidParams,
    retryable: false,
    meaning:
      'The request cannot be read, or its input violates the schema, does not fit the file, or names a version by digits that the hashes of several begin with.'
  },
  NOT_A_FILE: {
    httpStatus: 400,
    jsonRpcCode: fileSystemError,
    retryable: false,
    meaning: 'The path is a directory, FIFO, socket or device, not a regular file.'
  },
  VERSION_NOT_KEPT: {
    httpStatus: 404,
    jsonRpcCode: fileSystemError,
    retryable: false,
    meaning: 'The bytes behind the hash are no longer kept, or were never known.'
  },
  INVALID_PATTERN: {
    httpStatus: 400,
    jsonRpcCode: invalidParams,
    retryable: false,
    meaning: 'The glob pattern cannot be compiled or is too costly to match.'
  },
  LOCK_REQUIRED: {
    httpStatus: 423,
    jsonRpcCode: fileSystemError,
    retryable: false,
    meaning: 'Writes need a lease here and the caller holds none.'
  },
  DEADLOCK: {
    httpStatus: 409,
    jsonRpcCode: fileSystemError,
    retryable: true,
    meaning: 'The caller was chosen as the victim of a deadlock.'
  },
  LEASE_LOST: {
    httpStatus: 409,
    jsonRpcCode: fileSystemError,
    retryable: false,
    meaning:
      'The lock or the lease ended before the change was made, or fencing_token is out of date; nothing was written.'
  },
  NOT_MADE: {
    httpStatus: 409,
    jsonRpcCode: fileSystemError,
    retryable: false,
    meaning:
      'The change could be made, but is one of several that are made together or not at all: another was refused.'
  },
  CANCELLED: {
    httpStatus: 499,
    jsonRpcCode: internalError,
    retryable: true,
    meaning: 'The caller cancelled the call or went away.'
  },
  OVERLOADED: {
    httpStatus: 503,
    jsonRpcCode: internalError,
    retryable: true,
    meaning: 'A queue or the server is at its limit, or the server is stopping.'
  },
  AUTHORITY_LOST: {
    httpStatus: 503,
    jsonRpcCode: internalError,
    retryable: true,
    meaning:
      'The process that carried out the call has ended, or it or its volume does not answer any more. Read the file to see whether the change was made.'
  },
  UNAUTHORIZED: {
    httpStatus: 401,
    jsonRpcCode: internalError,
    retryable: false,
    meaning: 'The bearer token is missing or wrong.'
  },
  FORBIDDEN_ORIGIN: {
    httpStatus: 403,
    jsonRpcCode: internalError,
    retryable: false,
    meaning: 'The Host or Origin header is not allowed.'
  },
  FORBIDDEN_USER: {
    httpStatus: 403,
    jsonRpcCode: internalError,
    retryable: false,
    meaning: 'The connection was made by another user of this machine.'
  },
  ROUTE_NOT_FOUND: { httpStatus: 404, jsonRpcCode: -32601, retryable: false, meaning: 'No operation has this name.' },
  METHOD_NOT_ALLOWED: {
    httpStatus: 405,
    jsonRpcCode: -32601,
    retryable: false,
    meaning: 'The route answers another HTTP method.'
  },
  UNSUPPORTED_MEDIA_TYPE: {
    httpStatus: 415,
    jsonRpcCode: -32600,
    retryable: false,
    meaning: 'The request body is of a type that the route does not take: operations take JSON only.'
  },
  PRECONDITION_REQUIRED: {
    httpStatus: 428,
    jsonRpcCode: -32600,
    retryable: false,
    meaning: 'The file exists, and the request does not name the version that it changes: send If-Match.'
  },
  PRECONDITION_FAILED: {
    httpStatus: 412,
    jsonRpcCode: -32600,
    retryable: false,
    meaning: 'What a request wants to read is not what its If-Match or If-Unmodified-Since asks for.'
  },
  RANGE_NOT_SATISFIABLE: {
    httpStatus: 416,
    jsonRpcCode: -32600,
    retryable: false,
    meaning: 'The Range header names no bytes of the file, or more than one range.'
  },
  REQUEST_TIMEOUT: {
    httpStatus: 408,
    jsonRpcCode: -32600,
    retryable: true,
    meaning: 'The request did not arrive whole in time; nothing was carried out.'
  }
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof errorTable

export const ErrorEnvelope = Type.Object(
  {
    status: Type.Literal('error', { description: 'Always "error".' }),
    error_code: Type.String({
      enum: Object.keys(errorTable) as ErrorCode[],
      description: 'What went wrong, from the error table.'
    }),
    message: Type.String({ description: 'What happened, to which path, and what to do next.' }),
    path: Type.Optional(Type.String({ description: 'The path as the caller spelt it.' })),
    details: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        description: 'Facts for programs; the keys depend on the code.',
        type: 'object',
        additionalProperties: {}
      })
    ),
    ...notices
  },
  {
    title: 'ErrorEnvelope',
    description: 'The answer of an operation that failed. Nothing was changed unless details.applied says so.'
  }
)
export type ErrorEnvelope = Static<typeof ErrorEnvelope>
