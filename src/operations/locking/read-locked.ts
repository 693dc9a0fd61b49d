// Reads a file while nothing changes it.
import type { OperationContext } from '../../engine/call/context.ts'
import { readVersion } from '../change/file-version.ts'
import { withLocks } from './with-locks.ts'

/** A reader waits for writers only, by default for the longest time allowed. */
export function readLocked(
  context: OperationContext,
  path: string,
  operation: string,
  timeout = context.config.crud.max_timeout
) {
  const options = { operation, timeout }
  return withLocks(context, [{ path, mode: 'shared', reach: 'target' }], options, async ([place]) => ({
    version: await readVersion(context, place!, path),
    canonicalPath: place!.path
  }))
}
