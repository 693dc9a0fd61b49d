// Builds the answer to an update that comes too late: what changed between the version the caller knew and the one that is there.
import type { Modification } from '../../schemas/common.ts'
import type { Contention, Patch } from '../../schemas/contention.ts'
import type { PatchJudgement } from '../diff/judge.ts'
import type { NotMerged } from './late-change.ts'
import type { Version } from '../files/history.ts'
import type { FileVersion } from '../files/read-file.ts'
import { decodeText } from '../files/text.ts'
import { OperationError } from '../errors.ts'
import type { OperationContext } from './context.ts'
import { tellContention } from './file-events.ts'

interface TooLate {
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

/** Runs outside the lock: both versions are bytes that nobody changes any more. */
export async function answerContention(context: OperationContext, late: TooLate): Promise<Contention> {
  const { bases, history, differ, views, config, caller, signal } = context
  const { path, expectedHash, encoding = config.crud.default_encoding } = late
  tellContention(context, late)
  const answer = {
    status: 'contention' as const,
    path,
    expected_hash: expectedHash,
    current_hash: late.current.hash,
    modified_by: history.since(late.canonicalPath, expectedHash, bases.has(expectedHash)).map(toModification),
    timestamp: new Date().toISOString()
  }
  const known = await bases.get(expectedHash)
  // Who asks in another encoding than that of the file is told so.
  const current = known === undefined ? '' : decodeText(late.current.bytes, encoding, path)
  const base = decodeBase(known, encoding, path)
  if (base === undefined) {
    const why =
      known === undefined
        ? 'this server does not know expected_hash (no longer kept, or never given out)'
        : `expected_hash is a version that is no text in ${encoding}`
    const message = `${path} is not the version you name, and ${why}. Read the file again with async_read, then update with its hash.`
    return { ...answer, message, base_known: false, diff: null }
  }
  const compared = await differ.compare({
    base,
    current,
    format: late.diffFormat === 'unified' ? 'unified' : 'json',
    ...(late.patches !== undefined && { patches: late.patches }),
    signal
  })
  const { diff } = compared
  if (diff !== null) views.learned(caller.agentId, { path: late.canonicalPath, given: path, hash: late.current.hash })
  const judgement = await confirm(compared.judgement, late)
  const message =
    diff === null
      ? `${path} changed so much that the difference is too large to send. Read the file again with async_read, then update with its hash.`
      : `${path} changed since the version you know. Nothing was written. ${adviceFor(judgement?.patches_applicable, late.notMerged)}`
  return {
    ...answer,
    message: describeNotMerged(late.notMerged) + message,
    base_known: true,
    diff,
    ...judgement,
    ...toMergeConflicts(late.notMerged)
  }
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

function adviceFor(patchesApplicable: boolean | undefined, notMerged: NotMerged | undefined): string {
  if (notMerged !== undefined && notMerged.conflicts.length > 0)
    return 'Adjust your change in the places of merge_conflicts, then send it with expected_hash set to current_hash.'
  if (patchesApplicable === true)
    return 'All your patches still apply: send them again with expected_hash set to current_hash.'
  if (patchesApplicable === false)
    return 'Adjust the patches named in conflicts by the diff, then send them with expected_hash set to current_hash.'
  return 'Adjust your change by the diff, then send it with expected_hash set to current_hash.'
}

/** Why there was no merge, before what to do about it. */
function describeNotMerged(notMerged: NotMerged | undefined): string {
  if (notMerged === undefined) return ''
  const { conflicts, further, hasContents, coarse } = notMerged
  if (conflicts.length === 0) return 'The server was too busy to merge so large a text; try again in a moment. '
  const count = conflicts.length + further
  const places = count === 1 ? 'one place' : `${count} places`
  const kind = coarse ? 'The versions are too different to compare line by line in time, and so your' : 'Your'
  const contents = hasContents ? '' : ', whose contents are too large to send'
  return `${kind} change was not merged: it conflicts in ${places} (merge_conflicts${contents}). `
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

export function toModification({ agentId, operation, at }: Version): Modification {
  return { agent_id: agentId, operation, at: new Date(at).toISOString() }
}

/** The base as text; undefined where its bytes are gone or are not text in this encoding. */
export function decodeBase(bytes: Buffer | undefined, encoding: string, path: string): string | undefined {
  if (bytes === undefined) return undefined
  try {
    return decodeText(bytes, encoding, path)
  } catch (error) {
    if (error instanceof OperationError) return undefined
    throw error
  }
}
