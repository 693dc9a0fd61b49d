// The path of a file without links, which may not be there yet.
import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isErrno } from './errno.ts'

/** For a path that does not exist: the real path of the deepest existing folder above it, and the rest. */
export function toReal(path: string): string {
  const absolute = resolve(path)
  try {
    return realpathSync.native(absolute)
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP') || dirname(absolute) === absolute) return absolute
    return join(toReal(dirname(absolute)), basename(absolute))
  }
}
