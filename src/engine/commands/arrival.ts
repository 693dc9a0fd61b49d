// When files came to their names. A folder that is renamed takes along all that is in it, and the files' own times stay as they are.
import { dirname } from 'node:path'
import { LRUCache } from 'lru-cache'
import { entryAt } from '../../support/is-there.ts'
import { isSameFile, type FileNode } from '../../support/same-file.ts'

/** Nanoseconds since the epoch; 0 if it cannot be seen. */
export interface Arrival {
  /** When a folder above the file got its name, if that was seen before an entry of the folder changed. */
  readonly renamedAt: bigint
  /** When a folder above the file was changed in any way: later than the file has not come there by a rename. */
  readonly changedAt: bigint
}

export type Arrivals = (path: string) => Arrival

/** Begins a look, which remembers what it has seen of the folders. */
export type LookAtFolders = () => Arrivals

/** A rename changes the folder above before or behind the folder itself; the clock of a file system may have moved between the two. */
const tickNs = 10_000_000n

/** Renamed folders that are remembered. */
const maxRenamed = 1000

const unseen: Arrival = { renamedAt: 0n, changedAt: 0n }

/** @param roots canonical; the names of the roots themselves do not count */
export function createLookAtFolders(roots: readonly string[]): LookAtFolders {
  /** By path: the first change of an entry hides the rename from later looks. */
  const renamed = new LRUCache<string, FileNode & { readonly at: bigint }>({ max: maxRenamed })

  function lookAtFolder(folder: string, above: string): Arrival {
    const stat = entryAt(folder)
    if (stat === undefined) return unseen
    const { ctimeNs: changedAt, mtimeNs, dev, ino } = stat
    // Permission bits change the folder alone, entries its other time, too.
    const isRenamed = mtimeNs < changedAt && (entryAt(above)?.mtimeNs ?? 0n) >= changedAt - tickNs
    if (isRenamed) renamed.set(folder, { dev, ino, at: changedAt })
    const seen = renamed.get(folder)
    return { renamedAt: seen !== undefined && isSameFile(seen, stat) ? seen.at : 0n, changedAt }
  }

  return () => {
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
}

export const later = (one: bigint, other: bigint): bigint => (one > other ? one : other)
