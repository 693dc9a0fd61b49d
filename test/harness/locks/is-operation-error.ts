import type { OperationError } from '../../../src/errors.ts'

/** By its name: a lock manager that is loaded by a URL throws a class of its own, not the one in the bundle of the test. */
export function isOperationError(error: unknown): error is OperationError {
  return error instanceof Error && error.name === 'OperationError'
}
