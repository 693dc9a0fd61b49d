// The flat folder of FES: the first root, whose files are named without any path.
import { FileName } from '../../schemas/file-editing.ts'
import { OperationError } from '../errors.ts'
import type { OperationContext } from '../engine/call/context.ts'

const pattern = new RegExp(FileName.pattern as string)

/** True for a name that read_file and edit_file take. */
export function isFileName(name: string): boolean {
  return pattern.test(name)
}

/** Refuses what the schema's pattern accepts and is not a name. @throws OperationError INVALID_REQUEST */
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

/** FES 4.1: no call waits for a lock longer than this. */
const maxLockSeconds = 30

/** How long a call of this face waits for its lock, in seconds. */
export function lockSeconds({ config }: OperationContext): number {
  return Math.min(config.crud.default_timeout, maxLockSeconds)
}
