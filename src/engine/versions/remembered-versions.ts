// The versions that are remembered of each file, within bounds of files, versions, bytes and age.
import { LRUCache } from 'lru-cache'
import type { FileIdentity } from '../files/identity.ts'
import {
  bounded,
  fileBytes,
  forget,
  sizeOfForgotten,
  sizeOfVersion,
  sizeOfVersions,
  type Forgotten,
  type Version
} from './version.ts'
import { createListeners } from '../../support/listeners.ts'

export interface TrackedFile {
  readonly path: string
  /** Of the file when its last version was seen; undefined if it is gone, or has not been examined since a restart. */
  identity: FileIdentity | undefined
  /** Permission bits when it was last examined. */
  mode?: number | undefined
  /** Oldest first; the last one is the version known to be there. */
  readonly versions: Version[]
  /** Number of the last version that is known to be committed, or to matter to no commit. */
  committed: number
  /** Of the versions before these. */
  forgotten?: Forgotten | undefined
  /** In memory, as far as it is counted. */
  bytes: number
}

export interface HistoryBounds {
  /** Bound on the files whose history is kept. */
  readonly maxFiles: number
  /** Versions remembered of one file. */
  readonly maxVersions: number
  /** The same, while the file differs from its last commit. Default: `maxVersions`. */
  readonly maxUncommitted?: number
  /** Bound on the bytes that all histories take in memory. */
  readonly maxBytes: number
  /** Age of versions that are remembered; the newest of a file that is there stays at any age. */
  readonly maxAgeMs?: number
  readonly now?: () => number
}

export type RememberedVersions = ReturnType<typeof rememberVersions>

export function rememberVersions(bounds: HistoryBounds) {
  const { maxFiles, maxVersions, maxUncommitted = maxVersions, maxBytes, maxAgeMs = Infinity, now = Date.now } = bounds
  const forgettings = createListeners<[path: string]>()
  const beginnings = createListeners<[path: string]>()
  const files = new LRUCache<string, TrackedFile>({
    max: maxFiles,
    dispose: (tracked, path) => {
      bytes -= tracked.bytes
      noteForgotten(tracked.versions)
      forgettings.call(path)
    }
  })
  let bytes = 0
  /** When the newest of the versions was made that are not remembered any more. */
  let forgottenAt: number | undefined

  function noteForgotten(versions: readonly { readonly at: number }[]): void {
    for (const { at } of versions) forgottenAt = Math.max(forgottenAt ?? at, at)
  }

  /** The newest version of a path says what is there now. @returns the bytes that are free since */
  function dropOldest(tracked: TrackedFile): number {
    const { versions, forgotten } = tracked
    const oldest = now() - maxAgeMs
    const surplus = Math.max(0, versions.length - maxVersions)
    const tooMany =
      surplus === 0 ? 0 : Math.max(Math.min(surplus, committedOf(tracked)), versions.length - maxUncommitted)
    const young = versions.findIndex(({ at }) => at >= oldest)
    const dropped = versions.splice(0, Math.max(tooMany, young === -1 ? versions.length - 1 : young))
    noteForgotten(dropped)
    tracked.forgotten = forget(forgotten, dropped, tracked.committed)
    return sizeOfVersions(dropped) + sizeOfForgotten(forgotten) - sizeOfForgotten(tracked.forgotten)
  }

  const isFull = () => bytes > maxBytes && files.size > 1

  /** The least recently used files go first, never the one in use. */
  function weigh(tracked: TrackedFile, change: number): void {
    tracked.bytes += change
    bytes += change
    while (isFull()) files.pop()
  }

  function begin(path: string, identity?: FileIdentity): TrackedFile {
    const tracked = { path, identity, mode: identity?.mode, versions: [], committed: 0, bytes: 0 }
    files.set(path, tracked)
    weigh(tracked, fileBytes + path.length)
    beginnings.call(path)
    return tracked
  }

  /** Drops what has become too old. A file that is gone for so long is not remembered at all. */
  function expire(): void {
    const oldest = now() - maxAgeMs
    const gone: string[] = []
    for (const [path, tracked] of files.entries()) {
      const last = tracked.versions.at(-1)
      if (last?.hash === null && last.at < oldest) gone.push(path)
      else weigh(tracked, -dropOldest(tracked))
    }
    for (const path of gone) files.delete(path)
  }

  return {
    expire,
    /** Reports every path that begins to be remembered. @returns removes the listener */
    onTrack: beginnings.add,
    /** Reports every path that is no longer remembered. @returns removes the listener */
    onForget: forgettings.add,
    /** The file counts as used now. */
    use: (path: string): TrackedFile | undefined => files.get(path),
    peek: (path: string): TrackedFile | undefined => files.peek(path),
    versions: (path: string): readonly Version[] => files.peek(path)?.versions ?? [],
    /** What is known of the versions of a path before those that are remembered. */
    forgotten: (path: string): Forgotten | undefined => files.peek(path)?.forgotten,
    /** Remembers a file that was not. */
    begin,
    /** All versions of a path up to this number are committed, or the file is of no repository. */
    commit(path: string, seq: number): void {
      const tracked = files.peek(path)
      if (tracked === undefined) return
      const size = sizeOf(tracked)
      tracked.committed = Math.max(tracked.committed, seq)
      if (tracked.forgotten !== undefined) tracked.forgotten = { ...tracked.forgotten, agents: [] }
      dropOldest(tracked)
      weigh(tracked, sizeOf(tracked) - size)
    },
    /** @param ownLength of what the version does not share with others */
    append(tracked: TrackedFile, version: Version, ownLength: number): void {
      tracked.versions.push(version)
      weigh(tracked, ownLength + sizeOfVersion(version) - dropOldest(tracked))
    },
    /** @param forgotten of versions before these */
    replace(tracked: TrackedFile, versions: readonly Version[], forgotten: Forgotten | undefined): void {
      const size = sizeOf(tracked)
      tracked.versions.splice(0, Infinity, ...versions)
      if (forgotten !== undefined) {
        const { hash, agents } = tracked.forgotten ?? { hash: forgotten.hash, agents: [] }
        tracked.forgotten = { hash, agents: bounded([...forgotten.agents, ...agents]) }
      }
      dropOldest(tracked)
      weigh(tracked, sizeOf(tracked) - size)
    },
    /** Milliseconds since the epoch; versions made before it are not all known. Undefined if none has been dropped. */
    get forgottenAt(): number | undefined {
      return forgottenAt
    },
    /** Versions up to this time were dropped by an earlier process. */
    forgetUntil: (at: number): void => noteForgotten([{ at }]),
    get size(): number {
      return files.size
    },
    /** In memory, as far as they are counted. */
    get bytes(): number {
      return bytes
    },
    /** Each path of now, the most recently used first: a walk over them that pauses misses none, whichever are used meanwhile. */
    paths: (): string[] => [...files.keys()],
    /** Each path, the least recently used first. */
    pathsByAge: (): Iterable<string> => files.rkeys()
  }
}

function committedOf({ versions, committed }: TrackedFile): number {
  const next = versions.findIndex(({ seq }) => seq > committed)
  return next === -1 ? versions.length : next
}

function sizeOf({ versions, forgotten }: TrackedFile): number {
  return sizeOfVersions(versions) + sizeOfForgotten(forgotten)
}
