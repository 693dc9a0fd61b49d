// Reads what is opened for that. On a network volume it becomes stale if it is replaced through another host: then what is there now is opened.
import { isErrno } from '../../errors.ts'
import { orUndefined } from '../../support/attempt.ts'
import { closeReader } from './close-reader.ts'

const maxTries = 5

/** @param explain what the reading failed with */
export async function readOpen<Result>(
  open: () => number,
  read: (fd: number) => Promise<Result>,
  explain = (error: unknown) => error
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    const fd = open()
    try {
      return await read(fd)
    } catch (error) {
      if (!isStale(error) || tries === maxTries) throw explain(error)
    } finally {
      closeReader(fd)
    }
  }
}

/** The same in one tick; undefined if it cannot be opened or read. */
export function readOpenNow<Result>(open: () => number, read: (fd: number) => Result): Result | undefined {
  for (let tries = 1; tries <= maxTries; tries += 1) {
    const fd = orUndefined(open)
    if (fd === undefined) return undefined
    try {
      return read(fd)
    } catch (error) {
      if (!isStale(error)) return undefined
    } finally {
      closeReader(fd)
    }
  }
  return undefined
}

export function isStale(error: unknown): boolean {
  return isErrno(error, 'ESTALE', 'ENOENT')
}
