// Creates the missing directories above a new file, and takes them back when the write fails.
import { mkdirSync, rmdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import { attempt } from '../../support/attempt.ts'
import { isErrno, OperationError } from '../../errors.ts'
import type { Directory } from '../files/directory.ts'
import type { OpenEntry } from '../files/walk.ts'
import type { Durability } from './durability.ts'
import { explainWriteError } from './write-error.ts'

/** Missing parents that were just made: the place of the file, and how to remove them if the write fails. */
export interface MadeParents {
  readonly place: OpenEntry
  /** Removes the new directories again, as far as they are still empty. */
  undo(): void
}

/** @throws OperationError DIR_NOT_FOUND if the folder of the place is missing and may not be made */
export function requireFolder({ directory, missing }: OpenEntry, path: string, mayCreate: boolean): void {
  if (missing.length === 0 || mayCreate) return
  const folder = [directory.path, ...missing].join(sep)
  const message = `Directory does not exist: ${folder}, for ${path}. Create it, or pass create_dirs: true.`
  throw new OperationError('DIR_NOT_FOUND', message, { path })
}

/** The missing parents of a place, for the note. */
export function missingFolders({ directory, missing }: OpenEntry): string[] {
  return missing.map((_, index) => join(directory.path, ...missing.slice(0, index + 1)))
}

/**
 * Creates the missing parents of a place, each durable before another operation can see it: that operation need not know that it is new.
 * The returned place replaces the old one. Close both.
 */
export function makeParents(place: OpenEntry, durability: Durability): MadeParents {
  const held: Directory[] = []
  const made: { parent: Directory; name: string }[] = []
  const undo = () => {
    for (const { parent, name } of made.toReversed()) removeEmptyDirectory(parent, name)
  }
  const close = () => {
    for (const directory of held) directory.close()
  }
  let directory = place.directory.share()
  held.push(directory)
  try {
    for (const name of place.missing) {
      if (makeDirectory(directory, name)) {
        made.push({ parent: directory, name })
        durability.syncNewFolder(directory)
      }
      directory = directory.openChild(name)
      held.push(directory)
    }
    const stat = directory.stat(place.name)
    return { place: { ...place, directory, missing: [], stat, close }, undo }
  } catch (error) {
    undo()
    close()
    throw explainWriteError(error, place.path)
  }
}

/** True if it made the directory, false if another operation or program just had. */
function makeDirectory(parent: Directory, name: string): boolean {
  try {
    parent.within((at) => mkdirSync(at(name)))
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}

function removeEmptyDirectory(parent: Directory, name: string): void {
  // It got a file meanwhile, or is gone already. Whatever the failure, the reason for the undo is the one to report.
  attempt(() => parent.within((at) => rmdirSync(at(name))))
}
