// The slider of the replay: its places, and the changes of the log at which they are. Pure.
import type { ReplayOutput } from '../../schemas/replay.ts'

export type Log = NonNullable<ReplayOutput['log']>

/** The moment at a place: place 0 is before the first change, the others are right after one each. */
export function momentAt({ seqs }: Log, place: number): number {
  return place === 0 ? Math.max(0, (seqs[0] ?? 1) - 1) : (seqs[place - 1] ?? 0)
}

/** The place of a moment: of the last change up to it. */
export function placeOf({ seqs }: Log, moment: number): number {
  let [low, high] = [0, seqs.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((seqs[middle] as number) <= moment) low = middle + 1
    else high = middle
  }
  return low
}

/** The place of the last change up to a time. */
export const placeAt = ({ times }: Log, at: number): number => times.findLastIndex((time) => time <= at) + 1

/** A file of the replay, as a row. */
export interface Row {
  readonly path: string
  readonly file: ReplayOutput['files'][number] | undefined
  readonly isChanged: boolean
  readonly locks: ReplayOutput['locks']
}

/** What the log knows, and beside it what has been unchanged all the time, sorted by path. */
export function rowsOf({ files, locks, change }: ReplayOutput, others: readonly string[], part: string): Row[] {
  const known = new Set(files.map(({ path }) => path))
  const wanted = part.toLowerCase()
  const unchanged = others.filter((path) => !known.has(path) && path.toLowerCase().includes(wanted))
  const changed = new Set(change?.paths)
  const locksOf = new Map<string, ReplayOutput['locks']>()
  for (const lock of locks) locksOf.set(lock.path, [...(locksOf.get(lock.path) ?? []), lock])
  const rows = [
    ...files.map((file) => ({ path: file.path, file })),
    ...unchanged.map((path) => ({ path, file: undefined }))
  ]
  return rows
    .sort((one, other) => (one.path < other.path ? -1 : 1))
    .map(({ path, file }) => ({
      path,
      file,
      isChanged: changed.has(path),
      locks: locksOf.get(path) ?? []
    }))
}
