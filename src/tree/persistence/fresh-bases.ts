// The bytes of new versions, appended to a file with one write each. After that they outlive the process. They are compressed later.
import { closeSync, constants, fsync, openSync, readSync, read, unlinkSync, writevSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { listFolder } from '../../support/list-folder.ts'
import { openOwn } from './open-own.ts'
import { isAt } from './state-location.ts'

/** Where the bytes of a hash are. */
interface Entry {
  readonly log: Log
  readonly offset: number
  readonly length: number
}

interface Log {
  readonly path: string
  readonly fd: number
  size: number
  /** Number of its entries that are not yet stored elsewhere. */
  left: number
}

const noFollow = constants.O_NOFOLLOW ?? 0
const logName = /^fresh-(\d{1,15})$/
/** A higher number is none of ours: counting on from it would soon lose precision. */
const maxTakenNumber = 1e12
/** Length of the bytes, and the 32 bytes of their hash. */
const headBytes = 36
const readAsync = promisify(read)
const fsyncAsync = promisify(fsync)

/** @param folder that is there. Hashes are 64 hex digits here */
export function createFreshBases(folder: string) {
  const entries = new Map<string, Entry>()
  const logs = new Set<Log>()
  let current: Log | undefined
  let lastNumber = 0

  /** A file that cannot be read is left where it is. */
  function takeUp(path: string): void {
    let log: Log | undefined
    try {
      log = { path, ...openOwn(path), left: 0 }
      readEntries(log)
    } catch {
      if (log !== undefined) leave(log)
    }
  }

  function readEntries(log: Log): void {
    logs.add(log)
    const head = Buffer.alloc(headBytes)
    for (let offset = 0; readSync(log.fd, head, 0, headBytes, offset) === headBytes;) {
      const length = head.readUInt32LE(0)
      // The process died while writing this entry.
      if (offset + headBytes + length > log.size) break
      note(head.toString('hex', 4), { log, offset: offset + headBytes, length })
      offset += headBytes + length
    }
    if (log.left === 0) drop(log)
  }

  function leave(log: Log): void {
    for (const [hash, entry] of entries) if (entry.log === log) entries.delete(hash)
    logs.delete(log)
    closeSync(log.fd)
  }

  function note(hash: string, entry: Entry): void {
    if (entries.has(hash)) return
    entries.set(hash, entry)
    entry.log.left += 1
  }

  function begin(): Log {
    lastNumber += 1
    const path = join(folder, `fresh-${lastNumber}`)
    const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | noFollow, 0o600)
    const log = { path, fd, size: 0, left: 0 }
    logs.add(log)
    return log
  }

  function drop(log: Log): void {
    logs.delete(log)
    if (log === current) current = undefined
    // The folder may have been removed, and another one made in its place.
    if (isAt(log.path, log.fd)) unlinkSync(log.path)
    closeSync(log.fd)
  }

  /** The files stay for the next process. */
  function close(): void {
    for (const { fd } of logs) closeSync(fd)
    logs.clear()
    entries.clear()
    current = undefined
  }

  return {
    /** Takes up what an earlier process has left. Open files stay open, wherever their folder is by now. @throws Error */
    open(): void {
      current = undefined
      const known = new Set(Array.from(logs, ({ path }) => path))
      for (const name of listFolder(folder)) {
        const number = Number(logName.exec(name)?.[1] ?? Number.NaN)
        if (Number.isNaN(number)) continue
        if (number < maxTakenNumber) lastNumber = Math.max(lastNumber, number)
        const path = join(folder, name)
        if (!known.has(path)) takeUp(path)
      }
    },
    has: (hash: string): boolean => entries.has(hash),
    /** @throws Error if they are not written */
    put(hash: string, bytes: Buffer): void {
      current ??= begin()
      const log = current
      const head = Buffer.alloc(headBytes)
      head.writeUInt32LE(bytes.length)
      head.write(hash, 4, 'hex')
      const written = writevSync(log.fd, [head, bytes], log.size)
      // Bytes beyond `size` are never read: the next entry overwrites them.
      if (written < headBytes + bytes.length) throw new Error('the disk is full')
      note(hash, { log, offset: log.size + headBytes, length: bytes.length })
      log.size += written
    },
    /** Does not check that the bytes still match the hash. */
    async get(hash: string): Promise<Buffer | undefined> {
      const entry = entries.get(hash)
      if (entry === undefined) return undefined
      const bytes = Buffer.allocUnsafeSlow(entry.length)
      const { bytesRead } = await readAsync(entry.log.fd, bytes, 0, entry.length, entry.offset)
      return bytesRead === entry.length ? bytes : undefined
    },
    /** The hashes present, oldest first. Later bytes are appended to another file. */
    seal(): string[] {
      current = undefined
      return [...entries.keys()]
    },
    /** The bytes are stored elsewhere, or given up. A file with no entries left is removed. */
    forget(hash: string): void {
      const entry = entries.get(hash)
      if (entry === undefined) return
      entries.delete(hash)
      entry.log.left -= 1
      if (entry.log.left === 0 && entry.log !== current) drop(entry.log)
    },
    /** Bytes of all files together. */
    get size(): number {
      let size = 0
      for (const log of logs) size += log.size
      return size
    },
    /** Makes what was written survive a power loss. */
    async sync(): Promise<void> {
      if (current !== undefined) await fsyncAsync(current.fd)
    },
    close
  }
}
