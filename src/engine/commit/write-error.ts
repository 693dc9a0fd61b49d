// Why a file could not be changed, in words for the caller.
import { OperationError } from '../../errors.ts'
import { explainHeldOpen } from './held-open.ts'
import { Unanswered } from './unanswered.ts'
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

/** @returns an OperationError for an error of the system before the change was made, or in doubt of that, else the error itself */
export function explainWriteError(
  error: unknown,
  path: string,
  code: 'WRITE_ERROR' | 'DELETE_ERROR' | 'RENAME_ERROR' = 'WRITE_ERROR'
): unknown {
  if (error instanceof Unanswered) return undecided(error, path)
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

/** The process goes on: a repeat of the call gets the same answer. */
function undecided({ cause }: Unanswered, path: string): OperationError {
  const message = `The volume failed (${codeOf(cause as Error)}) at the change of ${path}, and it is not known whether the change was made. Read the file once the volume answers, then decide; a new attempt needs another request_id.`
  return new OperationError('AUTHORITY_LOST', message, { path, details: { undecided: true }, cause })
}
