// The files of a lock operation: where their paths lead, each once, in canonical order.
import { OperationError } from '../errors.ts'
import { lockKey } from '../files/lock-key.ts'
import type { HolderStatus, KeyStatus, LockRequest } from '../locks/lock.ts'
import type { OperationContext } from './context.ts'

export interface LockFile {
  /** As the caller spelt it first. */
  readonly filepath: string
  /** Canonical. */
  readonly path: string
  readonly key: string
}

/** @throws OperationError INVALID_REQUEST: a lease needs a holder */
export function requireAgent({ caller }: OperationContext, operation: string): string {
  if (caller.agentId !== undefined) return caller.agentId
  const message = `${operation} needs to know who calls: pass agent_id, or send the header X-Agent-Id. Any name of your own will do, the same one in all your calls.`
  throw new OperationError('INVALID_REQUEST', message)
}

/** All or none: one path that cannot be locked fails the call. @throws OperationError as an operation on that file would */
export function resolveFiles(filepaths: readonly string[], context: OperationContext): LockFile[] {
  const { files, config } = context
  const { max_files_per_call } = config.locks
  if (filepaths.length > max_files_per_call) {
    const message = `filepaths has ${filepaths.length} items, more than the ${max_files_per_call} allowed (locks.max_files_per_call).`
    throw new OperationError('INVALID_REQUEST', message)
  }
  const byKey = new Map<string, LockFile>()
  for (const filepath of filepaths) {
    const place = files.open(filepath, 'target')
    try {
      files.checkLockable(place, filepath)
      const key = lockKey(place.path)
      if (!byKey.has(key)) byKey.set(key, { filepath, path: place.path, key })
    } finally {
      place.close()
    }
  }
  return [...byKey.values()].sort((one, other) => (one.key < other.key ? -1 : 1))
}

export function toRequest({ key, path }: LockFile, mode: 'shared' | 'exclusive'): LockRequest {
  return { key, path, mode }
}

/** Whom others meet at a file: the first lease that is not the asker's, else his own, else whoever works on it. */
export function mainHolder({ holders }: KeyStatus, agentId: string): HolderStatus | undefined {
  const isOther = (holder: HolderStatus) => holder.agentId !== agentId
  return (
    holders.find((holder) => holder.isLease && isOther(holder)) ??
    holders.find(({ isLease }) => isLease) ??
    holders.find((holder) => holder.mode === 'exclusive' && isOther(holder)) ??
    holders.find(isOther)
  )
}

/** Somebody without a name is called by what he does. */
export function nameOf(holder: HolderStatus | undefined): string | null {
  return holder === undefined ? null : (holder.agentId ?? holder.operation)
}
