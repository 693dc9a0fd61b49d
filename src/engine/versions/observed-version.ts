// What may be concluded from reading a file: its version is recorded, unless something newer has been learnt by the end of the read.
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
  /** False where somebody changes the file through the server, or has changed it since: what is seen may be his work. */
  readonly isSound: boolean
  /** Keeps the bytes, and records the version where that is sound. */
  record(version: FileVersion, isBulk?: boolean): void
}

/** Begins before the file is opened, under its lock. A read that takes long may end after others that began later. */
export function beginObservation(path: string, { bases, history }: Omit<ObservationParts, 'locks'>): Observation {
  const isLatest = whileLatest(path, history)
  return {
    isSound: true,
    record(version, isBulk = false) {
      bases.keep(version.hash, version.bytes)
      if (isLatest() || isStillThere(path, version)) history.record(path, version.hash, version.identity, { isBulk })
    }
  }
}

/** The same without the lock, so that nobody waits for whoever looks. A write under way would be taken for a change from outside. */
export function beginGlance(path: string, { bases, history, locks }: ObservationParts): Observation {
  const key = lockKey(path)
  const isBeingChanged = () => locks.status(key).holders.some(({ mode, isLease }) => mode === 'exclusive' && !isLease)
  const isLatest = isBeingChanged() ? () => false : whileLatest(path, history)
  return {
    get isSound(): boolean {
      return isLatest() && !isBeingChanged()
    },
    record(version, isBulk = false) {
      bases.keep(version.hash, version.bytes)
      if (this.isSound) history.record(path, version.hash, version.identity, { isBulk })
    }
  }
}

/** @returns whether nothing has been recorded of the path since */
function whileLatest(path: string, history: History): () => boolean {
  const seq = () => history.last(path)?.seq
  const before = seq()
  return () => seq() === before
}

/** Whether this very version stands at its path right now, by what stat says. */
function isStillThere(path: string, { identity }: FileVersion): boolean {
  try {
    return isSameIdentity(lstatSync(path, { bigint: true }), identity)
  } catch {
    // Whatever is in the way there: it is not what has been read.
    return false
  }
}
