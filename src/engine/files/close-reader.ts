// Closes a descriptor that was opened for reading.
import { closeSync } from 'node:fs'
import { isErrno } from '../../support/errno.ts'

/** It has nothing to lose, so a failure says nothing about the operation; but a descriptor that is none is a fault of ours. */
export function closeReader(fd: number): void {
  try {
    closeSync(fd)
  } catch (error) {
    if (isErrno(error, 'EBADF')) throw error
  }
}
