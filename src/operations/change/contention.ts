// The answer to a change that was made for another version: the difference between the version that the caller knew and the current one.
import type { Contention } from '../../../schemas/contention.ts'
import type { Diff } from '../../../schemas/diff.ts'
import type { Patch } from '../../../schemas/patches.ts'
import { isWhole } from '../../engine/diff/changed-lines.ts'
import type { DiffFormat } from '../../engine/diff/compare.ts'
import type { PatchJudgement } from '../../engine/diff/judgement.ts'
import type { NotMerged } from '../../engine/diff/merge-result.ts'
import { contentHash } from '../../engine/files/content-hash.ts'
import { OperationError } from '../../errors.ts'
import { largeBytes } from '../../support/large-work.ts'
import { toModifications } from '../../engine/versions/modification.ts'
import { timestamp } from '../../support/timestamp.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { diffFor } from '../answer-size.ts'
import { describeContention, type DiffLack, type VersionedOperation } from './contention-words.ts'
import { requireReplaceable } from './replaceable.ts'
import type { StaleChange } from './stale-change.ts'
import { VersionTexts } from './version-texts.ts'

/** Patches of the caller: judged on the current version, so that the answer says which still apply. */
export interface Attempt {
  readonly patches: readonly Patch[] | undefined
  readonly unifiedDiff: string | undefined
}

/** How a change that comes too late is answered. */
export interface RefusedChange {
  readonly operation: VersionedOperation
  readonly diffFormat: DiffFormat | undefined
  /** Default: crud.default_encoding. */
  readonly texts?: VersionTexts | undefined
  readonly attempt?: Attempt | undefined
  /** What it makes of a version; throws if it cannot. */
  readonly bytesOf?: (version: Buffer) => Promise<Buffer>
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
  { operation, diffFormat, attempt, bytesOf, ...given }: RefusedChange
): Promise<Contention> {
  const { bases, history, reads, caller, counts, config, room } = context
  const { path, canonicalPath, expectedHash, current } = stale
  const texts = given.texts ?? new VersionTexts(config.crud.default_encoding, path)
  texts.assertEncoding()
  if (notMerged !== undefined) counts.mergesRefused += 1
  const since = history.since(canonicalPath, expectedHash, bases.has(expectedHash))
  const known = await bases.get(expectedHash)
  publishLate(context, stale, { merged: false, operation, ...(await keepTried(context, known, bytesOf)) })
  const compared = await compareVersions(context, { current, texts, diffFormat, attempt }, known)
  const judgement = await confirm(context, compared.judgement, stale, bytesOf)
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
  bytesOf: RefusedChange['bytesOf']
): Promise<PatchJudgement | undefined> {
  if (judgement?.patches_applicable !== true || bytesOf === undefined) return judgement
  try {
    requireReplaceable(context, path, current, await bytesOf(current.bytes))
    return judgement
  } catch (error) {
    if (error instanceof OperationError) return { ...judgement, patches_applicable: false }
    throw error
  }
}

/**
 * Keeps what the late change would have made of the version that it was for, so that an operator can look at it.
 * @returns its hash, unless it is large, or could not have been made
 */
async function keepTried(
  { bases }: OperationContext,
  base: Buffer | undefined,
  bytesOf: RefusedChange['bytesOf']
): Promise<{ tried_hash?: string }> {
  if (base === undefined || base.length > largeBytes) return {}
  // The caller learns from the judgement, or from the next attempt, why it could not.
  const tried = await bytesOf?.(base).catch(() => undefined)
  if (tried === undefined || tried.length > largeBytes) return {}
  const tried_hash = contentHash(tried)
  bases.keepRefused(tried_hash, tried)
  return { tried_hash }
}

type Outcome = { readonly merged: true } | { readonly merged: false; operation: string; tried_hash?: string }

/** For subscribers, the board and the metrics. */
export function publishLate(
  { events, caller, counts, activity, history }: OperationContext,
  { canonicalPath: path, current, expectedHash }: StaleChange,
  outcome: Outcome
): void {
  const { agentId } = caller
  const at = Date.now()
  if (outcome.merged) counts.mergesMade += 1
  else counts.contentions += 1
  activity.contended(path, agentId, outcome.merged)
  if (!outcome.merged && agentId !== undefined) {
    const first = history.versions(path).findLast(({ hash }) => hash === current.hash)?.agentId
    if (first !== undefined) activity.troubles.met({ path, late: agentId, first })
  }
  const late = {
    path,
    agent_id: agentId ?? null,
    expected_hash: expectedHash,
    current_hash: current.hash,
    ...outcome
  }
  activity.troubles.lateChange({ at: timestamp(at), ...late })
  events.publish({ type: 'contention', ...late }, { at })
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
