// The note of a change under way: what each of its paths had, and what it gets. From it and the disk a later process tells what was made.
import { hashNow } from '../files/read-file.ts'
import { readLink } from '../files/links.ts'
import type { Shelf } from '../files/directory.ts'
import type { OpenEntry } from '../files/walk.ts'

/** What is at a path: null for nothing, the hash of a file, `link:` and where a link leads, or `node:` and the node of what moves. */
export type Mark = string | null

export interface NotedStep {
  /** Canonical. */
  readonly path: string
  /** Name of what the path gets, beside it or in the stage; null if it gets nothing, or in the call that takes it from another path. */
  readonly staged: string | null
  /** Name of what the path had, there too; null if nothing was there, or it is not kept. */
  readonly backup: string | null
  readonly before: Mark
  readonly after: Mark
  readonly renamedFrom?: string | undefined
  readonly renamedTo?: string | undefined
  readonly restores?: number | undefined
  readonly takesBack?: readonly number[] | undefined
}

export interface NoteAuthor {
  readonly agentId: string
  readonly operation: string
  readonly changeSet?: string | undefined
}

export interface Note extends NoteAuthor {
  /** Empty while only folders are made. */
  readonly steps: readonly NotedStep[]
  /** That are made for the steps, each after the one it is in. */
  readonly folders?: readonly string[]
}

/** What a receipt keeps of a change that is about to be made: its steps, or the name of its note. */
export type Intent = Pick<Note, 'steps'> | { readonly note: string }

/**
 * `made`: the path has what it gets, or others have changed that since. `pending`: it has what it had. `undone`: it has that, and nothing is
 * left to give it. `blocked`: another program has changed it before. `unclear`: before or after.
 */
export type StepState = 'made' | 'pending' | 'undone' | 'blocked' | 'unclear'

export type Verdict = 'made' | 'not-made' | 'unclear'

/** What is known of a node. */
interface Node {
  readonly ino: bigint
  readonly birthtimeNs?: bigint
}

type Place = Pick<OpenEntry, 'directory' | 'name'> & Partial<Pick<OpenEntry, 'missing'>>

/**
 * Names a file over its renames, restarts and hosts, unlike the number of its device. Its inode number alone may be given to the next file,
 * unless another name keeps it.
 */
export function nodeMark({ ino, birthtimeNs }: Node): string {
  return birthtimeNs === undefined ? `node:${ino}` : `node:${ino}:${birthtimeNs}`
}

export function linkMark(target: string): string {
  return `link:${target}`
}

export function isHash(mark: Mark): mark is string {
  return mark?.startsWith('sha256:') === true
}

export function matches(place: Place, mark: Mark): boolean {
  const stat = statOf(place)
  if (mark === null || stat === undefined) return mark === null && stat === undefined
  if (mark.startsWith('node:')) return mark === nodeMark(stat) || mark === nodeMark({ ino: stat.ino })
  if (stat.isSymbolicLink()) return mark === linkMark(readLink(place))
  return stat.isFile() && mark === hashNow(place)
}

/** @param shelf where what is staged lies */
export function stateOf({ staged, before, after }: NotedStep, place: OpenEntry, shelf: Shelf): StepState {
  const given = staged === null || place.missing.length > 0 ? undefined : shelf.stat(staged)
  // Only the change takes the staged name away. A new file has both names for a moment.
  if (given !== undefined && statOf(place)?.ino !== given.ino) return matches(place, before) ? 'pending' : 'blocked'
  if (matches(place, after)) return 'made'
  if (matches(place, before)) return after === null ? 'pending' : 'undone'
  if (staged !== null) return 'made'
  // What it was to get may have come, and gone again.
  return matches(place, null) ? 'blocked' : 'unclear'
}

/** What one call of the system makes, or several that no process could finish. */
export function verdictOf(states: readonly StepState[]): Verdict {
  const isOpen = states.some((state) => state !== 'made' && state !== 'unclear')
  if (states.includes('made')) return isOpen ? 'unclear' : 'made'
  return isOpen ? 'not-made' : 'unclear'
}

export function isNotedStep(value: unknown): value is NotedStep {
  const step = value as Partial<Record<keyof NotedStep, unknown>> | null
  const isName = (name: unknown) => name === null || (typeof name === 'string' && !name.includes('/'))
  const isMark = (mark: unknown) => mark === null || typeof mark === 'string'
  return (
    typeof step?.path === 'string' &&
    isName(step.staged) &&
    isName(step.backup) &&
    isMark(step.before) &&
    isMark(step.after)
  )
}

function statOf({ directory, name, missing = [] }: Place) {
  // Without its folder, the name would be another one.
  return missing.length > 0 ? undefined : directory.stat(name)
}
