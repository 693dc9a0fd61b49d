// The files of a lock operation: where their paths lead, each once, in canonical order.
import { OperationError } from '../errors.ts'
import { lockKey } from '../files/lock-key.ts'
import type { HolderStatus, KeyStatus, LeaseTarget } from '../locks/lock.ts'
import type { OperationContext } from './context.ts'

export interface LockFile {
  /** As the caller spelt it first. */
  readonly filepath: string
  /** Canonical. */
  readonly path: string
  readonly key: string
  /** As the caller spelt it first, comparable with other spellings; undefined where that is the key. */
  readonly name?: string | undefined
}

/** @throws OperationError INVALID_REQUEST: a lease needs a holder */
export function requireAgent({ caller }: OperationContext, operation: string): string {
  if (caller.agentId !== undefined) return caller.agentId
  const message = `${operation} needs to know who calls: pass agent_id, or send the header X-Agent-Id. Any name of your own will do, the same one in all your calls.`
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

/** @throws OperationError as an operation on that file would, where no lease can be taken on it */
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

export function inCanonicalOrder<File extends { readonly key: string }>(files: Iterable<File>): File[] {
  return [...files].sort((one, other) => (one.key < other.key ? -1 : 1))
}

export function toRequest({ key, path, name }: LockFile, mode: 'shared' | 'exclusive'): LeaseTarget {
  return { key, path, name, mode }
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
