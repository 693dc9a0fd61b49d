// Which commands may have written to a file: those that were open when the system noticed a change, and when the file says that it was made.
import { lstatSync } from 'node:fs'
import { LRUCache } from 'lru-cache'
import { orUndefined } from '../../support/attempt.ts'
import { isSameIdentity, type FileIdentity } from '../files/identity.ts'
import type { Now } from '../versions/made-step.ts'
import type { History } from '../versions/history.ts'
import { isSomethingThere } from '../versions/version.ts'
import { later, type LookAtFolders } from './arrival.ts'
import type { Suspects } from './attribution.ts'
import { stampsOf } from './file-clock.ts'
import { graceMs, type OpenCommand } from './open-command.ts'
import type { RecentCommands } from './recent-commands.ts'

const maxTouched = 100_000
const graceNs = BigInt(graceMs) * 1_000_000n

export type SuspectsByPath = ReturnType<typeof createSuspects>

type Stamp = Pick<FileIdentity, 'dev' | 'ctimeNs'>

interface Parts {
  readonly history: Pick<History, 'known' | 'last'>
  readonly lookAtFolders: LookAtFolders
}

export function createSuspects(commands: RecentCommands, { history, lookAtFolders }: Parts) {
  /** By path, who may have written to it since its last version in the log. It is empty again and again, and with `max` that costs as much as all places. */
  const touched = new LRUCache<string, Suspects>({ maxSize: maxTouched, sizeCalculation: () => 1 })

  /** Who may be writing right now. */
  function suspectsNow(): Suspects {
    const { open } = commands
    const late = endedSince(Date.now() - graceMs).filter(({ effect }) => open.size === 0 || effect.leavesProcess)
    // Behind its end, a process that it has left may change files, and so may anyone else.
    return { commands: new Set([...open, ...late]), hasOthers: open.size === 0 }
  }

  /** @param at milliseconds since the epoch */
  function endedSince(at: number): OpenCommand[] {
    const found: OpenCommand[] = []
    for (const one of commands.ended()) {
      if (one.ended.at < at) break
      found.push(one)
    }
    return found
  }

  /** Who may have made what is there, by the time of its last change; of what is gone, all who were at work since. */
  function suspectsOf(path: string, there: Now, since = lastKnown(path)): Suspects {
    if (there.kind === 'file') return suspectsOfFile(path, there.identity)
    const { commands: now, hasOthers } = suspectsNow()
    const all = new Set([...now, ...commands.unsettled, ...endedSince(since)])
    return { commands: all, hasOthers: hasOthers && ![...all].some((one) => commands.unsettled.has(one)) }
  }

  /** A file in a folder that was renamed is there since then. */
  function arrivedAt(path: string, { dev, ctimeNs }: Stamp): Stamp {
    const { renamedAt } = lookAtFolders()(path)
    return { dev, ctimeNs: later(ctimeNs, renamedAt) }
  }

  function suspectsOfFile(path: string, identity: Stamp): Suspects {
    const stamp = arrivedAt(path, identity)
    const byTime = suspectsAt(path, stamp)
    const known = history.known(path)?.identity
    if (known === undefined || stamp.ctimeNs > known.ctimeNs) return byTime
    // A file that is being emptied still has the times of what was in it.
    const { commands: now, hasOthers } = suspectsNow()
    return { commands: new Set([...now, ...byTime.commands]), hasOthers }
  }

  /** Milliseconds since the epoch: when the file was certainly there. */
  function lastKnown(path: string): number {
    const last = history.last(path)
    return last === undefined || !isSomethingThere(last) ? Infinity : (last.changedAt ?? last.at)
  }

  function suspectsAt(path: string, { dev, ctimeNs }: Stamp): Suspects {
    const first = commands.firstBegun()
    if (first === undefined || ctimeNs < stampsOf(first, dev).from) return { commands: new Set(), hasOthers: true }
    const running = [...commands.open].filter(({ begun }) => ctimeNs >= stampsOf(begun, dev).from)
    const late: OpenCommand[] = []
    for (const one of commands.ended()) {
      const { until } = stampsOf(one.ended, dev)
      if (ctimeNs - until > graceNs) break
      if (ctimeNs >= until) late.push(one)
      else if (ctimeNs >= stampsOf(one.begun, dev).from) running.push(one)
    }
    const leaving = running.length === 0 ? late : late.filter(({ effect }) => effect.leavesProcess)
    // A file that a command names was looked at just before it began.
    const hasOthers = !running.some(
      ({ begun, effect }) => ctimeNs >= stampsOf(begun, dev).until || effect.files.has(path)
    )
    return { commands: new Set([...running, ...leaving]), hasOthers }
  }

  return {
    /** @param since when it was there, if it is gone now; milliseconds since the epoch. Default: the time of its last version */
    byTime: suspectsOf,
    /** The same, and who was open when the system noticed a change: a notice that comes late knows only of commands that go on. */
    all(path: string, there: Now): Suspects {
      const noticed = touched.get(path)
      if (noticed === undefined) return suspectsOf(path, there)
      const { commands: byTime } = suspectsOf(path, there, noticed.sawEnd === true ? Infinity : undefined)
      return { ...noticed, commands: new Set([...noticed.commands, ...byTime]) }
    },
    /**
     * The system has noticed something at a file in use.
     * @param isFolder true if it was a folder above the file: that tells who is at work, and not when the file itself went
     */
    touch(path: string, isFolder: boolean): void {
      if (isFolder && commands.open.size === 0) return
      const identity = history.known(path)?.identity
      const stat = orUndefined(() => lstatSync(path, { bigint: true }))
      const isSame =
        stat === undefined
          ? history.last(path)?.hash === null
          : identity !== undefined && isSameIdentity(stat, identity)
      if (isSame) return
      // Some systems notify late: the time of the file says more.
      const isLate = stat !== undefined && commands.open.size === 0
      const more = isLate ? suspectsAt(path, arrivedAt(path, stat)) : suspectsNow()
      const known = touched.get(path)
      touched.set(path, {
        commands: new Set([...(known?.commands ?? []), ...more.commands]),
        hasOthers: known?.hasOthers === true || more.hasOthers,
        sawEnd: known?.sawEnd === true || (stat === undefined && !isFolder)
      })
    },
    remember: (path: string, suspects: Suspects): void => void touched.set(path, suspects),
    forget: (path: string): void => void touched.delete(path),
    /** Files of which the suspects are such. */
    paths(areMeant: (commands: ReadonlySet<OpenCommand>) => boolean): readonly string[] {
      return [...touched].filter(([, suspects]) => areMeant(suspects.commands)).map(([path]) => path)
    }
  }
}
