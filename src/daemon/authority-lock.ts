// The lock that makes one process the authority of a tree. The system frees it when the process ends, however it ends.
import { closeSync, constants, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { tryLock } from 'fs-native-extensions'
import { ownFolder } from '../files/own-names.ts'
import { createStateDirectory, type StateDirectory } from './state-directory.ts'

export interface AuthorityLock {
  /**
   * Takes the lock of every root; those that are still held stay so. @returns false where another process has the tree
   * @throws TreeConflict; any other Error says what is in the way
   */
  tryAcquire(): boolean
  /** False where a locked file is no longer the one that other processes find: somebody has removed our folder. */
  isInPlace(): boolean
  /** Process id of whoever has the tree; undefined where that is not known. */
  holder(): number | undefined
  /** Removes the files too: whoever has opened one meanwhile finds that it is not in its place. */
  release(): void
}

/** A root belongs to another tree that is being served. It may be so for a moment only, while somebody looks or comes or goes. */
export class TreeConflict extends Error {}

/** What the locked file says. */
interface Holder {
  /** The root that it stands in: elsewhere it is the copy of a tree that shares the file. */
  readonly root: string
  /** First root of the tree. */
  readonly tree: string
  readonly pid: number
}

interface Place {
  readonly root: string
  readonly directory: StateDirectory
  /** Of the locked file. */
  fd: number | undefined
}

const fileName = 'authority.lock'
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** @param roots real paths; the first names the tree */
export function createAuthorityLock(roots: readonly [string, ...string[]]): AuthorityLock {
  const [tree] = roots
  // In one order for all: of two processes with the same roots one gets all of them.
  const places: Place[] = roots
    .toSorted()
    .map((root) => ({ root, directory: createStateDirectory(root), fd: undefined }))
  const isKept = ({ directory, fd }: Place) => fd !== undefined && directory.isAt(fileName, fd)

  return {
    tryAcquire() {
      refuseNested(roots)
      const locked = new Map<Place, number>()
      try {
        for (const place of places) {
          if (isKept(place)) continue
          const fd = lockAt(place)
          if (fd === undefined) {
            refuseOtherTree(place, tree)
            break
          }
          locked.set(place, fd)
        }
        if (places.some((place) => !isKept(place) && !locked.has(place))) {
          giveBack(locked)
          return false
        }
      } catch (error) {
        giveBack(locked)
        throw error
      }
      for (const [place, fd] of locked) {
        // The file that was locked before has gone from its place.
        if (place.fd !== undefined) closeSync(place.fd)
        place.fd = fd
        sayHolder(fd, { root: place.root, tree, pid: process.pid })
      }
      return true
    },
    isInPlace: () => places.every(isKept),
    holder: () => readHolder(createStateDirectory(tree))?.pid,
    release() {
      giveBack(new Map(places.flatMap((place) => (place.fd === undefined ? [] : [[place, place.fd]]))))
      for (const place of places) place.fd = undefined
    }
  }
}

/** @returns the locked file's descriptor; undefined where another process has it */
function lockAt({ root, directory }: Place): number | undefined {
  for (;;) {
    const fd = directory.openLock(fileName)
    let isTaken = false
    try {
      const isLocked = lock(fd, directory)
      const isShared = fstatSync(fd).nlink > 1
      const holder = isShared ? readHolder(directory) : undefined
      isTaken = isLocked && !isShared && directory.isAt(fileName, fd)
      if (isTaken) return fd
      // The file has another name: it was copied with its tree, or is somebody else's. It is not written, and only its name here is ours.
      if (isShared && (isLocked || (holder !== undefined && holder.root !== root))) directory.remove(fileName)
      // Whoever had it may also have removed it between our opening and our locking.
      else if (!isLocked) return undefined
    } finally {
      if (!isTaken) closeSync(fd)
    }
  }
}

function lock(fd: number, { path }: StateDirectory): boolean {
  try {
    return tryLock(fd)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${path}/${fileName} cannot be locked (${reason}): the file system must support locks`, {
      cause: error
    })
  }
}

function giveBack(locked: ReadonlyMap<Place, number>): void {
  for (const [{ directory }, fd] of locked) {
    try {
      if (directory.isAt(fileName, fd)) directory.remove(fileName)
    } catch {
      // It is only a name; the lock is what counts.
    }
    closeSync(fd)
  }
}

function sayHolder(fd: number, holder: Holder): void {
  ftruncateSync(fd)
  writeSync(fd, JSON.stringify(holder), 0)
}

/** Undefined where somebody is just coming or going, and on systems that let nobody read a locked file. */
function readHolder(directory: StateDirectory): Holder | undefined {
  try {
    const { root, tree, pid } = JSON.parse(directory.read(fileName) ?? '') as { [Name in keyof Holder]?: unknown }
    const isHolder = typeof root === 'string' && typeof tree === 'string' && Number.isSafeInteger(pid)
    return isHolder ? { root, tree, pid: Number(pid) } : undefined
  } catch {
    return undefined
  }
}

function refuseOtherTree({ root, directory }: Place, tree: string): void {
  const holder = readHolder(directory)
  if (holder === undefined || holder.tree === tree) return
  throw new TreeConflict(
    `${root} is served already, by process ${holder.pid} as part of the tree ${holder.tree}: start both with the same --dir, or stop that one`
  )
}

/** Two engines must not serve the same files, the one as a tree and the other as a part of it. */
function refuseNested(roots: readonly string[]): void {
  for (const root of roots) {
    for (let above = dirname(root); above !== dirname(above); above = dirname(above)) {
      if (roots.includes(above) || !isLocked(join(above, ownFolder, fileName))) continue
      throw new TreeConflict(`${root} lies in ${above}, which another server serves already: use that one, or stop it`)
    }
  }
}

function isLocked(path: string): boolean {
  let fd: number
  try {
    fd = openSync(path, readFlags)
  } catch {
    return false
  }
  try {
    return !tryLock(fd, { shared: true })
  } catch {
    return false
  } finally {
    closeSync(fd)
  }
}
