// When something happened, as file systems stamp it: their clock is coarser than that of the system, and on a busy machine far behind it.
import { closeSync, fstatSync, futimesSync, openSync, unlinkSync } from 'node:fs'
import { orUndefined } from '../../support/attempt.ts'
import type { OwnFolder } from '../files/directory.ts'
import type { Root } from '../files/roots.ts'
import { temporaryName } from '../files/temporary-names.ts'

export interface Moment {
  /** Milliseconds since the epoch, by the clock of the system. */
  readonly at: number
  /** By device. */
  readonly stamps: ReadonlyMap<bigint, Stamps>
}

/** Nanoseconds since the epoch. */
interface Stamps {
  /** What was changed at this moment or later has no earlier ctime. */
  readonly from: bigint
  /** What was changed before has an earlier ctime than this. */
  readonly until: bigint
}

export interface FileClock {
  now(): Moment
  close(): void
}

/** Where no file of the server's own can be stamped: the clock may be behind by a tick of the system, or several on a busy machine. */
const behindNs = 50_000_000n
const msNs = 1_000_000n

/** @param openOwn opens the server's own folder below a root */
export function createFileClock(roots: readonly Root[], openOwn: (root: Root) => OwnFolder): FileClock {
  const probes = new Map<Root, number>()

  /** A file without a name, so that no other program changes it. */
  function openProbe(root: Root): number | undefined {
    return orUndefined(() => {
      const folder = openOwn(root).hold()
      try {
        const name = temporaryName()
        return folder.within((at) => {
          const fd = openSync(at(name), 'wx', 0o600)
          probes.set(root, fd)
          unlinkSync(at(name))
          return fd
        })
      } finally {
        folder.close()
      }
    })
  }

  function stamp(fd: number): { readonly dev: bigint; readonly ctimeNs: bigint } {
    futimesSync(fd, 0, 0)
    return fstatSync(fd, { bigint: true })
  }

  function stampsIn(root: Root): [bigint, Stamps] | undefined {
    const fd = probes.get(root) ?? openProbe(root)
    return fd === undefined ? undefined : orUndefined(() => toStamps(stamp(fd), stamp(fd)))
  }

  return {
    now: () => ({
      at: Date.now(),
      stamps: new Map(roots.flatMap((root) => [stampsIn(root)].filter((one) => one !== undefined)))
    }),
    close() {
      for (const fd of probes.values()) closeSync(fd)
      probes.clear()
    }
  }
}

/** If the clock has moved between the two, what was changed before them has an earlier ctime than the second; else it may have the same. */
function toStamps(
  first: { readonly ctimeNs: bigint },
  second: { readonly dev: bigint; readonly ctimeNs: bigint }
): [bigint, Stamps] {
  const from = second.ctimeNs
  return [second.dev, { from, until: from > first.ctimeNs ? from : from + 1n }]
}

export function stampsOf({ at, stamps }: Moment, dev: bigint): Stamps {
  return stamps.get(dev) ?? aroundMs(at)
}

function aroundMs(at: number): Stamps {
  const atNs = BigInt(Math.trunc(at)) * msNs
  return { from: atNs - behindNs, until: atNs + msNs }
}
