// What a path is: nothing, a file, a link. Of the tree now, of a layer, and of the versions from which a command may have started.
import { readFile } from 'node:fs/promises'
import { readlinkSync } from 'node:fs'
import type { OperationContext } from '../../engine/call/context.ts'
import { readLink } from '../../engine/files/links.ts'
import { contentHash } from '../../engine/files/content-hash.ts'
import { checkSize, requireRegular, type FileVersion } from '../../engine/files/read-file.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import type { LayerEntry } from '../../engine/layers/layer-contents.ts'
import type { FoundState } from '../../engine/layers/layers.ts'
import type { Version } from '../../engine/versions/version.ts'
import { recordLink } from '../change/entry-version.ts'

export type PathState = FoundState

/** What a layer has at a path. */
export type Incoming =
  | { readonly kind: 'none' }
  | { readonly kind: 'file'; readonly bytes: Buffer; readonly hash: string; readonly mode: number }
  | { readonly kind: 'link'; readonly target: string }

/** What the tree has there. */
export type Current =
  | { readonly kind: 'none' }
  | { readonly kind: 'file'; readonly version: FileVersion }
  | { readonly kind: 'link'; readonly target: string }

/** @throws OperationError FILE_TOO_LARGE */
export async function readIncoming(
  { what, upper, mode, size, path }: LayerEntry,
  maxFileBytes: number
): Promise<Incoming> {
  if (what === 'none') return { kind: 'none' }
  if (what === 'link') return { kind: 'link', target: readlinkSync(upper) }
  checkSize(
    size,
    path,
    { maxFileBytes },
    'The command has made a file of',
    ' Let Git ignore the file, or raise the limit.'
  )
  const bytes = await readFile(upper)
  return { kind: 'file', bytes, hash: contentHash(bytes), mode }
}

/**
 * @param read the file at a place
 * @throws OperationError NOT_A_FILE
 */
export async function readCurrent(
  context: Pick<OperationContext, 'history'>,
  place: OpenEntry,
  path: string,
  read: () => Promise<FileVersion>
): Promise<Current> {
  // A folder is no state of a file: whether it may be replaced is the matter of the plan.
  if (place.stat === undefined || place.stat.isDirectory()) return { kind: 'none' }
  if (place.stat.isSymbolicLink()) {
    recordLink(context, place)
    return { kind: 'link', target: readLink(place) }
  }
  requireRegular(place.stat, path)
  return { kind: 'file', version: await read() }
}

export function stateOf(current: Current | Incoming): PathState {
  if (current.kind === 'none') return null
  if (current.kind === 'link') return { link: current.target }
  return { hash: 'version' in current ? current.version.hash : current.hash }
}

/** Undefined for a file that was not read. */
export function stateOfVersion({ hash, link, isUnread }: Version): PathState | undefined {
  if (link !== undefined) return { link }
  if (isUnread === true) return undefined
  return hash === null ? null : { hash }
}

export function isSameState(one: PathState, other: PathState): boolean {
  if (one === null || other === null) return one === other
  return 'hash' in one ? 'hash' in other && one.hash === other.hash : 'link' in other && one.link === other.link
}
