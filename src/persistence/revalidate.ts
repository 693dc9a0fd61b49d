// After a restart: whether the files still are what they were when the last process saw them. What is not was changed from outside.
import { isOperationError } from '../errors.ts'
import type { Bases } from '../files/bases.ts'
import type { FileStore } from '../files/file-store.ts'
import type { History } from '../files/history.ts'
import { lockKey } from '../files/lock-key.ts'
import type { LockManager } from '../locks/lock-manager.ts'
import type { Logger } from '../operations/context.ts'

interface Parts {
  readonly files: FileStore
  readonly bases: Bases
  readonly history: History
  readonly locks: LockManager
  readonly log: Logger
}

/** Paths that the log names; of more only the number. */
const maxNamed = 20
/** After so many, nobody is told of each. */
const manyChanges = 100
const ttlMs = 60_000

/** One file after the other, in the background; those that somebody works on right now are looked at by him. */
export async function revalidate(paths: readonly string[], parts: Parts, signal: AbortSignal): Promise<void> {
  const { log } = parts
  const changed: string[] = []
  for (const path of paths) {
    if (signal.aborted) return
    if (await hasChanged(path, parts, changed.length >= manyChanges)) changed.push(path)
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (changed.length === 0) return
  const fields = { count: changed.length, paths: changed.slice(0, maxNamed) }
  log.info(fields, 'files were changed from outside while no server ran')
}

/** Under the lock, so that nobody's change is taken for one from outside. */
async function hasChanged(path: string, { files, bases, history, locks }: Parts, isBulk: boolean): Promise<boolean> {
  const request = { key: lockKey(path), path, mode: 'shared' as const }
  const lock = locks.tryAcquire([request], { operation: 'revalidate', ttlMs })
  if (lock === undefined) return false
  try {
    const before = history.known(path)
    if (before === undefined || before.identity !== undefined) return false
    const place = files.open(path, 'target')
    try {
      // A link stands on the way to it by now.
      if (place.path !== path) return false
      const { hash, bytes, identity } = await files.read(place, path)
      if (hash !== before.hash) bases.keep(hash, bytes)
      history.record(path, hash, identity, { isBulk })
      return hash !== before.hash
    } finally {
      place.close()
    }
  } catch (error) {
    // One that cannot be looked at any more is left as it was known.
    if (!isOperationError(error, 'FILE_NOT_FOUND')) return false
    history.recordGone(path, { isBulk })
    return true
  } finally {
    lock.release()
  }
}
