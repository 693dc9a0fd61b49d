// The diff of one file of an undo that is only tried.
import type { OperationContext } from '../../engine/context.ts'
import type { DiffFormat } from '../../engine/diff/compare.ts'
import { decodeIfText } from '../../engine/files/text.ts'
import { diffFor } from '../answer-size.ts'
import type { ChangedFile } from './compose.ts'

export async function previewOf(
  { bases, differ, config, caller, signal }: OperationContext,
  { from, previous_hash, hash, bytes }: ChangedFile,
  format: DiffFormat = 'unified'
) {
  const encoding = config.crud.default_encoding
  const textOf = async (version: string | null) =>
    version === null
      ? ''
      : decodeIfText(bytes?.hash === version ? bytes.bytes : await bases.get(version), encoding, from)
  const [base, current] = [await textOf(previous_hash), await textOf(hash)]
  if (base === undefined || current === undefined) return { diff: null }
  const { diff } = await differ.compare({
    base,
    current,
    ...diffFor(caller, format),
    isWhole: true,
    signal
  })
  return { diff }
}
