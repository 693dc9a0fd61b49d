// Walks from a root to a file, one open directory after the other, and resolves symbolic links itself inside the roots.
import { constants, readlinkSync, type BigIntStats } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { isErrno, OperationError } from '../../errors.ts'
import type { Directory } from './directory.ts'
import type { KeptFolders } from './kept-folders.ts'
import { nameOnDisk } from './name-on-disk.ts'
import { namesOf, type Location, type Root, type Roots } from './roots.ts'
import { explainWalkError } from './walk-error.ts'

/** The end of a walk: an entry of an open directory. The caller closes it. */
export interface OpenEntry {
  readonly root: Root
  /** The deepest directory on the way that exists. */
  readonly directory: Directory
  /** Name in `directory`, unless parents are missing. Of what is there, as the disk has it. */
  readonly name: string
  /** The same as the walk was told it: the file system may take other letters for one name. */
  readonly speltName: string
  /** Names of the missing directories between `directory` and `name`. */
  readonly missing: readonly string[]
  /** True if the path, or the link that it ends in, has a slash at its end: then it does not mean a file. */
  readonly isFolder: boolean
  /** What is there, links not followed; undefined if nothing is. */
  readonly stat: BigIntStats | undefined
  /** Canonical path. */
  readonly path: string
  close(): void
}

/** Where walks begin, and the folders that are still open from earlier ones. */
export interface Ground {
  readonly roots: Roots
  readonly folders: KeptFolders
}

interface WalkOptions {
  /** True: a link at the very end is resolved too. False: the link itself is the place. */
  readonly followLast: boolean
  /** True if the path is canonical: no link is followed, and what is below a link or a file that is on the way by now is missing. */
  readonly isCanonical?: boolean
  /** True for a file that is to be made: one that is on the way may leave in the same change, and what is below it is missing. */
  readonly mayBeBlocked?: boolean
}

const maxLinks = 40
const opensWithoutFollowing = constants.O_NOFOLLOW !== undefined

/**
 * @throws OperationError PATH_OUTSIDE_BASE if a link or ".." leaves the roots, NOT_A_FILE if a file is in the middle of the path,
 * DIR_NOT_FOUND if a folder before ".." is missing, ACCESS_DENIED if a directory cannot be searched
 */
export function walk(ground: Ground, location: Location, path: string, options: WalkOptions): OpenEntry {
  try {
    return new Walk(ground, location, path, options).run()
  } catch (error) {
    throw explainWalkError(error, path)
  }
}

class Walk {
  readonly #roots: Roots
  readonly #folders: KeptFolders
  readonly #spelling: string
  readonly #followLast: boolean
  readonly #isCanonical: boolean
  readonly #mayBeBlocked: boolean
  /** Directories from the root down to the walk's current one. */
  #open: Directory[] = []
  #root: Root
  #todo: string[]
  #links = 0
  #isFolder = false

  constructor({ roots, folders }: Ground, { root, segments }: Location, spelling: string, options: WalkOptions) {
    this.#roots = roots
    this.#folders = folders
    this.#spelling = spelling
    this.#followLast = options.followLast
    this.#isCanonical = options.isCanonical === true
    this.#mayBeBlocked = options.mayBeBlocked === true
    this.#root = root
    this.#todo = [...segments]
  }

  run(): OpenEntry {
    try {
      this.#restart(this.#root, this.#todo)
      for (;;) {
        const name = this.#todo.shift()
        if (name === undefined) return this.#atDirectory()
        const end = this.#step(name)
        if (end !== undefined) return end
      }
    } finally {
      for (const directory of this.#open) directory.close()
    }
  }

  get #here(): Directory {
    return this.#open.at(-1) as Directory
  }

  #restart(root: Root, segments: readonly string[]): void {
    for (const directory of this.#open) directory.close()
    this.#root = root
    this.#open = [this.#folders.openRoot(root)]
    this.#todo = [...segments]
  }

  /** Goes one name further; returns a place if the walk has ended. */
  #step(name: string): OpenEntry | undefined {
    if (name === '.') {
      this.#isFolder = this.#todo.length === 0
      return undefined
    }
    if (name === '..') {
      this.#up()
      return undefined
    }
    const isLast = this.#todo.length === 0
    if (!isLast && opensWithoutFollowing) {
      // The common case costs one system call: a directory that is no link, and still open.
      try {
        this.#open.push(this.#folders.openChild(this.#here, name))
        return undefined
      } catch (error) {
        if (!isErrno(error, 'ELOOP', 'ENOTDIR', 'ENOENT', 'EMLINK')) throw error
      }
    }
    const stat = this.#here.stat(name)
    const isInTheWay = this.#isCanonical && stat?.isDirectory() === false
    if (stat?.isSymbolicLink() === true && !isInTheWay && !(isLast && !this.#followLast)) {
      this.#follow(name)
      return undefined
    }
    if (isLast) return this.#place([], name, stat)
    if (stat?.isDirectory() === true && !isInTheWay) {
      this.#open.push(this.#here.openChild(name))
      return undefined
    }
    const mayLeave = this.#mayBeBlocked && !this.#todo.includes('..')
    if (stat === undefined || isInTheWay || mayLeave) return this.#atMissing([name, ...this.#todo])
    throw notADirectory(join(this.#here.path, name), this.#spelling)
  }

  /** Nothing is at the first of these names. */
  #atMissing(rest: readonly string[]): OpenEntry {
    const up = rest.indexOf('..')
    if (up !== -1) {
      const missing = join(this.#here.path, ...rest.slice(0, up))
      const message = `Directory does not exist: ${missing}, before ".." in ${this.#spelling}. Pass the path without "..".`
      throw new OperationError('DIR_NOT_FOUND', message, { path: this.#spelling })
    }
    this.#isFolder = rest.at(-1) === '.'
    const names = rest.filter((name) => name !== '.')
    return this.#place(names.slice(0, -1), names.at(-1) as string, undefined)
  }

  /** Leaves the walk's current folder. Above its root the path may still lead into another root. */
  #up(): void {
    const left = this.#open.pop() as Directory
    left.close()
    if (this.#open.length > 0) return
    let above = dirname(this.#root.real)
    // The folders above a real path are real too, so that these can be cut from the text.
    for (; this.#todo[0] === '..'; this.#todo.shift()) above = dirname(above)
    this.#enter([...namesOf(above), ...this.#todo])
  }

  #follow(name: string): void {
    this.#links += 1
    if (this.#links > maxLinks) {
      throw new OperationError('ACCESS_DENIED', `Too many symbolic links: ${this.#spelling}`, { path: this.#spelling })
    }
    const target = this.#readLink(name)
    if (target === undefined) {
      // It is no link any more: another look at the same name.
      this.#todo.unshift(name)
      return
    }
    if (!isAbsolute(target)) {
      this.#todo = [...namesOf(target), ...this.#todo]
      return
    }
    this.#enter([...namesOf(target), ...this.#todo])
  }

  /** Undefined if something else has replaced it since the look. */
  #readLink(name: string): string | undefined {
    try {
      return this.#here.within((at) => readlinkSync(at(name)))
    } catch (error) {
      if (isErrno(error, 'EINVAL', 'ENOENT')) return undefined
      throw error
    }
  }

  /** Goes on at an absolute path. It examines nothing outside the roots: a path that leaves them must come back by the names of a root. */
  #enter(names: readonly string[]): void {
    const location = this.#roots.within(names)
    if (location === undefined) throw this.#escape()
    this.#restart(location.root, location.segments)
  }

  #escape(): OperationError {
    if (this.#links === 0) return this.#roots.outsideRoots(this.#spelling)
    const message = `A symbolic link on the path leads outside the roots: ${this.#spelling}`
    return new OperationError('PATH_OUTSIDE_BASE', message, { path: this.#spelling })
  }

  #place(missing: readonly string[], name: string, stat: BigIntStats | undefined): OpenEntry {
    const directory = this.#here.share()
    const path = missing.length === 0 ? directory.pathOf(name) : join(directory.path, ...missing, name)
    const isKnown = stat !== undefined && !stat.isSymbolicLink()
    const real = nameOnDisk(this.#root, path, isKnown ? path : directory.path)
    return {
      root: this.#root,
      directory,
      name: real === path || !isKnown ? name : basename(real),
      speltName: name,
      missing,
      isFolder: this.#isFolder,
      stat,
      path: real,
      close: closeOnce(directory)
    }
  }

  /** The walk ended on a directory that it already holds open: a root, or the target of a link such as "..". */
  #atDirectory(): OpenEntry {
    const here = this.#here
    const directory = here.share()
    const stat = directory.stat('.')
    return {
      root: this.#root,
      directory,
      name: '.',
      speltName: '.',
      missing: [],
      isFolder: this.#isFolder,
      stat,
      path: nameOnDisk(this.#root, here.path, here.path),
      close: closeOnce(directory)
    }
  }
}

/** @param path as the caller spelt it */
export function notADirectory(obstacle: string, path: string): OperationError {
  return new OperationError('NOT_A_FILE', `Not a directory: ${obstacle}, on the path to ${path}`, { path })
}

/** A second call would let go of a handle that another walk holds. */
function closeOnce(directory: Directory): () => void {
  let isOpen = true
  return () => {
    if (isOpen) directory.close()
    isOpen = false
  }
}
