// The one way to change a file: takes its lock, looks, makes the change, and outside the lock answers a change that came too late.
import type { Contention } from '../../../schemas/contention.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import type { OperationContext } from '../../engine/context.ts'
import { withLocks, type Target } from '../locking/with-locks.ts'
import { answerContention, publishContention, type RefusedChange, type Refusal } from './contention.ts'
import { wholeHash } from './named-version.ts'
import { answerMerged, type Merged, type StaleChange } from './stale-change.ts'

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
export type Outcome<Done> = { readonly done: Done; readonly merged?: Merged | undefined } | Refusal

export interface FileChange<Done> extends RefusedChange {
  /** The file, and perhaps a second name. */
  readonly targets: readonly [Omit<Target, 'mode'>, Omit<Target, 'mode'>?]
  /** Seconds. */
  readonly timeout: number | undefined
  readonly make: (turn: LockedTurn) => Promise<Outcome<Done>>
}

export async function changeFile<Done extends object>(
  context: OperationContext,
  { targets, timeout, make, ...request }: FileChange<Done>
): Promise<Done | Contention> {
  const exclusive = targets.flatMap((target) =>
    target === undefined ? [] : [{ ...target, mode: 'exclusive' as const }]
  )
  const { operation, diffFormat } = request
  const outcome = await withLocks(context, exclusive, { operation, timeout }, async (places, lock) => {
    for (const [index, place] of places.entries()) context.files.checkWritable(place, exclusive[index]!.path)
    return make({ place: places[0]!, other: places[1], assertHeld: () => lock.assertHeld() })
  })
  if (!('done' in outcome)) return answerContention(context, outcome, request)
  const { done, merged } = outcome
  if (merged === undefined) return done
  publishContention(context, merged.stale, true)
  return answerMerged(context, done, merged, diffFormat)
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
  return current.hash === expectedHash ? undefined : { path, canonicalPath, expectedHash, current }
}
