// The journal: one file, to which records are appended. It is rewritten when it has grown long.
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync
} from 'node:fs'
import { open, rm, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { closeReader } from '../../engine/files/close-reader.ts'
import { isErrno } from '../../support/errno.ts'
import { isAt } from './state-location.ts'
import { JournalFault, LineWriter, scan, type Fault, type Scan } from './records.ts'

export interface Opened extends Pick<Scan, 'records' | 'count'> {
  /** Bytes at the end whose write was cut off when the process or the machine died. */
  readonly tornBytes: number
  /** True if it is in an earlier form: rewrite it, so that no earlier version of this program overlooks what is added. */
  readonly isEarlier: boolean
}

export interface SetAside {
  readonly fault: Fault
  /** Such as `it is empty`. */
  readonly reason: string
  /** Where it is now. */
  readonly path: string
}

export type Journal = ReturnType<typeof createJournal>

const noFollow = constants.O_NOFOLLOW ?? 0
const flags = constants.O_RDWR | noFollow | (constants.O_NONBLOCK ?? 0)
const toCreate = constants.O_CREAT | constants.O_EXCL
const chunkCharacters = 262_144
const unusable = ['EACCES', 'EPERM', 'ELOOP', 'EISDIR', 'ENXIO', 'EMLINK', 'ERR_FS_FILE_TOO_LARGE']

export interface JournalOptions {
  /** True if a setting names the file: it may belong to a server of another tree, which comes back for it. */
  readonly leavesForeign?: boolean
  /** False if it need not survive a power loss: then nothing is synced. */
  readonly isDurable?: boolean
  /** True if it must survive the loss of this host: a network volume may answer a write before its servers have it. */
  readonly isShared?: boolean
}

/** @param tree real path of the first root. The caller holds the lock of the state. */
export function createJournal(
  path: string,
  tree: string,
  { leavesForeign = false, isDurable = true, isShared = false }: JournalOptions = {}
) {
  /** The file of the rewrite. There is only ever one, and one that was left behind is removed. */
  const temporary = `${path}.new`
  const openFlags = flags | (isShared ? (constants.O_DSYNC ?? 0) : 0)
  let fd: number | undefined
  let writer = new LineWriter()
  let generation = 0
  let size = 0
  /** Size after the last rewrite. */
  let baseSize = 0
  /** Records since the current rewrite began. */
  let meanwhile: string[] | undefined

  function openExisting(): Opened | undefined {
    let opened: number | undefined
    try {
      opened = openSync(path, openFlags)
      if (!fstatSync(opened).isFile()) throw new JournalFault('damaged', 'it is not a file')
      const bytes = readFileSync(opened)
      const { header, end, checksum, records, count } = scan(bytes, tree)
      if (end < bytes.length) ftruncateSync(opened, end)
      adopt(opened, new LineWriter(checksum), header.generation, end)
      return { records, count, tornBytes: bytes.length - end, isEarlier: header.isEarlier === true }
    } catch (error) {
      if (opened !== undefined) closeSync(opened)
      if (isErrno(error, 'ENOENT')) return undefined
      throw error
    }
  }

  function adopt(opened: number, next: LineWriter, itsGeneration: number, itsSize: number): void {
    // The file that it replaces is not read again.
    if (fd !== undefined) closeReader(fd)
    fd = opened
    writer = next
    generation = itsGeneration
    size = itsSize
    baseSize = itsSize
  }

  /** Makes an empty journal. It appears in its place whole. */
  function create(): void {
    const lines = new LineWriter()
    const text = lines.header({ tree, generation: generation + 1 }) + lines.endOfSnapshot()
    rmSync(temporary, { force: true })
    const created = openSync(temporary, openFlags | toCreate, 0o600)
    try {
      writeAll(created, text, 0)
      renameSync(temporary, path)
    } catch (error) {
      closeSync(created)
      throw error
    }
    adopt(created, lines, generation + 1, Buffer.byteLength(text))
  }

  /** Renames a file that cannot be used. @throws Error if that is not possible */
  function setAside(error: unknown): SetAside {
    const fault = error instanceof JournalFault ? error.fault : 'damaged'
    const aside = `${path}.${fault}-${Date.now()}`
    renameSync(path, aside)
    return { fault, reason: error instanceof Error ? error.message : String(error), path: aside }
  }

  async function writeSnapshot(records: Iterable<string>): Promise<void> {
    const lines = new LineWriter()
    await rm(temporary, { force: true })
    const file = await open(temporary, flags | toCreate, 0o600)
    let written = 0
    try {
      let text = lines.header({ tree, generation: generation + 1 })
      for (const json of records) {
        text += lines.line(json)
        if (text.length < chunkCharacters) continue
        written += await append(file, text, written)
        text = ''
      }
      written += await append(file, text + lines.endOfSnapshot(), written)
      if (isDurable) await file.datasync()
    } finally {
      await file.close()
    }
    // The next process may have the file by now.
    if (fd === undefined) throw new Error('the journal is closed')
    // No await from here to the rename: no record can come between.
    const opened = openSync(temporary, openFlags)
    try {
      const late = (meanwhile ?? []).map((json) => lines.line(json)).join('')
      const end = written + writeAll(opened, late, written)
      renameSync(temporary, path)
      adopt(opened, lines, generation + 1, end)
    } catch (error) {
      closeSync(opened)
      throw error
    }
  }

  function isLeft(error: unknown): boolean {
    if (!(error instanceof JournalFault)) return false
    return error.fault === 'newer' || (leavesForeign && error.fault === 'foreign')
  }

  return {
    /**
     * Opens the journal that earlier processes have left, or makes a new one.
     * @returns its content, and what was set aside since it could not be used. @throws Error if there can be none,
     * JournalFault if the file is left to another tree, or to a later version of this program
     */
    open(): { opened?: Opened | undefined; aside?: SetAside } {
      let aside: SetAside | undefined
      try {
        const opened = openExisting()
        if (opened !== undefined) return { opened }
      } catch (error) {
        // A temporary lack of the system says nothing about the file.
        if (!(error instanceof JournalFault) && !isErrno(error, ...unusable)) throw error
        if (isLeft(error)) throw error
        aside = setAside(error)
      }
      create()
      return aside === undefined ? {} : { aside }
    },
    /** If a rewrite is in progress, adds the records to that rewrite only. */
    remember(records: readonly string[]): void {
      meanwhile?.push(...records)
    },
    /** Once this returns, the records outlive the process. @throws Error if it cannot write them: then none of them is written */
    append(records: readonly string[]): void {
      meanwhile?.push(...records)
      if (fd === undefined) throw new Error('the journal is closed')
      const { checksum } = writer
      try {
        size += writeAll(fd, records.map((json) => writer.line(json)).join(''), size)
      } catch (error) {
        writer.checksum = checksum
        ftruncateSync(fd, size)
        throw error
      }
    },
    /**
     * Rewrites it from these records and what is appended meanwhile. The old journal counts until the new one is complete.
     * @throws Error; the old journal stays in use then
     */
    async rewrite(records: Iterable<string>): Promise<void> {
      meanwhile = []
      try {
        await writeSnapshot(records)
        if (isDurable) await syncFolder(path)
      } catch (error) {
        await unlink(temporary).catch(() => {})
        throw error
      } finally {
        meanwhile = undefined
      }
    },
    /** True if most of it is obsolete. */
    isLong: (): boolean => size > 2 * baseSize + 1_048_576,
    isInPlace: (): boolean => fd !== undefined && isAt(path, fd),
    /** Makes the appended records survive a power loss. */
    async sync(): Promise<void> {
      if (!isDurable) return
      const file = await open(path, constants.O_RDWR | noFollow)
      try {
        await file.datasync()
      } finally {
        await file.close()
      }
    },
    close(): void {
      // What had to survive has been synced.
      if (fd !== undefined) closeReader(fd)
      fd = undefined
    }
  }
}

/** @returns bytes written */
function writeAll(fd: number, text: string, position: number): number {
  const bytes = Buffer.from(text)
  for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done, bytes.length - done, position + done)
  return bytes.length
}

async function append(
  file: { write(bytes: Buffer, offset: number, length: number, position: number): Promise<{ bytesWritten: number }> },
  text: string,
  position: number
): Promise<number> {
  const bytes = Buffer.from(text)
  for (let done = 0; done < bytes.length;)
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten
  return bytes.length
}

/** Makes the new name survive a power loss, too. Not every system can do that with a folder. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), constants.O_RDONLY).catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
