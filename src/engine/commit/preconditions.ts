// The last checks before a change, each in the same tick as the change itself.
import { OperationError } from '../../errors.ts'
import { identityOf, isSameIdentity } from '../files/identity.ts'
import { typeOf } from '../files/read-folder.ts'
import { readHeld, readNow, type FileVersion } from '../files/read-file.ts'
import type { OpenEntry } from '../files/walk.ts'

/** Thrown by a change whose file is no longer the version it was based on; the operation reads again and answers contention. */
export class StaleFileError extends Error {}

/**
 * In the same tick as the change: is the file still the one that was read? If its times cannot tell, its bytes do.
 * @param held a descriptor of what was at the place right before, which saves opening it
 */
export function assertUnchanged(place: OpenEntry, { identity, bytes }: FileVersion, held?: number): void {
  const { directory, name, path } = place
  const stat = directory.stat(name)
  if (stat !== undefined) {
    const isSame = isSameIdentity(identity, identityOf(stat))
    if (isSame && identity.isTrusted) return
    const { length } = bytes
    const now = held === undefined ? readNow(directory, name, length) : readHeld(place, held, length, stat)
    if (stat.isFile() && now?.equals(bytes) === true) return
  }
  throw new StaleFileError(`changed meanwhile: ${path}`)
}

/** The same for a place that may have no file: what was there when it was opened is there now, so that nothing unseen is removed or replaced. */
export function assertAsSeen(place: OpenEntry, version: FileVersion | undefined): void {
  if (version !== undefined) return assertUnchanged(place, version)
  const { stat: seen } = place
  const now = place.missing.length > 0 ? undefined : place.directory.stat(place.name)
  const isSame = seen === undefined || now === undefined ? seen === now : seen.ino === now.ino && seen.dev === now.dev
  if (!isSame) throw new StaleFileError(`changed meanwhile: ${place.path}`)
}

/** Nothing has come to a place since it was free. */
export function assertFree({ directory, name, path }: OpenEntry): void {
  if (directory.stat(name) !== undefined) throw new StaleFileError(`created meanwhile: ${path}`)
}

/**
 * @param hint what the caller can do if a file is in the way
 * @throws OperationError FILE_EXISTS
 */
export function requireAbsent(place: OpenEntry, path: string, hint: string): void {
  // If parents are missing, `directory` is not the one that the name will be in, and nothing is in the way.
  const stat = place.missing.length > 0 ? undefined : place.directory.stat(place.name)
  if (stat === undefined) return
  const kind = typeOf(stat)
  const message =
    kind === 'file' ? `File already exists: ${path}. ${hint}` : `${named[kind]} is at ${path}. Choose another name.`
  throw new OperationError('FILE_EXISTS', message, { path, ...(kind !== 'file' && { details: { type: kind } }) })
}

const named = { directory: 'A folder', symlink: 'A symbolic link', other: 'A pipe, a socket or a device' } as const
