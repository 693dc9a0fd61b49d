// Bytes to text and back, strictly: what is not valid in its encoding is an error, never repaired, and a round trip gives the same bytes.
import { isUtf8 } from 'node:buffer'
import iconv from 'iconv-lite'
import { OperationError } from '../errors.ts'

const utf8Names = new Set(['utf-8', 'utf8', 'unicode-1-1-utf-8'])
/** Codecs of the library that turn bytes into another notation rather than into text. */
const notText = new Set(['hex', 'base64', 'binary', 'internal'])

function codecName(encoding: string, path: string): string {
  const name = encoding.trim().toLowerCase()
  if (utf8Names.has(name)) return 'utf-8'
  if (!notText.has(name) && iconv.encodingExists(name)) return name
  throw new OperationError(
    'ENCODING_ERROR',
    `Unknown encoding "${encoding}". Use utf-8, utf-16le, windows-1252, shift_jis or another IANA name.`,
    { path }
  )
}

/**
 * The text of a whole file. A byte order mark stays in it as U+FEFF.
 * @throws OperationError ENCODING_ERROR
 */
export function decodeText(bytes: Buffer, encoding: string, path: string): string {
  const name = codecName(encoding, path)
  if (name === 'utf-8') {
    if (!isUtf8(bytes)) throw notValid(bytes, encoding, path)
    return bytes.toString('utf8')
  }
  const text = iconv.decode(bytes, name, { stripBOM: false })
  // Only a decoding that gives the same bytes back is safe to edit.
  if (!iconv.encode(text, name, { addBOM: false }).equals(bytes)) throw notValid(bytes, encoding, path)
  return text
}

/**
 * The bytes of a text.
 * @throws OperationError ENCODING_ERROR where the encoding is unknown or has no form for a character
 */
export function encodeText(text: string, encoding: string, path: string): Buffer {
  const name = codecName(encoding, path)
  if (!text.isWellFormed())
    throw new OperationError(
      'ENCODING_ERROR',
      `The text has a lone surrogate, which no encoding has a form for: ${path}`,
      { path }
    )
  if (name === 'utf-8') return Buffer.from(text, 'utf8')
  const bytes = iconv.encode(text, name, { addBOM: false })
  if (iconv.decode(bytes, name, { stripBOM: false }) === text) return bytes
  throw new OperationError(
    'ENCODING_ERROR',
    `The text has a character that ${encoding} has no form for: ${path}. Use utf-8, or leave the character out.`,
    { path }
  )
}

function notValid(bytes: Buffer, encoding: string, path: string): OperationError {
  const hint = bytes.includes(0)
    ? 'It seems to be a binary file; only text files are supported.'
    : 'Where it is written in another encoding, name that: async_read and async_update take one (windows-1252, utf-16le, ...).'
  return new OperationError('ENCODING_ERROR', `The file is not valid ${encoding}: ${path}. ${hint}`, { path })
}
