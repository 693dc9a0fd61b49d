// async_read (PRD 3.1).
import { contract } from '../../schemas/contract.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { ReadInput, ReadOutput } from '../../schemas/read.ts'
import { countLines, skipLines } from '../diff/lines.ts'
import { decodeText } from '../files/text.ts'
import type { OperationContext } from './context.ts'
import { defineOperation, pathErrors } from './define.ts'
import { readVersion, timestamp } from './file-version.ts'
import { withLocks } from './with-locks.ts'

export const asyncRead = defineOperation({
  name: 'async_read',
  title: 'Read a file',
  description:
    'Reads a text file, whole or by lines (offset, limit), with the hash of the whole file. Keep the hash: async_update needs it, and the server keeps the bytes behind it, so that a later contention answer can show exactly what changed. Waits only while somebody is writing this file.',
  ...contract.async_read,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: [...pathErrors, 'FILE_NOT_FOUND', 'ENCODING_ERROR', 'FILE_TOO_LARGE', 'LOCK_TIMEOUT', 'DEADLOCK'],
  handle: readOne
})

export async function readOne(
  input: Omit<ReadInput, 'agent_id'>,
  context: OperationContext
): Promise<Static<typeof ReadOutput>> {
  const { path, offset, limit, encoding = context.config.crud.default_encoding } = input
  // A reader waits for writers only, and as long as it takes (PRD 4.1): the longest wait there is.
  const options = { operation: 'async_read', timeout: context.config.crud.max_timeout }
  const version = await withLocks(context, [{ path, mode: 'shared', reach: 'target' }], options, ([place]) =>
    readVersion(context, place!, path)
  )
  const text = decodeText(version.bytes, encoding, path)
  const selection = selectLines(text, offset, limit)
  return {
    status: 'ok',
    path,
    content: selection.content,
    encoding,
    hash: version.hash,
    total_lines: selection.total,
    offset,
    limit,
    lines_returned: selection.returned,
    timestamp: timestamp()
  }
}

function selectLines(
  text: string,
  offset: number,
  limit: number | null
): { content: string; total: number; returned: number } {
  if (offset === 0 && limit === null) {
    const total = countLines(text)
    return { content: text, total, returned: total }
  }
  const total = countLines(text)
  const last = limit === null ? total : Math.min(total, offset + limit)
  if (offset >= last) return { content: '', total, returned: 0 }
  const start = skipLines(text, 0, offset)
  return { content: text.slice(start, skipLines(text, start, last - offset)), total, returned: last - offset }
}
