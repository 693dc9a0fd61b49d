// The error table's words for anything that Fastify or a handler threw.
import { isErrno, OperationError, toOperationError } from '../errors.ts'

export function toFailure(error: unknown): OperationError {
  if (isErrno(error, 'ECONNRESET', 'ECONNABORTED'))
    return new OperationError('CANCELLED', 'The client closed the connection.', { cause: error })
  if (!isFastifyError(error)) return toOperationError(error)
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new OperationError(
        'UNSUPPORTED_MEDIA_TYPE',
        'Request bodies are JSON: send Content-Type: application/json.',
        { cause: error }
      )
    default:
      // Fastify's other errors about a request: a wrong Content-Length, a bad URL.
      if (error.statusCode !== undefined && error.statusCode < 500) {
        return new OperationError('INVALID_REQUEST', `The request is malformed: ${error.message}`, { cause: error })
      }
      return toOperationError(error)
  }
}

interface FrameworkError extends Error {
  readonly code: string
  readonly statusCode?: number
}

function isFastifyError(error: unknown): error is FrameworkError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_')
}
