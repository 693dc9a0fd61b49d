// Whether the folder at the path of a root still is the one that was there at the start. Another one in its place is not served.
import { lstatSync, type BigIntStats } from 'node:fs'
import { isErrno } from '../../support/errno.ts'
import { isSameFile } from '../../support/same-file.ts'
import { Directory } from './directory.ts'
import type { Root } from './roots.ts'
import { explainRootError } from './walk-error.ts'

/** @throws OperationError DIR_NOT_FOUND if the root is gone; Error of the file system */
export function openRoot(root: Root): Directory {
  let directory: Directory
  try {
    directory = Directory.open(root.real)
  } catch (error) {
    throw isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP') ? explainRootError(error, root.given) : error
  }
  if (isSameFile(directory.opened(), root.node)) return directory
  directory.close()
  throw rootGone(root)
}

/** True if nothing is at its path, or anything else. A root that cannot be looked at is not gone. */
export function isGone(root: Root): boolean {
  try {
    return !isRoot(lstatSync(root.real, { bigint: true, throwIfNoEntry: false }), root)
  } catch (error) {
    return isErrno(error, 'ENOTDIR', 'ELOOP')
  }
}

/** @param found at its path, links not followed: no operation follows a link in its place either */
export function isRoot(found: BigIntStats | undefined, { node }: Root): boolean {
  return found?.isDirectory() === true && isSameFile(found, node)
}

export function rootGone({ given }: Root): Error {
  return explainRootError(Object.assign(new Error('the root is gone'), { code: 'ENOENT' }), given) as Error
}
