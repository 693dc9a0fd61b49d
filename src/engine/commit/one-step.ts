// A change that one call of the system makes: it needs no note. The last checks before it, the syncs that make it durable, and the doubts after it.
import { isErrno } from '../../errors.ts'
import { canReachBoth } from '../files/directory.ts'
import { fileNotFound } from '../files/read-file.ts'
import type { OpenEntry } from '../files/walk.ts'
import { createAfterChange, notLookedAt, type Made } from './after-change.ts'
import type { Durability } from './durability.ts'
import { freeOnThread } from './free-on-thread.ts'
import { identityOf } from '../files/identity.ts'
import type { CommitHooks, RenameOutcome } from './hooks.ts'
import { nodeMark } from './note.ts'
import type { Notes, OpenNote } from './notes.ts'
import { makeParents, missingFolders, type MadeParents } from './parents.ts'
import { assertAsSeen, assertFree, assertUnchanged } from './preconditions.ts'
import { renameEntry } from './rename-entry.ts'
import { removeThrough, type Stages } from './stages.ts'
import type { NewBytes } from './staging.ts'
import { versionBefore, type Step } from './step.ts'
import { explainWriteError } from './write-error.ts'
import type { Writer } from './write-file.ts'

interface Parts {
  readonly writer: Writer
  readonly durability: Durability
  readonly stages: Stages | undefined
  readonly notes: Notes | undefined
}

export interface MadeAlone extends Made {
  /** Of a rename. */
  readonly outcome?: RenameOutcome
}

/** @returns undefined for steps that need a note */
export type MakeAlone = (steps: readonly Step[], hooks: CommitHooks) => Promise<MadeAlone> | undefined

export function createOneStep(parts: Parts): MakeAlone {
  const { writer, durability, stages, notes } = parts

  /** Makes the folders that the place lacks, and takes them back if the change fails. They are noted: a kill must not leave them. */
  async function inFolder<Result>(
    { place }: Step,
    hooks: CommitHooks,
    change: (place: OpenEntry, note: OpenNote | undefined) => Promise<Result>
  ): Promise<Result> {
    const note = notes?.begin(hooks)
    let parents: MadeParents | undefined
    try {
      await note?.noteFolders(missingFolders(place))
      parents = makeParents(place, durability)
      return await change(parents.place, note)
    } catch (error) {
      parents?.undo()
      throw error
    } finally {
      parents?.place.close()
      // If that fails, the next process finds that there is nothing to end.
      await note?.end().catch(() => {})
    }
  }

  async function write(place: OpenEntry, step: Step, made: NewBytes, hooks: CommitHooks): Promise<Made> {
    const { assertHeld, announce } = hooks
    const { bytes, hash, mode } = made
    const { path } = step
    const replaces = versionBefore(step)
    const check = (held?: number) => {
      assertHeld()
      if (replaces === undefined) assertFree(place)
      else assertUnchanged(place, replaces, held)
    }
    const after = createAfterChange()
    const noted = { path: place.path, backup: null, before: replaces?.hash ?? null, after: hash }
    const note = announce && ((staged: string) => announce({ steps: [{ ...noted, staged }] }))
    const request = { place, path, bytes, replaces, mode, check, announce: note }
    const { identity, freed } = await writer.writeFile(request, after)
    await Promise.all([freed, durability.syncNames([place], after)])
    return { identity, unsure: after.toError('WRITE_ERROR', path, () => hash) }
  }

  /** Of the entry itself: a link is deleted, not its target. */
  async function remove(step: Step, { assertHeld, announce }: CommitHooks): Promise<Made> {
    const { place, path } = step
    const version = versionBefore(step)
    assertHeld()
    let freed: Promise<void> | undefined
    const stage = stages?.of(place.path)
    try {
      assertAsSeen(place, version)
      const stat = place.directory.stat(place.name)
      if (stat !== undefined)
        announce?.({
          steps: [{ path: place.path, staged: null, backup: null, before: nodeMark(stat), after: null }]
        })
      if (version === undefined) removeThrough(stage, place)
      else freed = freeOnThread(place, () => removeThrough(stage, place))
    } catch (cause) {
      const error = stage === undefined ? cause : stage.explain(cause, path)
      // The directory is held open: what is missing is the file.
      if (isErrno(error, 'ENOENT')) throw fileNotFound(path, error)
      throw explainWriteError(error, path, 'DELETE_ERROR')
    }
    const after = createAfterChange()
    await Promise.all([freed, durability.syncNames([place], after)])
    return { identity: undefined, unsure: after.toError('DELETE_ERROR', path, () => undefined) }
  }

  async function rename(
    place: OpenEntry,
    note: OpenNote | undefined,
    [from, to]: readonly [Step, Step],
    hooks: CommitHooks
  ): Promise<MadeAlone> {
    const after = createAfterChange()
    const outcome = await renameEntry({ ...parts, note, after }, from, { ...to, place }, to.place, hooks)
    if (outcome === 'unchanged') return { outcome, identity: undefined, unsure: undefined }
    await durability.syncNames([place, from.place], after)
    const stat = after.attempt(() => place.directory.stat(place.name), notLookedAt)
    const unsure = after.toError('RENAME_ERROR', to.path, () => versionBefore(from)?.hash)
    return { outcome, identity: stat && identityOf(stat), unsure }
  }

  function explain(path: string, code?: 'RENAME_ERROR') {
    return (error: unknown): never => {
      throw explainWriteError(error, path, code)
    }
  }

  return ([step, other, ...more], hooks) => {
    if (step === undefined || more.length > 0) return undefined
    if (other !== undefined)
      return hooks.mayCopy === true &&
        step.after.kind === 'none' &&
        other.after.kind === 'moved' &&
        other.after.from === step.place &&
        canRename(step.place, other.place)
        ? inFolder(other, hooks, (place, note) => rename(place, note, [step, other], hooks)).catch(
            explain(other.path, 'RENAME_ERROR')
          )
        : undefined
    const { before, after } = step
    if (after.kind === 'none' && before.kind !== 'none') return remove(step, hooks)
    // What takes the place of a link or of an unread file is not written like it.
    if (after.kind !== 'bytes' || before.kind === 'entry' || after.like !== versionBefore(step)) return undefined
    return before.kind === 'none'
      ? inFolder(step, hooks, (place) => write(place, step, after, hooks)).catch(explain(step.path))
      : write(step.place, step, after, hooks).catch(explain(step.path))
  }
}

/** False if it takes two steps. To another file system the file is copied. */
function canRename({ directory: from }: OpenEntry, { directory: to, missing }: OpenEntry): boolean {
  return canReachBoth(from, to, missing) || from.opened().dev !== to.opened().dev
}
