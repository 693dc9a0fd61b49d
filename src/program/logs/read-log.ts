// Reads the lines of a log: the last ones over all its files, and new ones as they come.
import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as delay } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { isErrno } from '../../support/errno.ts'
import { isSameFile } from '../../support/same-file.ts'
import { logFiles } from './log-files.ts'

export interface LogTail {
  readonly lines: string[]
  /** Bytes of the current file already read; 0 if there is none yet. */
  readonly bytesRead: number
}

const pollMs = 200
const chunkBytes = 65_536

/** The last lines, the oldest first. */
export function readLastLines(path: string, count: number): LogTail {
  const lines: string[] = []
  let bytesRead = 0
  for (const file of logFiles(path).reverse()) {
    if (lines.length >= count) break
    const bytes = readOrNothing(file.path)
    if (file.isCurrent) bytesRead = bytes.lastIndexOf(0x0a) + 1
    const text = (file.isCompressed ? gunzipSync(bytes) : bytes).toString('utf8')
    lines.unshift(...text.split('\n').slice(0, -1))
  }
  return { lines: count === 0 ? [] : lines.slice(-count), bytesRead }
}

/**
 * The lines from this place in the current file on, even if it is set aside meanwhile: its remaining lines come first.
 * Ends with the signal.
 */
export async function* followLog(path: string, from: number, signal: AbortSignal): AsyncGenerator<string> {
  let file = openOrNothing(path, from)
  try {
    while (!signal.aborted) {
      // Checked before the read: a file that is no longer in place gets no more lines.
      const isSetAside = file !== undefined && !isSame(file.fd, path)
      if (file !== undefined) yield* file.read()
      if (isSetAside && file !== undefined) {
        closeSync(file.fd)
        file = undefined
      }
      if (file === undefined) {
        file = openOrNothing(path, 0)
        if (file !== undefined) continue
      }
      await delay(pollMs, undefined, { signal }).catch(() => {})
    }
  } finally {
    if (file !== undefined) closeSync(file.fd)
  }
}

function openOrNothing(path: string, from: number) {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
  const decoder = new StringDecoder('utf8')
  const buffer = Buffer.allocUnsafe(chunkBytes)
  let position = from
  let rest = ''
  return {
    fd,
    *read(): Generator<string> {
      for (;;) {
        const length = readSync(fd, buffer, { position })
        if (length === 0) return
        position += length
        const lines = (rest + decoder.write(buffer.subarray(0, length))).split('\n')
        rest = lines.pop() ?? ''
        yield* lines
      }
    }
  }
}

function isSame(fd: number, path: string): boolean {
  const now = statSync(path, { throwIfNoEntry: false, bigint: true })
  const own = fstatSync(fd, { bigint: true })
  return isSameFile(now, own)
}

/** A file may have been compressed or removed since it was listed. */
function readOrNothing(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return Buffer.alloc(0)
    throw error
  }
}
