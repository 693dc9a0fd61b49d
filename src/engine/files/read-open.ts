// Reads what is opened for that. On a network volume it becomes stale if it is replaced through another host, even while it is opened: then what
// is there now is opened.
import { isErrno } from '../../errors.ts'
import { closeReader } from './close-reader.ts'

const maxTries = 5

/** @param explain what the reading failed with */
export async function readOpen<Result>(
  open: () => number,
  read: (fd: number) => Promise<Result>,
  explain = (error: unknown) => error
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    let fd: number | undefined
    try {
      fd = open()
      return await read(fd)
    } catch (error) {
      if (!isReplaced(error, fd) || tries === maxTries) throw explain(error)
    } finally {
      if (fd !== undefined) closeReader(fd)
    }
  }
}

/** The same in one tick; undefined if it cannot be opened or read. */
export function readOpenNow<Result>(open: () => number, read: (fd: number) => Result): Result | undefined {
  for (let tries = 1; tries <= maxTries; tries += 1) {
    let fd: number | undefined
    try {
      fd = open()
      return read(fd)
    } catch (error) {
      if (!isReplaced(error, fd)) return undefined
    } finally {
      if (fd !== undefined) closeReader(fd)
    }
  }
  return undefined
}

/** @param fd undefined if it could not be opened: one that is not there then is missing */
function isReplaced(error: unknown, fd: number | undefined): boolean {
  return fd === undefined ? isErrno(error, 'ESTALE') : isStale(error)
}

export function isStale(error: unknown): boolean {
  return isErrno(error, 'ESTALE', 'ENOENT')
}
