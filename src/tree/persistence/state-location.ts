// Where the state of a tree is, and the lock that keeps a second process from writing to it.
import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { tryLock } from 'fs-native-extensions'
import { findRootAbove } from '../../config/outside-roots.ts'
import { closeReader } from '../../engine/files/close-reader.ts'
import type { Root } from '../../engine/files/roots.ts'
import { ownFolder } from '../../engine/files/temporary-names.ts'
import { makeFolder } from '../../support/make-folder.ts'
import { below } from '../../support/relocate.ts'
import { isSameFile } from '../../support/same-file.ts'
import { servedDirectory } from '../state/served-directory.ts'

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

/**
 * Makes the folder of the journal, and what is missing above it only as far as that is the server's own. A disk that is not mounted must
 * not be replaced by a folder in its place.
 * @throws Error; OperationError if the journal lies below a root that is gone
 */
export function makeStateFolder(path: string, roots: readonly Root[], dataFolder: string): void {
  const root = roots.find(({ real }) => below(real, path) !== undefined)
  if (root !== undefined) return makeBelow(root, below(root.real, dirname(path)) ?? '')
  const name = below(dataFolder, dirname(path))
  if (name === undefined) return makeFolder(dirname(path))
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  makeEach(dataFolder, name)
}

function makeBelow(root: Root, name: string): void {
  const own = servedDirectory(root).hold()
  try {
    makeEach(own.at(''), below(ownFolder, name) ?? '')
  } finally {
    own.close()
  }
}

/** @param name of a folder of several levels below `folder`; empty is none */
function makeEach(folder: string, name: string): void {
  const names = name.split(sep).filter((each) => each !== '')
  for (const index of names.keys()) makeFolder(join(folder, ...names.slice(0, index + 1)))
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
  return { isInPlace: () => isAt(lockPath, fd), release: () => closeReader(fd) }
}

/** Whether the open file is the one that is at the path. */
export function isAt(path: string, fd: number): boolean {
  // Missing, or a folder of the path is a file or closed to this process by now, or the file system does not answer.
  const isSame = orUndefined(() => isSameFile(lstatSync(path, { bigint: true }), fstatSync(fd, { bigint: true })))
  return isSame === true
}
