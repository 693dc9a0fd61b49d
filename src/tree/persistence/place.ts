// Where the state of a tree is, and the lock that keeps a second process from writing to it.
import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { tryLock } from 'fs-native-extensions'
import { findRootAbove } from '../../config/outside-roots.ts'
import { ownFolder } from '../../engine/files/temporary-names.ts'

export interface StateLock {
  /** False once another program has removed or replaced it: another process may have locked what is there now. */
  readonly isInPlace: () => boolean
  readonly release: () => void
}

const liveFolder = 'live'
const lockFlags = constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/**
 * The journal; the files that belong to it are beside it, under names that begin with its own.
 * @param roots real paths; the first names the tree
 * @param stateFile of the settings; null is a place of the server's own
 */
export function statePathOf(
  roots: readonly [string, ...string[]],
  stateFile: string | null,
  dataFolder: string
): string {
  if (stateFile !== null) return stateFile
  const [tree] = roots
  const name = createHash('sha256').update(tree).digest('hex').slice(0, 16)
  const path = join(dataFolder, 'trees', name, 'state')
  // Below a root every agent could read it, except in the folder that operations do not reach.
  return findRootAbove(path, roots) === undefined ? path : join(tree, ownFolder, 'state', 'state')
}

/** The journal that is kept only while a process serves the tree. @param tree real path of the first root */
export function livePathOf(tree: string): string {
  return join(tree, ownFolder, liveFolder, 'state')
}

/** @throws Error */
export function makeStateFolder(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
}

/** @returns undefined if another process has it. @throws Error */
export function lockState(path: string): StateLock | undefined {
  const lockPath = `${path}.lock`
  const fd = openSync(lockPath, lockFlags, 0o600)
  try {
    if (!tryLock(fd)) {
      closeSync(fd)
      return undefined
    }
  } catch (error) {
    closeSync(fd)
    throw error
  }
  return { isInPlace: () => isAt(lockPath, fd), release: () => closeSync(fd) }
}

/** Whether the open file is the one that is at the path. */
export function isAt(path: string, fd: number): boolean {
  const open = fstatSync(fd, { bigint: true })
  try {
    const there = lstatSync(path, { bigint: true })
    return there.ino === open.ino && there.dev === open.dev
  } catch {
    // Missing, or a folder of the path is a file or closed to this process by now.
    return false
  }
}
