// Compresses the log files that were set aside, and removes old ones; never while a log line waits.
import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm, utimes } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { isErrno } from '../../support/errno.ts'
import { logFiles, type LogFile } from './log-files.ts'

export interface LogKeeperOptions {
  readonly path: string
  readonly keepMs: number
  /** A file must be unchanged for this long before it is compressed. */
  readonly settleMs: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Called with what could not be compressed or removed; it is tried again in an hour. */
  readonly onError: (error: unknown) => void
}

const hourMs = 3_600_000

/** Checks the files soon after the start, after each one that is set aside, and every hour. */
export function createLogKeeper({ path, keepMs, settleMs, now, onError }: LogKeeperOptions) {
  let tidying = Promise.resolve()
  let timer = setTimeout(tidy, settleMs).unref()

  function tidy(): void {
    schedule(hourMs)
    // Several processes may do the same at once; the slower one finds nothing to do.
    tidying = tidying.then(() => tidyFiles().catch(onError))
  }

  function schedule(ms: number): void {
    clearTimeout(timer)
    timer = setTimeout(tidy, ms).unref()
  }

  async function tidyFiles(): Promise<void> {
    for (const file of logFiles(path)) {
      if (file.isCurrent) continue
      const age = now() - file.modifiedAt.getTime()
      if (age > keepMs) await rm(file.path, { force: true })
      else if (file.isCompressed) continue
      else if (age >= settleMs) await compress(file)
      else schedule(settleMs)
    }
  }

  return { tidySoon: () => schedule(settleMs + 100) }
}

/** It gets its new name only when it is complete, and keeps the time of its last line, which gives its age. */
async function compress({ path, modifiedAt }: LogFile): Promise<void> {
  const packed = `${path}.gz`
  const temporary = `${packed}.${process.pid}.tmp`
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(temporary, { mode: 0o600 }))
    // Where the file system refuses that, the file is as old as its compression.
    await utimes(temporary, modifiedAt, modifiedAt).catch(() => {})
    await rename(temporary, packed)
    await rm(path, { force: true })
  } catch (error) {
    await rm(temporary, { force: true })
    // Another process was faster.
    if (!isErrno(error, 'ENOENT')) throw error
  }
}
