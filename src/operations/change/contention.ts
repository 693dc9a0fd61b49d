// The answer to a change that was made for another version: the difference between the version that the caller knew and the current one.
import type { Contention, Diff, Patch } from '../../../schemas/contention.ts'
import type { PatchJudgement } from '../../engine/diff/judgement.ts'
import type { NotMerged } from '../../engine/diff/merge-result.ts'
import { OperationError } from '../../errors.ts'
import { toModification } from '../../engine/versions/modification.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import { timestamp } from '../../support/timestamp.ts'
import type { OperationContext } from '../../engine/context.ts'
import { describeContention, type DiffLack, type VersionedOperation } from './contention-words.ts'
import type { StaleChange } from './stale-change.ts'
import type { VersionTexts } from './version-texts.ts'

interface RefusedChange extends StaleChange {
  readonly operation: VersionedOperation
  readonly texts: VersionTexts
  readonly diffFormat: string
  readonly patches?: readonly Patch[] | undefined
  /** If a merge was asked for and failed. */
  readonly notMerged?: NotMerged | undefined
  /** Does with the current version all that a re-submission would do before it writes; throws if that would fail. */
  readonly rehearse?: ((current: FileVersion) => Promise<unknown>) | undefined
}

/** Runs outside the lock: both versions are bytes that no call changes any more. */
export async function answerContention(context: OperationContext, refused: RefusedChange): Promise<Contention> {
  const { bases, history, reads, caller } = context
  const { operation, path, canonicalPath, expectedHash, current, notMerged, texts } = refused
  const modifiedBy = history.since(canonicalPath, expectedHash, bases.has(expectedHash)).map(toModification)
  const known = await bases.get(expectedHash)
  const compared = await compareVersions(context, refused, known)
  const { diff } = compared
  if (diff !== null)
    reads.recordKnown(caller.agentId, { path: canonicalPath, given: path, hash: current.hash, from: expectedHash })
  const judgement = await confirm(compared.judgement, refused)
  const message = describeContention({
    operation,
    path,
    encoding: texts.encoding,
    lack: compared.lack,
    patchesApplicable: judgement?.patches_applicable,
    notMerged
  })
  return {
    status: 'contention',
    path,
    expected_hash: expectedHash,
    current_hash: current.hash,
    modified_by: modifiedBy,
    timestamp: timestamp(),
    message,
    base_known: known !== undefined,
    diff,
    ...judgement,
    ...toMergeConflicts(notMerged)
  }
}

interface Compared {
  readonly diff: Diff | null
  /** Undefined if there is a diff. */
  readonly lack: DiffLack | undefined
  readonly judgement?: PatchJudgement | undefined
}

/** A version that is not text in the encoding is no fault of the call: its versions differ all the same. */
async function compareVersions(
  { differ, signal }: OperationContext,
  { current, diffFormat, patches, texts }: RefusedChange,
  known: Buffer | undefined
): Promise<Compared> {
  if (known === undefined) return { diff: null, lack: 'base_unknown' }
  const base = texts.decodeIfText(known)
  if (base === undefined) return { diff: null, lack: 'base_not_text' }
  const currentText = texts.decodeIfText(current.bytes)
  if (currentText === undefined) return { diff: null, lack: 'current_not_text' }
  const { diff, tooLarge, judgement } = await differ.compare({
    base,
    current: currentText,
    format: diffFormat === 'unified' ? 'unified' : 'json',
    ...(patches !== undefined && { patches }),
    signal
  })
  const lack = tooLarge ? 'too_large' : 'not_compared'
  return { diff, lack: diff === null ? lack : undefined, judgement }
}

/** True is a guarantee: it also checks everything else that would refuse the re-submission (encoding, size, links). */
async function confirm(
  judgement: PatchJudgement | undefined,
  { rehearse, current }: RefusedChange
): Promise<PatchJudgement | undefined> {
  if (judgement?.patches_applicable !== true || rehearse === undefined) return judgement
  try {
    await rehearse(current)
    return judgement
  } catch (error) {
    if (error instanceof OperationError) return { ...judgement, patches_applicable: false }
    throw error
  }
}

function toMergeConflicts(notMerged: NotMerged | undefined): Partial<Contention> {
  if (notMerged === undefined) return {}
  const { conflicts, further, coarse } = notMerged
  return {
    merge_conflicts: conflicts,
    ...(further > 0 && { further_merge_conflicts: further }),
    ...(coarse && { merge_coarse: true })
  }
}
