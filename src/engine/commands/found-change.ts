// A change that was found on the disk, and which of several are renames: the same file gone at one name and new at another.
import type { FileIdentity } from '../files/identity.ts'
import { isThere } from '../../support/is-there.ts'
import { isSameFile } from '../../support/same-file.ts'
import type { MadeStep, Now } from '../versions/made-step.ts'
import type { History } from '../versions/history.ts'
import { isSomethingThere } from '../versions/version.ts'

export type FileState = Extract<Now, { kind: 'file' }>

export interface FoundChange {
  /** Canonical. */
  readonly path: string
  readonly now: Now
  /** True if a file may have been there before of which no version is known. */
  readonly wasThere?: boolean
  /** What was there before, if no version of it was known and it is known now. */
  readonly base?: FileState
  /** True if it has come there in a folder that was renamed: its own times say nothing of when. */
  readonly hasCome?: true
}

interface Gone {
  readonly path: string
  readonly hash: string
  readonly identity: FileIdentity | undefined
}

/** One step for each change; those of a rename are tied to each other. */
export function toSteps(changes: readonly FoundChange[], history: Pick<History, 'last' | 'known'>): MadeStep[] {
  const gone = changes.flatMap(({ path, now }): Gone[] => {
    const known = now.kind === 'none' ? history.known(path) : undefined
    return known === undefined ? [] : [{ path, ...known }]
  })
  const targets = new Map<string, string>()
  const steps = changes.map((change): MadeStep => {
    const { path, now } = change
    if (now.kind !== 'file' || !mayArrive(change, history)) return change
    const free = gone.filter((one) => !targets.has(one.path))
    const mayBeCopy = change.wasThere !== true && isTelling(now)
    const source = free.find((one) => isSameNode(one, now)) ?? free.find(({ hash }) => mayBeCopy && hash === now.hash)
    if (source === undefined) return change
    targets.set(source.path, path)
    return { path, now, renamedFrom: source.path }
  })
  return steps
    .map((step) => (targets.has(step.path) ? { ...step, renamedTo: targets.get(step.path)! } : step))
    .sort((one, other) => Number(other.renamedTo !== undefined) - Number(one.renamedTo !== undefined))
}

/** A file of its own at a path: nothing was there, or another file. */
function mayArrive({ path, now }: FoundChange, { last, known }: Pick<History, 'last' | 'known'>): boolean {
  const before = last(path)
  if (before === undefined || !isSomethingThere(before)) return true
  const identity = known(path)?.identity
  return now.kind === 'file' && identity !== undefined && !isSameFile(identity, now.identity)
}

/** The name that a file had in the log until it got this one, and that is free now. */
export function earlierName(
  path: string,
  now: Now,
  history: Pick<History, 'last' | 'known' | 'paths'>
): string | undefined {
  if (now.kind !== 'file' || !mayArrive({ path, now }, history)) return undefined
  return history.paths().find((other) => {
    const known = history.known(other)
    return known !== undefined && isSameNode({ path: other, ...known }, now) && !isThere(other)
  })
}

/** Inode numbers are used again: a time or the bytes must agree, too. */
function isSameNode({ hash, identity }: Gone, now: FileState): boolean {
  if (identity === undefined || !isSameFile(identity, now.identity)) return false
  const { mtimeNs, birthtimeNs } = identity
  const isBornThen = birthtimeNs > 0n && birthtimeNs === now.identity.birthtimeNs
  return isBornThen || mtimeNs === now.identity.mtimeNs || hash === now.hash
}

/** Any two empty files have the same bytes. */
function isTelling({ identity }: FileState): boolean {
  return identity.size > 0n
}
