// Which commands may have written to a file: those that were open when the system noticed a change, and when the file says that it was made.
import { lstatSync } from 'node:fs'
import { LRUCache } from 'lru-cache'
import { orUndefined } from '../../support/attempt.ts'
import { isSameIdentity, type FileIdentity } from '../files/identity.ts'
import type { Now } from '../versions/made-step.ts'
import type { History } from '../versions/history.ts'
import { isSomethingThere } from '../versions/version.ts'
import type { Suspects } from './attribution.ts'
import { stampsOf } from './file-clock.ts'
import { graceMs, isOpen, type OpenCommand } from './open-command.ts'

const maxTouched = 100_000
const graceNs = BigInt(graceMs) * 1_000_000n

export type SuspectsByPath = ReturnType<typeof createSuspects>

type Stamp = Pick<FileIdentity, 'dev' | 'ctimeNs'>

/** @param commands those that are open, or ended so lately that changes of theirs may not be noticed yet */
export function createSuspects(commands: ReadonlySet<OpenCommand>, history: Pick<History, 'known' | 'last'>) {
  /** By path, who may have written to it since its last version in the log. */
  const touched = new LRUCache<string, Suspects>({ max: maxTouched })

  /** Who may be writing right now. */
  function suspectsNow(): Suspects {
    const open = [...commands].filter(isOpen)
    const ended = [...commands].filter((one) => !isOpen(one) && Date.now() - one.ended!.at <= graceMs)
    const late = open.length === 0 ? ended : ended.filter(({ effect }) => effect.leavesProcess)
    // Behind its end, a process that it has left may change files, and so may anyone else.
    return { commands: new Set([...open, ...late]), hasOthers: open.length === 0 }
  }

  /** Who may have made what is there, by the time of its last change; of what is gone, all who were at work since. */
  function suspectsOf(path: string, there: Now, since = lastKnown(path)): Suspects {
    if (there.kind === 'file') return suspectsOfFile(path, there.identity)
    const { commands: now, hasOthers } = suspectsNow()
    const before = [...commands].filter(
      ({ ended, isUnsettled }) => isUnsettled || ended === undefined || ended.at >= since
    )
    const all = new Set([...now, ...before])
    return { commands: all, hasOthers: hasOthers && ![...all].some(({ isUnsettled }) => isUnsettled) }
  }

  function suspectsOfFile(path: string, stamp: Stamp): Suspects {
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
    const running: OpenCommand[] = []
    const late: OpenCommand[] = []
    let hasOthers = true
    for (const one of commands) {
      const begun = stampsOf(one.begun, dev)
      if (ctimeNs < begun.from) continue
      const end = one.ended && stampsOf(one.ended, dev).until
      if (end !== undefined && ctimeNs >= end) {
        if (ctimeNs - end <= graceNs) late.push(one)
        continue
      }
      running.push(one)
      // A file that a command names was looked at just before it began.
      if (ctimeNs >= begun.until || one.effect.files.has(path)) hasOthers = false
    }
    const leaving = running.length === 0 ? late : late.filter(({ effect }) => effect.leavesProcess)
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
    /** The system has noticed something at a file in use. */
    touch(path: string): void {
      const identity = history.known(path)?.identity
      const stat = orUndefined(() => lstatSync(path, { bigint: true }))
      const isSame =
        stat === undefined
          ? history.last(path)?.hash === null
          : identity !== undefined && isSameIdentity(stat, identity)
      if (isSame) return
      // Some systems notify late: the time of the file says more.
      const isLate = stat !== undefined && ![...commands].some(isOpen)
      const more = isLate ? suspectsAt(path, stat) : suspectsNow()
      const known = touched.get(path)
      touched.set(path, {
        commands: new Set([...(known?.commands ?? []), ...more.commands]),
        hasOthers: known?.hasOthers === true || more.hasOthers,
        sawEnd: known?.sawEnd === true || stat === undefined
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
