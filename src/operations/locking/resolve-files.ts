// The files of a lock operation: the targets of their paths, each once, in canonical order.
import { OperationError } from '../../errors.ts'
import { lockKey } from '../../engine/files/lock-key.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { inCanonicalOrder, type LockFile } from '../../engine/leases/lease-requests.ts'

/** @throws OperationError INVALID_REQUEST: a lease needs a holder */
export function requireAgent({ caller }: OperationContext, operation: string): string {
  if (caller.agentId !== undefined) return caller.agentId
  const message = `${operation} needs an agent id: pass agent_id, or send the header X-Agent-Id. Use any name of your own, the same one in all your calls.`
  throw new OperationError('INVALID_REQUEST', message)
}

/** All or none: one path that cannot be locked fails the call. @throws OperationError as an operation on that file would */
export function resolveFiles(filepaths: readonly string[], context: OperationContext): LockFile[] {
  checkCount(filepaths, context)
  const byKey = new Map<string, LockFile>()
  for (const filepath of filepaths) {
    const file = resolveFile(filepath, context)
    if (!byKey.has(file.key)) byKey.set(file.key, file)
  }
  return inCanonicalOrder(byKey.values())
}

/** @throws OperationError INVALID_REQUEST */
export function checkCount(filepaths: readonly string[], { config }: OperationContext): void {
  const { max_files_per_call } = config.locks
  if (filepaths.length <= max_files_per_call) return
  const message = `filepaths has ${filepaths.length} items, more than the ${max_files_per_call} allowed (locks.max_files_per_call).`
  throw new OperationError('INVALID_REQUEST', message)
}

/** @throws OperationError as an operation on that file would, if no lease can be taken on it */
export function resolveFile(filepath: string, { files }: OperationContext): LockFile {
  const place = files.open(filepath, 'target')
  try {
    files.checkLockable(place, filepath)
    const { path } = place
    const key = lockKey(path)
    const name = files.nameOf(filepath)
    return { filepath, path, key, ...(name !== key && { name }) }
  } finally {
    place.close()
  }
}
