// When files came to their names. A folder that is renamed takes along all that is in it, and the files' own times stay as they are.
import { dirname } from 'node:path'
import { entryAt } from '../../support/is-there.ts'

/** Nanoseconds since the epoch; 0 if it cannot be seen. */
export interface Arrival {
  /** When a folder above the file got its name, if no entry of that folder has changed since. */
  readonly renamedAt: bigint
  /** When a folder above the file was changed in any way: later than the file has not come there by a rename. */
  readonly changedAt: bigint
}

export type Arrivals = (path: string) => Arrival

/** A rename changes the folder above before or behind the folder itself; the clock of a file system may have moved between the two. */
const tickNs = 10_000_000n

const unseen: Arrival = { renamedAt: 0n, changedAt: 0n }

/** @param roots canonical; the names of the roots themselves do not count. @returns for one look: it remembers the folders */
export function createArrivals(roots: readonly string[]): Arrivals {
  const known = new Map<string, Arrival>()

  function ofFolder(folder: string): Arrival {
    const above = dirname(folder)
    if (roots.includes(folder) || above === folder) return unseen
    const seen = known.get(folder)
    if (seen !== undefined) return seen
    const upper = ofFolder(above)
    const own = lookAtFolder(folder, above)
    const arrival = {
      renamedAt: later(own.renamedAt, upper.renamedAt),
      changedAt: later(own.changedAt, upper.changedAt)
    }
    known.set(folder, arrival)
    return arrival
  }

  return (path) => ofFolder(dirname(path))
}

function lookAtFolder(folder: string, above: string): Arrival {
  const stat = entryAt(folder)
  if (stat === undefined) return unseen
  const { ctimeNs: changedAt, mtimeNs } = stat
  // Permission bits change the folder alone, entries its other time, too.
  const isRenamed = mtimeNs < changedAt && (entryAt(above)?.mtimeNs ?? 0n) >= changedAt - tickNs
  return { renamedAt: isRenamed ? changedAt : 0n, changedAt }
}

export const later = (one: bigint, other: bigint): bigint => (one > other ? one : other)
