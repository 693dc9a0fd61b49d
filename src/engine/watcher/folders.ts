// The watched folders: those of the tracked files, and their parents up to the root, since a rename there changes everything below.
import { basename, dirname, join } from 'node:path'
import { isGone } from '../files/root-presence.ts'
import type { Root } from '../files/roots.ts'
import { Folder, watchesBelow } from './folder.ts'
import type { Slices } from '../../support/slices.ts'

interface FoldersOptions {
  readonly roots: readonly Root[]
  /** Something may have happened to a tracked file. */
  readonly onFile: (path: string) => void
  /** A folder may have gone, come or been replaced. */
  readonly onFolder: (path: string) => void
  /** The same, of the tracked files below it. */
  readonly onFolderFile: (path: string) => void
  /** The watch of a folder was closed because of too many notices: examine and watch the folder again after a while. */
  readonly onAsleep: (path: string) => void
  /** So many notices have come that the system may have dropped others. */
  readonly onFlood: () => void
}

/** Why not all folders are watched. */
export interface Shortage {
  /** Such as ENOSPC: the user's watches are used up. */
  readonly code: string
  readonly path: string
}

export type Folders = ReturnType<typeof createFolders>

/** Far fewer than the system keeps for a reader that is busy: 16,384 on Linux, by default. */
const floodEvents = 1000
/**
 * Notices handled in one turn of the event loop. The system calls back until none is left, and in a flood new ones come as fast:
 * without a limit the turn would last as long as the flood. Beyond the limit, the folder's watch is closed.
 */
const maxTurnNotices = 1000
/** Told of one by one if a folder above them goes or comes: this blocks the process for some milliseconds. */
const maxFolderFiles = 5000
/** Errors that the next folder would meet as well. */
const limitCodes = new Set(['ENOSPC', 'EMFILE', 'ENFILE', 'ENOMEM'])

export function createFolders({ roots, onFile, onFolder, onFolderFile, onAsleep, onFlood }: FoldersOptions) {
  const folders = new Map<string, Folder>()
  let events = 0
  let turnNotices = 0
  let shortage: Shortage | undefined

  function onEvent(watched: Folder, entry: string | undefined, isRenamed: boolean): void {
    events += 1
    if (events % floodEvents === 0) onFlood()
    if (isTooMany()) {
      watched.close()
      return onAsleep(watched.path)
    }
    // Of a watch on all that is below, notices were lost.
    if (entry === undefined) return watchesBelow ? onFlood() : onFolder(watched.path)
    const folder = watched.folderOf(entry)
    if (folder === undefined) return
    const name = basename(entry)
    const file = folder.fileAt(name)
    if (file !== undefined) onFile(join(folder.path, file))
    if (!isRenamed) return
    const child = folder.folderAt(name)
    if (child !== undefined) {
      // Even if it comes back with the same inode number: the watch is on the folder that went.
      child.close()
      onFolder(child.path)
      let told = 0
      for (const path of filesBelow(child)) {
        onFolderFile(path)
        if ((told += 1) === maxFolderFiles) break
      }
    } else if (name === folder.name) {
      // The system reports a folder's own end or rename under the folder's own name.
      folder.close()
      onFolder(folder.path)
    }
  }

  function isTooMany(): boolean {
    if (turnNotices === 0) setImmediate(() => (turnNotices = 0))
    turnNotices += 1
    return turnNotices > maxTurnNotices
  }

  function ensure(path: string): Folder | undefined {
    const known = folders.get(path)
    if (known !== undefined) return known
    const above =
      roots.find(({ real }) => real === path) ?? (path === dirname(path) ? undefined : ensure(dirname(path)))
    if (above === undefined) return undefined
    const folder = new Folder(path, above, { onEvent, onLost: ({ path }) => onFolder(path) })
    folders.set(path, folder)
    folder.parent?.folders.set(folder.name, folder)
    open(folder)
    return folder
  }

  /** @returns whether it was not watched before, or what was watched is no longer there */
  function open(folder: Folder): boolean {
    // Once the limit is reached, the next look at all folders tries again.
    if (shortage !== undefined && limitCodes.has(shortage.code) && !folder.isWatched) return true
    const outcome = folder.open()
    if (outcome instanceof Error) shortage ??= { code: outcome.code ?? outcome.message, path: folder.path }
    return outcome !== 'kept'
  }

  function prune(folder: Folder | undefined): void {
    if (folder === undefined || folder.files.size > 0 || folder.folders.size > 0) return
    folder.close()
    folders.delete(folder.path)
    folder.parent?.folders.delete(folder.name)
    prune(folder.parent)
  }

  return {
    /** Begins to watch for a file. Outside the roots nothing is watched. */
    add(path: string): void {
      ensure(dirname(path))?.files.add(basename(path))
    },
    remove(path: string): void {
      const folder = folders.get(dirname(path))
      folder?.files.delete(basename(path))
      prune(folder)
    },
    /** True if a folder above the file was missing, or no folder, at the last look. */
    isCutOff: (path: string): boolean => folders.get(dirname(path))?.isCutOff === true,
    /** Examines a folder again, and those below it if it is another one now. @returns the files that may have changed with it */
    recheck(path: string): string[] {
      const folder = folders.get(path)
      if (folder === undefined || !open(folder)) return []
      const below = [...folder.folders.values()].flatMap((child) => [...filesBelow(child, open)])
      return [...filesOf(folder), ...below]
    },
    /** Examines all folders again, since notices may have been lost. */
    async recheckAll(slices: Slices): Promise<void> {
      shortage = undefined
      for (const folder of folders.values()) {
        open(folder)
        if (slices.isOver()) await slices.next()
      }
    },
    /** True if a root that was gone is there again. No folder above a root is watched, so that it must be looked for. */
    isRootBack: (): boolean => roots.some((root) => folders.get(root.real)?.isCutOff === true && !isGone(root)),
    get size(): number {
      return folders.size
    },
    get watched(): number {
      let count = 0
      for (const folder of folders.values()) if (folder.isWatched) count += 1
      return count
    },
    get shortage(): Shortage | undefined {
      return shortage
    },
    close(): void {
      for (const folder of folders.values()) folder.close()
      folders.clear()
    }
  }
}

/** @param visit called for each folder before its files */
function* filesBelow(folder: Folder, visit?: (folder: Folder) => unknown): Generator<string> {
  visit?.(folder)
  yield* filesOf(folder)
  for (const child of folder.folders.values()) yield* filesBelow(child, visit)
}

function filesOf({ path, files }: Folder): string[] {
  return [...files].map((name) => join(path, name))
}
