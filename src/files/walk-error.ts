// What the system says while a path is walked, in the words of the error table.
import { isErrno, OperationError } from '../errors.ts'

/** @param root as the operator spelt it */
export function explainRootError(error: unknown, root: string): unknown {
  if (!isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return explainWalkError(error, root)
  const message = `The root ${root} is gone: it was moved, deleted or replaced. Put it back, or start the server with another --dir.`
  return new OperationError('DIR_NOT_FOUND', message, { cause: error })
}

export function explainWalkError(error: unknown, path: string): unknown {
  if (isErrno(error, 'EACCES', 'EPERM', 'EROFS')) {
    return new OperationError('ACCESS_DENIED', `The operating system denies access (${error.code}): ${path}`, {
      path,
      cause: error
    })
  }
  if (isErrno(error, 'ENAMETOOLONG')) {
    return new OperationError('INVALID_REQUEST', `A name in the path is longer than the file system allows: ${path}`, {
      path,
      cause: error
    })
  }
  if (isErrno(error, 'ENOENT', 'ELOOP', 'ENOTDIR')) {
    const message = `A directory on the way was removed or replaced meanwhile: ${path}. Try again.`
    return new OperationError('DIR_NOT_FOUND', message, { path, cause: error })
  }
  if (isErrno(error, 'EMFILE', 'ENFILE')) {
    const message = 'The process has too many open files. Try again in a moment, or raise its limit (ulimit -n).'
    return new OperationError('OVERLOADED', message, { path, details: { retry_after_seconds: 1 }, cause: error })
  }
  return error
}
