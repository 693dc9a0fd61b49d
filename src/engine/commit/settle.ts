// Ends the changes that killed processes have left: forward if every file can get there, else back to where all were.
import { readdirSync, rmdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { attempt, orUndefined } from '../../support/attempt.ts'
import type { Shelf } from '../files/directory.ts'
import { contentHash } from '../files/content-hash.ts'
import { readNow } from '../files/read-file.ts'
import { isLeftover } from '../files/temporary-names.ts'
import type { OpenEntry } from '../files/walk.ts'
import {
  isHash,
  matches,
  stateOf,
  verdictOf,
  type Intent,
  type Note,
  type NotedStep,
  type StepState,
  type Verdict
} from './note.ts'
import type { LeftNote, Notes } from './notes.ts'
import type { Stage, Stages } from './stages.ts'
import { applyStep, undoStep } from './step.ts'
import { applySwap, inAside, removeAside, stateOfSwap, undoSwap, withInner } from './swap.ts'

export interface Settled {
  /** Undefined if the change was not made, or cannot be read. */
  readonly made?: Note | undefined
  /** True if that could not be done yet. */
  readonly isLeft?: boolean
  /** For the log. */
  readonly message: string
}

export interface SettleOptions {
  /** Undefined without a folder of the server's own. */
  readonly notes: Notes | undefined
  /** The place of an entry; the caller closes it. */
  readonly open: (path: string) => OpenEntry
  /** Undefined if one host serves the tree. What was staged has been moved into the stage of this process. */
  readonly stages: Stages | undefined
  readonly isFull: boolean
  readonly maxFileBytes: number
}

type Keep = (hash: string, bytes: Buffer) => void

interface Found {
  readonly step: NotedStep
  /** Those of paths below it, which come and go with it. */
  readonly inner: readonly NotedStep[]
  readonly place: OpenEntry
  readonly stage: Stage | undefined
}

export function createSettle({ notes, open, stages, isFull, maxFileBytes }: SettleOptions) {
  function withFound<Result>(steps: readonly NotedStep[], use: (found: readonly Found[]) => Result): Result {
    const found: Found[] = []
    try {
      for (const [step, inner] of withInner(steps, ({ path }) => path)) {
        const place = open(step.path)
        found.push({ step, inner, place, stage: stages?.of(place.path) })
      }
      return use(found)
    } finally {
      for (const { place } of found) place.close()
    }
  }

  /** @returns true if all changes are made, false if none is @throws Error if that cannot be done yet */
  function end(found: readonly Found[], hasFailed: boolean, keep: Keep): boolean {
    // Its caller knows that it failed.
    const isMade = !hasFailed && canFinish(statesOf(found)) && finish(found, isFull)
    if (!isMade) takeBack(found)
    for (const each of found) {
      const { step, inner } = each
      const read = (parent: Shelf, name: string) => readNow(parent, name, maxFileBytes)
      if (step.backup !== null) keepBefore(step, read(shelfOf(each), step.backup), keep)
      for (const one of inner)
        keepBefore(
          one,
          orUndefined(() => inAside(shelfOf(each), { noted: step, inner }, one.path, read)),
          keep
        )
    }
    if (isFull) syncFolders(found)
    return isMade
  }

  function clear(found: readonly Found[]): void {
    for (const each of found)
      for (const name of [each.step.staged, each.step.backup])
        if (name !== null) attempt(() => removeAside(shelfOf(each), name))
  }

  /** Removes those that are empty but for what was staged in them. */
  function clearFolders(folders: readonly string[]): void {
    for (const path of folders.toReversed())
      attempt(() => {
        const place = open(path)
        try {
          if (place.missing.length > 0) return
          const folder = place.directory.openChild(place.name)
          try {
            folder.within((at) => {
              for (const left of readdirSync(at('.')).filter(isLeftover)) unlinkSync(at(left))
            })
          } finally {
            folder.close()
          }
          place.directory.within((at) => rmdirSync(at(place.name)))
        } finally {
          place.close()
        }
      })
  }

  function settleOne({ name, note }: LeftNote, keep: Keep): Settled | undefined {
    if (note === undefined) return { message: `The note ${name} of a change cannot be read. It is kept beside.` }
    const { agentId, steps } = note
    if (steps.length === 0) return undefined
    const what = `A change of ${agentId} that a killed process had begun`
    try {
      const isMade = withFound(steps, (found) => {
        const isDone = end(found, name.endsWith('.back.json'), keep)
        clear(found)
        return isDone
      })
      const paths = steps.map(({ path }) => path).join(', ')
      return {
        made: isMade ? note : undefined,
        message: `${what} was ${isMade ? 'finished' : 'taken back'}: ${paths}`
      }
    } catch (error) {
      const message = `${what} could neither be finished nor taken back (${String(error)}). Another program may hold a file open: close it. The server tries again every second: ${name}`
      return { isLeft: true, message }
    }
  }

  /**
   * Call it before anything else is done with the tree.
   * @param keep keeps the bytes of a version
   * @returns what became of changes that had begun
   */
  function settle(keep: Keep): Settled[] {
    const left = notes?.left(open) ?? []
    const settled = left.map((one) => ({ ...one, end: settleOne(one, keep) }))
    const isOver = settled.every(({ end }) => end?.isLeft !== true)
    for (const { name, note, end } of settled) {
      // What is staged in a new folder may be that of a change that is left.
      if (isOver) clearFolders(note?.folders ?? [])
      if (end === undefined) {
        if (isOver) notes?.remove(name)
      } else if (end.isLeft !== true)
        notes?.settle(name, note === undefined ? 'damaged' : end.made === undefined ? 'not-made' : 'made')
    }
    return settled.flatMap(({ end }) => end ?? [])
  }

  /** Whether a change that a process was about to make when it was killed was made; call it once all are settled. */
  function judge(intent: Intent): Verdict {
    if ('note' in intent) return notes?.wasMade(intent.note) === true ? 'made' : 'not-made'
    // A file may be out of reach by now.
    return orUndefined(() => withFound(intent.steps, (found) => verdictOf(statesOf(found)))) ?? 'unclear'
  }

  return { settle, judge }
}

function statesOf(found: readonly Found[]): StepState[] {
  return found.map((each) => (isOnTheWay(each, found) ? 'made' : stateNow(each)))
}

/** What the path had has no name but the one under which another path is to get it. */
function isOnTheWay(each: Found, found: readonly Found[]): boolean {
  const { backup } = each.step
  return backup !== null && found.some(({ step }) => step.staged === backup) && shelfOf(each).stat(backup) !== undefined
}

/** Removals come last: one of which it is unclear whether it was made was made if nothing else is left to do. */
function canFinish(states: readonly StepState[]): boolean {
  if (states.includes('undone') || states.includes('blocked')) return false
  return !(states.includes('pending') && states.includes('unclear'))
}

/** @returns false if the system refuses a step */
function finish(found: readonly Found[], isFull: boolean): boolean {
  const isRemoval = ({ step }: Found) => step.after === null
  const [given, removed] = [found.filter((one) => !isRemoval(one)), found.filter(isRemoval)]
  try {
    for (const each of given) if (isPending(each)) apply(each)
    // Of a copy to another file system, what is removed now is the other half.
    if (isFull) syncFolders(given)
    for (const each of removed) if (isPending(each)) apply(each)
    return true
  } catch {
    return false
  }
}

function isPending(each: Found): boolean {
  return stateNow(each) === 'pending'
}

function stateNow(each: Found): StepState {
  return (each.inner.length > 0 ? stateOfSwap : stateOf)(each.step, each.place, shelfOf(each))
}

function apply(each: Found): void {
  const { step, inner, place, stage } = each
  if (inner.length > 0) applySwap(place, { noted: step, inner }, shelfOf(each))
  else applyStep(place, step, step.path, stage)
}

/** What others have changed since is left as it is: their bytes are the only ones. */
function takeBack(found: readonly Found[]): void {
  for (const each of found.toReversed()) {
    const { step, inner, place, stage } = each
    const { backup, before, after } = step
    if (inner.length > 0) {
      if (place.missing.length === 0) undoSwap(place, { noted: step, inner }, shelfOf(each), stage)
      continue
    }
    if (place.missing.length > 0 || !matches(place, after)) continue
    if (backup !== null ? shelfOf(each).stat(backup) !== undefined : before === null) undoStep(place, backup, stage)
    else if (backup === null && after !== null) throw new Error(`what was at ${step.path} is gone`)
  }
  for (const each of found)
    if (isOnTheWay(each, found))
      throw new Error(
        `other files have taken its names: move ${join(shelfOf(each).path, String(each.step.backup))} to ${each.step.path}`
      )
}

function syncFolders(found: readonly Found[]): void {
  for (const { place } of found) place.directory.syncNow()
}

function keepBefore({ before }: NotedStep, bytes: Buffer | undefined, keep: Keep): void {
  if (bytes !== undefined) keep(isHash(before) ? before : contentHash(bytes), bytes)
}

function shelfOf({ place, stage }: Found): Shelf {
  return stage ?? place.directory
}
