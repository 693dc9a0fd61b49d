// Makes one folder of our own. What is above it belongs to the user, and is never made.
import { mkdirSync } from 'node:fs'
import { isErrno } from './errno.ts'

/** Nothing is done if something is there. @throws Error of the file system, ENOENT if the folder above is missing */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, 0o700)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
}
