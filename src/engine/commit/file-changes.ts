// The changes of files, each atomic: the last checks before it, the change, the syncs that make it durable, and the doubts after it.
import { linkSync, rmSync, symlinkSync } from 'node:fs'
import { sep } from 'node:path'
import { isErrno, OperationError } from '../../errors.ts'
import { createAfterChange, notLookedAt, type Made } from './after-change.ts'
import { assertAsSeen, assertUnchanged, requireAbsent, StaleFileError } from './preconditions.ts'
import type { Durability } from './durability.ts'
import { freeOnThread } from './free-on-thread.ts'
import { identityOf } from '../files/identity.ts'
import { makeLink } from '../files/links.ts'
import { makeParents, type MadeParents } from './parents.ts'
import { checkSize, contentHash, fileNotFound, type FileVersion } from '../files/read-file.ts'
import { renameEntry, type RenameOutcome, type RenameSource, type RenameTarget } from './rename-entry.ts'
import { removeThrough, type Stage, type Stages } from './stages.ts'
import { temporaryName } from '../files/temporary-names.ts'
import { createCommit } from './together.ts'
import type { TransactionRecords } from './record.ts'
import type { Unfinished } from './unfinished.ts'
import type { OpenEntry } from '../files/walk.ts'
import { createWriter, type AnnounceWrite, type WriteRequest } from './write-file.ts'
import { explainWriteError } from './write-error.ts'

export interface FileChangesOptions {
  readonly durability: Durability
  /** Bytes. */
  readonly maxFileBytes: number
  /** Bytes; see ReadLimits. */
  readonly maxSyncBytes: number
  /** Whether a file with several names may be changed, which separates them: crud.hardlinks. */
  readonly hardlinks: string
  /** Undefined if changes of several steps are not noted. */
  readonly unfinished: Unfinished | undefined
  /** Undefined if one host serves the tree: then changes are made in place. */
  readonly stages: Stages | undefined
  /** Undefined if transactions leave no record. */
  readonly records: TransactionRecords | undefined
  /** Some of a failed transaction's changes could not be taken back yet. @returns called once they have been */
  readonly onUnfinished: (message: string) => () => void
}

/** Both run right before the change, in the same tick. */
export interface StepHooks {
  /** Throws to refuse. */
  readonly assertHeld: () => void
  /** Takes note of the change: the last step before it. */
  readonly announce?: (() => void) | undefined
}

export interface CreateOptions {
  readonly createDirs: boolean
  readonly assertHeld: () => void
  /** Permission bits of a file that was there before. */
  readonly mode?: number | undefined
  readonly announce?: AnnounceWrite | undefined
}

export function createFileChanges(options: FileChangesOptions) {
  const { durability, unfinished, stages } = options
  const writer = createWriter(options)

  /**
   * Checks before anything is written that bytes may be put in the place of a version, or of nothing.
   * @throws OperationError FILE_TOO_LARGE, ACCESS_DENIED
   */
  function checkReplaceable(path: string, current: FileVersion | undefined, bytes: Buffer): void {
    checkSize(bytes.length, path, options, 'Nothing was changed: the file would have', '')
    if (current === undefined) return
    checkHardlinks(current, path)
    if (current.isWritable) return
    const message = `The file is read-only: ${path}. Change its mode first, or ask its owner.`
    throw new OperationError('ACCESS_DENIED', message, { path })
  }

  /** Replaces a version by new bytes. */
  async function replace(
    place: OpenEntry,
    path: string,
    current: FileVersion,
    bytes: Buffer,
    { assertHeld, announce }: { assertHeld: () => void; announce?: AnnounceWrite | undefined }
  ): Promise<Made> {
    checkReplaceable(path, current, bytes)
    const check = () => {
      assertHeld()
      assertUnchanged(place, current)
    }
    return write({ place, path, bytes, replaces: current, check, announce })
  }

  async function write(request: WriteRequest): Promise<Made> {
    const after = createAfterChange()
    const { identity, freed } = await writer.writeFile(request, after)
    await Promise.all([freed, durability.syncNames([request.place], after)])
    return { identity, unsure: after.toError('WRITE_ERROR', request.path, () => contentHash(request.bytes)) }
  }

  /** Creates a file, with its parents if `createDirs` allows; a failure leaves neither. */
  async function create(
    place: OpenEntry,
    path: string,
    bytes: Buffer,
    { createDirs, assertHeld, mode, announce }: CreateOptions
  ): Promise<Made> {
    const hint = 'Read it with async_read and change it with async_update, or choose another name.'
    requireAbsent(place, path, hint)
    checkReplaceable(path, undefined, bytes)
    return inParents(place, path, createDirs, (parent) => {
      const check = () => {
        assertHeld()
        requireAbsent(parent, path, hint)
      }
      return write({ place: parent, path, bytes, replaces: undefined, mode, check, announce })
    })
  }

  /** Creates a symbolic link as it was before. @throws StaleFileError if something is there */
  async function createLink(place: OpenEntry, path: string, target: string, { createDirs, assertHeld }: CreateOptions) {
    return inParents(place, path, createDirs, async (parent): Promise<Made> => {
      assertHeld()
      const stage = stages?.of(parent.path)
      if (stage === undefined) makeLink(parent, target)
      else makeStagedLink(stage, parent, target)
      const after = createAfterChange()
      await durability.syncNames([parent], after)
      return { identity: undefined, unsure: after.toError('WRITE_ERROR', path, () => undefined) }
    })
  }

  /** @param make throws only before the change is made */
  async function inParents(
    place: OpenEntry,
    path: string,
    createDirs: boolean,
    make: (parent: OpenEntry) => Promise<Made>
  ): Promise<Made> {
    const parents = prepareParents(place, path, createDirs)
    try {
      return await make(parents.place)
    } catch (error) {
      parents.undo()
      throw explainWriteError(error, path)
    } finally {
      parents.place.close()
    }
  }

  /** Deletes the entry. `current` is the version to delete; a link is deleted, not its target. */
  async function remove(
    place: OpenEntry,
    path: string,
    current: FileVersion | undefined,
    { assertHeld, announce }: StepHooks
  ): Promise<Made> {
    assertHeld()
    let freed: Promise<void> | undefined
    const stage = stages?.of(place.path)
    try {
      assertAsSeen(place, current)
      announce?.()
      const name = place.directory.at(place.name)
      if (current === undefined) removeThrough(stage, name)
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

  /**
   * Renames an entry; over an existing file only with `overwrite`. A failure leaves both as they were.
   */
  async function rename(
    from: RenameSource,
    to: RenameTarget & { readonly createDirs: boolean },
    hooks: StepHooks
  ): Promise<Made & { outcome: RenameOutcome }> {
    const parents = prepareParents(to.place, to.path, to.createDirs)
    const target = { ...to, place: parents.place }
    const after = createAfterChange()
    try {
      const outcome = await renameEntry({ writer, durability, unfinished, stages, after }, from, target, hooks)
      if (outcome === 'unchanged') return { outcome, identity: undefined, unsure: undefined }
      await durability.syncNames([target.place, from.place], after)
      const stat = after.attempt(() => target.place.directory.stat(target.place.name), notLookedAt)
      const unsure = after.toError('RENAME_ERROR', to.path, () => from.current?.hash)
      return { outcome, identity: stat === undefined ? undefined : identityOf(stat), unsure }
    } catch (error) {
      parents.undo()
      throw explainWriteError(error, to.path, 'RENAME_ERROR')
    } finally {
      parents.place.close()
    }
  }

  function prepareParents(place: OpenEntry, path: string, createDirs: boolean): MadeParents {
    if (place.missing.length > 0 && !createDirs) {
      const message = `Directory does not exist: ${parentOf(place)}, for ${path}. Create it, or pass create_dirs: true.`
      throw new OperationError('DIR_NOT_FOUND', message, { path })
    }
    return makeParents(place, { durability, unfinished })
  }

  function checkHardlinks({ links }: FileVersion, path: string): void {
    if (links < 2 || options.hardlinks !== 'refuse') return
    const message = `File has ${links} names (hard links), and writing would separate them: ${path}. Nothing was changed: the operator forbids that (crud.hardlinks).`
    throw new OperationError('ACCESS_DENIED', message, { path, details: { links } })
  }

  return {
    checkReplaceable,
    replace,
    create,
    createLink,
    remove,
    rename,
    /** Makes several changes, all or none. */
    commit: createCommit({ ...options, writer }),
    /** Refuses every further change and removes the temporary files that are still there. */
    close: () => writer.close()
  }
}

function makeStagedLink(stage: Stage, place: OpenEntry, target: string): void {
  const staged = stage.at(temporaryName())
  try {
    symlinkSync(target, staged)
    linkSync(staged, place.directory.at(place.name))
  } catch (error) {
    if (isErrno(error, 'EEXIST')) throw new StaleFileError(`created meanwhile: ${place.path}`, { cause: error })
    throw stage.explain(error, place.path)
  } finally {
    rmSync(staged, { force: true })
  }
}

function parentOf({ directory, missing }: OpenEntry): string {
  return [directory.path, ...missing].join(sep)
}
