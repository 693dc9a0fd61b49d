// Turns errors of the system during a walk into those of the error table.
import { isErrno, OperationError } from '../../errors.ts'
import { codeOf } from '../../support/errno.ts'

/** @param root as the operator spelt it */
export function explainRootError(error: unknown, root: string): unknown {
  if (!isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return explainWalkError(error, root)
  const message = `The root ${root} is gone: it was moved, deleted or replaced. Put the same folder back, and the server goes on with it; to serve what is there now, start the server again, or with another --dir.`
  return new OperationError('DIR_NOT_FOUND', message, { cause: error })
}

/** @returns an OperationError for an error of the system, else the error itself */
export function explainWalkError(error: unknown, path: string): unknown {
  if (!isSystemError(error)) return error
  if (isDenial(error)) {
    const message = `The operating system denies access (${error.code}): ${path}. Ask the operator: the user of the server may not read it.`
    return new OperationError('ACCESS_DENIED', message, { path, cause: error })
  }
  const message = `The operating system failed to read ${path} (${codeOf(error)}). Try again; if that does not help, check the disk, and whether it still is mounted.`
  return explainWay(error, path) ?? new OperationError('READ_ERROR', message, { path, cause: error })
}

export function isDenial({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
}

/** What can be wrong with the path to a file, for any operation. */
export function explainWay(error: NodeJS.ErrnoException, path: string): OperationError | undefined {
  if (isErrno(error, 'ENAMETOOLONG')) {
    const message = `A name in the path is longer than the file system allows: ${path}. Choose a shorter one.`
    return new OperationError('INVALID_REQUEST', message, { path, cause: error })
  }
  if (isErrno(error, 'ENOENT', 'ELOOP', 'ENOTDIR')) {
    const message = `A directory on the path was removed or replaced meanwhile: ${path}. Try again.`
    return new OperationError('DIR_NOT_FOUND', message, { path, cause: error })
  }
  if (isErrno(error, 'EMFILE', 'ENFILE')) {
    const message = 'The process has too many open files. Try again in a moment, or raise its limit (ulimit -n).'
    return new OperationError('OVERLOADED', message, { path, details: { retry_after_seconds: 1 }, cause: error })
  }
  return undefined
}

/** True for the error of a system call. An error of Node or of this server may have a code, too. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && 'syscall' in error
}
