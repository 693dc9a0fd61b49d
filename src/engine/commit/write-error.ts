// Why a file could not be changed, in words for the caller.
import { OperationError } from '../../errors.ts'
import { explainHeldOpen } from './held-open.ts'
import { codeOf } from '../../support/errno.ts'
import { explainWay, isDenial, isSystemError } from '../files/walk-error.ts'

/** For a change that has not been made. */
export function stopping(path: string): OperationError {
  return new OperationError(
    'OVERLOADED',
    `The server is stopping and has not changed ${path}. Try again when it is running again.`,
    {
      path,
      details: { retry_after_seconds: 1 }
    }
  )
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full. Free space on it, then try again',
  EDQUOT: 'the quota is used up. Free space in it, then try again',
  EIO: 'the disk failed. Ask the operator to check it before you try again'
}

/** @returns an OperationError for an error of the system before the change was made, else the error itself */
export function explainWriteError(
  error: unknown,
  path: string,
  code: 'WRITE_ERROR' | 'DELETE_ERROR' | 'RENAME_ERROR' = 'WRITE_ERROR'
): unknown {
  if (!isSystemError(error)) return error
  const held = explainHeldOpen(error, path, code)
  if (held !== undefined) return held
  if (isDenial(error)) {
    const message = `The operating system denies the change (${error.code}): ${path}. Ask the operator: the folder or the file is not writable for the user of the server.`
    return new OperationError('ACCESS_DENIED', message, { path, cause: error })
  }
  const cause = codeOf(error)
  const reason = reasons[cause] ?? `the system answered ${cause}. Try again; if that does not help, notify the operator`
  const message = `Nothing was changed at ${path}: ${reason}.`
  return explainWay(error, path) ?? new OperationError(code, message, { path, cause: error })
}
