// A change that one call of the system makes: it needs no record. The last checks before it, the syncs that make it durable, and the doubts after it.
import { isErrno } from '../../errors.ts'
import { fileNotFound } from '../files/read-file.ts'
import { createAfterChange, notLookedAt, type Made } from './after-change.ts'
import type { Durability } from './durability.ts'
import { freeOnThread } from './free-on-thread.ts'
import { identityOf } from '../files/identity.ts'
import { nodeOf, type Intent } from './intent.ts'
import { makeParents } from './parents.ts'
import { assertAsSeen, assertFree, assertUnchanged } from './preconditions.ts'
import { renameEntry, type RenameOutcome } from './rename-entry.ts'
import { removeThrough, type Stages } from './stages.ts'
import { versionBefore, type NewBytes, type Step } from './step.ts'
import type { Unfinished } from './unfinished.ts'
import { explainWriteError } from './write-error.ts'
import type { Staged, Writer } from './write-file.ts'

interface Parts {
  readonly writer: Writer
  readonly durability: Durability
  readonly unfinished: Unfinished | undefined
  readonly stages: Stages | undefined
}

interface Hooks {
  readonly assertHeld: () => void
  readonly announce?: ((intent: Intent) => () => void) | undefined
}

export interface MadeAlone extends Made {
  /** Of a rename. */
  readonly outcome?: RenameOutcome
}

/** @returns undefined for steps that need a record */
export type MakeAlone = (
  steps: readonly Step[],
  hooks: Hooks & { readonly mayCopy?: boolean | undefined }
) => Promise<MadeAlone> | undefined

export function createOneStep(parts: Parts): MakeAlone {
  const { writer, durability, stages } = parts

  async function write(step: Step, made: NewBytes, { assertHeld, announce }: Hooks): Promise<Made> {
    const { bytes, hash, mode } = made
    const { path } = step
    const replaces = versionBefore(step)
    const parents = replaces === undefined ? makeParents(step.place, parts) : undefined
    const { place } = parents ?? step
    const check = (held?: number) => {
      assertHeld()
      if (replaces === undefined) assertFree(place)
      else assertUnchanged(place, replaces, held)
    }
    const after = createAfterChange()
    try {
      const before = replaces?.hash ?? null
      const intent = { kind: 'write', path: place.path, before, after: hash } as const
      const note = announce && (({ name, stat }: Staged) => announce({ ...intent, staged: name, node: nodeOf(stat) }))
      const request = { place, path, bytes, replaces, mode, check, announce: note }
      const { identity, freed } = await writer.writeFile(request, after)
      await Promise.all([freed, durability.syncNames([place], after)])
      return { identity, unsure: after.toError('WRITE_ERROR', path, () => hash) }
    } catch (error) {
      parents?.undo()
      throw explainWriteError(error, path)
    } finally {
      parents?.place.close()
    }
  }

  /** Of the entry itself: a link is deleted, not its target. */
  async function remove(step: Step, { assertHeld, announce }: Hooks): Promise<Made> {
    const { place, path } = step
    const version = versionBefore(step)
    assertHeld()
    let freed: Promise<void> | undefined
    const stage = stages?.of(place.path)
    try {
      assertAsSeen(place, version)
      const stat = place.directory.stat(place.name)
      if (stat !== undefined) announce?.({ kind: 'delete', path: place.path, node: nodeOf(stat) })
      const name = place.directory.at(place.name)
      if (version === undefined) removeThrough(stage, name)
      else freed = freeOnThread(name, () => removeThrough(stage, name))
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

  async function rename(from: Step, to: Step, { assertHeld, announce }: Hooks): Promise<MadeAlone> {
    const parents = makeParents(to.place, parts)
    const { place } = parents
    const after = createAfterChange()
    try {
      const outcome = await renameEntry({ ...parts, after }, from, to, { place, assertHeld, announce })
      if (outcome === 'unchanged') return { outcome, identity: undefined, unsure: undefined }
      await durability.syncNames([place, from.place], after)
      const stat = after.attempt(() => place.directory.stat(place.name), notLookedAt)
      const unsure = after.toError('RENAME_ERROR', to.path, () => versionBefore(from)?.hash)
      return { outcome, identity: stat && identityOf(stat), unsure }
    } catch (error) {
      parents.undo()
      throw explainWriteError(error, to.path, 'RENAME_ERROR')
    } finally {
      place.close()
    }
  }

  return ([step, other, ...more], { mayCopy = false, ...hooks }) => {
    if (step === undefined || more.length > 0) return undefined
    if (other !== undefined)
      return mayCopy && step.after.kind === 'none' && other.after.kind === 'moved' && other.after.from === step.place
        ? rename(step, other, hooks)
        : undefined
    const { before, after } = step
    if (after.kind === 'none' && before.kind !== 'none') return remove(step, hooks)
    // What takes the place of a link or of an unread file is not written like it.
    return after.kind === 'bytes' && before.kind !== 'entry' && after.like === versionBefore(step)
      ? write(step, after, hooks)
      : undefined
  }
}
