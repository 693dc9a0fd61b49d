// The diff of one file of an undo that is only tried.
import type { OperationContext } from '../../engine/call/context.ts'
import type { DiffFormat } from '../../engine/diff/compare.ts'
import { decodeIfText } from '../../engine/files/text.ts'
import { previewDiff } from '../change/preview-diff.ts'
import type { ChangedFile } from './compose.ts'

export async function previewOf(
  context: OperationContext,
  { from, previous_hash, hash, bytes }: ChangedFile,
  format: DiffFormat | undefined
) {
  const { bases, config } = context
  const encoding = config.crud.default_encoding
  const textOf = async (version: string | null) =>
    version === null
      ? ''
      : decodeIfText(bytes?.hash === version ? bytes.bytes : await bases.get(version), encoding, from)
  const [base, current] = [await textOf(previous_hash), await textOf(hash)]
  if (base === undefined || current === undefined) return { diff: null }
  return { diff: await previewDiff(context, base, current, format) }
}
