// An open directory: the handle through which its entries are reached, so that nothing above it can be swapped meanwhile.
import { constants, fstatSync, fsync, fsyncSync, linkSync, lstatSync, openSync, type BigIntStats } from 'node:fs'
import { sep } from 'node:path'
import { promisify } from 'node:util'
import { orUndefined } from '../../support/attempt.ts'
import { createSharedRounds } from '../../support/shared-rounds.ts'
import { isSameFile } from '../../support/same-file.ts'
import { ifSupported } from '../../support/unsupported.ts'
import { closeReader } from './close-reader.ts'
import { toBytes } from '../../support/raw-name.ts'
import { linkAcross, linkItself, standIn, type PathOf } from './standing.ts'

const fsyncAsync = promisify(fsync)
/** Of one folder, by its device and inode. */
const syncs = createSharedRounds<void>()
/** Windows cannot flush a directory (engine/commit/durability.ts). */
const canSync = process.platform !== 'win32'
const openDirectoryFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0)

/** A folder in which things have names of their own until a change gives them others. */
export interface Shelf {
  readonly path: string
  /** Makes calls of the system. The paths hold until `use` returns, which must not wait. */
  within<Result>(use: (at: PathOf) => Result): Result
  /** Opens an entry for reading; a link is refused. */
  open(name: string, flags: number): number
  stat(name: string): BigIntStats | undefined
  sync(): Promise<void>
}

/**
 * On Linux an entry is reached as `/proc/self/fd/<directory>/<name>`: the kernel starts from the open descriptor, so an
 * ancestor that is replaced by a link meanwhile cannot lead elsewhere. Other systems have no such path; there the process
 * stands in the folder for the time of a call (docs/security.md names what remains).
 */
export const descriptorPaths =
  process.platform === 'linux' && orUndefined(() => lstatSync('/proc/self/fd').isDirectory()) === true

/** Windows opens what a link leads to. */
const opensLinks = constants.O_NOFOLLOW === undefined
/** Of an entry that is replaced each time while it is opened. */
const maxTries = 3

/** A file system that syncs no folder keeps the names in its own way. */
function bearRefusal(error: unknown): void {
  ifSupported(() => {
    throw error
  })
}

/** The server's own folder below a root. */
export interface OwnFolder {
  /** Makes it if it is missing; no other user has access to it. The caller closes it. */
  hold(): Directory
}

export class Directory {
  /** Canonical path: real path of the root plus the names walked. */
  readonly path: string
  #fd: number
  #references = 1
  #opened: BigIntStats | undefined

  private constructor(path: string, fd: number) {
    this.path = path
    this.#fd = fd
  }

  /** Opens a directory by its path. The last component may not be a link. */
  static open(path: string): Directory {
    return new Directory(path, openSync(path, openDirectoryFlags))
  }

  /** Opens a directory in this one; a link is refused by the system (ELOOP or ENOTDIR). */
  openChild(name: string): Directory {
    return new Directory(this.pathOf(name), this.open(name, openDirectoryFlags))
  }

  /** Opens an entry; a link is refused by the system (ELOOP), or here. */
  open(name: string, flags: number, mode?: number): number {
    return this.within((at) => {
      for (let tries = 1; ; tries += 1) {
        const fd = openSync(toPath(at, name), flags, mode)
        // The entry is looked at after it was opened: if it is the same, what is open lay in this folder, and no link led there.
        if (!opensLinks || isSameFile(this.stat(name), fstatSync(fd, { bigint: true }))) return fd
        closeReader(fd)
        if (tries === maxTries) throw Object.assign(new Error(`a link: ${name}`), { code: 'ELOOP', syscall: 'open' })
      }
    })
  }

  /** The canonical path of an entry, if it is no link. */
  pathOf(name: string): string {
    return this.path.endsWith(sep) ? this.path + name : this.path + sep + name
  }

  /**
   * A path by which an entry can be given to file-system calls while this directory is open. Without descriptor paths it can be swapped:
   * for entries of the tree use `within`.
   */
  at(name: string): string {
    return descriptorPaths ? `/proc/self/fd/${this.#fd}/${name}` : this.pathOf(name)
  }

  within<Result>(use: (at: PathOf) => Result): Result {
    return descriptorPaths ? use((name) => this.at(name)) : standIn(this, use)
  }

  /** What is at `name`, links not followed; undefined if nothing is. */
  stat(name: string): BigIntStats | undefined {
    return this.within((at) => lstatSync(toPath(at, name), { bigint: true, throwIfNoEntry: false }))
  }

  /** The folder that is open, as it was when this was first asked: device and inode stay. */
  opened(): BigIntStats {
    return (this.#opened ??= fstatSync(this.#fd, { bigint: true }))
  }

  /** Makes the names in the directory durable. */
  async sync(): Promise<void> {
    if (!canSync) return
    const { dev, ino } = this.opened()
    // Others may rely on the sync of this handle, whatever becomes of the caller meanwhile.
    this.share()
    try {
      await syncs.ask(`${dev}:${ino}`, () => fsyncAsync(this.#fd)).catch(bearRefusal)
    } finally {
      this.close()
    }
  }

  /** The same, before anything else runs. */
  syncNow(): void {
    if (canSync) ifSupported(() => fsyncSync(this.#fd))
  }

  /** Shares the handle: each holder closes it once. */
  share(): this {
    this.#requireOpen()
    this.#references += 1
    return this
  }

  close(): void {
    this.#requireOpen()
    this.#references -= 1
    if (this.#references > 0) return
    const fd = this.#fd
    // The system gives the number to whatever is opened next: who goes on using this handle must not reach that.
    this.#fd = -1
    closeReader(fd)
  }

  #requireOpen(): void {
    if (this.#references === 0) throw new Error(`${this.path} was closed before`)
  }
}

/** Whether one call of the system can take names in both. Without descriptor paths the process stands in one folder. @param missing below `other` */
export function canReachBoth(one: Directory, other: Directory, missing: readonly string[] = []): boolean {
  return descriptorPaths || (missing.length === 0 && isSameFile(one.opened(), other.opened()))
}

/** Gives an entry a second name, in the same folder or in another one. */
export function link(from: Shelf, name: string, to: Shelf, newName: string): void {
  if (descriptorPaths) from.within((at) => to.within((into) => linkSync(at(name), into(newName))))
  else if (from instanceof Directory && to instanceof Directory && !canReachBoth(from, to))
    linkAcross(from, name, to, newName)
  else from.within((at) => to.within((into) => linkItself(at(name), into(newName))))
}

/** Also of a name that is not UTF-8. */
function toPath(at: PathOf, name: string): string | Buffer {
  const path = at(name)
  return path.isWellFormed() ? path : Buffer.concat([Buffer.from(at('')), toBytes(name)])
}
