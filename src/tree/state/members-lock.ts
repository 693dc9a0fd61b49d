// Which processes take part in serving a tree: each holds a shared lock, which the system frees however the process ends.
import { attempt } from '../../support/attempt.ts'
import { tryLock } from 'fs-native-extensions'
import { closeReader } from '../../engine/files/close-reader.ts'
import type { Root } from '../../engine/files/roots.ts'
import { servedDirectory } from './served-directory.ts'
import type { OpenFile } from './state-directory.ts'

/** Between the calls of `join` and `leave` this process counts as a member. */
export interface MembersLock {
  /** Again, it does no harm. A failure is no obstacle: the process then merely does not count. */
  join(): void
  /** True if this process has joined. */
  isMember(): boolean
  /** True if no other process is a member. Ask it as the authority: no process can join meanwhile. */
  isAlone(): boolean
  leave(): void
  /** Leaves, and removes the file: this process was the last one. */
  remove(): void
}

const fileName = 'members.lock'

/** @param root the first one */
export function createMembersLock(root: Root): MembersLock {
  const directory = servedDirectory(root)
  let held: OpenFile | undefined

  /** @returns undefined if another process is in the way */
  function open(shared: boolean): OpenFile | undefined {
    const file = directory.openLock(fileName)
    let isLocked = false
    try {
      isLocked = tryLock(file.fd, { shared })
      return isLocked ? file : undefined
    } finally {
      if (!isLocked) closeReader(file.fd)
    }
  }

  function join(): void {
    try {
      if (held !== undefined && directory.isAt(fileName, held)) return
      const joined = open(true)
      if (joined === undefined) return
      if (held !== undefined) closeReader(held.fd)
      held = joined
    } catch {
      // The folder cannot be written now: the authority, which looks again, reports it.
    }
  }

  function leave(): void {
    if (held !== undefined) closeReader(held.fd)
    held = undefined
  }

  return {
    join,
    leave,
    remove() {
      leave()
      // It is only a name; the locks count.
      attempt(() => directory.remove(fileName))
    },
    isMember: () => held !== undefined,
    isAlone() {
      const wasMember = held !== undefined
      leave()
      try {
        const alone = open(false)
        if (alone !== undefined) closeReader(alone.fd)
        return alone !== undefined
      } catch {
        return false
      } finally {
        if (wasMember) join()
      }
    }
  }
}
