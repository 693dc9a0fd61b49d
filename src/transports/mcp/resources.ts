// Files as MCP resources: lists those with a known version, reads them like async_read.
import { ProtocolError, type ListResourcesResult, type ReadResourceResult } from '@modelcontextprotocol/server'
import { basename } from 'node:path'
import { OperationError, toOperationError } from '../../errors.ts'
import type { OperationResult } from '../../engine/call/context.ts'
import { envelopes } from '../../operations/definition/envelopes.ts'
import type { TrackedFiles } from '../../engine/versions/tracked-files.ts'
import { toPath, toUri } from './resource-uri.ts'

export type ListFiles = (after: string | undefined, limit: number) => Promise<TrackedFiles>

const pageSize = 500
const mimeType = 'text/plain'
/** Our names in `_meta`. */
const hashKey = 'async-crud-mcp/hash'
const noticesKey = 'async-crud-mcp/notices'
/** MCP's code for a missing resource. */
const notFound = -32602

export const resourceTemplates = [
  {
    uriTemplate: 'file:///{+path}',
    name: 'file',
    title: 'A file of the working tree',
    description: 'Any text file below the roots, by its absolute path. Subscribe to it to be notified of changes.',
    mimeType
  }
]

/** The files that were read or changed so far, by path. */
export async function listResources(listFiles: ListFiles, cursor: string | undefined): Promise<ListResourcesResult> {
  const { files, hasMore } = await listFiles(cursor === undefined ? undefined : decodeCursor(cursor), pageSize)
  const last = files.at(-1)
  return {
    resources: files.map(({ path, hash }) => ({
      uri: toUri(path),
      name: basename(path),
      description: path,
      mimeType,
      _meta: { [hashKey]: hash }
    })),
    ...(hasMore && last !== undefined && { nextCursor: encodeCursor(last.path) })
  }
}

/** @param read async_read */
export async function readResource(
  uri: string,
  read: (path: string) => Promise<OperationResult>
): Promise<ReadResourceResult> {
  const { content, hash, notices, further_notices } = await read(toPath(uri))
  return {
    contents: [{ uri, mimeType, text: String(content), _meta: { [hashKey]: hash } }],
    ...(notices !== undefined && { _meta: { [noticesKey]: { notices, further_notices } } })
  }
}

/** A failure in the words of the error table, in the form of the protocol. */
export function toProtocolError(error: unknown, uri?: string): ProtocolError {
  const failure = toOperationError(error)
  const { code, message, data } = envelopes.status.rpcError(failure, {})
  const details = { ...(uri !== undefined && { uri }), ...data }
  return new ProtocolError(failure.code === 'FILE_NOT_FOUND' ? notFound : code, message, details)
}

/** To one message, if it has an id, or to what came with it. */
export function toErrorAnswer(message: unknown, error: unknown) {
  const { code, message: text, data } = toProtocolError(error)
  const { id = null } = (message ?? {}) as { readonly id?: unknown }
  return { jsonrpc: '2.0', id, error: { code, message: text, data } }
}

function encodeCursor(path: string): string {
  return Buffer.from(path, 'utf8').toString('base64url')
}

/** @throws OperationError INVALID_REQUEST for a cursor that no answer contained */
function decodeCursor(cursor: string): string {
  const path = Buffer.from(cursor, 'base64url').toString('utf8')
  if (encodeCursor(path) === cursor) return path
  throw new OperationError('INVALID_REQUEST', 'cursor is not valid: pass nextCursor of the previous answer, unchanged.')
}
