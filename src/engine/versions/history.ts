// The log of the tree: each change with its author and its steps, by the files that it has changed.
import type { FileIdentity } from '../files/identity.ts'
import { external, type Author } from './author.ts'
import {
  factsOfArrival,
  factsOfEnd,
  isNews,
  modeOf,
  otherModes,
  sinceWhen,
  timeOfChange,
  toMs,
  type MadeStep,
  type Now
} from './made-step.ts'
import { dumpHistories, restoreHistory, type FileHistory } from './kept-history.ts'
import { rememberVersions, type HistoryBounds } from './remembered-versions.ts'
import { createSharedStrings } from './shared-strings.ts'
import { compact, type Version, type Was } from './version.ts'
import { createListeners } from '../../support/listeners.ts'

/** A version as a step of its change. */
export interface VersionChange extends Version {
  /** Canonical. */
  readonly path: string
  /** Null if the file was not there; undefined if that is not known. */
  readonly previousHash: string | null | undefined
}

/** One change of the tree. */
export interface LogEntry extends Author {
  /** `seq` of its first step; those of the others follow it. */
  readonly number: number
  /** True for one of very many changes that were noticed together: agents and clients get one report of them all. */
  readonly isBulk: boolean
  readonly steps: readonly [VersionChange, ...VersionChange[]]
}

/** Takes changes that were seen on the disk, before they are logged as those of another program. */
export interface Claims {
  /**
   * Asked of what is at a path.
   * @param isNews whether it is not what was known to be there, or has another mode
   * @returns `held`: to be logged later; the author; or undefined if another program has made it
   */
  judge(path: string, there: Now, isNews: boolean): 'held' | Author | undefined
  /** A change of the path follows: what is held of it is to be logged now. */
  release(path: string): void
}

export type History = ReturnType<typeof createHistory>

export function createHistory(bounds: HistoryBounds) {
  const { now = Date.now } = bounds
  const files = rememberVersions(bounds)
  const entries = createListeners<[entry: LogEntry]>()
  const shareName = createSharedStrings()
  const expected = new Set<string>()
  let claims: Claims | undefined
  let seq = 0
  /** Of the newest version; numbers that no version has may follow it. */
  let newest = 0

  /**
   * @param author of an observation undefined
   * @param before the mode of the file that is changed
   * @returns undefined if nothing has changed, or nothing was known before
   */
  function add(
    step: MadeStep,
    author: Author | undefined,
    number: number | undefined,
    before: number | undefined
  ): VersionChange | undefined {
    const { path, now: there } = step
    const known = files.use(path)
    // What another program makes of a path that was never looked at is nothing to tell, unless it is a file: then it is known from now on.
    if (known === undefined && author === undefined && there.kind !== 'file') return undefined
    const identity = there.kind === 'file' ? there.identity : undefined
    const tracked = known ?? files.begin(path, identity)
    const previous = tracked.versions.at(-1)
    const facts = there.kind === 'none' ? factsOfEnd(tracked, step) : factsOfArrival(tracked, author, step, before)
    tracked.identity = identity
    if (identity !== undefined) tracked.mode = identity.mode
    const isOfMode = 'modes' in facts && !isNews(step, previous, undefined)
    if (!isOfMode && !isNews(step, previous, author)) return undefined
    const isFirstSight = known === undefined && author === undefined
    const { agentId, ...made } = author ?? external
    const shared = shareName(agentId)
    seq += 1
    // Spreads last: V8 adds members behind one slowly.
    const version = compact({
      hash: there.kind === 'file' ? there.hash : null,
      at:
        identity !== undefined && author === undefined && !isFirstSight
          ? timeOfChange(identity, isOfMode, previous, now())
          : now(),
      agentId: shared.text,
      isFirstSight,
      seq,
      ...made,
      ...(number !== undefined && { entry: number }),
      ...(there.kind === 'entry' && (there.entry === 'unread' ? { isUnread: true as const } : there.entry)),
      ...(identity !== undefined &&
        identity.ctimeNs > 0n && {
          changedAt: isFirstSight || step.isOwn ? toMs(identity.ctimeNs) : sinceWhen(identity)
        }),
      ...facts
    })
    newest = seq
    files.append(tracked, version, shared.ownLength)
    return isFirstSight ? undefined : { path, previousHash: previous?.hash, ...version }
  }

  function tell([first, ...others]: readonly VersionChange[], author: Author, isBulk: boolean): void {
    if (first === undefined) return
    entries.call({ number: first.seq, isBulk, steps: [first, ...others], ...author })
  }

  /** Adds a change to the log. */
  function append(author: Author, steps: readonly MadeStep[]): void {
    for (const { path } of steps) claims?.release(path)
    const number = steps.length > 1 ? seq + 1 : undefined
    // Where files exchange their names, each has the mode that it had at the other one.
    const modes = steps.map(modeBefore)
    const made = steps.map((step, index) => add(step, author, number, modes[index]))
    tell(
      made.filter((change) => change !== undefined),
      author,
      false
    )
  }

  /** Notes what is at a path: if it is not what was known to be there, another program has made it. */
  function observe(path: string, there: Now, isBulk = false): void {
    if (claims !== undefined) {
      const claim = claims.judge(path, there, differs(path, there))
      if (claim === 'held') return
      if (claim !== undefined) return append(claim, [{ path, now: there, wasThere: true }])
    }
    const restores = endOf(path, there)
    const step = { path, now: there, ...(restores !== undefined && { restores }) }
    const change = add(step, undefined, undefined, modeBefore(step))
    if (change !== undefined) tell([change], external, isBulk)
  }

  /** What another program has removed and brings back as it was, as Git does when it puts changes aside, is the file that it was. */
  function endOf(path: string, there: Now): number | undefined {
    const [before, last] = files.peek(path)?.versions.slice(-2) ?? []
    const isGone = last?.hash === null && last.link === undefined && last.isUnread !== true
    const isExternal = last?.agentId === external.agentId && last.agents === undefined && last.renamedTo === undefined
    return isGone && isExternal && there.kind === 'file' && before?.hash === there.hash ? last.seq : undefined
  }

  function differs(path: string, there: Now): boolean {
    const known = files.peek(path)
    if (known === undefined) return there.kind === 'file'
    const step = { path, now: there }
    return isNews(step, known.versions.at(-1), undefined) || otherModes(modeBefore(step), there) !== undefined
  }

  /** Undefined if no file was there, or that is not known. */
  function modeBefore({ path, renamedFrom }: MadeStep): number | undefined {
    const tracked = files.peek(renamedFrom ?? path)
    return typeof tracked?.versions.at(-1)?.hash === 'string' ? tracked.mode : undefined
  }

  return {
    append,
    observe,
    /** Notes what was at a path of which no version is known, before something was seen there. */
    begin: (path: string, was: Now): void => void add({ path, now: was }, undefined, undefined, undefined),
    /** From now on these are asked of each change that is seen on the disk. */
    follow(next: Claims): void {
      claims = next
    },
    /** What was made of these paths is about to be logged: until then no look at them without their lock counts. @returns ends that */
    expect(paths: readonly string[]): () => void {
      for (const path of paths) expected.add(path)
      return () => {
        for (const path of paths) expected.delete(path)
      }
    },
    isExpected: (path: string): boolean => expected.has(path),
    /** Logs what is held of a path. */
    release: (path: string): void => claims?.release(path),
    /** Milliseconds since the epoch; versions made before it are not all known. Undefined if none has been dropped. */
    get forgottenAt(): number | undefined {
      return files.forgottenAt
    },
    /** All versions of a path up to this number are committed. */
    commit: (path: string, upTo: number): void => files.commit(path, upTo),
    /** Drops what has become too old. A file that is gone for so long is not remembered at all. */
    expire: files.expire,
    /** Not smaller than `seq` of any version. */
    get seq(): number {
      return seq
    },
    /** `seq` of the newest version. */
    get newest(): number {
      return newest
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
    /** What a file is besides its bytes, or was before it went, as far as known. */
    was(path: string): Was | undefined {
      const tracked = files.peek(path)
      const last = tracked?.versions.at(-1)
      if (last?.link !== undefined) return { link: last.link }
      return last?.hash === null ? last.was : tracked && modeOf(tracked)
    },
    /** Oldest first. */
    versions: files.versions,
    /** What is known of the versions of a path before those that are remembered. */
    forgotten: files.forgotten,
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
    /** Each path tracked now, the most recently used first. */
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
    onEntry: entries.add,
    /** Reports every path whose history begins. @returns removes the listener */
    onTrack: files.onTrack,
    /** Reports every path whose history is no longer kept. @returns removes the listener */
    onForget: files.onForget,
    /** All that is known, the least recently used first. */
    dump: (): Generator<FileHistory> => dumpHistories(files),
    /** From now on versions have a larger `seq` than this. */
    continueFrom(least: number): void {
      seq = Math.max(seq, least)
    },
    /** Restores what an earlier process knew; what this process has learnt comes after that. */
    restore(kept: FileHistory): void {
      const last = kept.versions.reduce((most, version) => Math.max(most, version.seq), 0)
      seq = Math.max(seq, last)
      newest = Math.max(newest, last)
      restoreHistory(files, (name) => shareName(name).text, kept)
    }
  }
}
