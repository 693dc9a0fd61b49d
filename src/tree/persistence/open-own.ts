// Opens a file of the state for reading. Anything else at its path is neither followed nor waited for.
import { closeSync, constants, fstatSync, openSync } from 'node:fs'

/** O_NONBLOCK: to open a FIFO would block for ever. */
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** @throws Error, also if it is not a file */
export function openOwn(path: string): { fd: number; size: number } {
  const fd = openSync(path, flags)
  try {
    const found = fstatSync(fd)
    if (!found.isFile()) throw new Error(`${path} is not a file`)
    return { fd, size: found.size }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}
