// A moment of the log: the change that it follows, and which files were there then.
import type { History } from '../../engine/versions/history.ts'
import { isSomethingThere, type Version } from '../../engine/versions/version.ts'
import { inSlices } from '../../support/slices.ts'

/** A change, by its last step. */
export interface Moment {
  readonly seq: number
  readonly version: Version
  /** Canonical, in the order of the steps. */
  readonly paths: readonly string[]
}

/** What was at a path. */
export interface There {
  /** Undefined if something was there of which no version is known. */
  readonly version: Version | undefined
  /** True if it was first looked at later. */
  readonly isSeenLater: boolean
}

/** Whether a version is a change up to the moment. */
export type IsReached = (version: Version) => boolean

/** The last change that is reached, with all its steps; undefined if none is. */
export async function findMoment(
  history: History,
  isReached: IsReached,
  signal: AbortSignal
): Promise<Moment | undefined> {
  let last: Version | undefined
  await inSlices(
    history.paths(),
    (path) => {
      const found = history.versions(path).findLast((version) => !version.isFirstSight && isReached(version))
      if (found !== undefined && found.seq > (last?.seq ?? 0)) last = found
    },
    signal
  )
  if (last === undefined) return undefined
  const { seq, entry } = last
  const steps: { readonly path: string; readonly version: Version }[] = []
  await inSlices(
    history.paths(),
    (path) => {
      for (const version of history.versions(path))
        if (entry === undefined ? version.seq === seq : version.entry === entry) steps.push({ path, version })
    },
    signal
  )
  steps.sort((one, other) => one.version.seq - other.version.seq)
  const { version } = steps.at(-1)!
  return { seq: version.seq, version, paths: steps.map(({ path }) => path) }
}

/** @param seq of the last version that counts @returns undefined if nothing was there, or no history of the path is known */
export function thereAt(versions: readonly Version[], seq: number): There | undefined {
  const version = versions.findLast((each) => each.seq <= seq)
  if (version !== undefined) return isSomethingThere(version) ? { version, isSeenLater: false } : undefined
  const [first] = versions
  if (first === undefined || first.isCreated === true) return undefined
  if (!first.isFirstSight) return { version: undefined, isSeenLater: false }
  return isSomethingThere(first) ? { version: first, isSeenLater: true } : undefined
}

/** Numbers and times of all changes, the oldest first. */
export async function listChanges(
  history: History,
  limit: number,
  signal: AbortSignal
): Promise<{ seqs: number[]; times: number[] }> {
  /** By the first step of the change: its last one. */
  const changes = new Map<number, Version>()
  await inSlices(
    history.paths(),
    (path) => {
      for (const version of history.versions(path)) {
        const entry = version.entry ?? version.seq
        if (!version.isFirstSight && version.seq > (changes.get(entry)?.seq ?? 0)) changes.set(entry, version)
      }
    },
    signal
  )
  const sorted = [...changes.values()].sort((one, other) => one.seq - other.seq).slice(-limit)
  return { seqs: sorted.map(({ seq }) => seq), times: sorted.map(({ at }) => at) }
}
