// The versions that are remembered of each file, within bounds of files, versions, bytes and age.
import { LRUCache } from 'lru-cache'
import type { FileIdentity } from '../files/identity.ts'
import { fileBytes, sizeOfVersion, sizeOfVersions, type Version } from './version.ts'

export interface TrackedFile {
  readonly path: string
  /** Of the file when its last version was seen; undefined if it is gone, or has not been examined since a restart. */
  identity: FileIdentity | undefined
  /** Permission bits when it was last examined. */
  mode?: number | undefined
  /** Oldest first; the last one is the version known to be there. */
  readonly versions: Version[]
  /** In memory, as far as it is counted. */
  bytes: number
}

export interface HistoryBounds {
  /** Bound on the files whose history is kept. */
  readonly maxFiles: number
  /** Versions remembered of one file. */
  readonly maxVersions: number
  /** Bound on the bytes that all histories take in memory. */
  readonly maxBytes: number
  /** Age of versions that are remembered; the newest of a file that is there stays at any age. */
  readonly maxAgeMs?: number
  readonly now?: () => number
}

export function rememberVersions(bounds: HistoryBounds) {
  const { maxFiles, maxVersions, maxBytes, maxAgeMs = Infinity, now = Date.now } = bounds
  const forgetListeners = new Set<(path: string) => void>()
  const trackListeners = new Set<(path: string) => void>()
  const files = new LRUCache<string, TrackedFile>({
    max: maxFiles,
    dispose: (tracked, path) => {
      bytes -= tracked.bytes
      forget(tracked.versions)
      for (const listener of forgetListeners) listener(path)
    }
  })
  let bytes = 0
  /** When the newest of the versions was made that are not remembered any more. */
  let forgottenAt: number | undefined

  function forget(versions: readonly { readonly at: number }[]): void {
    for (const { at } of versions) forgottenAt = Math.max(forgottenAt ?? at, at)
  }

  /** The newest version of a path says what is there now. */
  function dropOldest({ versions }: TrackedFile): readonly Version[] {
    const oldest = now() - maxAgeMs
    const tooMany = Math.max(0, versions.length - maxVersions)
    const young = versions.findIndex(({ at }) => at >= oldest)
    const dropped = versions.splice(0, Math.max(tooMany, young === -1 ? versions.length - 1 : young))
    forget(dropped)
    return dropped
  }

  const isFull = () => bytes > maxBytes && files.size > 1

  /** The least recently used files go first, never the one in use. */
  function weigh(tracked: TrackedFile, change: number): void {
    tracked.bytes += change
    bytes += change
    while (isFull()) files.pop()
  }

  function begin(path: string, identity?: FileIdentity): TrackedFile {
    const tracked = { path, identity, mode: identity?.mode, versions: [], bytes: 0 }
    files.set(path, tracked)
    weigh(tracked, fileBytes + path.length)
    for (const listener of trackListeners) listener(path)
    return tracked
  }

  /** Drops what has become too old. A file that is gone for so long is not remembered at all. */
  function expire(): void {
    const oldest = now() - maxAgeMs
    const gone: string[] = []
    for (const [path, tracked] of files.entries()) {
      const last = tracked.versions.at(-1)
      if (last?.hash === null && last.at < oldest) gone.push(path)
      else weigh(tracked, -sizeOfVersions(dropOldest(tracked)))
    }
    for (const path of gone) files.delete(path)
  }

  /** Reports every path that begins to be remembered. @returns removes the listener */
  function onTrack(listener: (path: string) => void): () => void {
    trackListeners.add(listener)
    return () => trackListeners.delete(listener)
  }

  /** Reports every path that is no longer remembered. @returns removes the listener */
  function onForget(listener: (path: string) => void): () => void {
    forgetListeners.add(listener)
    return () => forgetListeners.delete(listener)
  }

  return {
    expire,
    onTrack,
    onForget,
    /** The file counts as used now. */
    use: (path: string): TrackedFile | undefined => files.get(path),
    peek: (path: string): TrackedFile | undefined => files.peek(path),
    versions: (path: string): readonly Version[] => files.peek(path)?.versions ?? [],
    /** Remembers a file that was not. */
    begin,
    /** @param ownLength of what the version does not share with others */
    append(tracked: TrackedFile, version: Version, ownLength: number): void {
      tracked.versions.push(version)
      const dropped = dropOldest(tracked)
      weigh(tracked, ownLength + sizeOfVersion(version) - sizeOfVersions(dropped))
    },
    replace(tracked: TrackedFile, versions: readonly Version[]): void {
      const size = sizeOfVersions(tracked.versions)
      tracked.versions.splice(0, Infinity, ...versions)
      dropOldest(tracked)
      weigh(tracked, sizeOfVersions(tracked.versions) - size)
    },
    /** Milliseconds since the epoch; versions made before it are not all known. Undefined if none has been dropped. */
    get forgottenAt(): number | undefined {
      return forgottenAt
    },
    /** Versions up to this time were dropped by an earlier process. */
    forgetUntil: (at: number): void => forget([{ at }]),
    get size(): number {
      return files.size
    },
    /** In memory, as far as they are counted. */
    get bytes(): number {
      return bytes
    },
    /** Each path, the most recently used first. */
    paths: (): Iterable<string> => files.keys(),
    /** Each path, the least recently used first. */
    pathsByAge: (): Iterable<string> => files.rkeys()
  }
}
