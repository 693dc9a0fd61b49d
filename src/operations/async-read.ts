// async_read (PRD 3.1).
import { contract } from '../../schemas/contract.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { ReadInput, ReadOutput } from '../../schemas/read.ts'
import { decodeIfText } from './contention.ts'
import { countLines, skipLines, splitMark } from '../diff/lines.ts'
import { decodeText } from '../files/text.ts'
import type { OperationContext } from './context.ts'
import { defineOperation, pathErrors } from './define.ts'
import { readVersion, timestamp } from './file-version.ts'
import { withLocks } from './with-locks.ts'

export const asyncRead = defineOperation({
  name: 'async_read',
  title: 'Read a file',
  description:
    'Reads a text file, whole or by lines (offset, limit), with the hash of the whole file. Keep the hash: async_update needs it, and the server keeps the bytes behind it, so that a later contention answer can show exactly what changed. To look whether a file that you know has changed, pass known_hash: the answer is not_modified or, where that is shorter, the difference. Waits only while somebody is writing this file.',
  ...contract.async_read,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: [...pathErrors, 'FILE_NOT_FOUND', 'ENCODING_ERROR', 'FILE_TOO_LARGE', 'LOCK_TIMEOUT', 'DEADLOCK'],
  handle: readOne
})

export type ReadAnswer = Static<typeof ReadOutput>

export async function readOne(input: Omit<ReadInput, 'agent_id'>, context: OperationContext): Promise<ReadAnswer> {
  const { path, offset, limit, encoding = context.config.crud.default_encoding, known_hash, diff_format } = input
  // A reader waits for writers only, and as long as it takes (PRD 4.1): the longest wait there is.
  const options = { operation: 'async_read', timeout: context.config.crud.max_timeout }
  const { version, canonicalPath } = await withLocks(
    context,
    [{ path, mode: 'shared', reach: 'target' }],
    options,
    async ([place]) => ({ version: await readVersion(context, place!, path), canonicalPath: place!.path })
  )
  const text = decodeText(version.bytes, encoding, path)
  const selection = selectLines(splitMark(text).body, offset, limit)
  const answerWith = (shown: Pick<ReadAnswer, 'content' | 'not_modified' | 'diff' | 'lines_returned'>): ReadAnswer => ({
    status: 'ok',
    path,
    ...shown,
    encoding,
    hash: version.hash,
    total_lines: selection.total,
    offset,
    limit,
    timestamp: timestamp()
  })
  const news =
    known_hash === undefined
      ? undefined
      : await newsSince(known_hash, { text, hash: version.hash, selection, encoding, diffFormat: diff_format }, context)
  const isWhole = news !== undefined || selection.returned === selection.total
  const lines = isWhole ? undefined : { start: offset + 1, end: offset + selection.returned }
  if (isWhole || selection.returned > 0)
    context.views.saw(context.caller.agentId, { path: canonicalPath, given: path, hash: version.hash, lines })
  return answerWith(
    news === undefined
      ? { content: selection.content, lines_returned: selection.returned }
      : { ...news, lines_returned: 0 }
  )
}

interface Present {
  readonly text: string
  readonly hash: string
  readonly selection: { readonly content: string }
  readonly encoding: string
  readonly diffFormat: string
}

/** Shorter than this, content is sent as it is. */
const minContentLength = 200

/** What the caller must be told to know the present version; undefined where that is no shorter than the content, or its version is not known here. */
async function newsSince(
  knownHash: string,
  { text, hash, selection, encoding, diffFormat }: Present,
  { bases, differ, signal }: OperationContext
): Promise<Pick<ReadAnswer, 'not_modified' | 'diff'> | undefined> {
  if (knownHash === hash) return { not_modified: true }
  if (selection.content.length < minContentLength) return undefined
  const base = decodeIfText(await bases.get(knownHash), encoding, knownHash)
  if (base === undefined) return undefined
  const format = diffFormat === 'unified' ? 'unified' : 'json'
  const { diff } = await differ.compare({ base, current: text, format, signal })
  if (diff === null || JSON.stringify(diff).length >= JSON.stringify(selection.content).length) return undefined
  return { diff }
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
