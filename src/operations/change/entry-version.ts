// The version of an entry that is deleted or renamed: the file itself, or the target of a link.
import { OperationError } from '../../errors.ts'
import { requireRegular, type FileVersion } from '../../engine/files/read-file.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import type { OperationContext } from '../../engine/context.ts'
import { glanceAt, readVersion } from './file-version.ts'

interface EntryVersion {
  /** The file at the place, which must not change before it is moved or deleted; undefined for a link and for a file above the size limit. */
  readonly version: FileVersion | undefined
  /** What a reader of the path gets; undefined if it cannot be read. */
  readonly content: FileVersion | undefined
}

/**
 * @param isHashNeeded true if the caller gave an expected hash: then an unreadable file is an error
 * @throws OperationError FILE_NOT_FOUND, NOT_A_FILE, and FILE_TOO_LARGE or ACCESS_DENIED if the hash is needed
 */
export async function readEntry(
  context: OperationContext,
  place: OpenEntry,
  path: string,
  isHashNeeded: boolean
): Promise<EntryVersion> {
  if (place.stat?.isSymbolicLink() === true)
    return { version: undefined, content: await readTarget(context, path, isHashNeeded) }
  requireRegular(place.stat, path)
  try {
    const version = await readVersion(context, place, path)
    return { version, content: version }
  } catch (error) {
    if (isHashNeeded || !isUnreadable(error)) throw error
    return { version: undefined, content: undefined }
  }
}

async function readTarget(
  context: OperationContext,
  path: string,
  isHashNeeded: boolean
): Promise<FileVersion | undefined> {
  try {
    const target = context.files.open(path, 'target')
    try {
      return await glanceAt(context, target, path)
    } finally {
      target.close()
    }
  } catch (error) {
    if (isHashNeeded || !(error instanceof OperationError)) throw error
    return undefined
  }
}

function isUnreadable(error: unknown): boolean {
  return error instanceof OperationError && (error.code === 'FILE_TOO_LARGE' || error.code === 'ACCESS_DENIED')
}
