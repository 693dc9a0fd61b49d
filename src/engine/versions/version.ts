// One state of a file, and what it takes in memory.
import type { Author } from './author.ts'

/** What a removed or replaced file was besides its bytes. */
export interface Was {
  /** Permission bits. */
  readonly mode?: number
  /** The target, if it was a symbolic link. */
  readonly link?: string
}

/** What can be at a path without being a version: a symbolic link, or a file whose bytes were not read. */
export type Entry = { readonly link: string } | 'unread'

/** One state of a file. */
export interface Version extends Author {
  /** Null if no file was there whose bytes are known. */
  readonly hash: string | null
  /** The target, if a symbolic link was there. */
  readonly link?: string
  /** True if a file was there whose bytes were not read: it was too large, or the system refused. */
  readonly isUnread?: true
  /** True for a version that was there when the file was first examined: its author is not known. */
  readonly isFirstSight: boolean
  /** Milliseconds since the epoch. */
  readonly at: number
  /**
   * By the clock of the file system, in milliseconds since the epoch, if the file was examined: when it was made, of a change that the server made;
   * its last change (ctime), of a first sight; since when it may have been there, of any other change.
   */
  readonly changedAt?: number | undefined
  /** Larger than that of every version recorded before, whatever its path. */
  readonly seq: number
  /** Of a change of several steps: `seq` of its first one. All of them count as made at once. */
  readonly entry?: number
  /** The path that it had until then. */
  readonly renamedFrom?: string
  /** The path that it has since then. */
  readonly renamedTo?: string
  /** `seq` of the version with which the file had ended that is there again. */
  readonly restores?: number
  /** Of an undo: `seq` of the versions whose changes it has taken back, and of undos that it has cancelled together with theirs. */
  readonly takesBack?: readonly number[]
  /** What the version removed or replaced, if it was another file or had another mode. */
  readonly was?: Was
  /** Permission bits before and since, of a version that is known to have brought others. */
  readonly modes?: readonly [before: number, since: number]
  /** True if it is known that no file was there before. */
  readonly isCreated?: true
}

/** What is known of the versions of a file that are no longer remembered. */
export interface Forgotten {
  /** Of the newest one; null if no file was there whose bytes are known. */
  readonly hash: string | null
  /** Who made those that are not known to be committed; first sights are of nobody. */
  readonly agents: readonly string[]
}

/** An author of a version that nobody can tell any more. */
export const nobodyKnown = 'unknown'
const maxForgottenAgents = 100

/** @param committed `seq` of the last version that is */
export function forget(
  before: Forgotten | undefined,
  dropped: readonly Version[],
  committed: number
): Forgotten | undefined {
  const last = dropped.at(-1)
  if (last === undefined) return before
  const uncommitted = dropped.filter(({ seq, isFirstSight }) => seq > committed && !isFirstSight)
  const makers = uncommitted.flatMap(({ agentId, agents = [agentId] }) => agents)
  return { hash: last.hash, agents: bounded([...(before?.agents ?? []), ...makers]) }
}

export function bounded(agents: readonly string[]): readonly string[] {
  const names = [...new Set(agents)]
  return names.length <= maxForgottenAgents ? names : [...names.slice(0, maxForgottenAgents), nobodyKnown]
}

/** An object that is written out takes less memory than one to which members were added. */
export function compact(version: Version): Version {
  const { hash, at, agentId, operation, isFirstSight, seq, changedAt, ...more } = version
  const isPlain = Object.values(more).every((member) => member === undefined)
  if (!isPlain) return version
  return changedAt === undefined
    ? { hash, at, agentId, operation, isFirstSight, seq }
    : { hash, at, agentId, operation, isFirstSight, seq, changedAt }
}

/** Seen first by a process that did not know yet what was there before: since when it was there is not known. */
export function asLater(version: Version, modes?: Version['modes']): Version {
  return { ...version, isFirstSight: false, changedAt: undefined, ...(modes !== undefined && { modes }) }
}

// Measured: what a file takes beside its path, and a version beside its names.
export const fileBytes = 900
const versionBytes = 320
const numberBytes = 8

export function sizeOfVersion(version: Version): number {
  const { renamedFrom = '', renamedTo = '', was, changeSet = '', link = '', command = '', agents = [] } = version
  const { takesBack = [] } = version
  const texts = [renamedFrom, renamedTo, changeSet, link, was?.link ?? '', command, ...agents]
  return texts.reduce((sum, { length }) => sum + length, versionBytes + numberBytes * takesBack.length)
}

/** False if nothing was at the path. */
export function isSomethingThere({ hash, link, isUnread }: Version): boolean {
  return hash !== null || link !== undefined || isUnread === true
}

export function sizeOfForgotten(forgotten: Forgotten | undefined): number {
  return forgotten?.agents.reduce((sum, { length }) => sum + length, 100) ?? 0
}

export function sizeOfVersions(versions: readonly Version[]): number {
  return versions.reduce((sum, version) => sum + sizeOfVersion(version), 0)
}
