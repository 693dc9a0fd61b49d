// Records the version that a read has found, unless something newer was recorded before the read ended.
import { lstatSync } from 'node:fs'
import type { LockManager } from '../locks/lock-manager.ts'
import type { Bases } from './bases.ts'
import type { History } from './history.ts'
import { isSameIdentity } from '../files/identity.ts'
import { lockKey } from '../files/lock-key.ts'
import type { FileVersion } from '../files/read-file.ts'

export interface ObservationParts {
  readonly bases: Bases
  readonly history: History
  readonly locks: LockManager
}

interface Observation {
  /** False if an operation changes the file, or has changed it since, or is about to be logged: the look may have seen that change. */
  readonly isSound: boolean
  /** Keeps the bytes, and records the version if that is sound. */
  record(version: FileVersion, isBulk?: boolean): void
}

/** Begins before the file is opened, under its lock. A read that takes long may end after others that began later. */
export function beginObservation(path: string, { bases, history }: Omit<ObservationParts, 'locks'>): Observation {
  const isLatest = whileLatest(path, history)
  return {
    isSound: true,
    record(version, isBulk = false) {
      bases.keep(version.hash, version.bytes)
      if (isLatest() || isStillThere(path, version)) history.observe(path, { kind: 'file', ...version }, isBulk)
    }
  }
}

/** The same without the lock, so that no operation waits for it. A write under way would look like an external change. */
export function beginGlance(path: string, { bases, history, locks }: ObservationParts): Observation {
  const key = lockKey(path)
  const isBeingChanged = () =>
    history.isExpected(path) || locks.status(key).holders.some(({ mode, isLease }) => mode === 'exclusive' && !isLease)
  const isLatest = isBeingChanged() ? () => false : whileLatest(path, history)
  return {
    get isSound(): boolean {
      return isLatest() && !isBeingChanged()
    },
    record(version, isBulk = false) {
      bases.keep(version.hash, version.bytes)
      if (this.isSound) history.observe(path, { kind: 'file', ...version }, isBulk)
    }
  }
}

/** @returns whether nothing has been recorded of the path since */
function whileLatest(path: string, history: History): () => boolean {
  const seq = () => history.last(path)?.seq
  const before = seq()
  return () => seq() === before
}

/** Whether this very version is at its path right now, according to stat. */
export function isStillThere(path: string, { identity }: Pick<FileVersion, 'identity'>): boolean {
  try {
    return isSameIdentity(lstatSync(path, { bigint: true }), identity)
  } catch {
    // Whatever the error, this is not the file that was read.
    return false
  }
}
