// The answer to a change that was made for another version: the difference between the version that the caller knew and the current one.
import type { Contention } from '../../../schemas/contention.ts'
import type { Diff } from '../../../schemas/diff.ts'
import type { Patch } from '../../../schemas/patches.ts'
import { isWhole } from '../../engine/diff/changed-lines.ts'
import type { DiffFormat } from '../../engine/diff/compare.ts'
import type { PatchJudgement } from '../../engine/diff/judgement.ts'
import type { NotMerged } from '../../engine/diff/merge-result.ts'
import { OperationError } from '../../errors.ts'
import { toModifications } from '../../engine/versions/modification.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import { timestamp } from '../../support/timestamp.ts'
import type { OperationContext } from '../../engine/context.ts'
import { describeContention, type DiffLack, type VersionedOperation } from './contention-words.ts'
import type { StaleChange } from './stale-change.ts'
import type { VersionTexts } from './version-texts.ts'

interface RefusedChange extends StaleChange {
  readonly operation: VersionedOperation
  readonly texts: VersionTexts
  readonly diffFormat: DiffFormat | undefined
  readonly patches?: readonly Patch[] | undefined
  readonly unifiedDiff?: string | undefined
  /** If a merge was asked for and failed. */
  readonly notMerged?: NotMerged | undefined
  /** Does with the current version all that a re-submission would do before it writes; throws if that would fail. */
  readonly rehearse?: ((current: FileVersion) => Promise<unknown>) | undefined
}

/** Runs outside the lock: both versions are bytes that no call changes any more. */
export async function answerContention(context: OperationContext, refused: RefusedChange): Promise<Contention> {
  const { bases, history, reads, caller } = context
  const { operation, path, canonicalPath, expectedHash, current, notMerged, texts } = refused
  const since = history.since(canonicalPath, expectedHash, bases.has(expectedHash))
  const known = await bases.get(expectedHash)
  const compared = await compareVersions(context, refused, known)
  const { diff } = compared
  if (isWhole(diff))
    reads.recordKnown(caller.agentId, { path: canonicalPath, given: path, hash: current.hash, from: expectedHash })
  const judgement = await confirm(compared.judgement, refused)
  const message = describeContention({
    operation,
    path,
    encoding: texts.encoding,
    lack: compared.lack,
    patchesApplicable: judgement?.patches_applicable,
    patchWord: refused.unifiedDiff === undefined ? 'patches' : 'hunks',
    notMerged
  })
  return {
    status: 'contention',
    path,
    current_hash: current.hash,
    expected_hash: expectedHash,
    message,
    base_known: known !== undefined,
    ...judgement,
    ...toModifications(since),
    timestamp: timestamp(),
    ...toMergeConflicts(notMerged),
    diff: judgement?.patches_applicable === true && refused.diffFormat === undefined ? withoutKnown(diff) : diff
  }
}

/** If the same patches can be sent again as they are, what the caller knows of the base would only cost. */
function withoutKnown(diff: Diff | null): Diff | null {
  const changes = diff?.changes?.map(
    ({ old_content: _old, context_before: _before, context_after: _after, ...change }) => change
  )
  return diff === null || changes === undefined ? diff : { ...diff, changes }
}

interface Compared {
  readonly diff: Diff | null
  /** Undefined if the diff is whole. */
  readonly lack: DiffLack | undefined
  readonly judgement?: PatchJudgement | undefined
}

/** A version that is not text in the encoding is no fault of the call: its versions differ all the same. */
async function compareVersions(
  { differ, signal }: OperationContext,
  { current, diffFormat, patches, unifiedDiff, texts }: RefusedChange,
  known: Buffer | undefined
): Promise<Compared> {
  if (known === undefined) return { diff: null, lack: 'base_unknown' }
  const base = texts.decodeIfText(known)
  if (base === undefined) return { diff: null, lack: 'base_not_text' }
  const currentText = texts.decodeIfText(current.bytes)
  if (currentText === undefined) return { diff: null, lack: 'current_not_text' }
  const { diff, judgement } = await differ.compare({
    base,
    current: currentText,
    format: diffFormat,
    ...(patches !== undefined && { patches }),
    unifiedDiff,
    signal
  })
  if (diff === null) return { diff, lack: 'not_compared', judgement }
  return { diff, lack: isWhole(diff) ? undefined : 'only_lines', judgement }
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
