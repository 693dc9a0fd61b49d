// Merges what a command has left at a path with what is there now: from every version from which it may have started, always with the same result.
import type { OperationContext } from '../../engine/call/context.ts'
import type { NotMerged } from '../../engine/diff/merge-result.ts'
import { contentHash } from '../../engine/files/content-hash.ts'
import type { VersionTexts } from '../change/version-texts.ts'
import { isSameState, stateOf, type Current, type Incoming, type PathState } from './path-state.ts'

/** What is to be at the path. `current`: what is there. */
export type Result = Incoming | 'current'

export interface Conflict {
  /** From which the merge was tried; undefined if it is not known. */
  readonly base: PathState | undefined
  /** Undefined if there is nothing to merge line by line, or if the results differ. */
  readonly notMerged?: NotMerged | undefined
}

interface Sides {
  readonly incoming: Incoming
  readonly current: Current
  readonly texts: VersionTexts
}

/** @param bases undefined if they are not known */
export async function mergeFromAll(
  context: OperationContext,
  bases: readonly PathState[] | undefined,
  sides: Sides
): Promise<{ readonly result: Result } | Conflict> {
  const now = stateOf(sides.current)
  if (isSameState(stateOf(sides.incoming), now)) return { result: 'current' }
  if (bases === undefined) return { base: undefined }
  let made: Result | undefined
  for (const base of bases) {
    const next = await mergeFrom(context, base, sides)
    if ('base' in next) return next
    if (made !== undefined && !isSameState(stateAfter(made, now), stateAfter(next.result, now)))
      return { base: bases.find((one) => !isSameState(one, now)) ?? base }
    made ??= next.result
  }
  return made === undefined ? { base: undefined } : { result: made }
}

async function mergeFrom(
  { bases, differ, signal }: OperationContext,
  base: PathState,
  { incoming, current, texts }: Sides
): Promise<{ readonly result: Result } | Conflict> {
  if (isSameState(base, stateOf(incoming))) return { result: 'current' }
  if (isSameState(base, stateOf(current))) return { result: incoming }
  if (base === null || 'link' in base || incoming.kind !== 'file' || current.kind !== 'file') return { base }
  const [from, here, there] = [await bases.get(base.hash), current.version.bytes, incoming.bytes].map((bytes) =>
    texts.decodeIfText(bytes)
  )
  if (from === undefined || here === undefined || there === undefined) return { base }
  const merged = await differ.merge({ base: from, current: here, incoming: there, signal })
  if (!('text' in merged)) return { base, notMerged: merged }
  const bytes = texts.encode(merged.text, current.version.bytes)
  return { result: { kind: 'file', bytes, hash: contentHash(bytes), mode: incoming.mode } }
}

function stateAfter(result: Result, now: PathState): PathState {
  return result === 'current' ? now : stateOf(result)
}
