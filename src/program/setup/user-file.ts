// A file of the user that other programs write too: read whole, replaced atomically where its links lead, its mode kept.
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  unlinkSync
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isErrno } from '../../support/errno.ts'
import { replaceFile } from '../../support/replace-file.ts'
import { ifSupported } from '../../support/unsupported.ts'
import { makeFolders } from './folders.ts'

export interface UserFile {
  readonly path: string
  /** Where its links lead. */
  readonly target: string
  /** Undefined if there is no file. */
  readonly bytes: Buffer | undefined
  readonly text: string
}

/** Larger than any configuration, smaller than what would hurt. */
const maxBytes = 64 * 1024 * 1024
const maxLinks = 40

/**
 * @param encoding "latin1" for a file of ours, which is compared and not edited
 * @throws Error that names the file and says what is wrong with it
 */
export function readUserFile(path: string, encoding: 'utf8' | 'latin1' = 'utf8'): UserFile {
  const target = followLinks(path)
  let fd: number
  try {
    fd = openSync(target, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return { path, target, bytes: undefined, text: '' }
    throw explain(path, error)
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Error(`${path} is not a regular file`)
    if (stat.size > maxBytes) throw new Error(`${path} is larger than ${maxBytes} bytes`)
    const bytes = readFileSync(fd)
    return { path, target, bytes, text: encoding === 'utf8' ? decode(path, bytes) : bytes.toString(encoding) }
  } finally {
    closeSync(fd)
  }
}

/**
 * Replaces the file, unless another program has changed it since it was read.
 * @param newMode permissions of a file that did not exist
 * @returns the folders that had to be made
 */
export function writeUserFile({ path, target, bytes }: UserFile, text: string | Buffer, newMode: number): string[] {
  const folders = makeFolders(dirname(target))
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(8).toString('hex')}.tmp`)
  try {
    if (bytes !== undefined) accessSync(target, constants.W_OK)
    replaceFile(target, text, {
      mode: bytes === undefined ? newMode : 0o600,
      isDurable: true,
      temporary,
      prepare: (fd) => bytes !== undefined && keepOwnerAndMode(fd, target),
      check: () => refuseChange(path, target, bytes)
    })
    return folders
  } catch (error) {
    throw explain(path, error)
  }
}

/** Removes the file, or the link to it together with the file. */
export function removeUserFile({ path, target, bytes }: UserFile): void {
  try {
    refuseChange(path, target, bytes)
    unlinkSync(target)
  } catch (error) {
    throw explain(path, error)
  }
}

function keepOwnerAndMode(fd: number, target: string): void {
  const old = openSync(target, constants.O_RDONLY)
  try {
    const { uid, gid, mode } = fstatSync(old)
    const own = fstatSync(fd)
    if (own.uid !== uid || own.gid !== gid) fchownSync(fd, uid, gid)
    if ((fstatSync(fd).mode & 0o7777) !== (mode & 0o7777)) ifSupported(() => fchmodSync(fd, mode & 0o7777))
  } finally {
    closeSync(old)
  }
}

/** Clients write their files while they run; what they have written in between must not be lost. */
function refuseChange(path: string, target: string, bytes: Buffer | undefined): void {
  let now: Buffer | undefined
  try {
    now = readFileSync(target)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
  const isSame = bytes === undefined ? now === undefined : now !== undefined && bytes.equals(now)
  if (!isSame) throw new Error(`${path} was changed by another program meanwhile: run this again`)
}

/** Follows a last link that leads to nothing, too: that is where the file belongs. */
function followLinks(path: string): string {
  let here = resolve(path)
  for (let links = 0; links < maxLinks; links += 1) {
    try {
      here = resolve(dirname(here), readlinkSync(here))
    } catch (error) {
      if (isErrno(error, 'EINVAL', 'ENOENT', 'ENOTDIR', 'UNKNOWN')) return here
      throw explain(path, error)
    }
  }
  throw new Error(`${path}: too many symbolic links`)
}

function decode(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new Error(`${path} is not valid UTF-8`, { cause: error })
  }
}

function explain(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  return new Error(`${path}: the system answered ${String(error.code)}`, { cause: error })
}
