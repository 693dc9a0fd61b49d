// Reads a small file that others may have put there, without ever waiting for it.
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

const maxBytes = 65_536

/** Undefined where there is none, or something else than a file of at most 64 KiB. */
export function readSmall(path: string): string | undefined {
  let fd: number | undefined
  try {
    // Opening a pipe without this would wait for somebody who writes to it.
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const stat = fstatSync(fd)
    return stat.isFile() && stat.size <= maxBytes ? readFileSync(fd, 'utf8') : undefined
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
