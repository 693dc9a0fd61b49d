// Changes the content of a file: checks the expected version, merges if the caller wants that, and records the change as the caller's.
import type { FileVersion } from '../../engine/files/read-file.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import type { OperationContext } from '../../engine/context.ts'
import { changeFile, findStale, type FileChange, type LockedTurn, type Outcome } from './change-file.ts'
import { readVersion, recordVersion } from './file-version.ts'
import type { Rebased, StaleChange } from './stale-change.ts'
import type { VersionTexts } from './version-texts.ts'

export interface ContentChange<Done> extends Pick<
  FileChange<Done>,
  'operation' | 'timeout' | 'diffFormat' | 'patches'
> {
  /** As the caller spelt it. */
  readonly path: string
  readonly fencingToken: number | undefined
  readonly texts: VersionTexts
  /** The version that the change is meant for; undefined accepts any version. Throws if the call must name one. */
  readonly expectedHash: (place: OpenEntry) => string | undefined
  /** Called if there is no file. Default: FILE_NOT_FOUND. */
  readonly create?: (turn: LockedTurn) => Promise<Done>
  /** The text or bytes that it makes of a version. */
  readonly change: (version: Buffer) => Promise<string | Buffer>
  /** What to write if the version is another one. Default: nothing. */
  readonly rebase?: (stale: StaleChange) => Promise<Rebased>
  /** What the caller knows of the new version by its change: all, or what differs from another version; undefined: nothing. */
  readonly knowsNow: (current: FileVersion) => { readonly from?: string } | undefined
  readonly answer: (made: MadeContent) => Done
}

export interface MadeContent {
  /** The version before the change. */
  readonly current: FileVersion
  readonly bytes: Buffer
  readonly hash: string
  /** False if the change makes no difference. */
  readonly isChanged: boolean
}

export async function changeContent<Done extends { readonly hash?: string }>(
  context: OperationContext,
  { path, fencingToken, ...request }: ContentChange<Done>
) {
  const { operation, texts, create, change, rebase = refuse, knowsNow, answer } = request
  const { files, reads, caller } = context

  async function bytesFor({ bytes }: FileVersion): Promise<Buffer> {
    const content = await change(bytes)
    return typeof content === 'string' ? texts.encode(content, bytes) : content
  }

  async function make(turn: LockedTurn): Promise<Outcome<Done>> {
    const { place, assertHeld } = turn
    if (place.stat === undefined && create !== undefined) return { done: await create(turn) }
    const current = await readVersion(context, place, path)
    const stale = findStale(place, path, current, request.expectedHash(place))
    const next =
      stale === undefined ? { bytes: await bytesFor(current), merged: undefined } : { stale, ...(await rebase(stale)) }
    if ('notMerged' in next) return next
    const { bytes, merged } = next
    if (bytes.equals(current.bytes))
      return { done: answer({ current, bytes, hash: current.hash, isChanged: false }), merged }
    const made = await files.replace(place, path, current, bytes, assertHeld)
    const hash = recordVersion(context, operation, place, bytes, made)
    const known = merged === undefined ? knowsNow(current) : undefined
    if (known !== undefined) reads.recordKnown(caller.agentId, { path: place.path, given: path, hash, ...known })
    return { done: answer({ current, bytes, hash, isChanged: true }), merged }
  }

  return changeFile(context, {
    ...request,
    targets: [{ path, reach: 'target', fencingToken }],
    rehearse: async (current) => files.checkReplaceable(path, current, await bytesFor(current)),
    make
  })
}

async function refuse(): Promise<Rebased> {
  return { notMerged: undefined }
}
