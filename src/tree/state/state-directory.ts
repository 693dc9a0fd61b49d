// The server's own folder below a root: made only when something must be written, and never reached through a link.
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  readSync,
  renameSync,
  unlinkSync,
  writeFileSync,
  type BigIntStats
} from 'node:fs'
import { join, sep } from 'node:path'
import { isErrno } from '../../support/errno.ts'
import { Directory } from '../../engine/files/directory.ts'
import { ownFolder, temporaryName } from '../../engine/files/temporary-names.ts'
import { replaceFile } from '../../support/replace-file.ts'
import { isSameFile } from '../../support/same-file.ts'
import { ifSupported } from '../../support/unsupported.ts'

/** Every method throws an Error that says what is in the way, on which path. */
export interface StateDirectory {
  /** For messages. */
  readonly path: string
  /** The text of a file; undefined if neither it nor the folder exists. */
  read(name: string): string | undefined
  /** Replaces a file whole. `isDurable`: it survives a power loss once this returns. */
  write(name: string, text: string, options: { readonly isDurable: boolean }): void
  /** Renames whatever is at `name`. */
  rename(name: string, newName: string): void
  remove(name: string): void
  /** Opens a file to be locked, empty if there is none yet. The caller closes it. */
  openLock(name: string): OpenFile
  /** Whether the open file is the one that is at `name`. */
  isAt(name: string, file: OpenFile): boolean
  /** Opens the folder, makes it if it is missing: names in it can be given to system calls until it is closed. */
  hold(): Directory
}

export interface OpenFile {
  readonly fd: number
  /** Identifies the file, whatever becomes of its name. */
  readonly stat: BigIntStats
}

/** No file kept here comes near. */
const maxFileBytes = 65_536
const noFollow = constants.O_NOFOLLOW ?? 0
/** O_NONBLOCK: opening a FIFO that another user has put there returns at once. */
const readFlags = constants.O_RDONLY | noFollow | (constants.O_NONBLOCK ?? 0)
const lockFlags = constants.O_RDWR | constants.O_CREAT | noFollow | (constants.O_NONBLOCK ?? 0)
const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow

/**
 * @param root real path of a root; it is not accessed yet
 * @param open opens the root
 */
export function createStateDirectory(root: string, open = () => Directory.open(root)): StateDirectory {
  const path = join(root, ownFolder)

  function within<Result>(name: string, mode: 'open' | 'make', use: (directory: Directory) => Result): Result {
    let top: Directory | undefined
    let own: Directory | undefined
    try {
      top = open()
      if (mode === 'make') makeIn(top)
      refuseForeign(top.stat(ownFolder), 'directory', path)
      own = top.openChild(ownFolder)
      if (mode === 'make') {
        closeToOthers(own)
        hideFromGit(own)
      }
      return use(own)
    } catch (error) {
      throw explain(error, join(path, name), path)
    } finally {
      own?.close()
      top?.close()
    }
  }

  return {
    path,
    read(name) {
      try {
        return within(name, 'open', (directory) => readText(directory, name, join(path, name)))
      } catch (error) {
        if (error instanceof Error && isErrno(error.cause, 'ENOENT')) return undefined
        throw error
      }
    },
    write(name, text, { isDurable }) {
      within(name, 'make', (directory) => replace(directory, name, text, isDurable))
    },
    rename(name, newName) {
      within(name, 'open', (directory) => directory.within((at) => renameSync(at(name), at(newName))))
    },
    remove(name) {
      within(name, 'open', (directory) => directory.within((at) => unlinkSync(at(name))))
    },
    openLock(name) {
      return within(name, 'make', (directory) => {
        refuseForeign(directory.stat(name), 'file', join(path, name))
        const fd = directory.open(name, lockFlags, 0o600)
        return { fd, stat: fstatSync(fd, { bigint: true }) }
      })
    },
    isAt(name, { stat }) {
      try {
        return isSameFile(lstatSync(path + sep + name, { bigint: true }), stat)
      } catch (error) {
        if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return false
        throw error
      }
    },
    hold: () => within('', 'make', (directory) => directory.share())
  }
}

function makeIn(top: Directory): void {
  try {
    top.within((at) => mkdirSync(at(ownFolder), 0o700))
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return
    throw error
  }
  top.syncNow()
}

/** If a user made it, or it came with a copy of the tree, other users may have access. */
function closeToOthers(directory: Directory): void {
  const stat = directory.stat('.')
  const isOwn = stat !== undefined && stat.uid === BigInt(process.geteuid?.() ?? -1)
  if (isOwn && (stat.mode & 0o077n) !== 0n) ifSupported(() => directory.within((at) => chmodSync(at('.'), 0o700)))
}

/** Checked at every write: a process may have been killed between making the folder and this. */
function hideFromGit(directory: Directory): void {
  let fd: number | undefined
  try {
    fd = directory.open('.gitignore', createFlags, 0o600)
    writeFileSync(fd, '*\n')
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

function readText(directory: Directory, name: string, path: string): string {
  refuseForeign(directory.stat(name), 'file', path)
  const fd = directory.open(name, readFlags)
  try {
    refuseForeign(fstatSync(fd, { bigint: true }), 'file', path)
    const bytes = Buffer.allocUnsafe(maxFileBytes + 1)
    let length = 0
    let read = -1
    while (read !== 0 && length < bytes.length) {
      read = readSync(fd, bytes, { offset: length })
      length += read
    }
    if (length > maxFileBytes) throw new Error(`${path} is larger than ${maxFileBytes} bytes`)
    return bytes.toString('utf8', 0, length)
  } finally {
    closeSync(fd)
  }
}

function replace(directory: Directory, name: string, text: string, isDurable: boolean): void {
  const temporary = temporaryName()
  directory.within((at) => replaceFile(at(name), text, { isDurable, temporary: at(temporary) }))
  if (isDurable) directory.syncNow()
}

/**
 * A user who can change the tree may have put a link here, or, in a folder that everyone can write, their own file.
 * Files of this user or root are trusted. A process of root trusts all files, since it serves the trees of other users.
 */
export function refuseForeign(stat: BigIntStats | undefined, kind: 'directory' | 'file', path: string): void {
  if (stat === undefined) return
  if (!(kind === 'file' ? stat.isFile() : stat.isDirectory())) {
    const found = stat.isSymbolicLink() ? 'a symbolic link' : stat.isDirectory() ? 'a directory' : 'something else'
    throw new Error(`${path} must be a ${kind} of the server's own, but is ${found}: remove it`)
  }
  const uid = process.geteuid?.()
  if (uid === undefined || uid === 0 || stat.uid === 0n || stat.uid === BigInt(uid)) return
  throw new Error(`${path} belongs to another user (${stat.uid}): remove it, or let that user run the server`)
}

function explain(error: unknown, path: string, folder: string): unknown {
  // Others have been explained where they were found.
  if (!(error instanceof Error) || !('code' in error && 'syscall' in error)) return error
  const uid = process.geteuid?.()
  const isOthers = uid !== undefined && isErrno(error, 'EACCES', 'EPERM')
  const owner = isOthers ? lstatSync(folder, { throwIfNoEntry: false })?.uid : undefined
  if (owner !== undefined && owner !== uid) {
    const who = owner === 0 ? 'root' : `user ${owner}`
    const message = `${path} cannot be used (${String(error.code)}): ${folder} belongs to ${who}. Remove that folder as ${who}, or run the server as ${who}`
    return new Error(message, { cause: error })
  }
  return new Error(`${path}: the system answered ${String(error.code)}`, { cause: error })
}
