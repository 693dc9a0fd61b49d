// Renames an entry within a file system, or copies it to another one.
import { readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs'
import { isErrno, OperationError } from '../errors.ts'
import { assertUnchanged, requireAbsent } from './checks.ts'
import { requireRegular, type FileVersion } from './read-file.ts'
import type { Place } from './walk.ts'
import { explainWriteError, type Writer } from './write-file.ts'

export interface RenameSource {
  readonly place: Place
  /** As the caller spelt it. */
  readonly path: string
  /** The version that is meant; undefined for a link and for a file too large to read. */
  readonly current: FileVersion | undefined
}

export interface RenameTarget {
  readonly place: Place
  readonly path: string
  readonly overwrite: boolean
}

/** @returns true where it had to be copied to another file system */
export async function renameEntry(
  writer: Writer,
  from: RenameSource,
  to: RenameTarget,
  assertHeld: () => void
): Promise<boolean> {
  checkRename(from, to, assertHeld)
  if (renameInPlace(from.place, to.place, from.path)) return false
  await copyAcross(writer, from, to, assertHeld)
  return true
}

/** In the same tick as the rename. */
function checkRename(from: RenameSource, { place, path, overwrite }: RenameTarget, assertHeld: () => void): void {
  assertHeld()
  if (from.current !== undefined) assertUnchanged(from.place, from.current)
  if (!overwrite) requireAbsent(place, path, 'Pass overwrite: true to replace it, or choose another name.')
  const existing = place.directory.stat(place.name)
  if (existing !== undefined && !existing.isSymbolicLink()) requireRegular(existing, path)
}

/** Copies, then deletes: not atomic, yet at every moment at least one name holds the bytes. */
async function copyAcross(writer: Writer, from: RenameSource, to: RenameTarget, assertHeld: () => void): Promise<void> {
  const { current } = from
  if (current === undefined) copyLink(from.place, to)
  else {
    const check = () => checkRename(from, to, assertHeld)
    await writer.writeFile({ place: to.place, path: to.path, bytes: current.bytes, replaces: current, check })
  }
  await to.place.directory.sync()
  if (current !== undefined) requireStill(from, current, to.path)
  removeEntry(from.place)
}

/** Whoever wrote the source while it was copied keeps what he wrote. */
function requireStill({ place, path }: RenameSource, current: FileVersion, newPath: string): void {
  try {
    assertUnchanged(place, current)
  } catch (error) {
    const message = `${path} was changed while it was copied to ${newPath}: both are there now. Compare them and delete one.`
    throw new OperationError('RENAME_ERROR', message, { path, details: { applied: true }, cause: error })
  }
}

function copyLink(from: Place, { place, path, overwrite }: RenameTarget): void {
  requireLink(from, path)
  if (overwrite) removeEntry(place)
  symlinkSync(readlinkSync(from.directory.at(from.name)), place.directory.at(place.name))
}

function requireLink({ stat }: Place, path: string): void {
  if (stat?.isSymbolicLink() === true) return
  throw new OperationError(
    'FILE_TOO_LARGE',
    `The file is above the size limit and new_path lies on another file system: ${path}. Move it with the system's own tools.`,
    { path }
  )
}

/** False where the two lie on different file systems. */
function renameInPlace(from: Place, to: Place, path: string): boolean {
  try {
    // Between two names of one file the system's rename does nothing and calls it success.
    if (areTwoNames(from, to)) unlinkSync(from.directory.at(from.name))
    else renameSync(from.directory.at(from.name), to.directory.at(to.name))
    return true
  } catch (error) {
    if (isErrno(error, 'EXDEV')) return false
    throw explainWriteError(error, path, 'RENAME_ERROR')
  }
}

/** True for two hard links to one file; on a file system that ignores case, one entry spelt twice has a single link. */
function areTwoNames(from: Place, to: Place): boolean {
  const [source, target] = [from.directory.stat(from.name), to.directory.stat(to.name)]
  if (source === undefined || target === undefined || source.nlink < 2n) return false
  return source.ino === target.ino && source.dev === target.dev && from.path !== to.path
}

function removeEntry(place: Place): void {
  try {
    unlinkSync(place.directory.at(place.name))
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}
