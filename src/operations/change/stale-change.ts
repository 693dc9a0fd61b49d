// A change made for a version that is no longer current: merged with other agents' changes of that version, or refused.
import type { Diff } from '../../../schemas/diff.ts'
import { isWhole } from '../../engine/diff/changed-lines.ts'
import type { DiffFormat } from '../../engine/diff/compare.ts'
import type { NotMerged } from '../../engine/diff/merge-result.ts'
import { toModifications, type Modifications } from '../../engine/versions/modification.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import { wholeHash } from './named-version.ts'
import type { VersionTexts } from './version-texts.ts'
import { conflictRoom, diffFor } from '../answer-size.ts'

export interface StaleChange {
  /** As the caller spelt it. */
  readonly path: string
  /** The key of the history. */
  readonly canonicalPath: string
  readonly expectedHash: string
  /** The current version. */
  readonly current: FileVersion
}

/** The part of a merged change that the caller does not know. */
export interface Merged {
  readonly stale: StaleChange
  /** The texts of the expected version and of the one that was current. */
  readonly base: string
  readonly current: string
  readonly modifications: Modifications
}

/** Undefined if the version is the expected one, or any will do. @throws OperationError INVALID_REQUEST if several versions could be meant */
export function findStale(
  context: OperationContext,
  { path: canonicalPath, stat }: OpenEntry,
  path: string,
  current: FileVersion | undefined,
  expected: string | null | undefined
): StaleChange | undefined {
  if (typeof expected !== 'string' || current === undefined) return undefined
  // The version of a link is that of the file to which it leads.
  const owner = stat?.isSymbolicLink() === true ? context.files.resolve(path, 'target').path : canonicalPath
  const expectedHash = wholeHash(expected, { path, canonicalPath: owner, current: current.hash }, context)
  if (current.hash === expectedHash) return undefined
  // The answer says who has made the current version.
  context.history.release(canonicalPath)
  return { path, canonicalPath, expectedHash, current }
}

/** What to write instead, or that the change is refused; `notMerged` says why if a merge was tried. */
export type Rebased =
  | { readonly bytes: Buffer; readonly merged: Merged }
  | { readonly notMerged: NotMerged | undefined }

/**
 * Merges the change, made in the expected version, with the current one. Runs under the lock, just before the write, which checks
 * that the lock is still held. The merge ends if the caller goes.
 * @param change the text that the caller's change makes of a version; throws if it cannot be made there
 * @returns `notMerged` undefined if the base is not known, or either version is not text
 */
export async function mergeStale(
  context: OperationContext,
  stale: StaleChange,
  texts: VersionTexts,
  change: (version: Buffer) => Promise<string>
): Promise<Rebased> {
  const known = await findTexts(context, stale, texts)
  if (known === undefined) return { notMerged: undefined }
  const { base, current, baseBytes } = known
  const incoming = await change(baseBytes)
  const result = await context.differ.merge({
    base,
    current,
    incoming,
    mostConflictBytes: conflictRoom(context.caller.maxAnswerChars),
    signal: context.signal
  })
  if (!('text' in result)) return { notMerged: result }
  return {
    bytes: texts.encode(result.text, stale.current.bytes),
    merged: describeMerge(context, stale, { base, current })
  }
}

/** The expected version and the current one; undefined if the first is not known, or either is not text. */
export async function findTexts(
  { bases }: OperationContext,
  { expectedHash, current }: StaleChange,
  texts: VersionTexts
): Promise<{ base: string; current: string; baseBytes: Buffer } | undefined> {
  const baseBytes = await bases.get(expectedHash)
  const base = texts.decodeIfText(baseBytes)
  const currentText = base === undefined ? undefined : texts.decodeIfText(current.bytes)
  if (baseBytes === undefined || base === undefined || currentText === undefined) return undefined
  return { base, current: currentText, baseBytes }
}

/** Call it before the caller's own change is in the history. */
export function describeMerge(
  { history }: OperationContext,
  stale: StaleChange,
  { base, current }: { base: string; current: string }
): Merged {
  const modifications = toModifications(history.since(stale.canonicalPath, stale.expectedHash, true))
  return { stale, base, current, modifications }
}

/**
 * For the answer to a merged change. Runs outside the lock, and without a signal: the change is done, and must be reported.
 * @param done the answer so far; its hash is that of the merged version
 */
export async function answerMerged<Done extends { readonly hash?: string | null }>(
  { differ, reads, caller, log, room }: OperationContext,
  done: Done,
  { stale, base, current, modifications }: Merged,
  diffFormat: DiffFormat | undefined
): Promise<Done & Modifications & { merged: true; diff: Diff | null }> {
  const { path, canonicalPath, expectedHash } = stale
  const compared = await differ.compare({ base, current, ...diffFor(caller, diffFormat) }).catch((error: unknown) => {
    log.warn({ err: error, path }, 'a merge was written, but its diff could not be computed')
    return { diff: null }
  })
  const diff = room?.(compared.diff) === false ? null : compared.diff
  // With the diff the caller can derive the merged version.
  if (isWhole(diff) && typeof done.hash === 'string') {
    reads.recordDifference(caller.agentId, { path: canonicalPath, given: path, hash: done.hash, from: expectedHash })
  }
  return { ...done, merged: true, ...modifications, diff }
}

/** What a receipt holds of the answer to a merged change: no content of files. */
export function withoutDiff({ modifications }: Merged) {
  return { merged: true, ...modifications, diff: null }
}
