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
import { timestamp } from '../../support/timestamp.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { diffFor } from '../answer-size.ts'
import { describeContention, type DiffLack, type VersionedOperation } from './contention-words.ts'
import { requireReplaceable } from './replaceable.ts'
import type { StaleChange } from './stale-change.ts'
import { VersionTexts } from './version-texts.ts'

/** What the caller wanted to make of the file: judged on the current version, so that the answer says what still applies. */
export interface Attempt {
  readonly patches: readonly Patch[] | undefined
  readonly unifiedDiff: string | undefined
  /** What a re-submission would make of a version; throws if it could not. */
  readonly bytesOf: (version: Buffer) => Promise<Buffer>
}

/** How a change that comes too late is answered. */
export interface RefusedChange {
  readonly operation: VersionedOperation
  readonly diffFormat: DiffFormat | undefined
  /** Default: crud.default_encoding. */
  readonly texts?: VersionTexts | undefined
  readonly attempt?: Attempt | undefined
}

/** Why it is refused. */
export interface Refusal {
  readonly stale: StaleChange
  /** If a merge was asked for and failed. */
  readonly notMerged?: NotMerged | undefined
}

/** Runs outside the lock: both versions are bytes that no call changes any more. */
export async function answerContention(
  context: OperationContext,
  { stale, notMerged }: Refusal,
  { operation, diffFormat, attempt, ...given }: RefusedChange
): Promise<Contention> {
  const { bases, history, reads, caller, counts, config, room } = context
  const { path, canonicalPath, expectedHash, current } = stale
  const texts = given.texts ?? new VersionTexts(config.crud.default_encoding, path)
  texts.assertEncoding()
  if (notMerged !== undefined) counts.mergesRefused += 1
  publishContention(context, stale, false)
  const since = history.since(canonicalPath, expectedHash, bases.has(expectedHash))
  const known = await bases.get(expectedHash)
  const compared = await compareVersions(context, { current, texts, diffFormat, attempt }, known)
  const judgement = await confirm(context, compared.judgement, stale, attempt)
  const isToBeSentAgain = judgement?.patches_applicable === true && diffFormat === undefined
  const shown = isToBeSentAgain ? withoutKnown(compared.diff) : compared.diff
  const isFull = room?.(shown) === false
  const diff = isFull ? null : shown
  if (isWhole(diff))
    reads.recordDifference(caller.agentId, { path: canonicalPath, given: path, hash: current.hash, from: expectedHash })
  const message = describeContention({
    operation,
    path,
    encoding: texts.encoding,
    lack: isFull ? 'no_room' : compared.lack,
    patchesApplicable: judgement?.patches_applicable,
    patchWord: attempt?.unifiedDiff === undefined ? 'patches' : 'hunks',
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
    diff
  }
}

/** If the same patches can be sent again as they are, what the caller knows of the base would only cost. */
function withoutKnown(diff: Diff | null): Diff | null {
  const changes = diff?.changes?.map(
    ({ old_content: _old, context_before: _before, context_after: _after, ...change }) => change
  )
  return diff === null || changes === undefined ? diff : { ...diff, changes }
}

interface Versions extends Pick<RefusedChange, 'diffFormat' | 'attempt'> {
  readonly current: StaleChange['current']
  readonly texts: VersionTexts
}

interface Compared {
  readonly diff: Diff | null
  /** Undefined if the diff is whole. */
  readonly lack: DiffLack | undefined
  readonly judgement?: PatchJudgement | undefined
}

/** A version that is not text in the encoding is no fault of the call: its versions differ all the same. */
async function compareVersions(
  { differ, caller, signal }: OperationContext,
  { current, diffFormat, attempt, texts }: Versions,
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
    ...diffFor(caller, diffFormat),
    ...(attempt?.patches !== undefined && { patches: attempt.patches }),
    unifiedDiff: attempt?.unifiedDiff,
    signal
  })
  if (diff === null) return { diff, lack: 'not_compared', judgement }
  return { diff, lack: isWhole(diff) ? undefined : 'only_lines', judgement }
}

/** True is a guarantee: it also checks everything else that would refuse the re-submission (encoding, size, links). */
async function confirm(
  context: OperationContext,
  judgement: PatchJudgement | undefined,
  { path, current }: StaleChange,
  attempt: Attempt | undefined
): Promise<PatchJudgement | undefined> {
  if (judgement?.patches_applicable !== true || attempt === undefined) return judgement
  try {
    requireReplaceable(context, path, current, await attempt.bytesOf(current.bytes))
    return judgement
  } catch (error) {
    if (error instanceof OperationError) return { ...judgement, patches_applicable: false }
    throw error
  }
}

/** For subscribers, the board and the metrics. @param merged whether the late change was made all the same */
export function publishContention(
  { events, caller, counts, activity, history }: OperationContext,
  stale: StaleChange,
  merged: boolean
): void {
  if (merged) counts.mergesMade += 1
  else counts.contentions += 1
  const { canonicalPath: path, current } = stale
  activity.contended(path, caller.agentId, merged)
  if (!merged && caller.agentId !== undefined) {
    const first = history.versions(path).findLast(({ hash }) => hash === current.hash)?.agentId
    if (first !== undefined) activity.troubles.met({ path, late: caller.agentId, first })
  }
  events.publish({
    type: 'contention',
    path,
    agent_id: caller.agentId ?? null,
    expected_hash: stale.expectedHash,
    current_hash: current.hash,
    merged
  })
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
