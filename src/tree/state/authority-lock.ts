// The lock that makes one process the authority of a tree. The system frees it when the process ends, however it ends.
import { fstatSync } from 'node:fs'
import { dirname } from 'node:path'
import { attempt } from '../../support/attempt.ts'
import { tryLock } from 'fs-native-extensions'
import { closeReader } from '../../engine/files/close-reader.ts'
import { isGone } from '../../engine/files/root-presence.ts'
import type { Root } from '../../engine/files/roots.ts'
import { isKnownTree } from './known-tree.ts'
import { fileName, isServed, isUnserved, lockedRange, readHolder, writeHolder } from './lock-file.ts'
import { isRunning } from '../../support/process-identity.ts'
import { createStateFile } from './state-file.ts'
import { readTreeIdentity } from './tree-identity.ts'
import { enterServed, leaveServed, servedInside } from './served-trees.ts'
import { servedDirectory } from './served-directory.ts'
import { createStateDirectory, type OpenFile, type StateDirectory } from './state-directory.ts'

/** A root belongs to another tree that is being served. This may last a moment only, while a process looks, comes or goes. */
export class TreeConflict extends Error {}

interface RootLock {
  readonly root: Root
  readonly directory: StateDirectory
  /** The locked file. */
  locked: OpenFile | undefined
}

/** Another process that comes or goes replaces the file once. */
const maxTries = 100

/** @param served the first names the tree */
export function createAuthorityLock(served: readonly [Root, ...Root[]]) {
  const roots = served.map(({ real }) => real)
  const [{ real: tree, knownAs }] = served
  // In one order for all: of two processes with the same roots one gets all of them.
  const places: RootLock[] = served
    .map((root) => ({ root, directory: servedDirectory(root), locked: undefined }))
    .toSorted(({ root: one }, { root: other }) => (one.real < other.real ? -1 : 1))
  const isKept = ({ directory, locked }: RootLock) => locked !== undefined && directory.isAt(fileName, locked)
  /** A root that is gone has no file that could be changed. What was locked stays locked, wherever it is. */
  const needsNone = (place: RootLock) => isGone(place.root) && (place.root.real !== tree || place.locked !== undefined)

  return {
    /**
     * Takes the lock of every root and keeps those that it already holds. @returns false if another process has the tree
     * @throws TreeConflict; any other Error says what is in the way
     */
    tryAcquire(): boolean {
      refuseHosts(roots)
      refuseNested(roots)
      const taken = new Map<RootLock, OpenFile>()
      try {
        for (const place of places) {
          if (isKept(place) || needsNone(place)) continue
          const file = lockAt(place)
          if (file === undefined) {
            refuseOtherTree(place, tree, knownAs)
            break
          }
          taken.set(place, file)
        }
        if (places.some((place) => !isKept(place) && !taken.has(place) && !needsNone(place))) {
          giveBack(taken)
          return false
        }
      } catch (error) {
        giveBack(taken)
        throw error
      }
      for (const [place, file] of taken) {
        // The file that was locked before is no longer in its place.
        if (place.locked !== undefined) closeReader(place.locked.fd)
        place.locked = file
        writeHolder(file.fd, { root: place.root.real, tree, known_as: knownAs, pid: process.pid })
      }
      // Of two processes that start at once, at least one finds the other.
      enterServed(roots)
      try {
        if (taken.size > 0) refuseInner(roots)
      } catch (error) {
        release()
        throw error
      }
      return true
    },
    /** False if other processes no longer find a locked file in its place: another program has removed our folder. */
    isInPlace: () => places.every((place) => isKept(place) || needsNone(place)),
    /** Process id of the process that has the tree; undefined if that is not known. */
    holder(): number | undefined {
      const pid = readHolder(createStateDirectory(tree))?.pid
      // Until the next process says who it is, the file names the one before.
      return pid !== undefined && isRunning(pid, null) ? pid : undefined
    },
    /** Also removes the files: a process that has opened one meanwhile finds that it is not in its place. */
    release
  }

  function release(): void {
    const held = places.flatMap((place) => (place.locked === undefined ? [] : [[place, place.locked] as const]))
    if (held.length > 0) leaveServed(roots)
    giveBack(new Map(held))
    for (const place of places) place.locked = undefined
  }
}

/** @returns the locked file; undefined if another process has it */
function lockAt({ root, directory }: RootLock): OpenFile | undefined {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const file = directory.openLock(fileName)
    const { fd } = file
    let isTaken = false
    try {
      const isLocked = lock(fd, directory)
      const isShared = fstatSync(fd).nlink > 1
      const holder = isShared ? readHolder(directory) : undefined
      isTaken = isLocked && !isShared && directory.isAt(fileName, file)
      if (isTaken) return file
      // The file has another name too: it was copied with its tree, or is not ours. It is not written; only its name here is removed.
      if (isShared && (isLocked || (holder !== undefined && holder.root !== root.real))) directory.remove(fileName)
      // The process that had it may also have removed it between our open and our lock.
      else if (!isLocked) return undefined
    } finally {
      if (!isTaken) closeReader(fd)
    }
  }
  throw new Error(
    `${directory.path}/${fileName} was locked ${maxTries} times, and each time another file was at its name: stop the program that replaces it`
  )
}

function lock(fd: number, { path }: StateDirectory): boolean {
  try {
    return tryLock(fd, ...lockedRange)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${path}/${fileName} cannot be locked (${reason}): the file system must support locks`, {
      cause: error
    })
  }
}

function giveBack(files: ReadonlyMap<RootLock, OpenFile>): void {
  for (const [{ directory }, file] of files) {
    // It is only a name; the lock counts.
    attempt(() => directory.isAt(fileName, file) && directory.remove(fileName))
    closeReader(file.fd)
  }
}

function refuseOtherTree({ root, directory }: RootLock, tree: string, knownAs: readonly string[]): void {
  const holder = readHolder(directory)
  if (holder === undefined || isKnownTree([holder.tree], [tree], holder.known_as, knownAs)) return
  const here = root.real === tree ? `start it with --known-as ${tree} if that is this folder at another path, ` : ''
  throw new TreeConflict(
    `${root.real} is already served, by process ${holder.pid} as part of the tree ${holder.tree}: ${here}start both with the same --dir, or stop that one`
  )
}

function refuseHosts(roots: readonly string[]): void {
  for (const root of roots) {
    const directory = createStateDirectory(root)
    if (readTreeIdentity(directory) === undefined) continue
    throw new TreeConflict(
      `${root} is a tree of several hosts: start this server with --etcd as theirs, or, once all of them have stopped, remove ${directory.path}/tree.json`
    )
  }
}

/** For a process of a tree of several hosts. @throws TreeConflict if a process of this host serves a root by itself */
export function refuseLocalServer(roots: readonly string[]): void {
  const served = roots.find(isServed)
  if (served === undefined) return
  throw new TreeConflict(
    `${served} is already served without --etcd, by ${describeServer(served)}: stop that one first`
  )
}

/** Two engines must not serve the same files, one as a tree and the other as part of a larger tree. */
function refuseNested(roots: readonly string[]): void {
  for (const root of roots) {
    for (let above = dirname(root); above !== dirname(above); above = dirname(above)) {
      if (roots.includes(above) || !isServed(above)) continue
      throw new TreeConflict(
        `${root} lies in ${above}, which ${describeServer(above)} already serves: use that one (--dir ${above}), or stop it`
      )
    }
  }
}

function refuseInner(roots: readonly string[]): void {
  for (const root of roots) {
    const inner = servedInside(root, isUnserved).find((other) => !roots.includes(other) && isServed(other))
    if (inner === undefined) continue
    throw new TreeConflict(
      `${inner}, a part of ${root}, is already served, by ${describeServer(inner)}: use that one (--dir ${inner}), or stop it and start it again with --dir ${root}`
    )
  }
}

/** Such as `process 123 (http://127.0.0.1:8720)`. */
function describeServer(root: string): string {
  const pid = readHolder(createStateDirectory(root))?.pid
  const url = createStateFile(root).read()?.url
  return `${pid === undefined ? 'another server' : `process ${pid}`}${typeof url === 'string' ? ` (${url})` : ''}`
}
