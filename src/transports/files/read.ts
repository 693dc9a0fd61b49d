// What GET and HEAD answer of a file or a folder.
import type { ListOutput } from '../../../schemas/list.ts'
import type { Static } from '../../../schemas/typebox.ts'
import type { OperationResult } from '../../engine/call/context.ts'
import { isOperationError, type OperationError } from '../../errors.ts'
import { largeBytes, largeTurn } from '../../support/large-work.ts'
import { preferredType } from '../accept.ts'
import { headerText } from '../header-text.ts'
import { jsonType } from '../json-type.ts'
import { linesIn, readRange, type ByteRange } from './byte-range.ts'
import { byteEncoding, toBytes } from './byte-texts.ts'
import { isConditional, judgeRead, lastModified, tagOf } from './conditions.ts'
import type { Reply } from '../reply.ts'
import type { FileRequest } from './exchange.ts'
import { notAsAsked } from './refusals.ts'

/** A browser that is led to a file shows it without running anything of it. */
const contentHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'private, no-cache',
  'accept-ranges': 'bytes',
  vary: 'accept, origin'
}

type Listing = Static<typeof ListOutput>

type Read = OperationResult & { readonly hash: string; readonly modified: string; readonly content: string }

type Part = OperationResult & {
  readonly modified: string
  readonly content: string
  readonly total_bytes: number
}

/** @param query of a folder */
export async function get(request: FileRequest, query: object, reply: Reply): Promise<Reply> {
  const { path } = request
  if (path === '' || path.endsWith('/')) return sendFolder(path, query, request, reply)
  try {
    return await sendFile(path, request, reply)
  } catch (error) {
    if (isOperationError(error, 'FILE_TOO_LARGE')) return sendPart(path, error, request, reply)
    if (!isOperationError(error, 'NOT_A_FILE')) throw error
    return await sendFolder(path, query, request, reply).catch(() => Promise.reject(error))
  }
}

async function sendFile(path: string, request: FileRequest, reply: Reply): Promise<Reply> {
  const { method, headers } = request
  const input = { path, encoding: byteEncoding, include_modified: true }
  const read = async (isShown: boolean, lines: object = {}) =>
    (await request.call('async_read', { ...input, ...lines }, false, isShown)) as Read
  const range = method === 'GET' ? headers.range : undefined
  const isWhole = method === 'GET' && range === undefined && !isConditional(headers)
  const found = await read(isWhole)
  const tag = tagOf(found.hash)
  nameVersion(found, reply)
  const verdict = judgeRead(headers, { hash: found.hash, modified: Date.parse(found.modified) })
  if (verdict === 'unmodified') return reply.code(304).send()
  if (verdict === 'failed') throw notAsAsked(path)
  if (range === undefined || ![undefined, tag].includes(ifRangeOf(request))) {
    const shown = isWhole || method === 'HEAD' ? found : await read(true)
    return shown.hash === found.hash ? sendBytes(path, shown, reply) : sendFile(path, request, reply)
  }
  reply.header('content-range', `bytes */${found.content.length}`)
  const part = readRange(range, found.content.length)
  const lines = linesIn(found.content, part)
  const isSame = lines === undefined || (await read(true, lines)).hash === found.hash
  return isSame ? sendBytes(path, found, reply, part) : sendFile(path, request, reply)
}

function nameVersion({ hash, modified }: Read, reply: Reply): void {
  reply.headers({
    ...contentHeaders,
    etag: tagOf(hash),
    'last-modified': lastModified(Date.parse(modified), Date.now())
  })
}

async function sendBytes(path: string, read: Read, reply: Reply, part?: ByteRange): Promise<Reply> {
  nameVersion(read, reply)
  if (read.content.length > largeBytes) await largeTurn()
  const bytes = toBytes(read.content)
  const { mediaTypeOf } = await import('./media-type.ts')
  reply.type(mediaTypeOf(path, bytes))
  if (part === undefined) return reply.send(bytes)
  const { start, end } = part
  reply.header('content-range', `bytes ${start}-${end - 1}/${bytes.length}`)
  return reply.code(206).send(bytes.subarray(start, end))
}

/** A range of a file that is not read whole, so that no version is known: without ETag. */
async function sendPart(path: string, refusal: OperationError, request: FileRequest, reply: Reply) {
  const { method, headers } = request
  const conditions = [headers['if-match'], headers['if-range'], headers['if-unmodified-since']]
  const range = headerText(headers.range)
  if (method !== 'GET' || range === undefined || conditions.some((one) => one !== undefined)) throw refusal
  const size = Number(refusal.details?.['size_bytes'])
  reply.headers({ ...contentHeaders, 'content-range': `bytes */${size}` })
  const { start, end } = readRange(range, size)
  const input = {
    path,
    encoding: byteEncoding,
    include_modified: true,
    byte_offset: start,
    // The least that an operation takes.
    byte_limit: Math.max(4, end - start)
  }
  const part = (await request.call('async_read', input, false)) as Part
  const bytes = toBytes(part.content).subarray(0, end - start)
  // It has become shorter meanwhile, and may not be too large any more.
  if (bytes.length === 0) return sendFile(path, request, reply)
  const { mediaTypeOf } = await import('./media-type.ts')
  reply.header('last-modified', new Date(part.modified).toUTCString())
  // No more than crud.max_file_size_bytes is read at once: a part of a range may be sent (RFC 9110, 15.3.7).
  reply.header('content-range', `bytes ${start}-${start + bytes.length - 1}/${part.total_bytes}`)
  return reply.code(206).type(mediaTypeOf(path, bytes)).send(bytes)
}

async function sendFolder(path: string, query: object, request: FileRequest, reply: Reply) {
  const type = preferredType(request.headers.accept, ['application/json', 'text/plain'])
  const isText = type === 'text/plain'
  const input = { ...query, path: path === '' ? '.' : path }
  const listing = await request.call('async_list', input, !isText)
  const verdict = judgeRead(request.headers, {})
  if (verdict === 'unmodified') return reply.code(304).send()
  if (verdict === 'failed') throw notAsAsked(path)
  const next = nextPageOf(listing as Listing, query)
  if (next !== undefined) reply.header('link', `<${next}>; rel="next"`)
  reply.headers({ 'cache-control': 'no-store', vary: 'accept, origin' })
  if (isText) return reply.type('text/plain; charset=utf-8').send(folderAsText(listing as Listing, path))
  return reply.type(jsonType).send(JSON.stringify(listing))
}

/**
 * One relative address a line, percent-encoded where a name needs it; that of a folder ends with a slash.
 * @param path as it was asked for: behind one without a slash at its end, addresses are relative to the folder above
 */
function folderAsText({ entries }: Listing, path: string): string {
  const last = path.slice(path.lastIndexOf('/') + 1)
  const start = ['', '.', '..'].includes(last) ? '' : `${addressOf(last)}/`
  return entries.map(({ name, type }) => `${start}${addressOf(name)}${type === 'directory' ? '/' : ''}\n`).join('')
}

/** Relative to the address that was asked for; undefined on the last page. */
function nextPageOf({ next_cursor: cursor }: Listing, query: object): string | undefined {
  return cursor === undefined ? undefined : `?${new URLSearchParams({ ...query, cursor }).toString()}`
}

function addressOf(name: string): string {
  return name.split('/').map(encodeURIComponent).join('/')
}

function ifRangeOf({ headers }: FileRequest): string | undefined {
  return headerText(headers['if-range'])
}
