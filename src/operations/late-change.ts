// A change made for a version that is no longer the current one: merged with what others have made of that version.
import type { Modification } from '../../schemas/common.ts'
import type { Diff } from '../../schemas/contention.ts'
import type { NotMerged } from '../diff/merge-result.ts'
import type { FileVersion } from '../files/read-file.ts'
import { encodeText, decodeIfText } from '../files/text.ts'
import type { OperationContext } from './context.ts'
import { toModification } from '../files/modification.ts'

export interface LateChange {
  /** As the caller spelt it. */
  readonly path: string
  /** Under which the history is kept. */
  readonly canonicalPath: string
  readonly expectedHash: string
  /** What is there instead. */
  readonly current: FileVersion
  readonly encoding: string
  /** Makes the caller's change in a version; throws where it cannot be made there. */
  readonly change: (version: Buffer) => Promise<string>
}

/** What the caller of a merged change does not know of. */
export interface Merged extends Pick<LateChange, 'path' | 'canonicalPath' | 'expectedHash'> {
  readonly base: string
  readonly current: string
  readonly modifiedBy: Modification[]
}

/**
 * What to write: the change made in the version expected or, where that is wanted, merged with what stands there instead. Runs
 * under the lock, just before the write, which looks whether the lock is still held; the caller's going ends the merge.
 * @returns `notMerged` undefined where no merge was wanted, and where the base is not known or either version is not text
 */
export async function toVersion(
  context: OperationContext,
  late: LateChange,
  onContention: string
): Promise<{ bytes: Buffer; merged?: Merged } | { notMerged: NotMerged | undefined }> {
  const { path, canonicalPath, expectedHash, current, encoding, change } = late
  if (current.hash === expectedHash) {
    return { bytes: encodeText(await change(current.bytes), encoding, path, current.bytes) }
  }
  const known = onContention === 'merge' ? await findBase(context, late) : undefined
  const currentText = known && decodeIfText(current.bytes, encoding, path)
  if (known === undefined || currentText === undefined) return { notMerged: undefined }
  const incoming = await change(known.bytes)
  const texts = { base: known.text, current: currentText }
  const result = await context.differ.merge({ ...texts, incoming, isJson: isJsonName(path), signal: context.signal })
  if (!('text' in result)) return { notMerged: result }
  const modifiedBy = modifiedSince(context, canonicalPath, expectedHash)
  return {
    bytes: encodeText(result.text, encoding, path, current.bytes),
    merged: { path, canonicalPath, expectedHash, ...texts, modifiedBy }
  }
}

/** The version that the caller knows; undefined where its bytes are gone or are not text in this encoding. */
export async function findBase(
  { bases }: OperationContext,
  { path, expectedHash, encoding }: Pick<LateChange, 'path' | 'expectedHash' | 'encoding'>
): Promise<{ bytes: Buffer; text: string } | undefined> {
  const bytes = await bases.get(expectedHash)
  const text = decodeIfText(bytes, encoding, path)
  return bytes === undefined || text === undefined ? undefined : { bytes, text }
}

/** To be looked up before the caller's own change is in the history. */
export function modifiedSince({ history }: OperationContext, canonicalPath: string, hash: string): Modification[] {
  return history.since(canonicalPath, hash, true).map(toModification)
}

/**
 * For the answer to a change that was merged. Runs outside the lock, and without a signal: the change is done, and must be told.
 * @param done the answer so far; its hash is that of the merged version
 */
export async function tellMerged<Done extends { readonly hash?: string }>(
  { differ, views, caller, log }: OperationContext,
  done: Done,
  { path, canonicalPath, expectedHash, base, current, modifiedBy }: Merged,
  diffFormat: string
): Promise<Done & { merged: true; diff: Diff | null; modified_by: Modification[] }> {
  const format = diffFormat === 'unified' ? 'unified' : 'json'
  const { diff } = await differ.compare({ base, current, format }).catch((error: unknown) => {
    log.warn({ err: error, path }, 'a merge was written, and its diff could not be made')
    return { diff: null }
  })
  // With the diff the caller can tell what the merged version is.
  if (diff !== null && done.hash !== undefined) {
    views.learned(caller.agentId, { path: canonicalPath, given: path, hash: done.hash, from: expectedHash })
  }
  return { ...done, merged: true, diff, modified_by: modifiedBy }
}

function isJsonName(path: string): boolean {
  return path.toLowerCase().endsWith('.json')
}
