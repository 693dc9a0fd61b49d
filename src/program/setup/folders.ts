// Folders that are made on the way to a file, and removed with it.
import { mkdirSync, rmdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { isErrno } from '../../support/errno.ts'

/** @returns the folders that were not there before, the outermost first */
export function makeFolders(folder: string, mode = 0o777): string[] {
  const first = mkdirSync(folder, { recursive: true, mode })
  const made: string[] = []
  if (first === undefined) return made
  for (let here = folder; ; here = dirname(here)) {
    made.unshift(here)
    if (here === first || here === dirname(here)) return made
  }
}

/** Removes those that are empty. */
export function removeEmptyFolders(folders: readonly string[]): void {
  for (const folder of [...folders].sort((a, b) => b.length - a.length)) {
    try {
      rmdirSync(folder)
    } catch (error) {
      if (!isErrno(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EACCES', 'EPERM', 'EBUSY', 'EROFS')) throw error
    }
  }
}
