// The text of a part of a file: whole characters of the bytes that were asked for.
import { OperationError } from '../../errors.ts'
import { decodeText, isByteName, isUtf8Name } from './text.ts'

export interface TextPart {
  readonly text: string
  /** Of the whole characters, as offsets in the file. */
  readonly start: number
  readonly end: number
}

const maxCharacterBytes = 4

/**
 * A character that begins before the part, or ends behind it, is left out.
 * @param bytes those from `start` on, in a file of `size` bytes
 * @throws OperationError ENCODING_ERROR, also for encodings in which characters cannot be told apart from their middle
 */
export function decodePart(
  { bytes, start, size }: { readonly bytes: Buffer; readonly start: number; readonly size: number },
  encoding: string,
  path: string
): TextPart {
  if (isByteName(encoding)) return { text: decodeText(bytes, encoding, path), start, end: start + bytes.length }
  if (!isUtf8Name(encoding)) {
    const message = `A part by bytes can be read in utf-8, or in an encoding of one byte a character, not in ${encoding}: ${path}. Read it by lines (offset, limit).`
    throw new OperationError('ENCODING_ERROR', message, { path })
  }
  const from = start === 0 ? 0 : beginningOfCharacter(bytes)
  const to = start + bytes.length < size ? endOfCharacter(bytes, from) : bytes.length
  return { text: decodeText(bytes.subarray(from, to), encoding, path), start: start + from, end: start + to }
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

function beginningOfCharacter(bytes: Buffer): number {
  let at = 0
  while (at < maxCharacterBytes - 1 && isContinuation(bytes[at])) at++
  return at
}

/** Before the last character, if it is not all there. */
function endOfCharacter(bytes: Buffer, from: number): number {
  const first = Math.max(from, bytes.length - maxCharacterBytes)
  for (let at = bytes.length - 1; at >= first; at--) {
    if (isContinuation(bytes[at])) continue
    const byte = bytes[at]!
    const length = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
    return at + length > bytes.length ? at : bytes.length
  }
  return bytes.length
}
