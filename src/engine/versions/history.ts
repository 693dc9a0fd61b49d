// The known versions of each file, and the author of each.
import { LRUCache } from 'lru-cache'
import type { FileIdentity } from '../files/identity.ts'
import { createSharedStrings } from './shared-strings.ts'
import { compact, fileBytes, sizeOfVersion, sizeOfVersions, type Author, type Version, type Was } from './version.ts'

/** What every listener gets. */
export interface VersionChange extends Version {
  /** Canonical. */
  readonly path: string
  /** Null if the file was not there; undefined if that is not known. */
  readonly previousHash: string | null | undefined
  /** True for one of very many changes that were noticed together: agents and clients get one report of them all. */
  readonly isBulk: boolean
}

interface RecordOptions {
  /** Undefined if no operation of the server made the version. */
  readonly author?: Author
  readonly renamedFrom?: string
  readonly renamedTo?: string
  /** The target of a symbolic link that was deleted. */
  readonly link?: string | undefined
  readonly isBulk?: boolean
}

interface TrackedFile {
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

/** A file's history, as it outlives the process. */
export interface FileHistory {
  readonly path: string
  readonly versions: readonly Version[]
  /** Of all files, when it was written. */
  readonly forgottenAt?: number | undefined
}

interface HistoryOptions {
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

export type History = ReturnType<typeof createHistory>

export const external: Author = { agentId: 'external', operation: 'external' }

/** Operations of versions that an agent's own tools made: certainly, or as far as can be told without a report of the tool's end. */
export const nativeEdit = 'native_edit'
export const probableEdit = 'native_edit_probable'

/** False for a version that is only probably the agent's: another one may have made it. */
export function isMadeBy({ agentId, operation }: Author, agent: string): boolean {
  return agentId === agent && operation !== probableEdit
}

export function createHistory(options: HistoryOptions) {
  const { maxFiles, maxVersions, maxBytes, maxAgeMs = Infinity, now = Date.now } = options
  const forgetListeners = new Set<(path: string) => void>()
  const files = new LRUCache<string, TrackedFile>({
    max: maxFiles,
    dispose: (tracked, path) => {
      bytes -= tracked.bytes
      forget(tracked.versions)
      for (const listener of forgetListeners) listener(path)
    }
  })
  const changeListeners = new Set<(change: VersionChange) => void>()
  const trackListeners = new Set<(path: string) => void>()
  const shareName = createSharedStrings()
  let seq = 0
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

  function track(path: string, tracked: TrackedFile): void {
    files.set(path, tracked)
    weigh(tracked, fileBytes + path.length)
    for (const listener of trackListeners) listener(path)
  }

  function add(path: string, tracked: TrackedFile, made: Omit<Version, 'seq'>, isBulk = false): void {
    const { versions } = tracked
    const previous = versions.at(-1)
    const { text: agentId, ownLength } = shareName(made.agentId)
    seq += 1
    const version = compact({ ...made, agentId, seq })
    versions.push(version)
    const dropped = dropOldest(tracked)
    weigh(tracked, ownLength + sizeOfVersion(version) - sizeOfVersions(dropped))
    if (version.isFirstSight) return
    const change = { ...version, path, previousHash: previous?.hash, isBulk }
    for (const listener of changeListeners) listener(change)
  }

  /** Records the version at this path. Without an author a hash other than the last one is an external change. */
  function record(
    path: string,
    hash: string,
    identity: FileIdentity,
    { author, renamedFrom, isBulk }: RecordOptions = {}
  ): void {
    const known = files.get(path)
    const last = known?.versions.at(-1)
    const isFirstSight = known === undefined && author === undefined
    const tracked = known ?? { path, identity, versions: [], bytes: 0 }
    tracked.identity = identity
    tracked.mode = identity.mode
    if (known === undefined) track(path, tracked)
    if (author === undefined && last?.hash === hash) return
    const at = author === undefined && !isFirstSight ? timeOfChange(identity, last) : now()
    const isCreated = last === undefined ? author !== undefined : last.hash === null
    const made = {
      hash,
      at,
      ...(author ?? external),
      isFirstSight,
      ...(renamedFrom !== undefined && { renamedFrom }),
      ...(isCreated && { isCreated })
    }
    add(path, tracked, made, isBulk)
  }

  /** The time of an external change, kept within what is possible: an mtime can be set to anything, and moves with the file. */
  function timeOfChange({ mtimeNs }: FileIdentity, last: Version | undefined): number {
    return Math.max(Math.min(Number(mtimeNs / 1_000_000n), now()), last?.at ?? 0)
  }

  /** Records that no file is at this path any more. Without an author it is an external change. */
  function recordGone(path: string, { author = external, renamedTo, link, isBulk }: RecordOptions = {}): void {
    const known = files.get(path)
    // A link has no versions of its own, since a reader of its path gets those of its target; yet it can be brought back.
    if (known === undefined && link === undefined) return
    const tracked = known ?? { path, identity: undefined, versions: [], bytes: 0 }
    if (known === undefined) track(path, tracked)
    tracked.identity = undefined
    if (link === undefined && tracked.versions.at(-1)?.hash === null) return
    const was = link === undefined ? modeOf(tracked) : { link }
    const made = {
      hash: null,
      at: now(),
      ...author,
      isFirstSight: false,
      ...(renamedTo !== undefined && { renamedTo }),
      ...(was !== undefined && { was })
    }
    add(path, tracked, made, isBulk)
  }

  return {
    record,
    recordGone,
    /** A number for the versions of one transaction. */
    nextGroup: (): number => seq + 1,
    /** Milliseconds since the epoch; versions made before it are not all known. Undefined if none has been dropped. */
    get forgottenAt(): number | undefined {
      return forgottenAt
    },
    /** Drops what has become too old. A file that is gone for so long is not remembered at all. */
    expire(): void {
      const oldest = now() - maxAgeMs
      const gone: string[] = []
      for (const [path, tracked] of files.entries()) {
        const last = tracked.versions.at(-1)
        if (last?.hash === null && last.at < oldest) gone.push(path)
        else weigh(tracked, -sizeOfVersions(dropOldest(tracked)))
      }
      for (const path of gone) files.delete(path)
    },
    /** Of the newest version. */
    get seq(): number {
      return seq
    },
    /** The last version known at a path, and the identity the file had then. */
    known(path: string): { hash: string; identity: FileIdentity | undefined } | undefined {
      const tracked = files.peek(path)
      const hash = tracked?.versions.at(-1)?.hash
      return tracked === undefined || hash === undefined || hash === null
        ? undefined
        : { hash, identity: tracked.identity }
    },
    last: (path: string): Version | undefined => files.peek(path)?.versions.at(-1),
    /** What a file that is gone was before, as far as known. */
    was(path: string): Was | undefined {
      const tracked = files.peek(path)
      const last = tracked?.versions.at(-1)
      return last?.hash === null ? last.was : tracked && modeOf(tracked)
    },
    /** Oldest first. */
    versions: (path: string): readonly Version[] => files.peek(path)?.versions ?? [],
    /**
     * The versions of a path after it had this hash, oldest first, as far as known.
     * @param isKnown whether the server has handed out the hash
     */
    since(path: string, hash: string, isKnown: boolean): Version[] {
      const versions = files.peek(path)?.versions ?? []
      const base = versions.findLastIndex((version) => version.hash === hash)
      // A hash that was never known here says nothing about what was there before.
      const isForeign = base === -1 && !isKnown
      return versions.slice(base + 1).filter(({ isFirstSight }) => !(isForeign && isFirstSight))
    },
    /** Each tracked path, the most recently used first. */
    paths: (): Iterable<string> => files.keys(),
    /** Number of files whose history is kept. */
    get trackedFiles(): number {
      return files.size
    },
    /** Bytes that all this takes in memory, as far as it is counted. */
    get bytes(): number {
      return bytes
    },
    /** The same text, as the records here have it. */
    sharedName: (name: string): string => shareName(name).text,
    /** The same path, as the records here have it. */
    sharedPath: (path: string): string => files.peek(path)?.path ?? path,
    /** Reports every change from now on, external ones included. @returns removes the listener */
    onChange(listener: (change: VersionChange) => void): () => void {
      changeListeners.add(listener)
      return () => changeListeners.delete(listener)
    },
    /** Reports every path whose history begins. @returns removes the listener */
    onTrack(listener: (path: string) => void): () => void {
      trackListeners.add(listener)
      return () => trackListeners.delete(listener)
    },
    /** Reports every path whose history is no longer kept. @returns removes the listener */
    onForget(listener: (path: string) => void): () => void {
      forgetListeners.add(listener)
      return () => forgetListeners.delete(listener)
    },
    /** All that is known, the least recently used first. */
    *dump(): Generator<FileHistory> {
      for (const path of files.rkeys()) yield { path, versions: files.peek(path)?.versions ?? [], forgottenAt }
    },
    /** From now on versions have a larger `seq` than this. */
    continueFrom(least: number): void {
      seq = Math.max(seq, least)
    },
    /** Restores what an earlier process knew; what this process has learnt comes after that. */
    restore({ path, versions, forgottenAt: before }: FileHistory): void {
      if (before !== undefined) forget([{ at: before }])
      if (versions.length === 0) return
      seq = versions.reduce((most, version) => Math.max(most, version.seq), seq)
      const earlier = versions.map((version) => ({ ...version, agentId: shareName(version.agentId).text }))
      const known = files.peek(path)
      if (known === undefined) {
        const tracked = { path, identity: undefined, versions: earlier, bytes: 0 }
        dropOldest(tracked)
        track(path, tracked)
        return weigh(tracked, sizeOfVersions(tracked.versions))
      }
      const size = sizeOfVersions(known.versions)
      const [first, ...others] = known.versions.splice(0)
      // The first version seen here is the last one known before, or else the file has changed while no server ran.
      const isSame = first?.isFirstSight === true && first.hash === versions.at(-1)?.hash
      const own = first === undefined || isSame ? others : [{ ...first, isFirstSight: false }, ...others]
      known.versions.push(...earlier, ...own)
      dropOldest(known)
      weigh(known, sizeOfVersions(known.versions) - size)
    }
  }
}

function modeOf({ mode }: TrackedFile): Was | undefined {
  return mode === undefined ? undefined : { mode }
}
