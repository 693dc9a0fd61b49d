// The shell commands that are running, and what they change. What is seen on the disk while one is open is logged at its end, as its own.
import { lstatSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { orUndefined } from '../../support/attempt.ts'
import type { Logger } from '../../support/logger.ts'
import { createSlices } from '../../support/slices.ts'
import type { Now } from '../versions/history.ts'
import { isStillThere } from '../versions/observed-version.ts'
import type { Author } from '../versions/version.ts'
import { examine } from '../watcher/examine.ts'
import { decide, toAuthor, type Suspects, type Verdict } from './attribution.ts'
import type { FileClock } from './file-clock.ts'
import { toSteps, type FoundChange } from './found-change.ts'
import { lookAt } from './look.ts'
import { isOpen, type CommandStart, type OpenCommand } from './open-command.ts'
import { createStatesBefore } from './states-before.ts'
import { createSuspects } from './suspects.ts'
import { findUnused, inTime, lookAround, type UnusedParts } from './unused-files.ts'

export interface CommandParts extends UnusedParts {
  readonly clock: FileClock
  /** Looks at all files in use. */
  readonly lookAtUsed: () => Promise<void>
  readonly log: Logger
}

export type Commands = ReturnType<typeof createCommands>

/** Changes wait so long for the end of a command. */
export const maxHeldMs = 10_000
/** A command whose end is not reported counts as ended after this time. */
export const maxOpenMs = 600_000
/** Open at the same time; beyond it the oldest counts as ended. */
const maxOpen = 1000
/** Remembered beside those that are open. */
const maxEnded = 1000
/** Looked at before a command begins. */
const maxNoted = 50

interface Held {
  readonly now: Now
  /** When the first of its changes was seen. */
  readonly since: number
  readonly suspects: Suspects
}

export function createCommands(parts: CommandParts) {
  const { history, treeChanges, clock, log } = parts
  /** Open, or ended while one was open that still is, or so lately that changes of theirs may not be noticed yet. */
  const commands = new Set<OpenCommand>()
  const suspects = createSuspects(commands, parts.history)
  const states = createStatesBefore(parts)
  const held = new Map<string, Held>()
  const timers = new Map<OpenCommand, NodeJS.Timeout>()
  /** Of commands whose end is reported, until all that they have made is logged. */
  const ending = new Set<Promise<void>>()
  let heldTimer: NodeJS.Timeout | undefined
  let count = 0
  /** Before the first command: from then on what the system notices is followed, and what was changed until then is another program's. */
  let firstLook: Promise<void> | undefined

  function judge(path: string, there: Now, isNews: boolean): 'held' | Author | undefined {
    if (firstLook === undefined) return undefined
    const earlier = takeEarlier(path, there)
    logAll(earlier)
    if (!isNews && earlier.length === 0) {
      forget(path)
      return undefined
    }
    const all = suspects.all(path, there)
    const verdict = decide(path, all)
    if (verdict === undefined) {
      suspects.forget(path)
      return undefined
    }
    if (!verdict.commands.some(isAwaited)) {
      forget(path)
      return toAuthor(verdict)
    }
    // Without the bytes, which a version has beside it.
    const now: Now = there.kind === 'file' ? { kind: 'file', hash: there.hash, identity: there.identity } : there
    suspects.remember(path, all)
    states.find(path, verdict.commands)
    held.set(path, { now, since: held.get(path)?.since ?? Date.now(), suspects: all })
    heldTimer ??= setTimeout(releaseOld, maxHeldMs).unref()
    return 'held'
  }

  /**
   * What is held is a version of its own if a later command may have changed the file since: else nothing would be left of it.
   */
  function takeEarlier(path: string, there: Now): Found[] {
    const one = held.get(path)
    const verdict = one && decide(path, one.suspects)
    if (one === undefined || verdict === undefined || isSameState(one.now, there)) return []
    const endedAt = Math.max(...verdict.commands.map((command) => command.ended?.at ?? Infinity))
    // A command that is still open is about to write what it has emptied.
    if (endedAt === Infinity && isEmpty(one.now)) return []
    const since = decide(path, suspects.byTime(path, there, endedAt))
    if (since === undefined || since.commands.every((command) => verdict.commands.includes(command))) return []
    forget(path)
    return [{ change: toChange(path, one.now, verdict), verdict }]
  }

  /** Its end will tell more, and comes soon. */
  function isAwaited(command: OpenCommand): boolean {
    return command.isUnsettled && command.task === undefined
  }

  function forget(path: string): void {
    suspects.forget(path)
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
      held.delete(path)
      // Who has changed it since then is still to be named.
      if (isStill(path, one.now)) suspects.forget(path)
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
    for (const { path, base } of all.map(({ change }) => change))
      if (base !== undefined && history.last(path) === undefined) history.begin(path, base)
    for (const { author, changes } of byAuthor.values()) history.append(author, toSteps(changes, history))
  }

  /** Notices of the system that come before the end of the second turn are of changes that were made before the call. */
  async function catchUp(): Promise<void> {
    await nextTurn()
    await nextTurn()
  }

  const running = () => [...commands].filter((one) => one.isUnsettled)

  async function begin(start: CommandStart): Promise<OpenCommand> {
    const known = [...commands].find((one) => isOpen(one) && start.callId !== undefined && isSameCall(one, start))
    if (known !== undefined) {
      arm(known)
      return known
    }
    firstLook ??= parts.lookAtUsed()
    await firstLook
    await inTime(states.findAll(start.effect.files, running()), parts.lookMs())
    const { absent, isWhole } = await lookAt(start.effect, parts)
    const before = isWhole ? undefined : await lookAround(parts, states, running)
    await noteOthers()
    await catchUp()
    const open = [...commands].filter(isOpen)
    if (open.length >= maxOpen) void end(open[0]!)
    count += 1
    const command = { ...start, number: count, begun: clock.now(), absent, isWhole, before, isUnsettled: true }
    commands.add(command)
    arm(command)
    return command
  }

  /** What other programs, and commands that have ended, have changed is seen before the command changes it, too. */
  async function noteOthers(): Promise<void> {
    const paths = suspects.paths((all) => ![...all].some((one) => isOpen(one) && isAwaited(one)))
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
    command.ended = clock.now()
    try {
      await settle(command)
    } catch (error) {
      log.error({ err: error }, 'what a command has changed could not be recorded')
    }
    command.isUnsettled = false
    setTimeout(forgetEnded, maxHeldMs).unref()
  }

  /** One that has ended may have made what a longer one finds at its own end, or what is still to be found at its own. */
  function forgetEnded(): void {
    const firstAwaited = Math.min(...[...commands].filter((one) => one.isUnsettled).map(({ begun }) => begun.at))
    const ended = [...commands].filter((one) => !one.isUnsettled)
    const before = Math.min(firstAwaited, Date.now() - maxHeldMs)
    for (const [index, one] of ended.entries())
      if (one.ended!.at <= before || index < ended.length - maxEnded) commands.delete(one)
  }

  async function settle(command: OpenCommand): Promise<void> {
    const { pause } = createSlices()
    const paths = suspects.paths((all) => all.has(command))
    for (const path of new Set([...paths, ...command.effect.files])) {
      if (history.last(path) !== undefined) await examine(path, () => false, parts)
      await pause()
    }
    await states.settled()
    const found = (await findUnused(command, parts)).flatMap((change) => toFound(change, command))
    const earlier = found.flatMap(({ change }) => takeEarlier(change.path, change.now))
    // What else was seen of them before says less.
    for (const { change } of found) forget(change.path)
    command.isUnsettled = false
    logHeld(({ commands: authors }) => authors.some((one) => !isAwaited(one)), false, [...earlier, ...found])
  }

  function toFound(change: FoundChange, command: OpenCommand): Found[] {
    // While it was read, an operation may have begun to use it.
    if (history.last(change.path) !== undefined) return []
    const verdict = decide(change.path, suspects.byTime(change.path, change.now, command.begun.at))
    const isOthers = verdict?.commands.includes(command) === false && verdict.commands.every(isAwaited)
    return verdict === undefined || isOthers ? [] : [{ change, verdict }]
  }

  history.follow({
    judge,
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
      if (firstLook !== undefined) suspects.touch(path)
    },
    /** A look has found no change. */
    untouch: suspects.forget,
    /** The agents whose commands may have made what is at a path since its last version in the log. */
    writersOf(path: string, there: Now): readonly string[] {
      return decide(path, suspects.all(path, there))?.commands.map(({ agentId }) => agentId) ?? []
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
      clock.close()
    }
  }
}

interface Found {
  readonly change: FoundChange
  readonly verdict: Verdict
}

function isStill(path: string, now: Now): boolean {
  return now.kind === 'file' ? isStillThere(path, now) : orUndefined(() => lstatSync(path)) === undefined
}

const isEmpty = (now: Now) => now.kind === 'file' && now.identity.size === 0n

function isSameState(one: Now, other: Now): boolean {
  if (one.kind !== 'file' || other.kind !== 'file') return one.kind === other.kind
  return one.hash === other.hash && one.identity.mode === other.identity.mode
}

function isSameCall(one: CommandStart, other: CommandStart): boolean {
  return one.agentId === other.agentId && one.callId === other.callId
}
