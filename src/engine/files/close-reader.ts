// Closes a descriptor that was opened for reading, or to be locked.
import { closeSync } from 'node:fs'
import { isErrno } from '../../support/errno.ts'

/** There is no data to lose, so a failure says nothing about the operation; but an invalid descriptor is a bug of the server. */
export function closeReader(fd: number): void {
  try {
    closeSync(fd)
  } catch (error) {
    if (isErrno(error, 'EBADF')) throw error
  }
}
