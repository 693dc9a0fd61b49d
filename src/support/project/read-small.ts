// Reads a small file that another user may have put there, without ever waiting for it.
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

const maxBytes = 65_536

/** Undefined if there is none, or something else than a file of at most 64 KiB, such as a link. */
export function readSmall(path: string): string | undefined {
  let fd: number | undefined
  try {
    // Opening a pipe without O_NONBLOCK would wait for a writer; a link could lead out of the tree.
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0))
    const stat = fstatSync(fd)
    return stat.isFile() && stat.size <= maxBytes ? readFileSync(fd, 'utf8') : undefined
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
