// Why a request on a file is refused before an operation is called, and what to send instead.
import { OperationError } from '../../errors.ts'

export const diffType = 'text/x-diff'
export const patchTypes = ['application/json', diffType, 'text/x-patch'] as const

/** @param refusal of the operation, whose notices go on */
export function unnamed(
  path: string,
  refusal = new OperationError('PRECONDITION_REQUIRED', '', { path })
): OperationError {
  const message = `${path}: name the version that you change, by If-Match with the ETag that GET gives. If-None-Match: * only creates. Nothing was changed.`
  return OperationError.fromWire({ ...refusal.toWire(), code: 'PRECONDITION_REQUIRED', message, path })
}

export function notAsAsked(path: string): OperationError {
  const message = `${path}: another version than If-Match or If-Unmodified-Since asks for. Leave the header out to get this one.`
  return new OperationError('PRECONDITION_FAILED', message, { path })
}

export function inPart(path: string): OperationError {
  return new OperationError(
    'INVALID_REQUEST',
    `PUT replaces all of ${path}: send it whole, without Content-Range. PATCH changes a part.`
  )
}

export function notTaken(type: string): OperationError {
  const shown = type === '' ? 'no Content-Type' : JSON.stringify(type.slice(0, 100))
  return new OperationError(
    'UNSUPPORTED_MEDIA_TYPE',
    `PATCH takes ${patchTypes.join(', ')}, not ${shown}: patches as async_update takes them, or what diff -u prints.`
  )
}
