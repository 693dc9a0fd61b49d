// Changes the content of a file: checks the expected version, merges if the caller wants that, and records the change as the caller's.
import { hashInTurns, type FileVersion } from '../../engine/files/read-file.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import type { OperationContext } from '../../engine/context.ts'
import { largeBytes, largeTurn } from '../../support/large-work.ts'
import { changeFile, findStale, type FileChange, type LockedTurn, type Outcome } from './change-file.ts'
import { remember } from '../../support/remember.ts'
import { announceWrite } from './announce.ts'
import { replacedBy, type Replaced } from './entry-version.ts'
import { readVersion, recordVersion } from './file-version.ts'
import { mergeStale, withoutDiff, type Rebased, type StaleChange } from './stale-change.ts'
import type { VersionTexts } from './version-texts.ts'

export interface ContentChange<Done> extends Pick<
  FileChange<Done>,
  'operation' | 'timeout' | 'diffFormat' | 'attempt'
> {
  /** As the caller spelt it. */
  readonly path: string
  readonly fencingToken: number | undefined
  readonly texts: VersionTexts
  /** The version that the change is meant for; undefined accepts any version. Throws if the call must name one. */
  readonly expectedHash: (place: OpenEntry, current: FileVersion) => string | undefined | Promise<string | undefined>
  /** Called if there is no file. Default: FILE_NOT_FOUND. */
  readonly create?: (turn: LockedTurn) => Promise<Done>
  /** The text or bytes that it makes of a version. */
  readonly change: (version: Buffer) => Promise<string | Buffer>
  /** What to do if the file is another version: `merge`, else nothing is written. */
  readonly onContention?: string
  /** How the change is merged. Default: line by line, with the text that it makes of the expected version. */
  readonly merge?: (stale: StaleChange) => Promise<Rebased>
  /** True if the caller has sent all of the new version. */
  readonly isSent?: boolean
  /** True if the caller knows which version is there, though it may not have seen it. Default: if it named the one that it changed. */
  readonly isNamed?: boolean
  readonly answer: (made: MadeContent) => Done
}

export interface MadeContent {
  /** The version before the change. */
  readonly current: FileVersion
  readonly bytes: Buffer
  readonly hash: string
  /** What the answer says of the version before; empty if the change makes no difference. */
  readonly replaced: Replaced
  /** False if the change makes no difference. */
  readonly isChanged: boolean
  readonly isMerged: boolean
}

/** Reading, changing or merging, writing. */
const contentSteps = 3

export async function changeContent<Done extends { readonly hash?: string }>(
  context: OperationContext,
  request: ContentChange<Done>
) {
  const { operation, path, timeout, fencingToken, diffFormat, attempt, texts, create, change, onContention } = request
  const { merge = (stale) => mergeStale(context, stale, texts, textOf), answer } = request
  const { files, reads, caller, progress } = context

  async function bytesOf({ bytes }: FileVersion): Promise<Buffer> {
    if (bytes.length > largeBytes) await largeTurn()
    const content = await change(bytes)
    if (content.length > largeBytes) await largeTurn()
    return typeof content === 'string' ? texts.encode(content, bytes) : content
  }

  async function textOf(version: Buffer): Promise<string> {
    if (version.length > largeBytes) await largeTurn()
    const content = await change(version)
    return typeof content === 'string' ? content : texts.decode(content)
  }

  async function rebase(stale: StaleChange) {
    return { stale, ...(onContention === 'merge' ? await merge(stale) : { notMerged: undefined }) }
  }

  async function make(turn: LockedTurn): Promise<Outcome<Done>> {
    const { place, assertHeld } = turn
    if (place.stat === undefined && create !== undefined) return { done: await create(turn) }
    progress?.({ message: `reading ${path}`, done: 0, total: contentSteps })
    const current = await readVersion(context, place, path)
    const expected = await request.expectedHash(place, current)
    const stale = findStale(context, place, path, current, expected)
    progress?.({ message: `${stale === undefined ? 'changing' : 'merging'} ${path}`, done: 1, total: contentSteps })
    const next = stale === undefined ? { bytes: await bytesOf(current), merged: undefined } : await rebase(stale)
    if ('notMerged' in next) return next
    const { bytes, merged } = next
    const outcome = { current, bytes, isMerged: merged !== undefined }
    if (bytes.equals(current.bytes)) {
      progress?.({ message: `${path} stays as it is`, done: contentSteps, total: contentSteps })
      return { done: answer({ ...outcome, hash: current.hash, replaced: {}, isChanged: false }), merged }
    }
    const hash = await hashInTurns(bytes)
    const replaced = replacedBy(context, place, current)
    const done = remember(() => answer({ ...outcome, hash, replaced, isChanged: true }))
    const recorded = () => (merged === undefined ? done() : { ...done(), ...withoutDiff(merged) })
    const announce = announceWrite(context, place, { before: current.hash, after: hash }, recorded)
    progress?.({ message: `writing ${path}`, done: 2, total: contentSteps })
    const made = await files.replace(place, path, current, bytes, { assertHeld, announce })
    recordVersion(context, operation, place, { bytes, hash }, made)
    progress?.({ message: `wrote ${path}`, done: contentSteps, total: contentSteps })
    // What the caller knows of a merged version, its answer decides.
    if (merged === undefined) {
      const named = { path: place.path, given: path, hash }
      if (request.isSent === true) reads.recordSent(caller.agentId, named)
      else if (request.isNamed ?? expected !== undefined) reads.recordNamed(caller.agentId, named)
    }
    return { done: done(), merged }
  }

  return changeFile(context, {
    operation,
    targets: [{ path, reach: 'target', fencingToken }],
    timeout,
    diffFormat,
    texts,
    attempt,
    make
  })
}
