// Finishes the transactions that a killed process has left: forward if every file can get there, else back to where all were.
import { attempt } from '../../support/attempt.ts'
import { readNow } from '../files/read-file.ts'
import type { Shelf } from '../files/directory.ts'
import type { Stage, Stages } from './stages.ts'
import type { OpenEntry } from '../files/walk.ts'
import { removeIfThere } from './write-file.ts'
import { matches, type RecordedStep, type TransactionRecord, type TransactionRecords } from './record.ts'
import { applyStep, undoStep } from './step.ts'

export interface Settled {
  readonly record: TransactionRecord | undefined
  readonly isMade: boolean
  /** True if that could not be done yet. */
  readonly isLeft?: boolean
  /** For the log. */
  readonly message: string
}

interface SettleOptions {
  readonly records: TransactionRecords
  /** The place of an entry; the caller closes it. */
  readonly open: (path: string) => OpenEntry
  /** Undefined if one host serves the tree. What was staged has been moved into the stage of this process. */
  readonly stages: Stages | undefined
  readonly isFull: boolean
  readonly maxFileBytes: number
  /** Keeps the bytes of a version. */
  readonly keep: (hash: string, bytes: Buffer) => void
}

/**
 * `done`: the path has what it was to get, or others have changed that since. `pending`: it has what it had. `undone`: that was
 * brought back. `blocked`: another program has changed it before the transaction came to it.
 */
type State = 'done' | 'pending' | 'undone' | 'blocked'

interface Found {
  readonly step: RecordedStep
  readonly place: OpenEntry
  readonly stage: Stage | undefined
}

export function settleTransactions(options: SettleOptions): Settled[] {
  const { records } = options
  return records.left().map(({ name, record }): Settled => {
    if (record === undefined) {
      records.settle(name, 'damaged')
      return {
        record,
        isMade: false,
        message: `The record ${name} of a transaction cannot be read. It is kept beside.`
      }
    }
    try {
      const isMade = settle(record, name, options)
      records.settle(name, isMade ? 'made' : 'not-made')
      clear(record, options)
      const paths = record.steps.map(({ path }) => path).join(', ')
      const what = isMade ? 'was finished' : 'was taken back'
      return {
        record,
        isMade,
        message: `A transaction of ${record.agentId} that a killed process had begun ${what}: ${paths}`
      }
    } catch (error) {
      const message = `A transaction of ${record.agentId} that a killed process had begun could neither be finished nor taken back (${String(error)}). Another program may hold a file open: close it. The server tries again every second: ${name}`
      return { record: undefined, isMade: false, isLeft: true, message }
    }
  })
}

/** @returns true if all changes are made, false if none is */
function settle({ steps }: TransactionRecord, name: string, options: SettleOptions): boolean {
  const found: Found[] = []
  try {
    for (const step of steps) {
      const place = options.open(step.path)
      found.push({ step, place, stage: options.stages?.of(place.path) })
    }
    // Its caller knows that it failed.
    const hasFailed = name.endsWith('.back.json')
    const isMade = !hasFailed && canFinish(found.map(stateOf)) && finish(found)
    if (!isMade) takeBack(found)
    for (const each of found) {
      const { step } = each
      const name = step.backup
      if (name === null || step.before?.startsWith('node:') !== false) continue
      const bytes = readNow(shelfOf(each), name, options.maxFileBytes)
      if (bytes !== undefined) options.keep(step.before, bytes)
    }
    if (options.isFull) for (const { place } of found) place.directory.syncNow()
    return isMade
  } finally {
    for (const { place } of found) place.close()
  }
}

function stateOf(each: Found): State {
  const { step, place } = each
  const { staged, before, after } = step
  if (matches(place, after)) return 'done'
  const isBefore = matches(place, before)
  if (staged === null) return isBefore ? 'pending' : 'blocked'
  // Only the transaction takes the staged name away, by giving it the name of the file.
  if (place.missing.length === 0 && shelfOf(each).stat(staged) !== undefined) return isBefore ? 'pending' : 'blocked'
  return isBefore ? 'undone' : 'done'
}

/** What is blocked was done, and changed since, if nothing else is left to do: removals come last. */
function canFinish(states: readonly State[]): boolean {
  const isOpen = states.some((state) => state === 'pending' || state === 'undone')
  return !states.includes('undone') && !(isOpen && states.includes('blocked'))
}

/** @returns false if the system refuses a step */
function finish(found: readonly Found[]): boolean {
  const isRemoval = ({ step }: Found) => step.staged === null
  try {
    for (const each of [...found.filter((one) => !isRemoval(one)), ...found.filter(isRemoval)])
      if (stateOf(each) === 'pending') applyStep(each.place, each.step, each.step.path, each.stage)
    return true
  } catch {
    return false
  }
}

/** What others have changed since is left as it is: their bytes are the only ones. */
function takeBack(found: readonly Found[]): void {
  for (const each of found.toReversed()) {
    const { step, place, stage } = each
    if (!matches(place, step.after)) continue
    if (step.backup === null || shelfOf(each).stat(step.backup) !== undefined) undoStep(place, step.backup, stage)
  }
}

function shelfOf({ place, stage }: Found): Shelf {
  return stage ?? place.directory
}

function clear({ steps }: TransactionRecord, { open, stages }: SettleOptions): void {
  for (const { path, staged, backup } of steps)
    attempt(() => {
      const place = open(path)
      try {
        const shelf: Shelf = stages?.of(place.path) ?? place.directory
        for (const name of [staged, backup]) if (name !== null) attempt(() => removeIfThere(shelf.at(name)))
      } finally {
        place.close()
      }
    })
}
