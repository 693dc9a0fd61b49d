// The shell commands that are running, and what they change. What is seen on the disk while one is open is logged at its end, as its own.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { lstatSync } from 'node:fs'
import { LRUCache } from 'lru-cache'
import { createSlices } from '../../support/slices.ts'
import type { Logger } from '../../support/logger.ts'
import { orUndefined } from '../../support/attempt.ts'
import { isSameIdentity } from '../files/identity.ts'
import { examine, type ExamineParts } from '../watcher/examine.ts'
import type { Now } from '../versions/history.ts'
import type { Author } from '../versions/version.ts'
import { decide, toAuthor, type Suspects, type Verdict } from './attribution.ts'
import { toSteps, type FoundChange } from './found-change.ts'
import { graceMs, isOpen, type CommandStart, type OpenCommand } from './open-command.ts'
import { look, lookAt } from './look.ts'
import type { TreeChanges, Unused } from './tree-changes.ts'

export interface CommandParts extends ExamineParts {
  readonly log: Logger
  /** What has changed below the roots beside the files in use. */
  readonly treeChanges: TreeChanges
}

export type Commands = ReturnType<typeof createCommands>

/** Changes wait so long for the end of a command. */
export const maxHeldMs = 10_000
/** A command whose end is not reported counts as ended after this time. */
export const maxOpenMs = 600_000
/** Open at the same time; beyond it the oldest counts as ended. */
const maxOpen = 1000
const maxTouched = 100_000
/** Looked at before a command begins. */
const maxNoted = 50
/** File systems stamp changes with a coarse clock. */
const clockGrainMs = 10
const clockGrainNs = BigInt(clockGrainMs) * 1_000_000n

interface Held {
  readonly now: Now
  /** When the first of its changes was seen. */
  readonly since: number
  readonly suspects: Suspects
}

export function createCommands(parts: CommandParts) {
  const { history, treeChanges, log } = parts
  /** Open, or ended so lately that changes of theirs may not be noticed yet. */
  const commands = new Set<OpenCommand>()
  /** By path, who may have written to it since its last version in the log. */
  const touched = new LRUCache<string, Suspects>({ max: maxTouched })
  const held = new Map<string, Held>()
  const timers = new Map<OpenCommand, NodeJS.Timeout>()
  /** Of commands whose end is reported, until all that they have made is logged. */
  const ending = new Set<Promise<void>>()
  let heldTimer: NodeJS.Timeout | undefined
  let count = 0

  /** Who may be writing right now. */
  function suspectsNow(): Suspects {
    const open = [...commands].filter(isOpen)
    const ended = [...commands].filter((one) => !isOpen(one) && Date.now() - one.endedAt! <= graceMs)
    const late = open.length === 0 ? ended : ended.filter(({ effect }) => effect.leavesProcess)
    // Behind its end, a process that it has left may change files, and so may anyone else.
    return { commands: new Set([...open, ...late]), hasOthers: open.length === 0 }
  }

  /** Who may have made what is there, by the time of its last change. */
  function suspectsOf(there: Now): Suspects {
    if (there.kind !== 'file') {
      const { commands: now, hasOthers } = suspectsNow()
      const unsettled = [...commands].filter(({ isUnsettled }) => isUnsettled)
      return { commands: new Set([...now, ...unsettled]), hasOthers: hasOthers && unsettled.length === 0 }
    }
    return suspectsAt(there.identity.ctimeNs)
  }

  function suspectsAt(changedNs: bigint): Suspects {
    const at = Math.trunc(Number(changedNs) / 1_000_000)
    const begun = [...commands].filter(({ startedAt }) => startedAt - clockGrainMs <= at)
    const running = begun.filter(({ endedAt = Infinity }) => at <= endedAt)
    const late = begun.filter(
      ({ endedAt = Infinity, isUnsettled }) => at > endedAt && (isUnsettled || at - endedAt <= graceMs)
    )
    const mayBeLate = ({ effect, isUnsettled }: OpenCommand) => isUnsettled || effect.leavesProcess
    const all = new Set([...running, ...(running.length === 0 ? late : late.filter(mayBeLate))])
    const isEarly = running.some(({ startedAt }) => at < startedAt)
    return { commands: all, hasOthers: running.length === 0 || isEarly }
  }

  function addSuspects(path: string, more: Suspects): Suspects {
    const known = touched.get(path)
    const all = {
      commands: new Set([...(known?.commands ?? []), ...more.commands]),
      hasOthers: known?.hasOthers === true || more.hasOthers
    }
    touched.set(path, all)
    return all
  }

  function judge(path: string, there: Now): 'held' | Author | undefined {
    const suspects = touched.get(path) ?? suspectsOf(there)
    const verdict = decide(path, suspects)
    if (verdict === undefined) {
      touched.delete(path)
      return undefined
    }
    if (!verdict.commands.some(isAwaited)) {
      forget(path)
      return toAuthor(verdict)
    }
    // Without the bytes, which a version has beside it.
    const now: Now = there.kind === 'file' ? { kind: 'file', hash: there.hash, identity: there.identity } : there
    touched.set(path, suspects)
    held.set(path, { now, since: held.get(path)?.since ?? Date.now(), suspects })
    heldTimer ??= setTimeout(releaseOld, maxHeldMs).unref()
    return 'held'
  }

  /** Its end will tell more, and comes soon. */
  function isAwaited(command: OpenCommand): boolean {
    return command.isUnsettled && command.task === undefined
  }

  function forget(path: string): void {
    touched.delete(path)
    held.delete(path)
  }

  function releaseOld(): void {
    heldTimer = undefined
    const before = Date.now() - maxHeldMs
    logHeld((_verdict, { since }) => since <= before, true)
    const oldest = Math.min(...[...held.values()].map(({ since }) => since))
    if (oldest < Infinity) heldTimer = setTimeout(releaseOld, Math.max(1, oldest - before)).unref()
  }

  /** @param isTooLate the command that they wait for goes on: another program may have made them, unless a command names them */
  function logHeld(
    isMeant: (verdict: Verdict, one: Held) => boolean,
    isTooLate: boolean,
    found: readonly Found[] = []
  ): void {
    const all: Found[] = [...found]
    for (const [path, one] of held) {
      const verdict = decide(path, one.suspects)
      if (verdict === undefined || !isMeant(verdict, one)) continue
      const isNamed = verdict.commands.length === 1 && verdict.commands[0].effect.files.has(path)
      all.push({
        change: toChange(path, one.now, verdict),
        verdict: isTooLate && !isNamed ? { ...verdict, hasOthers: true } : verdict
      })
      forget(path)
    }
    logAll(all)
  }

  function toChange(path: string, now: Now, { commands: authors }: Verdict): FoundChange {
    const isKnown = history.last(path) !== undefined || authors.some(({ absent }) => absent.has(path))
    return isKnown ? { path, now } : { path, now, wasThere: true }
  }

  /** One entry for each author. */
  function logAll(all: readonly Found[]): void {
    const byAuthor = new Map<string, { author: Author; changes: FoundChange[] }>()
    for (const { change, verdict } of all) {
      const key = `${verdict.commands.map(({ number }) => number).join(' ')} ${verdict.hasOthers}`
      const known = byAuthor.get(key)
      if (known === undefined) byAuthor.set(key, { author: toAuthor(verdict), changes: [change] })
      else known.changes.push(change)
    }
    for (const { author, changes } of byAuthor.values()) history.append(author, toSteps(changes, history))
  }

  /** Notices of the system that come before the end of the second turn are of changes that were made before the call. */
  async function catchUp(): Promise<void> {
    await nextTurn()
    await nextTurn()
  }

  async function begin(start: CommandStart): Promise<OpenCommand> {
    const known = [...commands].find((one) => isOpen(one) && start.callId !== undefined && isSameCall(one, start))
    if (known !== undefined) {
      arm(known)
      return known
    }
    const absent = await lookAt(start.effect, parts)
    await noteOthers()
    await catchUp()
    const open = [...commands].filter(isOpen)
    if (open.length >= maxOpen) void end(open[0]!)
    count += 1
    const command = { ...start, number: count, startedAt: Date.now(), absent, isUnsettled: true }
    commands.add(command)
    arm(command)
    treeChanges.prepare()
    return command
  }

  /** What other programs have changed is logged before the command changes it, too. */
  async function noteOthers(): Promise<void> {
    const paths = [...touched].filter(([, suspects]) => ![...suspects.commands].some(isAwaited)).map(([path]) => path)
    for (const path of paths.slice(0, maxNoted)) await examine(path, () => false, parts)
  }

  function arm(command: OpenCommand): void {
    clearTimeout(timers.get(command))
    timers.set(command, setTimeout(() => void end(command), maxOpenMs).unref())
  }

  /** Logs what the command has made. */
  function end(command: OpenCommand): Promise<void> {
    const own = endNow(command).finally(() => ending.delete(own))
    ending.add(own)
    return own
  }

  async function endNow(command: OpenCommand): Promise<void> {
    if (!isOpen(command)) return
    clearTimeout(timers.get(command))
    timers.delete(command)
    await catchUp()
    if (!isOpen(command)) return
    command.endedAt = Date.now()
    try {
      await settle(command)
    } catch (error) {
      log.error({ err: error }, 'what a command has changed could not be recorded')
    }
    setTimeout(() => commands.delete(command), graceMs).unref()
  }

  async function settle(command: OpenCommand): Promise<void> {
    const { pause } = createSlices()
    const paths = [...touched].filter(([, suspects]) => suspects.commands.has(command)).map(([path]) => path)
    for (const path of new Set([...paths, ...command.effect.files])) {
      if (history.last(path) !== undefined) await examine(path, () => false, parts)
      await pause()
    }
    const found = await findUnused(command)
    // What was seen of them before says less.
    for (const { change } of found) forget(change.path)
    command.isUnsettled = false
    logHeld(({ commands: authors }) => authors.some((one) => !isAwaited(one)), false, found)
  }

  /** What it has changed of files that were not in use. */
  async function findUnused(command: OpenCommand): Promise<Found[]> {
    const { files: named, isBounded } = command.effect
    const changes = new Map<string, FoundChange>()
    const paths = isBounded && command.effect.places.length === 0 ? [] : await treeChanges.since(command)
    for (const { path, wasThere } of [...paths, ...[...named].map(toNamed)]) {
      if (history.last(path) !== undefined || changes.has(path)) continue
      const now = await look(path, parts)
      if (now !== undefined && (now.kind === 'file' || wasThere === true))
        changes.set(path, { path, now, ...(wasThere !== undefined && { wasThere }) })
    }
    return [...changes.values()].flatMap((change) => {
      // While it was read, an operation may have begun to use it.
      const verdict = history.last(change.path) === undefined ? decide(change.path, suspectsOf(change.now)) : undefined
      const isOthers = verdict?.commands.includes(command) === false && verdict.commands.every(isAwaited)
      return verdict === undefined || isOthers ? [] : [{ change, verdict }]
    })

    function toNamed(path: string): Unused {
      return { path, wasThere: !command.absent.has(path) }
    }
  }

  history.follow({
    judge,
    settle: (path) => {
      if (held.has(path) || touched.has(path)) forget(path)
    },
    release(path) {
      const one = held.get(path)
      forget(path)
      const verdict = one && decide(path, one.suspects)
      if (one !== undefined && verdict !== undefined) logAll([{ change: toChange(path, one.now, verdict), verdict }])
    }
  })

  return {
    begin,
    end,
    /** The one that a report is about: by the number of the call, or else the first with this text. */
    find(agentId: string, callId: string | undefined, text: string): OpenCommand | undefined {
      const own = [...commands].filter((one) => isOpen(one) && one.agentId === agentId && one.task === undefined)
      return callId === undefined
        ? own.find((one) => one.text === text)
        : (own.find((one) => one.callId === callId) ?? own.find((one) => one.callId === undefined && one.text === text))
    },
    /** The command goes on in the background. */
    moveToBackground(command: OpenCommand, task: string): void {
      command.task = task
      logHeld(({ commands: authors }) => !authors.some(isAwaited), false)
    },
    /** Once all is logged that commands have made whose end is reported by now. */
    async settled(): Promise<void> {
      await Promise.all(ending)
    },
    /** Ends those that are meant. */
    async endAll(isMeant: (command: OpenCommand) => boolean): Promise<void> {
      await Promise.all([...commands].filter((one) => isOpen(one) && isMeant(one)).map(end))
    },
    /** The system has noticed something at a file in use. */
    touch(path: string): void {
      if (count === 0) return
      const identity = history.known(path)?.identity
      const stat = orUndefined(() => lstatSync(path, { bigint: true }))
      const isSame =
        stat === undefined
          ? history.last(path)?.hash === null
          : identity !== undefined && isSameIdentity(stat, identity)
      if (isSame) return
      // Some systems notify late: the time of the file says more.
      const isLate = stat !== undefined && ![...commands].some(isOpen)
      addSuspects(path, isLate ? suspectsAt(stat.ctimeNs + clockGrainNs) : suspectsNow())
    },
    /** A look has found no change. */
    untouch: (path: string): void => void touched.delete(path),
    /** The agents whose commands may have written to a file since its last version in the log. */
    writersOf(path: string): readonly string[] {
      const suspects = touched.get(path)
      return (suspects && decide(path, suspects)?.commands.map(({ agentId }) => agentId)) ?? []
    },
    /** Those that are open. */
    get open(): readonly OpenCommand[] {
      return [...commands].filter(isOpen)
    },
    /** Logs all that is held. */
    close(): void {
      clearTimeout(heldTimer)
      for (const timer of timers.values()) clearTimeout(timer)
      logHeld(() => true, false)
      treeChanges.close()
    }
  }
}

interface Found {
  readonly change: FoundChange
  readonly verdict: Verdict
}

function isSameCall(one: CommandStart, other: CommandStart): boolean {
  return one.agentId === other.agentId && one.callId === other.callId
}
