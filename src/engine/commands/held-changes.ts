// Changes that were seen on the disk while a command is open that may have made them: they are logged at its end, as its own.
import { lstatSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { orUndefined } from '../../support/attempt.ts'
import type { Author } from '../versions/author.ts'
import type { History } from '../versions/history.ts'
import { type Now, nothing } from '../versions/made-step.ts'
import { isStillThere } from '../versions/observed-version.ts'
import { decide, toAuthor, type Suspects, type Verdict } from './attribution.ts'
import { earlierName, toSteps, type FoundChange } from './found-change.ts'
import { wasAbsent } from './open-command.ts'
import type { RecentCommands } from './recent-commands.ts'
import type { StatesBefore } from './states-before.ts'
import type { SuspectsByPath } from './suspects.ts'

/** Changes wait so long for the end of a command. */
export const maxHeldMs = 10_000

interface Held {
  readonly now: Now
  /** When the first of its changes was seen, by performance.now(). */
  readonly since: number
  readonly suspects: Suspects
}

export interface Found {
  readonly change: FoundChange
  readonly verdict: Verdict
}

type IsMeant = (verdict: Verdict, one: Held) => boolean

export function createHeldChanges(
  history: History,
  { isAwaited }: RecentCommands,
  suspects: SuspectsByPath,
  states: StatesBefore
) {
  const held = new Map<string, Held>()
  let timer: NodeJS.Timeout | undefined

  function judge(path: string, there: Now, isNews: boolean): 'held' | Author | undefined {
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
    held.set(path, { now, since: held.get(path)?.since ?? performance.now(), suspects: all })
    timer ??= setTimeout(releaseOld, maxHeldMs).unref()
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

  function forget(path: string): void {
    suspects.forget(path)
    held.delete(path)
  }

  function releaseOld(): void {
    timer = undefined
    const before = performance.now() - maxHeldMs
    logHeld((_verdict, { since }) => since <= before, true)
    const oldest = Math.min(...[...held.values()].map(({ since }) => since))
    if (oldest < Infinity) timer = setTimeout(releaseOld, Math.max(1, oldest - before)).unref()
  }

  /** @param isTooLate the command that they wait for goes on: another program may have made them, unless a command names them */
  function logHeld(isMeant: IsMeant, isTooLate: boolean, found: readonly Found[] = []): void {
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
    const isKnown = history.last(path) !== undefined || authors.some((one) => wasAbsent(one, path))
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

  return {
    judge,
    takeEarlier,
    forget,
    /** Logs those that are meant, and what else was found. */
    log: (isMeant: IsMeant, found?: readonly Found[]): void => logHeld(isMeant, false, found),
    release(path: string): void {
      const one = held.get(path)
      forget(path)
      const verdict = one && decide(path, one.suspects)
      if (one === undefined || verdict === undefined) return
      const earlier = earlierName(path, one.now, history)
      if (earlier !== undefined) forget(earlier)
      const gone = earlier === undefined ? [] : [{ change: { path: earlier, now: nothing }, verdict }]
      logAll([...gone, { change: toChange(path, one.now, verdict), verdict }])
    },
    /** Logs all. */
    close(): void {
      clearTimeout(timer)
      logHeld(() => true, false)
    }
  }
}

function isStill(path: string, now: Now): boolean {
  if (now.kind === 'file') return isStillThere(path, now)
  const stat = orUndefined(() => lstatSync(path))
  return now.kind === 'none' ? stat === undefined : stat?.isSymbolicLink() === true
}

const isEmpty = (now: Now) => now.kind === 'file' && now.identity.size === 0n

function isSameState(one: Now, other: Now): boolean {
  if (one.kind === 'file' && other.kind === 'file')
    return one.hash === other.hash && one.identity.mode === other.identity.mode
  if (one.kind === 'entry' && other.kind === 'entry') return isDeepStrictEqual(one.entry, other.entry)
  return one.kind === other.kind
}
