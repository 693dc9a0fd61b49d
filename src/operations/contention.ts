// Builds the answer to an update that comes too late: what changed between the version the caller knew and the one that is there.
import type { Contention, Diff, Patch } from '../../schemas/contention.ts'
import type { PatchJudgement } from '../diff/judgement.ts'
import type { NotMerged } from '../diff/merge-result.ts'
import { toModification } from '../files/modification.ts'
import type { FileVersion } from '../files/read-file.ts'
import { encodeText, decodeIfText } from '../files/text.ts'
import { OperationError } from '../errors.ts'
import { describeContention, type DiffLack, type VersionedOperation } from './contention-words.ts'
import type { OperationContext } from './context.ts'
import { tellContention } from './file-events.ts'
import { timestamp } from '../timestamp.ts'

interface TooLate {
  readonly operation: VersionedOperation
  /** As the caller spelt it. */
  readonly path: string
  /** Canonical path, under which the history is kept. */
  readonly canonicalPath: string
  readonly expectedHash: string
  /** What is there instead. */
  readonly current: FileVersion
  /** Default: crud.default_encoding. */
  readonly encoding?: string | undefined
  readonly diffFormat: string
  readonly patches?: readonly Patch[] | undefined
  /** Where a merge was asked for, and did not come out. */
  readonly notMerged?: NotMerged | undefined
  /** Does with the current version all that a re-submission would do before it writes; throws where that would fail. */
  readonly rehearse?: ((current: FileVersion) => Promise<unknown>) | undefined
}

/** Runs outside the lock: both versions are bytes that no call changes any more. */
export async function answerContention(context: OperationContext, late: TooLate): Promise<Contention> {
  const { bases, history, views, config, caller } = context
  const { operation, path, expectedHash, current, notMerged, encoding = config.crud.default_encoding } = late
  requireEncoding(encoding, path)
  tellContention(context, late)
  const modifiedBy = history.since(late.canonicalPath, expectedHash, bases.has(expectedHash)).map(toModification)
  const known = await bases.get(expectedHash)
  const compared = await compareVersions(context, late, known, encoding)
  const { diff } = compared
  if (diff !== null) {
    const shown = { path: late.canonicalPath, given: path, hash: current.hash }
    views.learned(caller.agentId, { ...shown, from: expectedHash })
  }
  const judgement = await confirm(compared.judgement, late)
  const message = describeContention({
    operation,
    path,
    encoding,
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
  /** Undefined where there is a diff. */
  readonly lack: DiffLack | undefined
  readonly judgement?: PatchJudgement | undefined
}

/** That a version is not text in the encoding is no fault of the call: its versions differ all the same. */
async function compareVersions(
  { differ, signal }: OperationContext,
  { path, current, diffFormat, patches }: TooLate,
  known: Buffer | undefined,
  encoding: string
): Promise<Compared> {
  if (known === undefined) return { diff: null, lack: 'base_unknown' }
  const base = decodeIfText(known, encoding, path)
  if (base === undefined) return { diff: null, lack: 'base_not_text' }
  const currentText = decodeIfText(current.bytes, encoding, path)
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

/** True is a guarantee: whatever else would refuse the re-submission (encoding, size, links) is asked too. */
async function confirm(
  judgement: PatchJudgement | undefined,
  { rehearse, current }: TooLate
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

/** An encoding that does not exist is a fault of the call, whatever the file holds. @throws OperationError ENCODING_ERROR */
function requireEncoding(encoding: string, path: string): void {
  encodeText('', encoding, path)
}
