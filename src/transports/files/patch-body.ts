// The JSON body of PATCH: the input of async_update, without what the address and If-Match say.
import { OperationError } from '../../errors.ts'

const given = ['path', 'expected_hash']

/** @throws OperationError INVALID_REQUEST */
export function readPatch(body: unknown): object {
  if (
    typeof body !== 'object' ||
    body === null ||
    Array.isArray(body) ||
    given.some((name) => Object.hasOwn(body, name))
  )
    throw new OperationError(
      'INVALID_REQUEST',
      'The body of a JSON patch is one object: {"patches": [...]}, the input of async_update without path (the address has it) and expected_hash (If-Match has it).'
    )
  return body
}
