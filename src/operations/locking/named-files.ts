// The files of an operation on existing leases. The leases held under a name count, whatever the name leads to by now.
import { errorTable } from '../../../schemas/errors.ts'
import { toOperationError, type OperationError } from '../../errors.ts'
import type { Lease } from '../../engine/locks/lock.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { inCanonicalOrder, type LockFile } from '../../engine/leases/lease-requests.ts'
import { checkCount, resolveFile } from './resolve-files.ts'

export interface NamedFile {
  /** As the caller spelt it first. */
  readonly filepath: string
  /** Key of the file to which the name leads; the name itself if it leads to none that can be leased. */
  readonly key: string
  /** The key, and every given spelling: a lease, or a place in a queue, may be known by any of them. */
  readonly names: Set<string>
  /** Why no lease can be taken under the name now. */
  readonly obstacle?: OperationError | undefined
}

/**
 * Each file once, in canonical order. A file that cannot be leased any more does not stop the operation on the others.
 * @throws OperationError INVALID_REQUEST for too many; also an obstacle that may be gone at a later call
 */
export function findNamedFiles(filepaths: readonly string[], context: OperationContext): NamedFile[] {
  checkCount(filepaths, context)
  const byKey = new Map<string, NamedFile>()
  for (const filepath of filepaths) {
    const name = context.files.nameOf(filepath)
    const { key = name, obstacle } = lookFor(filepath, context)
    if (obstacle !== undefined && mayPass(obstacle)) throw obstacle
    const known = byKey.get(key)
    if (known === undefined) byKey.set(key, { filepath, key, names: new Set([key, name]), obstacle })
    else known.names.add(name)
  }
  return inCanonicalOrder(byKey.values())
}

/** @returns the key of the file to which a name leads, or why no lease can be taken on it */
function lookFor(filepath: string, context: OperationContext): { key?: string; obstacle?: OperationError } {
  try {
    return { key: resolveFile(filepath, context).key }
  } catch (error) {
    return { obstacle: toOperationError(error, filepath) }
  }
}

function mayPass({ code }: OperationError): boolean {
  return code === 'SERVER_ERROR' || errorTable[code].retryable
}

/** The lease that counts for a file: the one on what its name leads to. If it leads to no file, the one taken under the name. */
export function leaseThatCounts({ key, obstacle }: NamedFile, held: readonly Lease[]): Lease | undefined {
  return held.find((lease) => lease.key === key) ?? (obstacle === undefined ? undefined : held[0])
}

/** For the result of one file: why no lease can be taken on it, or on which path the lease is that was taken under its name. */
export function explainName(
  file: NamedFile,
  held: readonly Lease[]
): { readonly error_code?: string; readonly message?: string } {
  const { obstacle } = file
  if (obstacle !== undefined) return { error_code: obstacle.code, message: obstacle.message }
  const [elsewhere] = held
  if (elsewhere === undefined || leaseThatCounts(file, held) !== undefined) return {}
  const message = `You hold a lease on ${elsewhere.path}, where ${file.filepath} led when you took it. It leads to another file now: release that lease with lock_release and this name, then take a new one.`
  return { message }
}

/** For the result of one file after a wait: that its name leads elsewhere by now. */
export function explainMove(
  { filepath, path, key }: LockFile,
  context: OperationContext
): { readonly message?: string } {
  const { key: now, obstacle } = lookFor(filepath, context)
  if (now === key || (obstacle !== undefined && mayPass(obstacle))) return {}
  const reason = obstacle === undefined ? 'It leads to another file now' : `Now: ${obstacle.message.replace(/\.$/, '')}`
  return {
    message: `Your lease is on ${path}, where ${filepath} led when you asked. ${reason}. If you do not want the lease, release it with lock_release and this name.`
  }
}
