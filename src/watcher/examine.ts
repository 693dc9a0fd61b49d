// The look that counts: under the lock, by content. What nobody here has made is recorded as a change from outside.
import type { ErrorCode } from '../../schemas/errors.ts'
import { OperationError } from '../errors.ts'
import type { Bases } from '../files/bases.ts'
import type { FileStore } from '../files/file-store.ts'
import type { History } from '../files/history.ts'
import { lockKey } from '../files/lock-key.ts'
import type { Place } from '../files/walk.ts'
import type { LockManager } from '../locks/lock-manager.ts'

export interface ExamineParts {
  readonly locks: LockManager
  readonly files: FileStore
  readonly bases: Bases
  readonly history: History
  /** Of the lock, in milliseconds. */
  readonly ttlMs: () => number
}

/**
 * `busy`: somebody holds the file, or waits for it; to be tried again. `unreadable`: too large, no right to read it, the root is gone;
 * whoever uses the file is told.
 */
export type Examination = 'done' | 'busy' | 'unreadable'

const busyCodes = new Set<ErrorCode>(['FILE_NOT_FOUND', 'OVERLOADED', 'LEASE_LOST'])
/** What leads there is a file now, or a link out of the roots: no file of ours stands at the path. */
const goneCodes = new Set<ErrorCode>(['NOT_A_FILE', 'PATH_OUTSIDE_BASE'])

/**
 * Never waits in the queue of the file: whoever is in there compares the content himself before he changes it, and the watcher must not
 * be in anybody's way.
 */
export async function examine(path: string, isBulk: boolean, parts: ExamineParts): Promise<Examination> {
  const { locks, files, history, ttlMs } = parts
  const request = { key: lockKey(path), path, mode: 'shared' } as const
  const lock = locks.tryAcquire([request], { operation: 'watcher', ttlMs: ttlMs() })
  if (lock === undefined) return 'busy'
  let place: Place | undefined
  try {
    place = files.open(path, 'entry')
    if (place.path !== path || place.stat?.isFile() !== true) history.recordGone(path, { isBulk })
    else await readCurrent(place, isBulk, parts, () => lock.assertHeld())
    return 'done'
  } catch (error) {
    return afterFailure(error, path, isBulk, history)
  } finally {
    place?.close()
    lock.release()
  }
}

async function readCurrent(
  place: Place,
  isBulk: boolean,
  { files, bases, history }: ExamineParts,
  assertHeld: () => void
): Promise<void> {
  const { hash, bytes, identity } = await files.read(place, place.path)
  assertHeld()
  bases.keep(hash, bytes)
  history.record(place.path, hash, identity, { isBulk })
}

function afterFailure(error: unknown, path: string, isBulk: boolean, history: History): Examination {
  if (!(error instanceof OperationError)) throw error
  // It went, or was replaced, in this very moment, or the lock was taken away: the next look sees what has come of it.
  if (busyCodes.has(error.code)) return 'busy'
  if (!goneCodes.has(error.code)) return 'unreadable'
  history.recordGone(path, { isBulk })
  return 'done'
}
