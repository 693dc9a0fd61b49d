// Files as bytes, over operations that work on texts: each byte is one character of ISO 8859-1, so that no byte is lost or changed.
import { isUtf8 } from 'node:buffer'
import type { OperationResult } from '../../engine/call/context.ts'
import type { Nearest } from '../../engine/diff/nearest.ts'
import { describeUnifiedFailure, type UnifiedFailure } from '../../engine/diff/unified-patch.ts'
import { isOperationError, OperationError } from '../../errors.ts'

/** The encoding of all calls that carry bytes. */
export const byteEncoding = 'iso-8859-1'

export function toText(bytes: Buffer): string {
  return bytes.toString('latin1')
}

export function toBytes(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** For people and JSON: as UTF-8 if that is what the bytes are. */
export function readable(text: string): string {
  const bytes = toBytes(text)
  return isUtf8(bytes) ? bytes.toString('utf8') : text
}

/** The same of a text that was cut after some byte, without the character that the cut has left incomplete. */
function readableBeginning(text: string): string {
  const length = [0, 1, 2, 3].find((missing) => isUtf8(toBytes(text.slice(0, text.length - missing)))) ?? 0
  return readable(text.slice(0, text.length - length))
}

const contents = new Set(['content', 'old_content', 'new_content', 'context_before', 'context_after'])

/** The same answer with texts that can be read: only these members have any of a file. */
export function withReadableTexts(answer: OperationResult): OperationResult {
  const { diff, merge_conflicts: conflicts } = answer
  return {
    ...answer,
    ...(conflicts !== undefined && { merge_conflicts: readableMembers(conflicts) }),
    ...(diff !== undefined && { diff: readableMembers(diff) })
  }
}

function readableMembers(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (name, member: unknown) =>
    contents.has(name) && typeof member === 'string' ? readable(member) : member
  ) as unknown
}

/** The same error about a unified diff, with texts that can be read. */
export function withReadableHunk(error: unknown): unknown {
  if (!isOperationError(error, 'INVALID_PATCH') || typeof error.details?.['hunk'] !== 'string') return error
  const failure = error.details as unknown as Extract<UnifiedFailure, { hunk: string }>
  const { hunk, nearest } = failure
  const details = { ...failure, hunk: readableBeginning(hunk), ...(nearest && { nearest: readableNearest(nearest) }) }
  const { path = '', ...wire } = error.toWire()
  return OperationError.fromWire({ ...wire, path, message: `${path}: ${describeUnifiedFailure(details)}`, details })
}

/** Without the first difference: it counts bytes, and names them. */
function readableNearest({ start_line, end_line, difference, text, clipped }: Nearest): Nearest {
  return { start_line, end_line, difference, text: readableBeginning(text), ...(clipped && { clipped }) }
}
