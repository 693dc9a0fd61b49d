// What a change that is only tried would make of a text, whole.
import type { Diff } from '../../../schemas/diff.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import type { DiffFormat } from '../../engine/diff/compare.ts'
import { diffFor } from '../answer-size.ts'

/** @param format as the call chose it; default: unified */
export async function previewDiff(
  { differ, caller, signal }: OperationContext,
  base: string,
  next: string,
  format: DiffFormat = 'unified'
): Promise<Diff | null> {
  const { diff } = await differ.compare({ base, current: next, ...diffFor(caller, format), isWhole: true, signal })
  return diff
}
