// Cursors: where the next part of an answer begins, bound to the query whose answer they come from.
import { createHash } from 'node:crypto'
import { OperationError } from '../errors.ts'

const markBytes = 6

/** @param query all that decides which entries there are, and in which order */
export function toCursor(position: Buffer, query: readonly unknown[]): string {
  return Buffer.concat([markOf(query), position]).toString('base64url')
}

/** @throws OperationError INVALID_REQUEST for a cursor that no answer to this query contained: it would skip entries without a sign */
export function readCursor(cursor: string, query: readonly unknown[], path?: string): Buffer {
  const bytes = Buffer.from(cursor, 'base64url')
  const isWhole = bytes.toString('base64url') === cursor && bytes.length > markBytes
  if (isWhole && bytes.subarray(0, markBytes).equals(markOf(query))) return bytes.subarray(markBytes)
  const message =
    'cursor is not valid here: pass next_cursor of the previous answer, unchanged, with the same parameters as in that call. Leave it out to begin again.'
  throw new OperationError('INVALID_REQUEST', message, { path })
}

function markOf(query: readonly unknown[]): Buffer {
  // A parameter that was left out, and one that is null, ask for the same.
  return createHash('sha256').update(JSON.stringify(query)).digest().subarray(0, markBytes)
}
