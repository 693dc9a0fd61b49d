// A file that another program holds open: Windows neither replaces nor removes it. The change is tried again for a while, as for a lock.
import { setTimeout as delay } from 'node:timers/promises'
import { isErrno, OperationError } from '../../errors.ts'

/** How long a change waits for the other program. Virus scanners, indexers and readers let go within milliseconds. */
const patienceMs = 3000
const firstPauseMs = 5
const longestPauseMs = 200

/** Of Windows: it answers to sharing as it does to a lack of rights, and libuv has three names for both. */
const sharingCodes = process.platform === 'win32' ? ['EBUSY', 'EPERM', 'EACCES'] : ['EBUSY']

/** @returns undefined for another error of the system */
export function explainHeldOpen(
  error: NodeJS.ErrnoException,
  path: string,
  code: 'WRITE_ERROR' | 'DELETE_ERROR' | 'RENAME_ERROR'
): OperationError | undefined {
  const isHeld = isErrno(error, ...sharingCodes) && (error.syscall === 'rename' || error.syscall === 'unlink')
  if (!isHeld) return undefined
  const message = `Nothing was changed at ${path}: another program holds the file open (${error.code}). Try again; if that does not help, close the file in that program, or ask the operator whether the user of the server may change it.`
  return new OperationError(code, message, { path, details: { held_open: true }, cause: error })
}

/**
 * Makes a change again as long as another program holds one of its files open. Neither a thread nor the event loop waits.
 * @param make changes nothing if it throws that a file is held open
 */
export async function whileHeldOpen<Result>(make: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  const end = performance.now() + patienceMs
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await make()
    } catch (error) {
      const isHeld = error instanceof OperationError && error.details?.['held_open'] === true
      if (!isHeld || performance.now() + pauseMs > end) throw error
    }
    await delay(pauseMs, undefined, { signal })
  }
}
