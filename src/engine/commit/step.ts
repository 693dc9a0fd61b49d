// One path of a change: what it gets is staged beside it, what it had keeps a second link, and both ways are one rename.
import type { BigIntStats } from 'node:fs'
import { join } from 'node:path'
import { isErrno } from '../../errors.ts'
import { createAfterChange, notLookedAt } from './after-change.ts'
import { identityOf, isSameIdentity, type FileIdentity } from '../files/identity.ts'
import type { MadeParents } from './parents.ts'
import { StaleFileError } from './preconditions.ts'
import { hashNow, type FileVersion } from '../files/read-file.ts'
import type { Shelf } from '../files/directory.ts'
import { removeThrough, type Stage } from './stages.ts'
import type { OpenEntry } from '../files/walk.ts'
import { createStaging, type After } from './staging.ts'
import { createLink, rename, type StagedFile, type Writer } from './write-file.ts'
import { Unanswered } from './unanswered.ts'
import { matches, nodeMark, type Mark, type NotedStep } from './note.ts'

/** What is at a path before the transaction. An entry is a link, or a file whose bytes do not matter. */
type Before =
  | { readonly kind: 'none' }
  | { readonly kind: 'file'; readonly version: FileVersion }
  | { readonly kind: 'entry' }
  /** All files in it are removed by other steps. */
  | { readonly kind: 'folder' }

/** What a change makes of one path. No path occurs twice in a change. */
export interface Step {
  readonly place: OpenEntry
  /** As the caller spelt it. */
  readonly path: string
  readonly before: Before
  /** True if another path gets what was here: then it is known by its node, whatever its bytes. */
  readonly isMoved?: boolean
  readonly after: After
  readonly renamedFrom?: string | undefined
  readonly renamedTo?: string | undefined
  /** The version with which the file had ended that the path gets back, by its number in the history. */
  readonly restores?: number | undefined
  /** See `Version.takesBack`. */
  readonly takesBack?: readonly number[] | undefined
}

/** The version that the path has; undefined if there is nothing, or what is no version. */
export function versionBefore({ before }: Step): FileVersion | undefined {
  return before.kind === 'file' ? before.version : undefined
}

export interface PreparedStep {
  readonly change: Step
  /** In its folder, which exists by now. */
  readonly place: OpenEntry
  /** Where what is staged lies. */
  readonly shelf: Shelf
  readonly noted: NotedStep
  /** The bytes to sync. */
  readonly files: readonly StagedFile[]
  /** In the tick of the change, right before it. @throws StaleFileError */
  readonly check: () => void
  readonly apply: () => void
  /** Call it if `apply` has run, or has begun. */
  readonly undo: () => void
  /** Of what the path has now. */
  readonly identity: () => FileIdentity | undefined
  /** Removes what was staged and is not needed any more: off this thread, since the system frees what was replaced. */
  readonly clear: () => Promise<void>
}

/**
 * @param parents of the place
 * @param stage undefined if one host serves the tree: then what is staged lies beside the place
 * @throws Error; then nothing is left of the step
 */
export async function prepareStep(
  writer: Writer,
  change: Step,
  parents: MadeParents,
  stage: Stage | undefined
): Promise<PreparedStep> {
  const { place } = parents
  const { directory, name } = place
  const { before, after } = change
  const staging = createStaging(writer, place, change.path, stage)
  const { shelf, files, clear } = staging

  try {
    const staged = await staging.stage(after)
    const version = versionBefore(change)
    const backup = before.kind === 'none' ? null : await staging.secondName(place, version)
    const seen = directory.stat(name)
    const identity = seen && identityOf(seen)
    const check = () => {
      const stat = directory.stat(name)
      const isSame =
        stat === undefined || identity === undefined
          ? stat === identity
          : version === undefined
            ? stat.ino === identity.ino
            : isUnchanged(place, version, identityOf(stat), identity)
      if (!isSame || (before.kind === 'none') !== (stat === undefined))
        throw new StaleFileError(`changed meanwhile: ${place.path}`)
    }
    check()
    let isApplied = false
    const noted: NotedStep = {
      path: place.path,
      staged,
      backup,
      before: markBefore(change),
      after: staged === null ? null : markAfter(change, shelf, staged),
      ...factsOf(change)
    }
    return {
      change,
      place,
      shelf,
      noted,
      files,
      check,
      apply() {
        try {
          applyStep({ directory, name }, noted, change.path, stage)
          isApplied = true
        } catch (error) {
          isApplied = error instanceof Unanswered
          throw error
        }
      },
      undo() {
        if (!isApplied) return
        // An attempt may come later: what others have made of it since is left as it is.
        if (matches({ directory, name }, noted.after)) undoStep({ directory, name }, backup, stage)
        isApplied = false
      },
      identity: () => identityNow(() => directory.stat(name)),
      clear
    }
  } catch (error) {
    await clear()
    throw error
  }
}

export function markBefore({ before, place: { directory, name }, isMoved }: Step): Mark {
  if (before.kind === 'none') return null
  return before.kind === 'file' && isMoved !== true ? before.version.hash : heldMark(directory, name)
}

export function markAfter({ after }: Step, shelf: Shelf, staged: string): Mark {
  return after.kind === 'bytes' ? after.hash : heldMark(shelf, staged)
}

/** What the note of a step says of it beside what it makes. */
export function factsOf({ renamedFrom, renamedTo, restores, takesBack }: Step) {
  return {
    ...(renamedFrom !== undefined && { renamedFrom }),
    ...(renamedTo !== undefined && { renamedTo }),
    ...(restores !== undefined && { restores }),
    ...(takesBack !== undefined && { takesBack })
  }
}

/** Its second name keeps the number of its inode. */
function heldMark(shelf: Shelf, name: string): string {
  const stat = shelf.stat(name)
  if (stat === undefined) throw new StaleFileError(`gone meanwhile: ${join(shelf.path, name)}`)
  return nodeMark({ ino: stat.ino })
}

/** After the change: undefined if the system does not say. */
export function identityNow(look: () => BigIntStats | undefined): FileIdentity | undefined {
  const stat = createAfterChange().attempt(look, notLookedAt)
  return stat && identityOf(stat)
}

export function applyStep(
  { directory, name }: Pick<OpenEntry, 'directory' | 'name'>,
  { staged, before }: Pick<NotedStep, 'staged' | 'before'>,
  path: string,
  stage: Stage | undefined
): void {
  if (staged === null) return removeThrough(stage, { directory, name })
  // Where nothing was, nothing may be replaced.
  if (before === null) createLink(stage ?? directory, staged, { directory, name }, path)
  else rename(stage ?? directory, staged, { directory, name })
}

export function undoStep(
  { directory, name }: Pick<OpenEntry, 'directory' | 'name'>,
  backup: string | null,
  stage: Stage | undefined
): void {
  if (backup !== null) return rename(stage ?? directory, backup, { directory, name })
  try {
    removeThrough(stage, { directory, name })
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

/** The second link has changed the ctime; that apart, the file must be the one that was read. */
function isUnchanged(
  place: OpenEntry,
  { identity: read, hash }: FileVersion,
  now: FileIdentity,
  linked: FileIdentity
): boolean {
  const isSame = isSameIdentity(now, linked) && isSameIdentity({ ...linked, ctimeNs: read.ctimeNs }, read)
  return (isSame && read.isTrusted) || hashNow(place) === hash
}
