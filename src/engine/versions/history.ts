// Which versions each file has had, as far as known, and who made them.
import { LRUCache } from 'lru-cache'
import type { FileIdentity } from '../files/identity.ts'

/** Who made a version. */
export interface Author {
  /** `external` for a change made outside the server. */
  readonly agentId: string
  readonly operation: string
}

/** What a file that is gone was besides its bytes. */
export interface Was {
  /** Permission bits. */
  readonly mode?: number
  /** Where it was a symbolic link: what it said. */
  readonly link?: string
}

/** One state of a file. */
export interface Version extends Author {
  /** Null where the file was gone. */
  readonly hash: string | null
  /** True for a version that was there when the file was first looked at: nobody is known to have made it. */
  readonly isFirstSight: boolean
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Larger than that of every version recorded before, whatever its path. */
  readonly seq: number
  /** The path under which it stood until then. */
  readonly renamedFrom?: string
  /** The path under which it stands since then. */
  readonly renamedTo?: string
  /** Only where the file was gone. */
  readonly was?: Was
}

/** What everybody who follows the files is told. */
export interface VersionChange extends Version {
  /** Canonical. */
  readonly path: string
  /** Null where the file was not there; undefined where that is not known. */
  readonly previousHash: string | null | undefined
  /** True for one of very many changes that were noticed together: whoever tells people of changes tells of all of them at once. */
  readonly isBulk: boolean
}

interface RecordOptions {
  /** Undefined where nobody here has made the version. */
  readonly author?: Author
  readonly renamedFrom?: string
  readonly renamedTo?: string
  /** What it said, of a symbolic link that was deleted. */
  readonly link?: string | undefined
  readonly isBulk?: boolean
}

interface TrackedFile {
  /** As the file was when its last version was seen; undefined where it is gone, and where nobody has looked since a restart. */
  identity: FileIdentity | undefined
  /** Permission bits that it had when it was last looked at. */
  mode?: number | undefined
  /** Oldest first; the last one is the version known to be there. */
  readonly versions: Version[]
}

/** A file's history, as it outlives the process. */
export interface FileHistory {
  readonly path: string
  readonly versions: readonly Version[]
}

interface HistoryOptions {
  /** Bound on the files whose history is kept. */
  readonly maxFiles: number
  /** Versions remembered of one file. */
  readonly maxVersions: number
  readonly now?: () => number
}

export type History = ReturnType<typeof createHistory>

export const external: Author = { agentId: 'external', operation: 'external' }

export function createHistory({ maxFiles, maxVersions, now = Date.now }: HistoryOptions) {
  const forgetListeners = new Set<(path: string) => void>()
  const files = new LRUCache<string, TrackedFile>({
    max: maxFiles,
    dispose: (_, path) => {
      for (const listener of forgetListeners) listener(path)
    }
  })
  const changeListeners = new Set<(change: VersionChange) => void>()
  const trackListeners = new Set<(path: string) => void>()
  let seq = 0

  function track(path: string, tracked: TrackedFile): void {
    files.set(path, tracked)
    for (const listener of trackListeners) listener(path)
  }

  function add(path: string, { versions }: TrackedFile, made: Omit<Version, 'seq'>, isBulk = false): void {
    const previous = versions.at(-1)
    seq += 1
    const version = { ...made, seq }
    versions.push(version)
    if (versions.length > maxVersions) versions.shift()
    if (version.isFirstSight) return
    const change = { ...version, path, previousHash: previous?.hash, isBulk }
    for (const listener of changeListeners) listener(change)
  }

  /** Notes which version stands at this path. Without an author a hash that was not known before is an external change. */
  function record(
    path: string,
    hash: string,
    identity: FileIdentity,
    { author, renamedFrom, isBulk }: RecordOptions = {}
  ): void {
    const known = files.get(path)
    const last = known?.versions.at(-1)
    const isFirstSight = known === undefined && author === undefined
    const tracked = known ?? { identity, versions: [] }
    tracked.identity = identity
    tracked.mode = identity.mode
    if (known === undefined) track(path, tracked)
    if (author === undefined && last?.hash === hash) return
    const at = author === undefined && !isFirstSight ? timeOfChange(identity, last) : now()
    const made = { hash, at, ...(author ?? external), isFirstSight, ...(renamedFrom !== undefined && { renamedFrom }) }
    add(path, tracked, made, isBulk)
  }

  /** When somebody outside has written it, as far as that can be: a time of writing may be set to anything, and moves with the file. */
  function timeOfChange({ mtimeNs }: FileIdentity, last: Version | undefined): number {
    return Math.max(Math.min(Number(mtimeNs / 1_000_000n), now()), last?.at ?? 0)
  }

  /** Notes that no file stands at this path any more. Without an author somebody outside has removed it. */
  function recordGone(path: string, { author = external, renamedTo, link, isBulk }: RecordOptions = {}): void {
    const known = files.get(path)
    // A link has no versions of its own, since a reader of its path gets those of its target; yet it can be brought back.
    if (known === undefined && link === undefined) return
    const tracked = known ?? { identity: undefined, versions: [] }
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
    /** The last version known at a path, and the identity the file had then. */
    known(path: string): { hash: string; identity: FileIdentity | undefined } | undefined {
      const tracked = files.peek(path)
      const hash = tracked?.versions.at(-1)?.hash
      return tracked === undefined || hash === undefined || hash === null
        ? undefined
        : { hash, identity: tracked.identity }
    },
    last: (path: string): Version | undefined => files.peek(path)?.versions.at(-1),
    /** What a file that is not there now was when it was, as far as known. */
    was(path: string): Was | undefined {
      const tracked = files.peek(path)
      const last = tracked?.versions.at(-1)
      return last?.hash === null ? last.was : tracked && modeOf(tracked)
    },
    /** Oldest first. */
    versions: (path: string): readonly Version[] => files.peek(path)?.versions ?? [],
    /**
     * The versions of a path after it had this hash, oldest first, as far as known.
     * @param isKnown whether the hash is one that the server has handed out
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
    /** Told of every change from now on, whoever made it. @returns ends it */
    onChange(listener: (change: VersionChange) => void): () => void {
      changeListeners.add(listener)
      return () => changeListeners.delete(listener)
    },
    /** Told of every path whose history begins. @returns ends it */
    onTrack(listener: (path: string) => void): () => void {
      trackListeners.add(listener)
      return () => trackListeners.delete(listener)
    },
    /** Told of every path whose history is no longer kept. @returns ends it */
    onForget(listener: (path: string) => void): () => void {
      forgetListeners.add(listener)
      return () => forgetListeners.delete(listener)
    },
    /** All that is known, the least recently used first. */
    *dump(): Generator<FileHistory> {
      for (const path of files.rkeys()) yield { path, versions: files.peek(path)?.versions ?? [] }
    },
    /** From now on versions have larger numbers than this. */
    continueFrom(least: number): void {
      seq = Math.max(seq, least)
    },
    /** Takes up what was known before this process; what it has learnt itself comes after that. */
    restore({ path, versions }: FileHistory): void {
      if (versions.length === 0) return
      seq = versions.reduce((most, version) => Math.max(most, version.seq), seq)
      const known = files.peek(path)
      if (known === undefined) return track(path, { identity: undefined, versions: versions.slice(-maxVersions) })
      const [first, ...others] = known.versions.splice(0)
      // What was seen first here is what was there before, or else has been changed while nobody looked.
      const isSame = first?.isFirstSight === true && first.hash === versions.at(-1)?.hash
      const own = first === undefined || isSame ? others : [{ ...first, isFirstSight: false }, ...others]
      known.versions.push(...[...versions, ...own].slice(-maxVersions))
    }
  }
}

function modeOf({ mode }: TrackedFile): Was | undefined {
  return mode === undefined ? undefined : { mode }
}
