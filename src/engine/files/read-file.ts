// Reads a regular file whole, from one descriptor, with its hash. Decides without blocking whether it is one.
import { fstatSync, read, readSync, type BigIntStats } from 'node:fs'
import { promisify } from 'node:util'
import { isErrno, OperationError } from '../../errors.ts'
import { largeBytes, largeTurn } from '../../support/large-work.ts'
import { isSameFile, type FileNode } from '../../support/same-file.ts'
import { mayAccess } from './access.ts'
import { contentHash, hashInTurns } from './content-hash.ts'
import { identityOf, isSameIdentity, type FileIdentity } from './identity.ts'
import type { Directory, Shelf } from './directory.ts'
import { readFlags } from './read-flags.ts'
import { isStale, readOpen, readOpenNow } from './read-open.ts'
import { explainWalkError } from './walk-error.ts'
import type { OpenEntry } from './walk.ts'

/** One version of a file: its bytes and its state when they were read. */
export interface FileVersion {
  readonly bytes: Buffer
  /** `sha256:` and 64 hex digits. */
  readonly hash: string
  readonly identity: FileIdentity
  /** Permission bits. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** Number of names (hard links). */
  readonly links: number
  /** Whether this process may write to it, by its mode and access lists. */
  readonly isWritable: boolean
}

export interface ReadLimits {
  readonly maxFileBytes: number
  /** Files up to this size are read synchronously: a trip through the thread pool costs ten times the work. */
  readonly maxSyncBytes: number
}

/** Bytes that have been read before, and their hash. */
export type KnownBytes = Pick<FileVersion, 'bytes' | 'hash'>

const readAsync = promisify(read)
const maxTornReads = 5

/**
 * @param path as the caller spelt it, for messages
 * @param known what the file probably still is: comparing costs a tenth of hashing
 * @throws OperationError FILE_NOT_FOUND, NOT_A_FILE, FILE_TOO_LARGE, ACCESS_DENIED, READ_ERROR
 */
export async function readFile(
  place: OpenEntry,
  path: string,
  limits: ReadLimits,
  known?: KnownBytes
): Promise<FileVersion> {
  const { bytes, stat } = await readRange(place, path, limits, (size) => {
    checkSize(size, path, limits)
    return { start: 0, length: size }
  })
  return versionOf(bytes.length > largeBytes ? await identifyLarge(bytes, known) : identify(bytes, known), stat, place)
}

/** Bytes from `start` on; fewer than `length` if the file ends before. */
export interface ByteRange {
  readonly start: number
  readonly length: number
}

/**
 * Reads a range until no other program has written meanwhile, or it has been tried five times: then it may be torn.
 * @param rangeOf the range of a file of this size
 * @throws OperationError FILE_NOT_FOUND, NOT_A_FILE, ACCESS_DENIED, READ_ERROR
 */
export async function readRange(
  place: OpenEntry,
  path: string,
  limits: Pick<ReadLimits, 'maxSyncBytes'>,
  rangeOf: (size: number) => ByteRange
): Promise<ByteRange & { readonly bytes: Buffer; readonly stat: BigIntStats }> {
  requireRegular(place.stat, path)
  const read = async (fd: number) => {
    for (let attempt = 1; ; attempt += 1) {
      const before = fstatSync(fd, { bigint: true })
      // The walk may have seen another file there, which an editor has replaced since.
      requireRegular(before, path)
      const { start, length } = rangeOf(Number(before.size))
      const bytes = await readBytes(fd, { start, length }, limits)
      const stat = fstatSync(fd, { bigint: true })
      const isWhole = isSameIdentity(identityOf(before), identityOf(stat)) && bytes.length === length
      if (isWhole || attempt === maxTornReads) return { bytes, start, length, stat }
    }
  }
  const open = () => openForReading(place, path)
  return readOpen(open, read, (error) => explainWalkError(error, path))
}

/** The hash of the file at a place right now, in one tick; undefined if no regular file can be read there. */
export function hashNow({ directory, name }: Pick<OpenEntry, 'directory' | 'name'>): string | undefined {
  const bytes = readNow(directory, name, Infinity)
  return bytes === undefined ? undefined : contentHash(bytes)
}

/** An entry of a directory as it was opened; links are not followed. */
export interface OpenedEntry {
  readonly stat: BigIntStats
  /** Taken before the bytes were read: a change meanwhile is another identity. */
  readonly identity: FileIdentity
  /** Undefined if it is no regular file, or larger than `maxFileBytes`. */
  readonly bytes: Buffer | undefined
}

/** @throws the system's error, such as EACCES */
export async function readEntry(directory: Directory, name: string, limits: ReadLimits): Promise<OpenedEntry> {
  const open = () => directory.open(name, readFlags)
  return readOpen(open, async (fd) => {
    const stat = fstatSync(fd, { bigint: true })
    const identity = identityOf(stat)
    const isReadable = stat.isFile() && stat.size <= limits.maxFileBytes
    return {
      stat,
      identity,
      bytes: isReadable ? await readBytes(fd, { start: 0, length: Number(stat.size) }, limits) : undefined
    }
  })
}

/** The bytes of a regular file of a directory, in one tick; undefined if it is none, cannot be read or is larger. */
export function readNow(directory: Pick<Shelf, 'open'>, name: string, maxBytes: number): Buffer | undefined {
  const open = () => directory.open(name, readFlags)
  return readOpenNow(open, (fd) => readRegular(fd, maxBytes))
}

/** The same by a descriptor, unless that has become stale. @param node what is at the place: of another file there are no bytes */
export function readHeld(
  { directory, name }: Pick<OpenEntry, 'directory' | 'name'>,
  held: number,
  maxBytes: number,
  node: FileNode
): Buffer | undefined {
  try {
    return readRegular(held, maxBytes, node)
  } catch (error) {
    return isStale(error) ? readNow(directory, name, maxBytes) : undefined
  }
}

/** @throws the system's error, such as ESTALE */
function readRegular(fd: number, maxBytes: number, node?: FileNode): Buffer | undefined {
  const stat = fstatSync(fd, { bigint: true })
  if (!stat.isFile() || stat.size > maxBytes || (node !== undefined && !isSameFile(stat, node))) return undefined
  const bytes = Buffer.allocUnsafe(Number(stat.size))
  return bytes.subarray(0, readFully(fd, bytes))
}

/** @throws OperationError FILE_NOT_FOUND or NOT_A_FILE */
export function requireRegular(stat: BigIntStats | undefined, path: string): asserts stat is BigIntStats {
  if (stat === undefined) throw fileNotFound(path)
  if (stat.isFile()) return
  const kind = stat.isDirectory()
    ? 'a directory (async_list shows what is in it)'
    : stat.isSymbolicLink()
      ? 'a symbolic link'
      : 'a device, pipe or socket'
  throw new OperationError('NOT_A_FILE', `Not a regular file but ${kind}: ${path}`, { path })
}

export function fileNotFound(path: string, cause?: unknown): OperationError {
  const message = `File does not exist: ${path}. Look for it with async_list, or create it with async_write.`
  return new OperationError('FILE_NOT_FOUND', message, { path, cause })
}

/** @param subject of the sentence: what is too large */
export function checkSize(
  size: number,
  path: string,
  { maxFileBytes }: Pick<ReadLimits, 'maxFileBytes'>,
  subject = 'The file has',
  advice = '. Read a part of it by byte_offset and byte_limit of async_read, or by a Range of GET /files; to change it through this server, raise the setting.'
): void {
  if (size <= maxFileBytes) return
  const message = `${subject} ${size} bytes, more than the ${maxFileBytes} allowed (crud.max_file_size_bytes, --max-size): ${path}${advice}`
  throw new OperationError('FILE_TOO_LARGE', message, { path, details: { size_bytes: size, max_bytes: maxFileBytes } })
}

function openForReading(place: OpenEntry, path: string): number {
  try {
    return place.directory.open(place.name, readFlags)
  } catch (error) {
    if (isErrno(error, 'ESTALE')) throw error
    if (isErrno(error, 'ENOENT')) throw fileNotFound(path, error)
    if (isErrno(error, 'EACCES', 'EPERM')) {
      throw new OperationError('ACCESS_DENIED', `The operating system denies reading (${error.code}): ${path}`, {
        path,
        cause: error
      })
    }
    if (isErrno(error, 'ELOOP', 'ENXIO', 'EMLINK'))
      throw new OperationError('NOT_A_FILE', `Not a regular file: ${path}`, { path, cause: error })
    throw explainWalkError(error, path)
  }
}

async function readBytes(
  fd: number,
  { start, length }: ByteRange,
  { maxSyncBytes }: Pick<ReadLimits, 'maxSyncBytes'>
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(length)
  if (length <= maxSyncBytes) return bytes.subarray(0, readFully(fd, bytes, start))
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await readAsync(fd, bytes, filled, length - filled, start + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

function readFully(fd: number, bytes: Buffer, start = 0): number {
  let filled = 0
  while (filled < bytes.length) {
    const count = readSync(fd, bytes, filled, bytes.length - filled, start + filled)
    if (count === 0) break
    filled += count
  }
  return filled
}

/** Content that is known already is kept once. */
function identify(bytes: Buffer, known: KnownBytes | undefined): KnownBytes {
  return known !== undefined && bytes.equals(known.bytes) ? known : { bytes, hash: contentHash(bytes) }
}

async function identifyLarge(bytes: Buffer, known: KnownBytes | undefined): Promise<KnownBytes> {
  await largeTurn()
  return known !== undefined && bytes.equals(known.bytes) ? known : { bytes, hash: await hashInTurns(bytes) }
}

function versionOf({ bytes, hash }: KnownBytes, stat: BigIntStats, { directory, name }: OpenEntry): FileVersion {
  return {
    bytes,
    hash,
    identity: identityOf(stat),
    mode: Number(stat.mode) & 0o7777,
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    links: Number(stat.nlink),
    isWritable: mayAccess(directory, name, stat, 'write')
  }
}
