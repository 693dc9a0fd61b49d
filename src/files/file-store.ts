// The file store: everything the operations do with files, inside the roots and within the limits.
import { unlinkSync } from 'node:fs'
import { relative, sep } from 'node:path'
import { isErrno, OperationError } from '../errors.ts'
import { assertUnchanged, requireAbsent } from './checks.ts'
import type { Directory } from './directory.ts'
import { createFolderSurvey } from './folder.ts'
import { createAfterChange, notLookedAt, type Made } from './after-change.ts'
import { identityOf } from './identity.ts'
import { createListing, type ListOptions } from './list-directory.ts'
import { lockKey } from './lock-key.ts'
import { makeParents, type MadeParents } from './parents.ts'
import { createProtection } from './protection.ts'
import { explainEscapes } from './raw-name.ts'
import { checkSize, contentHash, fileNotFound, readFile, requireRegular, type FileVersion } from './read-file.ts'
import { makeLink, readLink } from './links.ts'
import { renameEntry, type RenameOutcome, type RenameSource, type RenameTarget } from './rename-entry.ts'
import { createRoots } from './roots.ts'
import { createSpelling } from './spelling.ts'
import { explainWalkError } from './walk-error.ts'
import { createUnfinished, settleUnfinished, type RecordFolder } from './unfinished.ts'
import { walk, type Place } from './walk.ts'
import { createWriter, explainWriteError, type WriteRequest } from './write-file.ts'

export interface FileStoreOptions {
  readonly roots: readonly string[]
  /** Bytes. */
  readonly maxFileBytes: number
  /** Bytes; see ReadLimits. */
  readonly maxSyncBytes: number
  readonly durability: string
  readonly hardlinks: string
  /** Globs relative to a root. */
  readonly protectedPaths: readonly string[]
  /** Opens the server's own folder below a root, where changes of several steps are noted; without it they are not. */
  readonly openOwnFolder?: (root: string) => RecordFolder
}

/** How an operation reaches a file: `target` follows a link at the end of the path, `entry` means the link itself. */
export type Reach = 'target' | 'entry'

/** Each folder on the way is opened, so that a path of thousands costs as much as thousands of files. */
const maxDepth = 128

interface CreateOptions {
  readonly createDirs: boolean
  readonly assertHeld: () => void
  /** Permission bits of a file that was there before. */
  readonly mode?: number | undefined
}

export type FileStore = ReturnType<typeof createFileStore>

export function createFileStore(options: FileStoreOptions) {
  const roots = createRoots(options.roots)
  const protection = createProtection(options.protectedPaths)
  const writer = createWriter(options)
  const listing = createListing()
  const ownFolder = roots.list[0] && options.openOwnFolder?.(roots.list[0].real)
  const unfinished = ownFolder && createUnfinished(ownFolder, { isDurable: options.durability === 'full' })

  /** The place of the file that a path leads to right now. The caller closes it. @throws OperationError NOT_A_FILE where the path means a folder */
  function open(path: string, reach: Reach): Place {
    const place = reachPlace(path, reach)
    if (!place.isFolder) return place
    place.close()
    const message = `A slash at the end means a folder, and a file is wanted here: ${path}. Leave the slash out.`
    throw new OperationError('NOT_A_FILE', message, { path })
  }

  /** The same for a file or a folder. */
  function reachPlace(path: string, reach: Reach): Place {
    requireModestDepth(path)
    const place = walk(roots, roots.locate(path), path, { followLast: reach === 'target' })
    try {
      protection.checkReadable(relativeTo(place), path)
      return place
    } catch (error) {
      place.close()
      throw error
    }
  }

  /** Canonical path, and the key under which it is locked. */
  function resolve(path: string, reach: Reach): { path: string; key: string } {
    const place = reachPlace(path, reach)
    place.close()
    return { path: place.path, key: lockKey(place.path) }
  }

  /** @throws OperationError ACCESS_DENIED for a protected path */
  function checkWritable(place: Place, path: string): void {
    protection.checkWritable(relativeTo(place), path)
  }

  /** What a lease can stand for: a regular file that may be changed, or a name not yet taken. @throws OperationError NOT_A_FILE, ACCESS_DENIED */
  function checkLockable(place: Place, path: string): void {
    checkWritable(place, path)
    if (place.stat !== undefined) requireRegular(place.stat, path)
  }

  const read = (place: Place, path: string): Promise<FileVersion> => readFile(place, path, options)

  /** What can be said against replacing a version before anything is written. @throws OperationError FILE_TOO_LARGE, ACCESS_DENIED */
  function checkReplaceable(path: string, current: FileVersion, bytes: Buffer): void {
    checkSize(bytes.length, path, options, 'Nothing was changed: the file would have')
    checkHardlinks(current, path)
    if (current.isWritable) return
    const message = `The file is read-only: ${path}. Change its mode first, or ask its owner.`
    throw new OperationError('ACCESS_DENIED', message, { path })
  }

  /** Replaces a version by new bytes. */
  async function replace(
    place: Place,
    path: string,
    current: FileVersion,
    bytes: Buffer,
    assertHeld: () => void
  ): Promise<Made> {
    checkReplaceable(path, current, bytes)
    const check = () => {
      assertHeld()
      assertUnchanged(place, current)
    }
    return write({ place, path, bytes, replaces: current, check })
  }

  async function write(request: WriteRequest): Promise<Made> {
    const after = createAfterChange()
    const identity = await writer.writeFile(request, after)
    await writer.syncNames([request.place], after)
    return { identity, unsure: after.toError('WRITE_ERROR', request.path, () => contentHash(request.bytes)) }
  }

  /** Creates a file, with its parents where `createDirs` allows; a failure leaves neither. */
  async function create(
    place: Place,
    path: string,
    bytes: Buffer,
    { createDirs, assertHeld, mode }: CreateOptions
  ): Promise<Made> {
    const hint = 'Read it with async_read and change it with async_update, or choose another name.'
    requireAbsent(place, path, hint)
    checkSize(bytes.length, path, options, 'Nothing was changed: the file would have')
    return inParents(place, path, createDirs, (parent) => {
      const check = () => {
        assertHeld()
        requireAbsent(parent, path, hint)
      }
      return write({ place: parent, path, bytes, replaces: undefined, mode, check })
    })
  }

  /** Creates a symbolic link as it was before. @throws ChangedMeanwhile where something is there */
  async function createLink(place: Place, path: string, target: string, { createDirs, assertHeld }: CreateOptions) {
    return inParents(place, path, createDirs, async (parent): Promise<Made> => {
      assertHeld()
      makeLink(parent, target)
      const after = createAfterChange()
      await writer.syncNames([parent], after)
      return { identity: undefined, unsure: after.toError('WRITE_ERROR', path, () => undefined) }
    })
  }

  /** @param make throws only before the change is made */
  async function inParents(
    place: Place,
    path: string,
    createDirs: boolean,
    make: (parent: Place) => Promise<Made>
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

  /**
   * Deletes the entry. `current` is the version that is meant; a link is deleted, not its target.
   * @returns `link`: what it said
   */
  async function remove(
    place: Place,
    path: string,
    current: FileVersion | undefined,
    assertHeld: () => void
  ): Promise<Made & { link: string | undefined }> {
    assertHeld()
    let link: string | undefined
    try {
      if (current !== undefined) assertUnchanged(place, current)
      else if (place.stat?.isSymbolicLink() === true) link = readLink(place)
      unlinkSync(place.directory.at(place.name))
    } catch (error) {
      // The directory is held open: what is missing is the file.
      if (isErrno(error, 'ENOENT')) throw fileNotFound(path, error)
      throw explainWriteError(error, path, 'DELETE_ERROR')
    }
    const after = createAfterChange()
    await writer.syncNames([place], after)
    return { link, identity: undefined, unsure: after.toError('DELETE_ERROR', path, () => undefined) }
  }

  /**
   * Renames an entry; over an existing file only with `overwrite`. A failure leaves both as they were.
   */
  async function rename(
    from: RenameSource,
    to: RenameTarget & { readonly createDirs: boolean },
    assertHeld: () => void
  ): Promise<Made & { outcome: RenameOutcome }> {
    const parents = prepareParents(to.place, to.path, to.createDirs)
    const target = { ...to, place: parents.place }
    const after = createAfterChange()
    try {
      const outcome = await renameEntry({ writer, unfinished, after }, from, target, assertHeld)
      if (outcome === 'unchanged') return { outcome, identity: undefined, unsure: undefined }
      await writer.syncNames([target.place, from.place], after)
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

  /** Lists the directory at a path. @throws OperationError DIR_NOT_FOUND */
  async function list(path: string, listOptions: ListOptions) {
    return withDirectory(path, async (directory, canonicalPath) => ({
      path: canonicalPath,
      ...(await listing.list(directory, path, listOptions))
    }))
  }

  async function withDirectory<Result>(
    path: string,
    use: (directory: Directory, canonicalPath: string) => Promise<Result>
  ): Promise<Result> {
    const place = reachPlace(path, 'target')
    try {
      if (place.stat?.isDirectory() !== true) {
        const message =
          place.stat === undefined
            ? `Directory does not exist: ${path}. Look with async_list in the one above it.${explainEscapes(path)}`
            : `Not a directory: ${path}. Read it with async_read.`
        throw new OperationError('DIR_NOT_FOUND', message, { path })
      }
      const directory = place.name === '.' ? place.directory.share() : place.directory.openChild(place.name)
      try {
        return await use(directory, place.path)
      } finally {
        directory.close()
      }
    } catch (error) {
      throw explainWalkError(error, path)
    } finally {
      place.close()
    }
  }

  function prepareParents(place: Place, path: string, createDirs: boolean): MadeParents {
    if (place.missing.length > 0 && !createDirs) {
      const message = `Directory does not exist: ${parentOf(place)}, for ${path}. Create it, or pass create_dirs: true.`
      throw new OperationError('DIR_NOT_FOUND', message, { path })
    }
    return makeParents(place, { isDurable: options.durability === 'full', unfinished })
  }

  function checkHardlinks({ links }: FileVersion, path: string): void {
    if (links < 2 || options.hardlinks !== 'refuse') return
    const message = `File has ${links} names (hard links) and writing would part them: ${path}. The operator forbids that (crud.hardlinks).`
    throw new OperationError('ACCESS_DENIED', message, { path, details: { links } })
  }

  return {
    roots: roots.list,
    open,
    resolve,
    /** The name under which a lease is asked for, whatever it leads to. */
    nameOf: createSpelling(roots.list),
    checkWritable,
    checkLockable,
    checkReplaceable,
    read,
    replace,
    create,
    createLink,
    remove,
    rename,
    list,
    surveyFolder: createFolderSurvey(
      { ...options, isProtected: protection.isProtected },
      { open, withDirectory, relativeTo }
    ),
    /** What was left by changes of a killed process is cleared away; returns a sentence for whatever cannot be. */
    settleUnfinished: async (): Promise<readonly string[]> =>
      ownFolder === undefined ? [] : settleUnfinished(ownFolder, (path) => reachPlace(path, 'entry')),
    /** Refuses further changes and removes temporary files that are still there. */
    close(): void {
      writer.close()
      listing.close()
    }
  }
}

/** @throws OperationError INVALID_REQUEST */
function requireModestDepth(path: string): void {
  const depth = path.split(sep === '/' ? sep : /[\\/]/).length - 1
  if (depth <= maxDepth) return
  const start = `${path.slice(0, 80)}...`
  const message = `The path leads through ${depth} folders, more than the ${maxDepth} allowed: ${start} Use a folder nearer to the root as --dir, or a shorter path.`
  throw new OperationError('INVALID_REQUEST', message, { path })
}

/** Path below the root, with `/` between names. */
function relativeTo({ root, path }: Place): string {
  return relative(root.real, path).split(sep).join('/')
}

function parentOf({ directory, missing }: Place): string {
  return [directory.path, ...missing].join(sep)
}
