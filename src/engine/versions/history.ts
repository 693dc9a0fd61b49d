// The known versions of each file, and the author of each.
import type { FileIdentity } from '../files/identity.ts'
import { rememberVersions, type HistoryBounds, type TrackedFile } from './remembered-versions.ts'
import { createSharedStrings } from './shared-strings.ts'
import { compact, isSomethingThere, type Author, type Entry, type Version, type Was } from './version.ts'

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
  readonly renamedFrom?: string | undefined
  readonly renamedTo?: string | undefined
  /** See `Version.restores`. */
  readonly restores?: number | undefined
  /** What the change has removed or replaced, if that was no version. */
  readonly over?: Entry | undefined
  readonly isBulk?: boolean
}

/** A file's history, as it outlives the process. */
export interface FileHistory {
  readonly path: string
  readonly versions: readonly Version[]
  /** Of all files, when it was written. */
  readonly forgottenAt?: number | undefined
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

/** Operations that bring back what was there before. */
const restoring: readonly string[] = ['async_restore', 'async_undo']

/** True if the agent has made the version and its content: it knows what it has put there. */
export function isWrittenBy(version: Author & { readonly renamedFrom?: string | undefined }, agent: string): boolean {
  return isMadeBy(version, agent) && version.renamedFrom === undefined && !restoring.includes(version.operation)
}

export function createHistory(bounds: HistoryBounds) {
  const { now = Date.now } = bounds
  const files = rememberVersions(bounds)
  const changeListeners = new Set<(change: VersionChange) => void>()
  const shareName = createSharedStrings()
  let seq = 0

  function add(path: string, tracked: TrackedFile, made: Omit<Version, 'seq'>, isBulk = false): void {
    const previous = tracked.versions.at(-1)
    const { text: agentId, ownLength } = shareName(made.agentId)
    seq += 1
    const version = compact({ ...made, agentId, seq })
    files.append(tracked, version, ownLength)
    if (version.isFirstSight) return
    const change = { ...version, path, previousHash: previous?.hash, isBulk }
    for (const listener of changeListeners) listener(change)
  }

  /** Records the version at this path. Without an author a hash other than the last one is an external change. */
  function record(
    path: string,
    hash: string,
    identity: FileIdentity,
    { author, isBulk, ...facts }: RecordOptions = {}
  ): void {
    const known = files.use(path)
    const last = known?.versions.at(-1)
    const isFirstSight = known === undefined && author === undefined
    const tracked = known ?? files.begin(path, identity)
    const told = factsOf(tracked, author, facts)
    tracked.identity = identity
    tracked.mode = identity.mode
    if (author === undefined && last?.hash === hash) return
    const at = author === undefined && !isFirstSight ? timeOfChange(identity, last) : now()
    add(path, tracked, { hash, at, ...(author ?? external), isFirstSight, ...told }, isBulk)
  }

  /** Records that a link is at this path, or a file whose bytes were not read. Without an author only of a path that is known, and only news. */
  function recordEntry(path: string, entry: Entry, { author, isBulk, ...facts }: RecordOptions = {}): void {
    const known = files.use(path)
    const is = entry === 'unread' ? { isUnread: true as const } : entry
    const last = known?.versions.at(-1)
    const isKnown = entry === 'unread' ? last?.isUnread === true : last?.link === entry.link
    if (author === undefined && (known === undefined || isKnown)) return
    const tracked = known ?? files.begin(path)
    const told = factsOf(tracked, author, facts)
    tracked.identity = undefined
    add(path, tracked, { hash: null, at: now(), ...(author ?? external), isFirstSight: false, ...is, ...told }, isBulk)
  }

  /** What else is known of a version that comes to a path. */
  function factsOf(
    tracked: TrackedFile,
    author: Author | undefined,
    { renamedFrom, restores, over }: RecordOptions
  ): Pick<Version, 'renamedFrom' | 'restores' | 'was' | 'isCreated'> {
    const last = tracked.versions.at(-1)
    const isCreated = over === undefined && (last === undefined ? author !== undefined : !isSomethingThere(last))
    const isReplaced = !isCreated && (renamedFrom !== undefined || restores !== undefined)
    const was = isReplaced ? wasBefore(tracked, over) : undefined
    return {
      ...(renamedFrom !== undefined && { renamedFrom }),
      ...(restores !== undefined && { restores }),
      ...(was !== undefined && { was }),
      ...(isCreated && { isCreated })
    }
  }

  /** The time of an external change, kept within what is possible: an mtime can be set to anything, and moves with the file. */
  function timeOfChange({ mtimeNs }: FileIdentity, last: Version | undefined): number {
    return Math.max(Math.min(Number(mtimeNs / 1_000_000n), now()), last?.at ?? 0)
  }

  /** Records that no file is at this path any more. Without an author it is an external change. */
  function recordGone(path: string, { author = external, renamedTo, over, isBulk }: RecordOptions = {}): void {
    const known = files.use(path)
    // What another program removes of a file that was never looked at is nothing to tell.
    if (known === undefined && author === external) return
    const tracked = known ?? files.begin(path)
    tracked.identity = undefined
    const last = tracked.versions.at(-1)
    if (over === undefined && last !== undefined && !isSomethingThere(last)) return
    const was = wasBefore(tracked, over)
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
    recordEntry,
    recordGone,
    /** A number for the versions of one transaction. */
    nextGroup: (): number => seq + 1,
    /** Milliseconds since the epoch; versions made before it are not all known. Undefined if none has been dropped. */
    get forgottenAt(): number | undefined {
      return files.forgottenAt
    },
    /** Drops what has become too old. A file that is gone for so long is not remembered at all. */
    expire: files.expire,
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
      if (last?.link !== undefined) return { link: last.link }
      return last?.hash === null ? last.was : tracked && modeOf(tracked)
    },
    /** Oldest first. */
    versions: files.versions,
    /**
     * The versions of a path after it had this hash, oldest first, as far as known.
     * @param isKnown whether the server has handed out the hash
     */
    since(path: string, hash: string, isKnown: boolean): Version[] {
      const versions = files.versions(path)
      const base = versions.findLastIndex((version) => version.hash === hash)
      // A hash that was never known here says nothing about what was there before.
      const isForeign = base === -1 && !isKnown
      return versions.slice(base + 1).filter(({ isFirstSight }) => !(isForeign && isFirstSight))
    },
    /** Each tracked path, the most recently used first. */
    paths: files.paths,
    /** Number of files whose history is kept. */
    get trackedFiles(): number {
      return files.size
    },
    /** Bytes that all this takes in memory, as far as it is counted. */
    get bytes(): number {
      return files.bytes
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
    onTrack: files.onTrack,
    /** Reports every path whose history is no longer kept. @returns removes the listener */
    onForget: files.onForget,
    /** All that is known, the least recently used first. */
    *dump(): Generator<FileHistory> {
      for (const path of files.pathsByAge())
        yield { path, versions: files.versions(path), forgottenAt: files.forgottenAt }
    },
    /** From now on versions have a larger `seq` than this. */
    continueFrom(least: number): void {
      seq = Math.max(seq, least)
    },
    /** Restores what an earlier process knew; what this process has learnt comes after that. */
    restore({ path, versions, forgottenAt }: FileHistory): void {
      if (forgottenAt !== undefined) files.forgetUntil(forgottenAt)
      if (versions.length === 0) return
      seq = versions.reduce((most, version) => Math.max(most, version.seq), seq)
      const earlier = versions.map((version) => ({ ...version, agentId: shareName(version.agentId).text }))
      const tracked = files.peek(path) ?? files.begin(path)
      const [first, ...others] = tracked.versions
      // The first version seen here is the last one known before, or else the file has changed while no server ran.
      const isSame = first?.isFirstSight === true && first.hash === versions.at(-1)?.hash
      const own = first === undefined || isSame ? others : [{ ...first, isFirstSight: false }, ...others]
      files.replace(tracked, [...earlier, ...own])
    }
  }
}

/** @param over what is there, if it is no version */
function wasBefore(tracked: TrackedFile, over: Entry | undefined): Was | undefined {
  if (over !== undefined) return over === 'unread' ? undefined : over
  const link = tracked.versions.at(-1)?.link
  return link === undefined ? modeOf(tracked) : { link }
}

function modeOf({ mode }: TrackedFile): Was | undefined {
  return mode === undefined ? undefined : { mode }
}
