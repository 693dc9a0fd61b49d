// The files of a lock operation, and their requests to the lock table.
import type { HolderStatus, KeyStatus, LeaseTarget } from '../locks/lock.ts'

export interface LockFile {
  /** As the caller spelt it first. */
  readonly filepath: string
  /** Canonical. */
  readonly path: string
  readonly key: string
  /** As the caller spelt it first, comparable with other spellings; undefined if that is the key. */
  readonly name?: string | undefined
}

export function inCanonicalOrder<File extends { readonly key: string }>(files: Iterable<File>): File[] {
  return [...files].sort((one, other) => (one.key < other.key ? -1 : 1))
}

export function toRequest({ key, path, name }: LockFile, mode: 'shared' | 'exclusive'): LeaseTarget {
  return { key, path, name, mode }
}

/** The holder to show for a file: the first lease of another agent, else the asker's own, else an operation on it. */
export function mainHolder({ holders }: Pick<KeyStatus, 'holders'>, agentId: string): HolderStatus | undefined {
  const isOther = (holder: HolderStatus) => holder.agentId !== agentId
  return (
    holders.find((holder) => holder.isLease && isOther(holder)) ??
    holders.find(({ isLease }) => isLease) ??
    holders.find((holder) => holder.mode === 'exclusive' && isOther(holder)) ??
    holders.find(isOther)
  )
}

/** A holder without an agent id is named by its operation. */
export function nameOf(holder: HolderStatus | undefined): string | null {
  return holder === undefined ? null : (holder.agentId ?? holder.operation)
}
