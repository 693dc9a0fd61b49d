// /files/<path>: files as plain HTTP resources, over the operations that all transports have.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Contention } from '../schemas/contention.ts'
import { routes } from '../schemas/routes.ts'
import type { OperationResult } from '../src/engine/call/context.ts'
import { isOperationError, OperationError } from '../src/errors.ts'
import { largeBytes, largeTurn } from '../src/support/large-work.ts'
import { readTrace } from '../src/support/trace-context.ts'
import { preferredType } from '../src/transports/accept.ts'
import { linesIn, readRange, type ByteRange } from '../src/transports/files/byte-range.ts'
import {
  byteEncoding,
  toBytes,
  toText,
  withReadableHunk,
  withReadableTexts
} from '../src/transports/files/byte-texts.ts'
import { isConditional, judgeRead, lastModified, readExpected, tagOf } from '../src/transports/files/conditions.ts'
import { folderAsText, nextPageOf, type Listing } from '../src/transports/files/folder.ts'
import { readPatch } from '../src/transports/files/patch-body.ts'
import { readPreferences } from '../src/transports/files/preferences.ts'
import { diffType, inPart, notAsAsked, notTaken, patchTypes, unnamed } from '../src/transports/files/refusals.ts'
import { goneSignal } from '../src/transports/gone-signal.ts'
import { headerText } from '../src/transports/header-text.ts'
import { parseJson } from '../src/operations/definition/parse-json.ts'
import { readBody } from '../src/transports/read-body.ts'
import { checkCharset, checkEncoding } from './body.ts'
import { jsonType } from '../src/transports/json-type.ts'
import { sendError } from './errors.ts'

const url = '/files/*'

/** A browser that is led to a file shows it without running anything of it. */
const contentHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'private, no-cache',
  'accept-ranges': 'bytes',
  vary: 'accept, origin'
}

export default fp(
  async (app) => {
    const { requestBudget: budget } = app
    const maxBytes = app.initialConfig.bodyLimit as number
    const bodyOf = ({ raw }: FastifyRequest, reply: FastifyReply) => readBody(raw, reply.raw, { maxBytes, budget })

    await app.register(async (scope) => {
      // Bytes of any type; each handler reads them itself.
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
      // PUT takes any type, and so one of no valid form, which Fastify would refuse.
      scope.addHook('onRequest', async ({ method, raw }) => {
        if (method === 'PUT' || method === 'DELETE') delete raw.headers['content-type']
      })
      const typed = scope.withTypeProvider<TypeBoxTypeProvider>()
      typed.get(url, { schema: routes[url] }, async (request, reply) => {
        const path = pathOf(request)
        if (path === '' || path.endsWith('/')) return sendFolder(path, request.query, request, reply)
        try {
          return await sendFile(path, request, reply)
        } catch (error) {
          if (isOperationError(error, 'FILE_TOO_LARGE')) return sendPart(path, error, request, reply)
          if (!isOperationError(error, 'NOT_A_FILE')) throw error
          return await sendFolder(path, request.query, request, reply).catch(() => Promise.reject(error))
        }
      })
      scope.route({ method: 'PUT', url, handler: put })
      scope.route({ method: 'PATCH', url, handler: patch })
      scope.route({ method: 'DELETE', url, handler: remove })
    })

    /** @param isShown false if the client gets nothing of what the answer has: then it has not seen it */
    function call(
      name: string,
      input: object,
      request: FastifyRequest,
      reply: FastifyReply,
      takesNotices: boolean,
      isShown = true
    ) {
      const agentId = isShown ? headerText(request.headers['x-agent-id']) : undefined
      const requestId = headerText(request.headers['idempotency-key'])
      const changeSet = headerText(request.headers['x-change-set'])
      const trace = readTrace(request.headers)
      const caller = { agentId, requestId, changeSet, transport: 'rest', takesNotices, trace } as const
      return app.call(name, input, { caller, signal: goneSignal(reply.raw) })
    }

    async function sendFile(path: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const { method, headers } = request
      const input = { path, encoding: byteEncoding, include_modified: true }
      const read = async (isShown: boolean, lines: object = {}) =>
        (await call('async_read', { ...input, ...lines }, request, reply, false, isShown)) as Read
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

    function nameVersion({ hash, modified }: Read, reply: FastifyReply): void {
      reply.headers({
        ...contentHeaders,
        etag: tagOf(hash),
        'last-modified': lastModified(Date.parse(modified), Date.now())
      })
    }

    async function sendBytes(path: string, read: Read, reply: FastifyReply, part?: ByteRange): Promise<FastifyReply> {
      nameVersion(read, reply)
      if (read.content.length > largeBytes) await largeTurn()
      const bytes = toBytes(read.content)
      const { mediaTypeOf } = await import('../src/transports/files/media-type.ts')
      reply.type(mediaTypeOf(path, bytes))
      if (part === undefined) return reply.send(bytes)
      const { start, end } = part
      reply.header('content-range', `bytes ${start}-${end - 1}/${bytes.length}`)
      return reply.code(206).send(bytes.subarray(start, end))
    }

    /** A range of a file that is not read whole, so that no version is known: without ETag. */
    async function sendPart(path: string, refusal: OperationError, request: FastifyRequest, reply: FastifyReply) {
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
      const part = (await call('async_read', input, request, reply, false)) as Part
      const bytes = toBytes(part.content).subarray(0, end - start)
      // It has become shorter meanwhile, and may not be too large any more.
      if (bytes.length === 0) return sendFile(path, request, reply)
      const { mediaTypeOf } = await import('../src/transports/files/media-type.ts')
      reply.header('last-modified', new Date(part.modified).toUTCString())
      // No more than crud.max_file_size_bytes is read at once: a part of a range may be sent (RFC 9110, 15.3.7).
      reply.header('content-range', `bytes ${start}-${start + bytes.length - 1}/${part.total_bytes}`)
      return reply.code(206).type(mediaTypeOf(path, bytes)).send(bytes)
    }

    async function sendFolder(path: string, query: object, request: FastifyRequest, reply: FastifyReply) {
      const type = preferredType(request.headers.accept, ['application/json', 'text/plain'])
      const isText = type === 'text/plain'
      const input = { ...query, path: path === '' ? '.' : path }
      const listing = await call('async_list', input, request, reply, !isText)
      const verdict = judgeRead(request.headers, {})
      if (verdict === 'unmodified') return reply.code(304).send()
      if (verdict === 'failed') throw notAsAsked(path)
      const next = nextPageOf(listing as Listing, query)
      if (next !== undefined) reply.header('link', `<${next}>; rel="next"`)
      reply.headers({ 'cache-control': 'no-store', vary: 'accept, origin' })
      if (isText) return reply.type('text/plain; charset=utf-8').send(folderAsText(listing as Listing, path))
      return reply.type(jsonType).send(JSON.stringify(listing))
    }

    async function put(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const path = pathOf(request)
      const expected = readExpected(request.headers)
      if (expected === 'any') throw unnamed(path)
      if (request.headers['content-range'] !== undefined) throw inPart(path)
      checkEncoding(request.headers['content-encoding'])
      const content = toText(await bodyOf(request, reply))
      const input = { path, content, encoding: byteEncoding }
      if (expected !== undefined && expected !== 'none')
        return change('async_update', { ...input, expected_hash: expected.hash }, request, reply, true)
      try {
        return await change('async_write', input, request, reply, true)
      } catch (error) {
        if (!isOperationError(error, 'FILE_EXISTS')) throw error
        if (expected === 'none') return sendError(request, reply, error, 412)
        // A folder, or another thing that has no versions.
        if (error.details?.['type'] !== undefined) throw error
        throw unnamed(path, error)
      }
    }

    async function patch(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const path = pathOf(request)
      const type = mediaTypeIn(request)
      reply.header('accept-patch', patchTypes.join(', '))
      if (!patchTypes.some((known) => known === type)) throw notTaken(type)
      const expected = readExpected(request.headers)
      if (expected === undefined || expected === 'any') throw unnamed(path)
      if (expected === 'none') throw new OperationError('INVALID_REQUEST', `A patch needs a file: ${path}. Use PUT.`)
      checkEncoding(request.headers['content-encoding'])
      const named = { path, expected_hash: expected.hash }
      const body = await bodyOf(request, reply)
      if (type === 'application/json') {
        checkCharset(request.headers['content-type'])
        return change('async_update', { ...readPatch(await parseJson(body)), ...named }, request, reply, false)
      }
      const input = { ...named, unified_diff: toText(body), encoding: byteEncoding }
      return change('async_update', input, request, reply, true)
    }

    async function remove(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const path = pathOf(request)
      const expected = readExpected(request.headers)
      if (expected === 'none')
        throw new OperationError('INVALID_REQUEST', `What is not there cannot be deleted: ${path}.`)
      const hash = expected === undefined || expected === 'any' ? null : expected.hash
      return change('async_delete', { path, expected_hash: hash }, request, reply, false)
    }

    /** @param areBytes whether the texts of the input, and so those of a contention, are bytes */
    async function change(
      name: string,
      input: { readonly path: string; readonly expected_hash?: string | null },
      request: FastifyRequest,
      reply: FastifyReply,
      areBytes: boolean
    ): Promise<FastifyReply> {
      const { waitSeconds, merge, applied } = readPreferences(headerText(request.headers['prefer']))
      const wantsDiff = preferredType(request.headers.accept, ['application/json', diffType]) === diffType
      const options = {
        ...(waitSeconds !== undefined && { timeout: waitSeconds }),
        ...(merge && name === 'async_update' && { on_contention: 'merge' }),
        ...(wantsDiff && name !== 'async_write' && { diff_format: 'unified' })
      }
      if (applied !== undefined) reply.header('preference-applied', applied)
      try {
        const result = await call(name, { ...options, ...input }, request, reply, !wantsDiff)
        if (result.status === 'contention') return sendContention(result, wantsDiff, areBytes, reply)
        // Of merged content, which the client has not sent, the body has the hash.
        if (typeof result['hash'] === 'string' && result['merged'] !== true) reply.header('etag', tagOf(result['hash']))
        if (result['kept'] === false) reply.header('x-kept', 'false')
        const answer = areBytes ? withReadableTexts(result) : result
        return reply
          .code(name === 'async_write' ? 201 : 200)
          .type(jsonType)
          .send(JSON.stringify(answer))
      } catch (error) {
        // No file is another version than the one that If-Match names.
        const isGone = isOperationError(error, 'FILE_NOT_FOUND') && typeof input.expected_hash === 'string'
        if (isGone) return sendError(request, reply, error, 412)
        throw areBytes ? withReadableHunk(error) : error
      }
    }
  },
  { name: 'file-routes', dependencies: ['authority', 'body', 'errors', 'access', 'request-budget'] }
)

type Read = OperationResult & { readonly hash: string; readonly modified: string; readonly content: string }

type Part = OperationResult & {
  readonly modified: string
  readonly content: string
  readonly total_bytes: number
}

type WithPath = FastifyRequest<{ Params: { '*': string } }>

/** Decoded; a path that begins with a slash is absolute, as for operations. */
function pathOf({ params }: FastifyRequest): string {
  return (params as WithPath['params'])['*']
}

function ifRangeOf({ headers }: FastifyRequest): string | undefined {
  return headerText(headers['if-range'])
}

/** Without parameters. */
function mediaTypeIn({ headers }: FastifyRequest): string {
  return (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
}

function sendContention(
  result: OperationResult,
  wantsDiff: boolean,
  areBytes: boolean,
  reply: FastifyReply
): FastifyReply {
  const { current_hash: hash, diff } = result as unknown as Contention
  reply.code(412).headers({ etag: tagOf(hash), vary: 'accept, origin' })
  const { format, content = '' } = diff ?? {}
  if (wantsDiff && format === 'unified') return reply.type(diffType).send(areBytes ? toBytes(content) : content)
  return reply.type(jsonType).send(JSON.stringify(areBytes ? withReadableTexts(result) : result))
}
