// The shell commands that are running, and what they change. What is seen on the disk while one is open is logged at its end, as its own.
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../support/logger.ts'
import { createSlices } from '../../support/slices.ts'
import { type Now, nothing } from '../versions/made-step.ts'
import { examine } from '../watcher/examine.ts'
import type { LookAtFolders } from './arrival.ts'
import { decide } from './attribution.ts'
import type { FileClock } from './file-clock.ts'
import type { FoundChange } from './found-change.ts'
import { createHeldChanges, maxHeldMs, type Found } from './held-changes.ts'
import { lookAt } from './look.ts'
import { isOpen, type CommandStart, type OpenCommand } from './open-command.ts'
import { createRecentCommands } from './recent-commands.ts'
import { createStatesBefore } from './states-before.ts'
import { createSuspects } from './suspects.ts'
import { findUnused, lookAround, type UnusedParts } from './unused-files.ts'

export interface CommandParts extends UnusedParts {
  readonly clock: FileClock
  readonly lookAtFolders: LookAtFolders
  /** Looks at all files in use. */
  readonly lookAtUsed: () => Promise<void>
  readonly log: Logger
}

export type Commands = ReturnType<typeof createCommands>

/** A command whose end is not reported counts as ended after this time. */
export const maxOpenMs = 600_000
/** Open at the same time; beyond it the oldest counts as ended. */
const maxOpen = 1000
/** Looked at before a command begins. */
const maxNoted = 50

export function createCommands(parts: CommandParts) {
  const { history, treeChanges, clock, log } = parts
  const commands = createRecentCommands(maxHeldMs)
  const { isAwaited } = commands
  const suspects = createSuspects(commands, parts)
  const states = createStatesBefore(parts)
  const held = createHeldChanges(history, commands, suspects, states)
  const timers = new Map<OpenCommand, NodeJS.Timeout>()
  /** Of commands whose end is reported, until all that they have made is logged. */
  const ending = new Set<Promise<void>>()
  let count = 0
  /** Before the first command: from then on what the system notices is followed, and what was changed until then is another program's. */
  let firstLook: Promise<void> | undefined

  /** Notices of the system that come before the end of the second turn are of changes that were made before the call. */
  async function catchUp(): Promise<void> {
    await nextTurn()
    await nextTurn()
  }

  const findOpen = (isMeant: (one: OpenCommand) => boolean) => [...commands.open].find(isMeant)

  async function begin(start: CommandStart): Promise<OpenCommand> {
    const known = start.callId === undefined ? undefined : findOpen((one) => isSameCall(one, start))
    if (known !== undefined) {
      arm(known)
      return known
    }
    firstLook ??= parts.lookAtUsed()
    await firstLook
    const late = delay(parts.lookMs(), undefined, { ref: false })
    await Promise.race([states.findAll(start.effect.files, [...commands.unsettled]), late])
    const { absent, free, isWhole } = await lookAt(start.effect, parts)
    const surveys = isWhole ? undefined : lookAround(parts, states, () => [...commands.unsettled])
    const before = await Promise.race([surveys, late])
    await catchUp()
    // That takes a while if there are any: meanwhile more may be noticed.
    if (await noteOthers()) await catchUp()
    if (commands.open.size >= maxOpen) void end(findOpen(() => true)!)
    count += 1
    const command = { ...start, number: count, begun: clock.now(), absent, free, isWhole, before }
    commands.add(command)
    arm(command)
    return command
  }

  /** What other programs, and commands that have ended, have changed is seen before the command changes it, too. @returns whether anything was looked at */
  async function noteOthers(): Promise<boolean> {
    const paths = suspects.paths((all) => ![...all].some((one) => isOpen(one) && isAwaited(one)))
    for (const path of paths.slice(0, maxNoted)) await examine(path, () => false, parts)
    return paths.length > 0
  }

  function arm(command: OpenCommand): void {
    clearTimeout(timers.get(command))
    timers.set(command, setTimeout(() => void end(command), maxOpenMs).unref())
  }

  /** Logs what the command has made. @param onEnd called once what is changed from then on is not its own */
  function end(command: OpenCommand, onEnd?: () => void): Promise<void> {
    const own = endNow(command, onEnd).finally(() => ending.delete(own))
    ending.add(own)
    return own
  }

  async function endNow(command: OpenCommand, onEnd?: () => void): Promise<void> {
    if (!isOpen(command)) return
    clearTimeout(timers.get(command))
    timers.delete(command)
    await catchUp()
    if (!isOpen(command)) return
    commands.end(command, clock.now())
    onEnd?.()
    await nextTurn()
    try {
      await settle(command)
    } catch (error) {
      log.error({ err: error }, 'what a command has changed could not be recorded')
    }
    commands.settle(command)
    setTimeout(commands.forgetEnded, maxHeldMs).unref()
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
    const earlier = found.flatMap(({ change }) => held.takeEarlier(change.path, change.now))
    // What else was seen of them before says less.
    for (const { change } of found) held.forget(change.path)
    commands.settle(command)
    held.log(({ commands: authors }) => authors.some((one) => !isAwaited(one)), [...earlier, ...found])
  }

  function toFound(change: FoundChange, command: OpenCommand): Found[] {
    // While it was read, an operation may have begun to use it.
    if (history.last(change.path) !== undefined) return []
    const there = change.hasCome === true ? nothing : change.now
    const verdict = decide(change.path, suspects.byTime(change.path, there, command.begun.at))
    const isOthers = verdict?.commands.includes(command) === false && verdict.commands.every(isAwaited)
    return verdict === undefined || isOthers ? [] : [{ change, verdict }]
  }

  history.follow({
    judge: (path, there, isNews) => (firstLook === undefined ? undefined : held.judge(path, there, isNews)),
    release: (path) => held.release(path)
  })

  return {
    begin,
    end,
    hasOverlapped: commands.hasOverlapped,
    /** The one that a report is about: by the number of the call, or else the first with this text. */
    find(agentId: string, callId: string | undefined, textOf: () => string): OpenCommand | undefined {
      const own = [...commands.open].filter((one) => one.agentId === agentId && one.task === undefined)
      const called = callId === undefined ? undefined : own.find((one) => one.callId === callId)
      if (called !== undefined) return called
      const text = textOf()
      return own.find((one) => (callId === undefined || one.callId === undefined) && one.text === text)
    },
    /** The command goes on in the background. */
    moveToBackground(command: OpenCommand, task: string): void {
      command.task = task
      held.log(({ commands: authors }) => !authors.some(isAwaited))
    },
    /** Once all is logged that commands have made whose end is reported by now. */
    async settled(): Promise<void> {
      await Promise.all(ending)
    },
    /** Ends those that are meant. */
    async endAll(isMeant: (command: OpenCommand) => boolean): Promise<void> {
      await Promise.all([...commands.open].filter(isMeant).map((one) => end(one)))
    },
    /** The system has noticed something at a file in use, or at a folder above it. */
    touch(path: string, isFolder = false): void {
      if (firstLook !== undefined) suspects.touch(path, isFolder)
    },
    /** A look has found no change. */
    untouch: suspects.forget,
    /** The agents whose commands may have made what is at a path since its last version in the log. */
    writersOf(path: string, there: Now): readonly string[] {
      return decide(path, suspects.all(path, there))?.commands.map(({ agentId }) => agentId) ?? []
    },
    /** Those that are open. */
    get open(): readonly OpenCommand[] {
      return [...commands.open]
    },
    /** Logs all that is held. */
    close(): void {
      for (const timer of timers.values()) clearTimeout(timer)
      held.close()
      treeChanges.close()
      clock.close()
    }
  }
}

function isSameCall(one: CommandStart, other: CommandStart): boolean {
  return one.agentId === other.agentId && one.callId === other.callId
}
