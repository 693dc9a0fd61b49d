// A change made for a version that is no longer the current one: merged with what others have made of that version, or refused.
import type { Modification } from '../../../schemas/common.ts'
import type { Diff } from '../../../schemas/contention.ts'
import type { NotMerged } from '../../engine/diff/merge-result.ts'
import { toModification } from '../../engine/versions/modification.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import type { OperationContext } from '../../engine/context.ts'
import type { VersionTexts } from './version-texts.ts'

export interface StaleChange {
  /** As the caller spelt it. */
  readonly path: string
  /** Under which the history is kept. */
  readonly canonicalPath: string
  readonly expectedHash: string
  /** What is there instead. */
  readonly current: FileVersion
}

/** What the caller of a merged change does not know of. */
export interface Merged {
  readonly stale: StaleChange
  /** The texts of the version expected, and of the one that was there. */
  readonly base: string
  readonly current: string
  readonly modifiedBy: Modification[]
}

/** What to write instead, or that the change is refused; `notMerged` says why where a merge was tried. */
export type Rebased =
  | { readonly bytes: Buffer; readonly merged: Merged }
  | { readonly notMerged: NotMerged | undefined }

/**
 * Merges the change, made in the version expected, with what stands there instead. Runs under the lock, just before the write,
 * which looks whether the lock is still held; the caller's going ends the merge.
 * @param change the text that the caller's change makes of a version; throws where it cannot be made there
 * @returns `notMerged` undefined where the base is not known, where or either version is not text
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
  const task = { base, current, incoming, isJson: isJsonName(stale.path), signal: context.signal }
  const result = await context.differ.merge(task)
  if (!('text' in result)) return { notMerged: result }
  return {
    bytes: texts.encode(result.text, stale.current.bytes),
    merged: describeMerge(context, stale, { base, current })
  }
}

/** The version expected and the one that is there; undefined where the first is not known, or either is not text. */
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

/** To be made before the caller's own change is in the history. */
export function describeMerge(
  { history }: OperationContext,
  stale: StaleChange,
  { base, current }: { base: string; current: string }
): Merged {
  const modifiedBy = history.since(stale.canonicalPath, stale.expectedHash, true).map(toModification)
  return { stale, base, current, modifiedBy }
}

/**
 * For the answer to a change that was merged. Runs outside the lock, and without a signal: the change is done, and must be told.
 * @param done the answer so far; its hash is that of the merged version
 */
export async function answerMerged<Done extends { readonly hash?: string | null }>(
  { differ, reads, caller, log }: OperationContext,
  done: Done,
  { stale, base, current, modifiedBy }: Merged,
  diffFormat: string
): Promise<Done & { merged: true; diff: Diff | null; modified_by: Modification[] }> {
  const { path, canonicalPath, expectedHash } = stale
  const format = diffFormat === 'unified' ? 'unified' : 'json'
  const { diff } = await differ.compare({ base, current, format }).catch((error: unknown) => {
    log.warn({ err: error, path }, 'a merge was written, and its diff could not be made')
    return { diff: null }
  })
  // With the diff the caller can tell what the merged version is.
  if (diff !== null && typeof done.hash === 'string') {
    reads.recordKnown(caller.agentId, { path: canonicalPath, given: path, hash: done.hash, from: expectedHash })
  }
  return { ...done, merged: true, diff, modified_by: modifiedBy }
}

function isJsonName(path: string): boolean {
  return path.toLowerCase().endsWith('.json')
}
