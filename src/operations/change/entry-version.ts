// The version of an entry that is deleted, renamed or replaced: the file itself, or the target of a link; and whether its bytes are kept.
import { OperationError } from '../../errors.ts'
import { readLink } from '../../engine/files/links.ts'
import { requireRegular, type FileVersion } from '../../engine/files/read-file.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { linkAt } from '../../engine/versions/link-at.ts'
import type { Entry } from '../../engine/versions/version.ts'
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
  if (place.stat?.isSymbolicLink() === true) {
    recordLink(context, place)
    return { version: undefined, content: await readTarget(context, path, isHashNeeded) }
  }
  requireRegular(place.stat, path)
  try {
    const version = await readVersion(context, place, path)
    return { version, content: version }
  } catch (error) {
    if (isHashNeeded || !isUnreadable(error)) throw error
    context.history.observe(place.path, { kind: 'entry', entry: 'unread' })
    return { version: undefined, content: undefined }
  }
}

/** The file that a rename replaces, so that its bytes are kept; undefined if there is none, or it cannot be read: it can be replaced all the same. */
export async function readReplaced(
  context: OperationContext,
  place: OpenEntry,
  path: string
): Promise<FileVersion | undefined> {
  if (place.stat?.isSymbolicLink() === true) recordLink(context, place)
  return place.stat?.isFile() === true ? (await readEntry(context, place, path, false)).version : undefined
}

/** A link that came unseen to a name that is known. */
export function recordLink({ history }: Pick<OperationContext, 'history'>, place: OpenEntry): void {
  const now = linkAt(place)
  if (now !== undefined) history.observe(place.path, now)
}

/** What a change removes or replaces, for the history, if that is no version. */
export function entryAt(place: OpenEntry, version: FileVersion | undefined): Entry | undefined {
  if (place.stat === undefined || place.stat.isDirectory() || version !== undefined) return undefined
  return place.stat.isSymbolicLink() ? { link: readLink(place) } : 'unread'
}

/** What an answer says of the version that its change has replaced. */
export interface Replaced {
  /** Other names that keep the old bytes. */
  readonly links_broken?: number
  readonly kept?: false
}

export function replacedBy(context: Pick<OperationContext, 'bases'>, place: OpenEntry, version: FileVersion): Replaced {
  const { links } = version
  return { ...(links > 1 && { links_broken: links - 1 }), ...notKept(context, place, version) }
}

/** For answers: says so if the bytes that a change replaces or removes cannot be had back. A link is kept by its target. */
export function notKept(
  { bases }: Pick<OperationContext, 'bases'>,
  { stat }: Pick<OpenEntry, 'stat'>,
  version: FileVersion | undefined
): { kept?: false } {
  if (stat?.isFile() !== true || (version !== undefined && bases.has(version.hash))) return {}
  return { kept: false }
}

/** What a reader of a link gets. */
export async function readTarget(
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
