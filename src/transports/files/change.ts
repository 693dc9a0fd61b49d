// What PUT, PATCH and DELETE make of a file.
import type { Contention } from '../../../schemas/contention.ts'
import type { OperationResult } from '../../engine/call/context.ts'
import { isOperationError, OperationError } from '../../errors.ts'
import { parseJson } from '../../operations/definition/parse-json.ts'
import { preferredType } from '../accept.ts'
import { checkCharset, checkEncoding } from '../body-checks.ts'
import { headerText } from '../header-text.ts'
import { jsonType } from '../json-type.ts'
import { byteEncoding, toBytes, toText, withReadableHunk, withReadableTexts } from './byte-texts.ts'
import { readExpected, tagOf } from './conditions.ts'
import type { Reply } from '../reply.ts'
import type { FileRequest } from './exchange.ts'
import { readPreferences } from './preferences.ts'
import { diffType, inPart, notTaken, patchTypes, unnamed } from './refusals.ts'

const saidElsewhere = ['path', 'expected_hash']

export async function put(request: FileRequest, reply: Reply): Promise<Reply> {
  const path = request.path
  const expected = readExpected(request.headers)
  if (expected === 'any') throw unnamed(path)
  if (request.headers['content-range'] !== undefined) throw inPart(path)
  checkEncoding(request.headers['content-encoding'])
  const content = toText(await request.body())
  const input = { path, content, encoding: byteEncoding }
  if (expected !== undefined && expected !== 'none')
    return change('async_update', { ...input, expected_hash: expected.hash }, request, reply, true)
  try {
    return await change('async_write', input, request, reply, true)
  } catch (error) {
    if (!isOperationError(error, 'FILE_EXISTS')) throw error
    if (expected === 'none') return request.refuse(error, 412)
    // A folder, or another thing that has no versions.
    if (error.details?.['type'] !== undefined) throw error
    throw unnamed(path, error)
  }
}

export async function patch(request: FileRequest, reply: Reply): Promise<Reply> {
  const path = request.path
  const type = mediaTypeIn(request)
  reply.header('accept-patch', patchTypes.join(', '))
  if (!patchTypes.some((known) => known === type)) throw notTaken(type)
  const expected = readExpected(request.headers)
  if (expected === undefined || expected === 'any') throw unnamed(path)
  if (expected === 'none') throw new OperationError('INVALID_REQUEST', `A patch needs a file: ${path}. Use PUT.`)
  checkEncoding(request.headers['content-encoding'])
  const named = { path, expected_hash: expected.hash }
  const body = await request.body()
  if (type === 'application/json') {
    checkCharset(request.headers['content-type'])
    return change('async_update', { ...readPatch(await parseJson(body)), ...named }, request, reply, false)
  }
  const input = { ...named, unified_diff: toText(body), encoding: byteEncoding }
  return change('async_update', input, request, reply, true)
}

export async function remove(request: FileRequest, reply: Reply): Promise<Reply> {
  const path = request.path
  const expected = readExpected(request.headers)
  if (expected === 'none') throw new OperationError('INVALID_REQUEST', `What is not there cannot be deleted: ${path}.`)
  const hash = expected === undefined || expected === 'any' ? null : expected.hash
  return change('async_delete', { path, expected_hash: hash }, request, reply, false)
}

/** @param areBytes whether the texts of the input, and so those of a contention, are bytes */
async function change(
  name: string,
  input: { readonly path: string; readonly expected_hash?: string | null },
  request: FileRequest,
  reply: Reply,
  areBytes: boolean
): Promise<Reply> {
  const { waitSeconds, merge, applied } = readPreferences(headerText(request.headers['prefer']))
  const wantsDiff = preferredType(request.headers.accept, ['application/json', diffType]) === diffType
  const options = {
    ...(waitSeconds !== undefined && { timeout: waitSeconds }),
    ...(merge && name === 'async_update' && { on_contention: 'merge' }),
    ...(wantsDiff && name !== 'async_write' && { diff_format: 'unified' })
  }
  if (applied !== undefined) reply.header('preference-applied', applied)
  try {
    const result = await request.call(name, { ...options, ...input }, !wantsDiff)
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
    if (isGone) return request.refuse(error, 412)
    throw areBytes ? withReadableHunk(error) : error
  }
}

/** Without parameters. */
function mediaTypeIn({ headers }: FileRequest): string {
  return (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
}

function sendContention(result: OperationResult, wantsDiff: boolean, areBytes: boolean, reply: Reply): Reply {
  const { current_hash: hash, diff } = result as unknown as Contention
  reply.code(412).headers({ etag: tagOf(hash), vary: 'accept, origin' })
  const { format, content = '' } = diff ?? {}
  if (wantsDiff && format === 'unified') return reply.type(diffType).send(areBytes ? toBytes(content) : content)
  return reply.type(jsonType).send(JSON.stringify(areBytes ? withReadableTexts(result) : result))
}

/** The JSON body of PATCH: the input of async_update, without what the address and If-Match say. @throws OperationError INVALID_REQUEST */
function readPatch(body: unknown): object {
  if (
    typeof body !== 'object' ||
    body === null ||
    Array.isArray(body) ||
    saidElsewhere.some((name) => Object.hasOwn(body, name))
  )
    throw new OperationError(
      'INVALID_REQUEST',
      'The body of a JSON patch is one object: {"patches": [...]}, the input of async_update without path (the address has it) and expected_hash (If-Match has it).'
    )
  return body
}
