// The lock that makes one process the authority of a tree. The system frees it when the process ends, however it ends.
import { closeSync, constants, ftruncateSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { tryLock } from 'fs-native-extensions'
import { ownFolder } from '../files/own-names.ts'
import { createStateDirectory, type StateDirectory } from './state-directory.ts'

export interface AuthorityLock {
  /**
   * Takes the lock of every root. @returns false where another process has that of the first
   * @throws Error that says what is in the way, or which other server a root belongs to
   */
  tryAcquire(): boolean
  /** False where the locked file is no longer the one that other processes find: somebody has removed our folder. */
  isInPlace(): boolean
  /** Removes the files too: whoever has opened one meanwhile finds that it is not in its place. */
  release(): void
}

const fileName = 'authority.lock'
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** @param roots real paths; the first decides who is the authority */
export function createAuthorityLock(roots: readonly string[]): AuthorityLock {
  const directories = roots.map((root) => createStateDirectory(root))
  let held: number[] = []

  function free(locked: readonly number[]): void {
    for (const [index, fd] of locked.entries()) {
      remove(directories[index] as StateDirectory, fd)
      closeSync(fd)
    }
  }

  return {
    tryAcquire() {
      refuseNested(roots)
      const locked: number[] = []
      try {
        for (const [index, directory] of directories.entries()) {
          const fd = lockIn(directory)
          if (fd === undefined) {
            const tree = treeOf(directory)
            if (tree !== undefined && tree !== roots[0]) throw sharedRoot(roots[index] as string, tree)
            free(locked)
            return false
          }
          locked.push(fd)
          // Tells whoever cannot have it to which tree the root belongs.
          ftruncateSync(fd)
          writeSync(fd, roots[0] as string, 0)
        }
      } catch (error) {
        free(locked)
        throw error
      }
      // The files that were locked before have gone from their places.
      held.forEach(closeSync)
      held = locked
      return true
    },
    isInPlace: () => held.every((fd, index) => (directories[index] as StateDirectory).isAt(fileName, fd)),
    release() {
      free(held)
      held = []
    }
  }
}

/** @returns the locked file's descriptor; undefined where another process has it */
function lockIn(directory: StateDirectory): number | undefined {
  for (;;) {
    const fd = directory.openLock(fileName)
    let isKept = false
    try {
      if (!tryLock(fd)) return undefined
      // Whoever had it may have removed it between our opening and our locking.
      isKept = directory.isAt(fileName, fd)
      if (isKept) return fd
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new Error(
        `${directory.path}/${fileName} cannot be locked (${reason}): the file system must support locks`,
        {
          cause: error
        }
      )
    } finally {
      if (!isKept) closeSync(fd)
    }
  }
}

/** The first root of whoever has the lock; undefined where he is just coming or going, and on systems that let nobody read a locked file. */
function treeOf(directory: StateDirectory): string | undefined {
  try {
    return directory.read(fileName) || undefined
  } catch {
    return undefined
  }
}

function sharedRoot(root: string, tree: string): Error {
  return new Error(
    `${root} is served already, by the server of ${tree}: start both with the same --dir, or stop that one`
  )
}

function remove(directory: StateDirectory, fd: number): void {
  try {
    if (directory.isAt(fileName, fd)) directory.remove(fileName)
  } catch {
    // It is only a name; the lock is what counts.
  }
}

/** Two engines must not serve the same files, the one as a tree and the other as a part of it. */
function refuseNested(roots: readonly string[]): void {
  for (const root of roots) {
    for (let above = dirname(root); above !== dirname(above); above = dirname(above)) {
      if (roots.includes(above) || !isLocked(join(above, ownFolder, fileName))) continue
      throw new Error(`${root} lies in ${above}, which another server serves already: use that one, or stop it`)
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
