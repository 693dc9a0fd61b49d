// Reads a small file, or the end of a longer one, that another user may have put there, without ever waiting for it.
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'
import { readText } from '../read-text.ts'

const maxBytes = 65_536

/** Undefined if there is none, or something else than a file of at most 64 KiB, such as a link. */
export function readSmall(path: string): string | undefined {
  return read(path, (fd, { size }) => (size <= maxBytes ? readText(fd) : undefined))
}

/** Its last 64 KiB; undefined if there is none, or something else than a file. */
export function readEnd(path: string): string | undefined {
  return read(path, (fd, { size }) => {
    const bytes = Buffer.alloc(Math.min(size, maxBytes))
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, size - bytes.length))
  })
}

function read(path: string, take: (fd: number, stat: Stats) => string | undefined): string | undefined {
  let fd: number | undefined
  try {
    // Opening a pipe without O_NONBLOCK would wait for a writer; a link could lead out of the tree.
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0))
    const stat = fstatSync(fd)
    return stat.isFile() ? take(fd, stat) : undefined
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
