// The log in a file: lines are appended at once, and a file that is too large or of an earlier day is set aside.
import {
  constants,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
  type Stats
} from 'node:fs'
import { dirname } from 'node:path'
import { isErrno } from '../../support/errno.ts'
import { createLogKeeper } from './log-retention.ts'
import { setAsideName } from './log-files.ts'
import { messageOf } from '../../support/error-message.ts'

export interface LogWriterOptions {
  /** Absolute. */
  readonly path: string
  readonly maxBytes: number
  readonly keepMs: number
  /** Gets the lines that cannot be written to the file, and says why. */
  readonly fallback: { write(line: string): unknown }
  /** Milliseconds since the epoch. */
  readonly now?: () => number
}

export interface LogWriter {
  write(line: string): void
}

/** A file is compressed after this long without a write: another process may not have noticed yet that it was set aside. */
const settleMs = 2000

/**
 * Opens a log file that only this user can read. Every line is in the file when `write` returns, whatever ends the process
 * afterwards. Several processes may write to one file: lines are appended whole, and each process notices before its next
 * line when another one has set the file aside.
 * @throws the error of the file system if the file cannot be opened
 */
export function createLogWriter({ path, maxBytes, keepMs, fallback, now = Date.now }: LogWriterOptions): LogWriter {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  let file = open(path)
  let isFailing = false
  const report = (what: string, error: unknown) => fallback.write(`async-crud-mcp: ${what}: ${messageOf(error)}\n`)
  const onError = (error: unknown) => report(`cannot clean up after the log file ${path}`, error)
  const keeper = createLogKeeper({ path, keepMs, settleMs, now, onError })

  /** Makes `file` the one that this path names, with room for the line. */
  function follow(line: string): void {
    const found = statSync(path, { throwIfNoEntry: false })
    const isFull = found !== undefined && found.size > 0 && (isTooLarge(found, line) || isOfEarlierDay(found, now()))
    if (found?.ino === file.ino && !isFull) return
    if (isFull) setAside(path, new Date(now()))
    const next = open(path)
    closeSync(file.fd)
    file = next
    keeper.tidySoon()
  }

  const isTooLarge = ({ size }: Stats, line: string) => size + Buffer.byteLength(line) > maxBytes

  return {
    write(line) {
      try {
        follow(line)
        appendAll(file.fd, line)
        isFailing = false
      } catch (error) {
        if (!isFailing) report(`cannot write the log file ${path}`, error)
        isFailing = true
        fallback.write(line)
      }
    }
  }
}

function isOfEarlierDay({ mtimeMs }: Stats, now: number): boolean {
  return mtimeMs < new Date(now).setHours(0, 0, 0, 0)
}

function setAside(path: string, time: Date): void {
  let number = 0
  const name = () => setAsideName(path, time, process.pid, number)
  while (existsSync(name()) || existsSync(`${name()}.gz`)) number += 1
  try {
    renameSync(path, name())
  } catch (error) {
    // Another process was faster.
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

function open(path: string): { fd: number; ino: number } {
  // Opening a pipe would wait for its reader.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) throw new Error(`${path} is not a file`)
  // Another user could have put a link here to get lines into another file.
  const fd = openSync(
    path,
    constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0),
    0o600
  )
  return { fd, ino: fstatSync(fd).ino }
}

function appendAll(fd: number, line: string): void {
  const bytes = Buffer.from(line)
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written)
}
