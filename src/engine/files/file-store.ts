// The file store: how files are found and read, inside the roots and within the limits. What changes them is in engine/commit.
import { sep } from 'node:path'
import { OperationError, unlessRefused } from '../../errors.ts'
import type { Directory } from './directory.ts'
import { createFolderSurvey } from './folder.ts'
import { createKeptFolders } from './kept-folders.ts'
import { createListing, type ListOptions, type Page } from './list-directory.ts'
import { lockKey } from './lock-key.ts'
import { isOdd, refuseMisspelt, refuseUntaken, toExistingForm, toUsual } from './odd-spelling.ts'
import { ignoresLetters } from './name-on-disk.ts'
import { createProtection } from './protection.ts'
import { readFile, requireRegular, type FileVersion, type KnownBytes } from './read-file.ts'
import { readPart, type FilePart } from './read-part.ts'
import { createSharedRounds } from '../../support/shared-rounds.ts'
import { createRoots } from './roots.ts'
import { createSpelling } from './spelling.ts'
import { explainWalkError } from './walk-error.ts'
import { walk, type OpenEntry } from './walk.ts'
import { beginningOf } from '../../support/cut-text.ts'
import { withSlashes } from '../../support/slashes.ts'

export interface FileStoreOptions {
  readonly roots: readonly string[]
  /** Other paths of the first root. */
  readonly knownAs?: readonly string[]
  /** Bytes. */
  readonly maxFileBytes: number
  /** Bytes; see ReadLimits. */
  readonly maxSyncBytes: number
  readonly hardlinks: string
  /** Globs relative to a root. */
  readonly protectedPaths: readonly string[]
  /** True for the canonical path of a file that was there: it may be named again, however odd its name is. */
  readonly isKnown?: (path: string) => boolean
}

/**
 * How an operation reaches a file: `target` follows a link at the end of the path, `entry` means the link itself. So does `canonical`, of a
 * canonical path, which leads through no link: what is below a link or a file is missing.
 */
export type Reach = 'target' | 'entry' | 'canonical'

/** Each folder on the way is opened, so that a path of thousands costs as much as thousands of files. */
const maxDepth = 128

/** With the canonical path of the directory. */
type ListedPage = Page & { readonly path: string }

export type FileStore = ReturnType<typeof createFileStore>

export function createFileStore(options: FileStoreOptions) {
  const roots = createRoots(options.roots, options.knownAs)
  const folders = createKeptFolders(roots.list)
  const ground = { roots, folders }
  const protection = createProtection(options.protectedPaths)
  const { isKnown = () => false } = options
  const listing = createListing()
  const lists = createSharedRounds<ListedPage>()

  /**
   * The place of the file that a path leads to right now. The caller closes it.
   * @param mayBeBlocked see `walk`
   * @throws OperationError NOT_A_FILE if the path means a folder
   */
  function open(path: string, reach: Reach, mayBeBlocked = false): OpenEntry {
    const place = reachPlace(path, reach, mayBeBlocked)
    if (!place.isFolder) return place
    place.close()
    const message = `A slash at the end means a folder, but this call needs a file: ${path}. Leave out the slash.`
    throw new OperationError('NOT_A_FILE', message, { path })
  }

  /** The same for a file or a folder. A name that is there is taken as it is; one that is not may be another spelling. */
  function reachPlace(path: string, reach: Reach, mayBeBlocked = false): OpenEntry {
    if (path.includes('\0')) throw new OperationError('INVALID_REQUEST', 'The path has a NUL in it, as no file has.')
    refuseUntaken(path)
    if (!isOdd(path)) return reachAsSpelt(path, reach, mayBeBlocked)
    const other = isThere(path) ? undefined : (toUsual(path) ?? toExistingForm(path, isThere))
    if (other !== undefined) return reachPlace(other, reach, mayBeBlocked)
    const place = reachAsSpelt(path, reach, mayBeBlocked)
    const { stat, missing, name, directory } = place
    // A change of a protected path is refused anyway, by a message of its own.
    if (stat !== undefined || isKnown(place.path) || protection.isProtected(relativeTo(place))) return place
    try {
      refuseMisspelt({ path, folder: directory.path, names: [...missing, name], isThere })
      return place
    } catch (error) {
      place.close()
      throw error
    }
  }

  /** Whether the path, as it is spelt, is that of an entry that may be read. */
  function isThere(path: string): boolean {
    const place = unlessRefused(() => reachAsSpelt(path, 'entry'))
    place?.close()
    return place?.stat !== undefined
  }

  function reachAsSpelt(path: string, reach: Reach, mayBeBlocked = false): OpenEntry {
    requireModestDepth(path)
    const place = walk(ground, roots.locate(path), path, { ...optionsOf(reach), mayBeBlocked })
    try {
      protection.checkReadable(relativeTo(place), path)
      return place
    } catch (error) {
      place.close()
      throw error
    }
  }

  /** Canonical path, the key under which it is locked, and whether other letters may be a name of the same file. */
  function resolve(path: string, reach: Reach): { path: string; key: string; ignoresLetters: boolean } {
    const place = reachPlace(path, reach)
    place.close()
    return { path: place.path, key: lockKey(place.path), ignoresLetters: ignoresLetters(place.root) }
  }

  /** @throws OperationError ACCESS_DENIED for a protected path */
  function checkWritable(place: OpenEntry, path: string): void {
    protection.checkWritable(relativeTo(place), path)
  }

  /** What can be leased: a regular file that may be changed, or a name not yet taken. @throws OperationError NOT_A_FILE, ACCESS_DENIED */
  function checkLockable(place: OpenEntry, path: string): void {
    checkWritable(place, path)
    if (place.stat !== undefined) requireRegular(place.stat, path)
  }

  const read = (place: OpenEntry, path: string, known?: KnownBytes): Promise<FileVersion> =>
    readFile(place, path, options, known)

  const readPartOf = (
    place: OpenEntry,
    path: string,
    wanted: { readonly offset: number; readonly length: number }
  ): Promise<FilePart> => readPart(place, path, wanted, options)

  /** Lists the directory at a path. @throws OperationError DIR_NOT_FOUND */
  async function list(path: string, listOptions: ListOptions): Promise<ListedPage> {
    const { searchKey, ignore, limit, after, maxEntries, signal, onExamined } = listOptions
    // Who wants to see the steps has a round of its own.
    if (onExamined !== undefined) return listNow(path, listOptions)
    const key = JSON.stringify([path, searchKey, ignore, limit, after, maxEntries])
    return lists.ask(key, (shared) => listNow(path, { ...listOptions, signal: shared }), signal)
  }

  async function listNow(path: string, listOptions: ListOptions): Promise<ListedPage> {
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
            ? `Directory does not exist: ${path}. List the one above it with async_list.`
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

  return {
    roots: roots.list,
    open,
    isThere,
    /** The place of an entry by its canonical path, whatever protects it. The caller closes it. */
    openCanonical: (path: string): OpenEntry => walk(ground, roots.locate(path), path, optionsOf('canonical')),
    resolve,
    /** The name under which a lease is requested, whatever it leads to. */
    nameOf: createSpelling(roots.list),
    checkWritable,
    checkLockable,
    read,
    /** A part of a file of any size. */
    readPart: readPartOf,
    list,
    surveyFolder: createFolderSurvey(
      { ...options, isProtected: protection.isProtected },
      { open, withDirectory, relativeTo }
    ),
    close(): void {
      listing.close()
      folders.close()
      roots.close()
    }
  }
}

function optionsOf(reach: Reach) {
  return { followLast: reach === 'target', isCanonical: reach === 'canonical' }
}

/** @throws OperationError INVALID_REQUEST */
function requireModestDepth(path: string): void {
  if (path.length <= maxDepth) return
  const depth = path.split(sep === '/' ? sep : /[\\/]/).length - 1
  if (depth <= maxDepth) return
  const start = `${beginningOf(path, 80)}...`
  const message = `The path leads through ${depth} folders, more than the ${maxDepth} allowed: ${start} Use a folder nearer to the root as --dir, or a shorter path.`
  throw new OperationError('INVALID_REQUEST', message, { path })
}

/** Path below the root, with `/` between names. */
function relativeTo({ root, path }: OpenEntry): string {
  const below = path.slice(root.real.length)
  return withSlashes(below.startsWith(sep) ? below.slice(1) : below)
}
