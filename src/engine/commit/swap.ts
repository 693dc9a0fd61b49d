// A path at which a folder and a file change places, with all that is below it: what it gets is made ready aside, what it had goes aside, each
// by one rename of the whole.
import { mkdirSync, renameSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { attempt } from '../../support/attempt.ts'
import type { Directory, Shelf } from '../files/directory.ts'
import { temporaryName } from '../files/temporary-names.ts'
import type { OpenEntry } from '../files/walk.ts'
import { holdsOnly, inFolder, inFolders, openFolders, removeWhole, syncFolders } from '../files/whole-folder.ts'
import { matches, type NotedStep, type StepState } from './note.ts'
import { assertAsSeen, StaleFileError } from './preconditions.ts'
import { removeThrough, type Stage } from './stages.ts'
import { createStaging } from './staging.ts'
import { factsOf, identityNow, markAfter, markBefore, versionBefore, type PreparedStep, type Step } from './step.ts'
import { createLink, removeIfThere, rename, type Writer } from './write-file.ts'

/** The step of the path, and those of the paths below it. */
export interface Swap {
  readonly noted: NotedStep
  readonly inner: readonly NotedStep[]
}

type Place = Pick<OpenEntry, 'directory' | 'name' | 'path'>

/** Each step that no other is above, with those below it: no path is a file and a folder at once, so these come or go with it. */
export function withInner<One>(steps: readonly One[], pathOf: (step: One) => string): ReadonlyMap<One, readonly One[]> {
  const byPath = new Map(steps.map((step) => [pathOf(step), step]))
  const groups = new Map<One, One[]>()
  for (const step of steps) {
    const outer = above(pathOf(step), byPath)
    const inner = groups.get(outer ?? step) ?? []
    groups.set(outer ?? step, outer === undefined ? inner : [...inner, step])
  }
  return groups
}

/** What a path above this one has. */
export function above<Item>(path: string, byPath: ReadonlyMap<string, Item>): Item | undefined {
  if (byPath.size < 2) return undefined
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const found = byPath.get(folder)
    if (found !== undefined) return found
  }
  return undefined
}

/** The path of what is where a folder above the place would have to be, if it is a file or a link. */
export function obstacleOf({ directory, missing: [first] }: OpenEntry): string | undefined {
  return first === undefined || directory.stat(first) === undefined ? undefined : directory.pathOf(first)
}

/**
 * Whether nothing is in the way of a file at the place but what other steps remove: a file above it, or all files of a folder at it.
 * @param leaves asked for canonical paths
 */
export function isCleared(place: OpenEntry, leaves: (path: string) => boolean): boolean {
  const obstacle = obstacleOf(place)
  if (obstacle !== undefined) return leaves(obstacle)
  const { directory, name, path, stat } = place
  if (stat?.isDirectory() !== true) return true
  let files = 0
  const isLeaving = (below: string) => {
    files += 1
    return leaves(join(path, below))
  }
  return holdsOnly(directory, name, isLeaving) && files > 0
}

interface SwapParts {
  readonly writer: Writer
  /** Of the path at which they change places. */
  readonly place: OpenEntry
  /** Undefined if one host serves the tree. */
  readonly stage: Stage | undefined
  readonly isFull: boolean
  /** Takes each step as soon as it is prepared. */
  readonly add: (step: PreparedStep) => Promise<void>
}

/** @throws Error; then the steps that were added are to be cleared */
export async function prepareSwap(
  change: Step,
  inner: readonly Step[],
  { writer, place, stage, isFull, add }: SwapParts
): Promise<void> {
  const { directory, name } = place
  const staging = createStaging(writer, place, change.path, stage)
  const { shelf } = staging
  const folder = change.after.kind === 'none' ? temporaryName() : undefined
  const backup = temporaryName()
  const noted: NotedStep[] = []
  const done = { place, shelf, apply() {}, undo() {} }

  async function clear(): Promise<void> {
    await staging.clear()
    for (const aside of [folder, backup]) if (aside !== undefined) attempt(() => removeAside(shelf, aside))
  }

  /** It goes with the folder. */
  function prepareLeaving(step: Step): PreparedStep {
    return {
      ...done,
      change: step,
      noted: {
        path: step.place.path,
        staged: null,
        backup: null,
        before: markBefore(step),
        after: null,
        ...factsOf(step)
      },
      files: [],
      check: () => assertAsSeen(step.place, versionBefore(step)),
      identity: () => undefined,
      clear: async () => {}
    }
  }

  /** It comes with the folder, and is made there. */
  async function prepareArriving(step: Step, aside: string): Promise<PreparedStep> {
    const names = namesBelow(place.path, step.place.path)
    const child = names.pop() as string
    const parent = openFolders(shelf, [aside, ...names])
    const own = createStaging(writer, { ...step.place, directory: parent }, step.path, undefined)
    try {
      const staged = (await own.stage(step.after)) as string
      const after = markAfter(step, parent, staged)
      rename(parent, staged, { directory: parent, name: child })
      return {
        ...done,
        change: step,
        noted: { path: step.place.path, staged: null, backup: null, before: null, after, ...factsOf(step) },
        files: own.files,
        check() {},
        identity: () => identityNow(() => inFolders(directory, [name, ...names], (now) => now.stat(child))),
        clear: own.clear
      }
    } catch (error) {
      await own.clear()
      throw error
    } finally {
      parent.close()
    }
  }

  try {
    if (folder !== undefined) shelf.within((at) => mkdirSync(at(folder)))
    for (const step of inner) {
      const prepared = folder === undefined ? prepareLeaving(step) : await prepareArriving(step, folder)
      noted.push(prepared.noted)
      await add(prepared)
    }
    if (folder !== undefined && isFull) inFolder(shelf, folder, syncFolders)
    const staged = folder ?? ((await staging.stage(change.after)) as string)
    const [before, after] = [markBefore(change), markAfter(change, shelf, staged)]
    const swap: Swap = { noted: { path: place.path, staged, backup, before, after, ...factsOf(change) }, inner: noted }
    let isBegun = false
    await add({
      change,
      place,
      shelf,
      noted: swap.noted,
      files: staging.files,
      check() {
        assertAsSeen(place, versionBefore(change))
        requireKnown(directory, name, swap, 'before')
      },
      apply() {
        isBegun = true
        applySwap(place, swap, shelf)
      },
      undo() {
        if (isBegun) undoSwap(place, swap, shelf, stage)
        isBegun = false
      },
      identity: () => (folder === undefined ? identityNow(() => directory.stat(name)) : undefined),
      clear
    })
  } catch (error) {
    await clear()
    throw error
  }
}

/** Also of a path that has neither for a moment. @param shelf where its other names are */
export function stateOfSwap({ staged, backup, before }: NotedStep, place: OpenEntry, shelf: Shelf): StepState {
  if (place.missing.length > 0) return 'blocked'
  const [given, had] = [staged, backup].map((name) => (name === null ? undefined : shelf.stat(name)))
  const now = place.directory.stat(place.name)
  if (given === undefined || given.ino === now?.ino)
    return had !== undefined || !matches(place, before) ? 'made' : 'undone'
  const isAsBefore = had === undefined ? matches(place, before) : now === undefined
  return isAsBefore ? 'pending' : 'blocked'
}

/** Also if a part of it was made before. @throws StaleFileError, Error of the file system; then it is to be taken back */
export function applySwap(place: Place, swap: Swap, shelf: Shelf): void {
  const { staged, backup } = swap.noted as { staged: string; backup: string }
  if (shelf.stat(backup) === undefined) putAside(place, shelf, backup)
  // What came to the folder in the moment before must not go with it.
  requireKnown(shelf, backup, swap, 'before')
  if (shelf.stat(staged)?.isDirectory() === true) rename(shelf, staged, place)
  else createLink(shelf, staged, place, place.path)
}

/** @throws Error if others have changed what it had made: both are kept */
export function undoSwap(place: Place, { noted, inner }: Swap, shelf: Shelf, stage: Stage | undefined): void {
  const { staged, backup, after } = noted as NotedStep & { staged: string; backup: string }
  if (shelf.stat(backup) === undefined) return
  const { directory, name } = place
  const [given, now] = [shelf.stat(staged), directory.stat(name)]
  if (now !== undefined) {
    const isOwn = matches(place, after) && (given === undefined || given.ino === now.ino)
    if (!isOwn || !holdsOnly(directory, name, below({ noted, inner }, 'after')))
      throw new Error(`others have changed ${place.path}: move it away, then ${join(shelf.path, backup)} to its place`)
    if (given === undefined) putAside(place, shelf, staged)
    else removeThrough(stage, place)
  }
  rename(shelf, backup, place)
}

/** Removes what a change has put aside, with all that is in it. @throws Error of the file system */
export function removeAside(shelf: Shelf, name: string): void {
  if (shelf.stat(name)?.isDirectory() !== true) return removeIfThere(shelf, name)
  // A process that is killed meanwhile must not leave a part of a folder under a name that a note gives.
  const gone = temporaryName()
  shelf.within((at) => renameSync(at(name), at(gone)))
  removeWhole(shelf, gone)
}

/** Reads a file of a folder that was put aside. @param path canonical, of where it was */
export function inAside<Result>(
  shelf: Shelf,
  { noted: { path: top, backup } }: Swap,
  path: string,
  use: (parent: Directory, name: string) => Result
): Result {
  const names = namesBelow(top, path)
  return inFolders(shelf, [backup as string, ...names.slice(0, -1)], (parent) => use(parent, names.at(-1) as string))
}

/** @throws StaleFileError if something is in the folder that no step knows */
function requireKnown(shelf: Shelf, name: string, swap: Swap, when: 'before' | 'after'): void {
  if (!holdsOnly(shelf, name, below(swap, when))) throw new StaleFileError(`created meanwhile: in ${swap.noted.path}`)
}

function below({ noted, inner }: Swap, when: 'before' | 'after'): (path: string) => boolean {
  const paths = inner.filter((step) => step[when] !== null).map(({ path }) => namesBelow(noted.path, path).join('/'))
  const known = new Set(paths)
  return (path) => known.has(path)
}

function namesBelow(top: string, path: string): string[] {
  return relative(top, path).split(sep)
}

function putAside({ directory, name }: Place, shelf: Shelf, aside: string): void {
  directory.within((at) => shelf.within((into) => renameSync(at(name), into(aside))))
}
