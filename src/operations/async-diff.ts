// async_diff: the difference between two versions, or between one and the current file.
import { contract } from '../../schemas/contract.ts'
import type { DiffInput, DiffOutput } from '../../schemas/history.ts'
import type { Static } from '../../schemas/typebox.ts'
import { isWhole } from '../engine/diff/changed-lines.ts'
import { decodeText } from '../engine/files/text.ts'
import { toModifications } from '../engine/versions/modification.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { keptBytes } from './change/kept-version.ts'
import { wholeHash } from './change/named-version.ts'
import { readLocked } from './locking/read-locked.ts'
import { timestamp } from '../support/timestamp.ts'
import { diffFor } from './answer-size.ts'

export const asyncDiff = defineOperation({
  name: 'async_diff',
  title: 'Compare versions',
  description:
    'The difference between two versions of a file, or between one and the current file, and who made the changes. Use it for a version that you have read and no longer have, and to see what others have changed. A difference that costs more than reading the file only names the changed lines; with diff_format you get all of it.',
  ...contract.async_diff,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: [
    ...pathErrors,
    'FILE_NOT_FOUND',
    'FILE_TOO_LARGE',
    'ENCODING_ERROR',
    'VERSION_NOT_KEPT',
    'LOCK_TIMEOUT',
    'DEADLOCK'
  ],
  handle: compare
})

const tooLongAdvice =
  'The diff is longer than an answer to this client. async_read (offset, limit) reads these lines; over REST async_diff gives all of it.'

async function compare(input: DiffInput, context: OperationContext): Promise<Static<typeof DiffOutput>> {
  const { path, diff_format, encoding = context.config.crud.default_encoding } = input
  const { differ, history, reads, caller, signal } = context
  const canonicalPath = context.files.resolve(path, 'target').path
  const from_hash = wholeHash(input.from_hash, { path, canonicalPath }, context)
  const to_hash = input.to_hash && wholeHash(input.to_hash, { path, canonicalPath }, context)
  const from = await keptBytes(context, path, from_hash)
  const to =
    to_hash === undefined
      ? (await readLocked(context, path, 'async_diff')).version
      : { hash: to_hash, bytes: await keptBytes(context, path, to_hash) }
  const { diff } = await differ.compare({
    base: decodeText(from, encoding, path),
    current: decodeText(to.bytes, encoding, path),
    ...diffFor(caller, diff_format),
    isWhole: diff_format !== undefined,
    signal
  })
  if (isWhole(diff) && to_hash === undefined && reads.seenOf(caller.agentId, canonicalPath, from_hash) !== undefined)
    reads.recordDifference(caller.agentId, { path: canonicalPath, given: path, hash: to.hash, from: from_hash })
  const since = history.since(canonicalPath, from_hash, true)
  const end = since.findLastIndex(({ hash }) => hash === to.hash)
  return {
    status: 'ok',
    path,
    from_hash,
    to_hash: to.hash,
    ...toModifications(since.slice(0, end + 1)),
    timestamp: timestamp(),
    // Wanted whole, it is too long for this client alone.
    diff: diff?.format === 'lines' && diff_format !== undefined ? { ...diff, advice: tooLongAdvice } : diff
  }
}
