// The flat folder of FES: the first root, whose files are named without any path.
import { OperationError } from '../errors.ts'

/** What the schema's pattern lets through and is no name. @throws OperationError INVALID_REQUEST */
export function requireFileName(name: string): void {
  if (name !== '.' && name !== '..') return
  const message = `Invalid filename format: "${name}" is not the name of a file.`
  throw new OperationError('INVALID_REQUEST', message, { path: name })
}

/** @throws OperationError INVALID_REQUEST */
export function refuseLines(name: string, message: string, details?: object): never {
  throw new OperationError('INVALID_REQUEST', `${name}: ${message}`, {
    path: name,
    ...(details !== undefined && { details: { ...details } })
  })
}
