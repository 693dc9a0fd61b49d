// One watched folder: the system's watch on it or on its root, and whether what is at its path is still the same folder.
import { lstatSync, watch, type BigIntStats, type FSWatcher } from 'node:fs'
import { basename, sep } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { lockKey } from '../files/lock-key.ts'
import { ignoresLetters } from '../files/name-on-disk.ts'
import { isRoot } from '../files/root-presence.ts'
import type { Root } from '../files/roots.ts'
import { isErrno } from '../../support/errno.ts'
import { isSameFile } from '../../support/same-file.ts'

type Stamp = Pick<BigIntStats, 'dev' | 'ino' | 'birthtimeNs'>

export interface FolderEvents {
  /**
   * Something has happened to an entry, or to the watched folder itself.
   * @param watched that has the watch
   * @param name relative to it; undefined if the system does not say to which
   */
  readonly onEvent: (watched: Folder, name: string | undefined, isRenamed: boolean) => void
  /** The watch has ended by itself. */
  readonly onLost: (folder: Folder) => void
}

/**
 * Whether a root's watch tells of all folders below it, which have none of their own. Windows renames no folder below which
 * another one is open, as watched folders are; elsewhere such a watch would cost one of the system for each folder below it.
 */
export const watchesBelow = process.platform === 'win32'

/** The outcome of an attempt to watch. That nothing is there is `missing`, not an error. */
export type WatchOutcome = 'kept' | 'opened' | 'missing' | NodeJS.ErrnoException

export class Folder {
  readonly path: string
  readonly name: string
  readonly parent: Folder | undefined
  /** Names of the tracked files in it. */
  readonly files = new Set<string>()
  readonly folders = new Map<string, Folder>()
  readonly #events: FolderEvents
  #watcher: FSWatcher | undefined
  /** Of the folder that is watched; undefined while none is. */
  #stamp: Stamp | undefined
  #isMissing = false
  /** Undefined for a folder below one. */
  readonly #root: Root | undefined
  readonly #ignoresLetters: () => boolean

  constructor(path: string, above: Folder | Root, events: FolderEvents) {
    this.path = path
    this.name = basename(path)
    this.parent = above instanceof Folder ? above : undefined
    this.#root = above instanceof Folder ? undefined : above
    this.#ignoresLetters = above instanceof Folder ? above.#ignoresLetters : () => ignoresLetters(above)
    this.#events = events
  }

  get isWatched(): boolean {
    return this.#stamp !== undefined && (this.#hasOwnWatch || this.parent!.isWatched)
  }

  get #hasOwnWatch(): boolean {
    return !watchesBelow || this.parent === undefined
  }

  /** True if no folder was at its path, or at one above, at the last look: there may be a link. */
  get isCutOff(): boolean {
    return this.#isMissing || this.parent?.isCutOff === true
  }

  /** The name by which a tracked file is known here. Some systems tell of it as the program spelt it that changed the file. */
  fileAt(name: string): string | undefined {
    return this.#known(this.files, name)
  }

  folderAt(name: string): Folder | undefined {
    return this.folders.get(this.#known(this.folders, name) ?? name)
  }

  /** The folder of an entry below this one; undefined if nothing in it is tracked. */
  folderOf(name: string): Folder | undefined {
    const above = name.split(sep).slice(0, -1)
    return above.reduce<Folder | undefined>((folder, part) => folder?.folderAt(part), this)
  }

  #known(names: ReadonlySet<string> | ReadonlyMap<string, unknown>, name: string): string | undefined {
    if (names.has(name) || !this.#ignoresLetters()) return names.has(name) ? name : undefined
    const key = lockKey(name)
    for (const known of names.keys()) if (lockKey(known) === key) return known
    return undefined
  }

  /** A watch follows the folder, not its path: a folder that has replaced it needs a new watch. */
  open(): WatchOutcome {
    const stamp = stampOf(this.path, this.#root)
    this.#isMissing = stamp === undefined
    if (stamp === undefined) {
      this.close()
      return 'missing'
    }
    if (this.isWatched && this.#stamp !== undefined && isSame(stamp, this.#stamp)) return 'kept'
    this.close()
    try {
      if (this.#hasOwnWatch) this.#watcher = this.#watch()
    } catch (error) {
      if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return 'missing'
      return error as NodeJS.ErrnoException
    }
    // If the folder is replaced between the look and the watch, that causes another look.
    this.#stamp = stamp
    return 'opened'
  }

  #watch(): FSWatcher {
    const watcher = watch(this.path, { persistent: false, recursive: watchesBelow }, (type, name) => {
      if (watcher === this.#watcher) this.#events.onEvent(this, name ?? undefined, type === 'rename')
    })
    watcher.on('error', () => {
      if (watcher !== this.#watcher) return
      this.close()
      this.#events.onLost(this)
    })
    return watcher
  }

  close(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#stamp = undefined
  }
}

/** Undefined if no directory is there, or another one than the root. A link is none, since the paths of files are canonical. */
function stampOf(path: string, root: Root | undefined): Stamp | undefined {
  const stat = orUndefined(() => lstatSync(path, { bigint: true }))
  return stat?.isDirectory() === true && (root === undefined || isRoot(stat, root)) ? stat : undefined
}

/** Some file systems reuse inode numbers at once, but not the time of birth. */
function isSame(one: Stamp, other: Stamp): boolean {
  return isSameFile(one, other) && one.birthtimeNs === other.birthtimeNs
}
