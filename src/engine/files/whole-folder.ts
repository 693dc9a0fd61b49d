// A folder with all that is in it, by open folders alone: one that is swapped for a link to the outside meanwhile is not entered.
import { mkdirSync, readdirSync, rmdirSync, unlinkSync, type Dirent } from 'node:fs'
import { isErrno } from '../../errors.ts'
import { Directory, type Shelf } from './directory.ts'

/**
 * Whether all that is in a folder, and no folder, is meant.
 * @param isMeant asked for each path relative to the folder, with `/` between names
 * @returns true for what is no folder, false for what cannot be read
 */
export function holdsOnly(shelf: Shelf, name: string, isMeant: (path: string) => boolean): boolean {
  if (shelf.stat(name)?.isDirectory() !== true) return true
  const holds = (folder: Directory, path: string): boolean =>
    entriesOf(folder).every((entry) =>
      entry.isDirectory()
        ? inFolder(folder, entry.name, (child) => holds(child, `${path}${entry.name}/`))
        : isMeant(path + entry.name)
    )
  try {
    return inFolder(shelf, name, (folder) => holds(folder, ''))
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES')) return false
    throw error
  }
}

/** @throws Error of the file system */
export function removeWhole(shelf: Shelf, name: string): void {
  if (shelf.stat(name)?.isDirectory() !== true) return shelf.within((at) => unlinkSync(at(name)))
  inFolder(shelf, name, (folder) => {
    for (const entry of entriesOf(folder)) removeWhole(folder, entry.name)
  })
  shelf.within((at) => rmdirSync(at(name)))
}

/** Makes the names in it durable, and in each folder of it. */
export function syncFolders(folder: Directory): void {
  for (const entry of entriesOf(folder)) if (entry.isDirectory()) inFolder(folder, entry.name, syncFolders)
  folder.syncNow()
}

/** @throws Error of the file system: a link is refused */
export function inFolder<Result>(shelf: Shelf, name: string, use: (folder: Directory) => Result): Result {
  const folder = open(shelf, name)
  try {
    return use(folder)
  } finally {
    folder.close()
  }
}

/** In a folder of a folder, and so on. */
export function inFolders<Result>(
  shelf: Shelf,
  [name, ...more]: readonly string[],
  use: (folder: Directory) => Result
): Result {
  return inFolder(shelf, name as string, (folder) => (more.length === 0 ? use(folder) : inFolders(folder, more, use)))
}

/** The same, for the caller to close. The first one is there; those that are missing below it are made. */
export function openFolders(shelf: Shelf, [name, ...more]: readonly string[]): Directory {
  const folder = open(shelf, name as string)
  const [next] = more
  if (next === undefined) return folder
  try {
    folder.within((at) => mkdirSync(at(next), { recursive: true }))
    return openFolders(folder, more)
  } finally {
    folder.close()
  }
}

function open(shelf: Shelf, name: string): Directory {
  return shelf instanceof Directory ? shelf.openChild(name) : shelf.within((at) => Directory.open(at(name)))
}

function entriesOf(folder: Directory): Dirent[] {
  return folder.within((at) => readdirSync(at('.'), { withFileTypes: true }))
}
