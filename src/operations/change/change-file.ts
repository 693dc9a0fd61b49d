// The one way to change a file: takes its lock, looks, makes the change, and outside the lock answers a change that came too late.
import type { Contention } from '../../../schemas/contention.ts'
import type { Patch } from '../../../schemas/patches.ts'
import type { DiffFormat } from '../../engine/diff/compare.ts'
import type { NotMerged } from '../../engine/diff/merge-result.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import type { OperationContext } from '../../engine/context.ts'
import { withLocks, type Target } from '../locking/with-locks.ts'
import { answerContention } from './contention.ts'
import type { VersionedOperation } from './contention-words.ts'
import { answerMerged, type Merged, type StaleChange } from './stale-change.ts'
import { VersionTexts } from './version-texts.ts'

/** A call that has its locks. */
export interface LockedTurn {
  /** Of the file. */
  readonly place: OpenEntry
  /** Of a second name, if the call has one. */
  readonly other: OpenEntry | undefined
  /** Call it in the same tick as the change. @throws OperationError LEASE_LOST, AUTHORITY_LOST */
  readonly assertHeld: () => void
}

/** The result: done, perhaps merged with other agents' changes, or refused since the version is not the expected one. */
export type Outcome<Done> =
  | { readonly done: Done; readonly merged?: Merged | undefined }
  | { readonly stale: StaleChange; readonly notMerged?: NotMerged | undefined }

export interface FileChange<Done> {
  readonly operation: VersionedOperation
  /** The file, and perhaps a second name. */
  readonly targets: readonly [Omit<Target, 'mode'>, Omit<Target, 'mode'>?]
  /** Seconds. */
  readonly timeout: number | undefined
  readonly diffFormat: DiffFormat | undefined
  /** Default: crud.default_encoding. */
  readonly texts?: VersionTexts
  /** Checked if the change is refused. */
  readonly patches?: readonly Patch[] | undefined
  readonly unifiedDiff?: string | undefined
  /** Does with a version all that a re-submission would do before it writes; throws if that would fail. */
  readonly rehearse?: (current: FileVersion) => Promise<unknown>
  readonly make: (turn: LockedTurn) => Promise<Outcome<Done>>
}

export async function changeFile<Done extends object>(
  context: OperationContext,
  { operation, targets, timeout, diffFormat, patches, unifiedDiff, rehearse, make, ...given }: FileChange<Done>
): Promise<Done | Contention> {
  const exclusive = targets.flatMap((target) =>
    target === undefined ? [] : [{ ...target, mode: 'exclusive' as const }]
  )
  const outcome = await withLocks(context, exclusive, { operation, timeout }, async (places, lock) => {
    for (const [index, place] of places.entries()) context.files.checkWritable(place, exclusive[index]!.path)
    return make({ place: places[0]!, other: places[1], assertHeld: () => lock.assertHeld() })
  })
  if ('done' in outcome) {
    const { done, merged } = outcome
    if (merged === undefined) return done
    publishContention(context, merged.stale, true)
    return answerMerged(context, done, merged, diffFormat)
  }
  const { stale, notMerged } = outcome
  if (notMerged !== undefined) context.counts.mergesRefused += 1
  const texts = given.texts ?? new VersionTexts(context.config.crud.default_encoding, stale.path)
  texts.assertEncoding()
  publishContention(context, stale, false)
  return answerContention(context, {
    ...stale,
    operation,
    texts,
    diffFormat,
    patches,
    unifiedDiff,
    rehearse,
    notMerged
  })
}

export function publishContention(
  { events, caller, counts, activity }: OperationContext,
  stale: StaleChange,
  merged: boolean
): void {
  if (merged) counts.mergesMade += 1
  else counts.contentions += 1
  activity.contended(stale.canonicalPath, merged)
  events.publish({
    type: 'contention',
    path: stale.canonicalPath,
    agent_id: caller.agentId ?? null,
    expected_hash: stale.expectedHash,
    current_hash: stale.current.hash,
    merged
  })
}

/** Undefined if the version is the expected one, or any will do. */
export function findStale(
  { path: canonicalPath }: OpenEntry,
  path: string,
  current: FileVersion | undefined,
  expectedHash: string | null | undefined
): StaleChange | undefined {
  if (typeof expectedHash !== 'string' || current === undefined || current.hash === expectedHash) return undefined
  return { path, canonicalPath, expectedHash, current }
}
