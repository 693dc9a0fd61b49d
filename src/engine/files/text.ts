// Bytes to text and back, strictly: invalid input is an error, never repaired, and a round trip gives the same bytes.
import { isUtf8 } from 'node:buffer'
import type Iconv from 'iconv-lite'
import { OperationError, unlessRefused } from '../../errors.ts'
import { loadPiece } from '../../support/pieces.ts'
import { describeBytes } from './text-hints.ts'

const utf8Names = new Set(['utf8', 'unicode11utf8'])
/** Codecs of the library that turn bytes into another notation rather than into text. */
const notText = new Set(['hex', 'base64', 'binary', 'internal'])
/** Each byte is one character: Node itself translates it. */
const byteNames = new Set(['iso88591', 'latin1'])
/** Encodings of either byte order: their units, and the codecs of little and big endian. */
const ofEitherOrder = new Map([
  ['utf16', { unitBytes: 2, little: 'utf-16le', big: 'utf-16be' }],
  ['utf32', { unitBytes: 4, little: 'utf-32le', big: 'utf-32be' }]
])
const byteOrderMark = '\uFEFF'
/** The mark read in the wrong byte order. */
const swappedMark = '\uFFFE'
const maxMarkBytes = 4
const maxSampleBytes = 1024

/**
 * The text of a whole file. A byte order mark stays in it as U+FEFF.
 * @throws OperationError ENCODING_ERROR
 */
export function decodeText(bytes: Buffer, encoding: string, path: string): string {
  const codec = codecName(encoding, bytes, path)
  if (codec === 'utf-8') {
    if (!isUtf8(bytes)) throw notValid(bytes, encoding, path)
    return bytes.toString('utf8')
  }
  const text = decode(bytes, codec)
  // Only a decoding that gives the same bytes back is safe to edit.
  if (text.startsWith(swappedMark) || !encode(text, codec).equals(bytes)) throw notValid(bytes, encoding, path)
  return text
}

/**
 * The bytes of a text. "utf-16" and "utf-32" take the byte order of `like`; text of a file that had none begins with a byte order mark.
 * @param like what the file contains already
 * @throws OperationError ENCODING_ERROR if the encoding is unknown or cannot represent a character
 */
export function encodeText(text: string, encoding: string, path: string, like: Buffer = Buffer.alloc(0)): Buffer {
  const codec = codecName(encoding, like, path)
  if (!text.isWellFormed())
    throw new OperationError(
      'ENCODING_ERROR',
      `The text has a lone surrogate, which no encoding can represent: ${path}`,
      { path }
    )
  if (codec === 'utf-8') return Buffer.from(text, 'utf8')
  const isFirst = like.length === 0 && text !== '' && !text.startsWith(byteOrderMark)
  const whole = isFirst && ofEitherOrder.has(plainName(encoding)) ? byteOrderMark + text : text
  const bytes = encode(whole, codec)
  if (decode(bytes, codec) === whole) return bytes
  throw new OperationError(
    'ENCODING_ERROR',
    `The text has a character that ${encoding} cannot represent: ${path}. Use utf-8, or leave out the character.`,
    { path }
  )
}

/** Whole new content, behind the byte order mark of the version that it replaces. */
export function keepMark(content: string, version: Buffer, encoding: string, path: string): string {
  if (content.startsWith(byteOrderMark)) return content
  const codec = codecName(encoding, version, path)
  const isMarked = decode(version.subarray(0, maxMarkBytes), codec).startsWith(byteOrderMark)
  return isMarked ? byteOrderMark + content : content
}

/** The codec of an encoding; `bytes` decide on a byte order that its name leaves open. */
function codecName(encoding: string, bytes: Buffer, path: string): string {
  const name = plainName(encoding)
  if (utf8Names.has(name)) return 'utf-8'
  if (byteNames.has(name)) return 'binary'
  const open = ofEitherOrder.get(name)
  if (open !== undefined) return isBigEndian(bytes, open) ? open.big : open.little
  if (!notText.has(name) && iconv().encodingExists(name)) return name
  throw new OperationError(
    'ENCODING_ERROR',
    `Unknown encoding "${encoding}", for ${path}. Use utf-8, utf-16, windows-1252, shift_jis or another IANA name.`,
    { path }
  )
}

/** Whether each byte is a character, so that a text can begin anywhere. */
export function isByteName(encoding: string): boolean {
  const name = plainName(encoding)
  return byteNames.has(name) || /^(?:(?:windows|win|cp)125\d|iso8859\d+|latin\d+|koi8[ru]|(?:us)?ascii)$/.test(name)
}

export function isUtf8Name(encoding: string): boolean {
  return utf8Names.has(plainName(encoding))
}

/** As the library compares names. */
function plainName(encoding: string): string {
  return encoding.toLowerCase().replaceAll(/[^0-9a-z]/g, '')
}

/** By the byte order mark; else by the high bytes, which are zero in most text. */
function isBigEndian(bytes: Buffer, { unitBytes, little, big }: { unitBytes: number; little: string; big: string }) {
  const start = bytes.subarray(0, unitBytes)
  if (decode(start, little) === byteOrderMark) return false
  if (decode(start, big) === byteOrderMark) return true
  const sample = bytes.subarray(0, maxSampleBytes)
  const zerosAt = (place: number) => sample.filter((byte, at) => byte === 0 && at % unitBytes === place).length
  return zerosAt(0) > zerosAt(unitBytes - 1)
}

/** For encodings other than UTF-8. */
const iconv = () => loadPiece('encodings') as typeof Iconv

function decode(bytes: Buffer, codec: string): string {
  return iconv().decode(bytes, codec, { stripBOM: false })
}

function encode(text: string, codec: string): Buffer {
  return iconv().encode(text, codec, { addBOM: false })
}

function notValid(bytes: Buffer, encoding: string, path: string): OperationError {
  const message = `The file is not valid ${encoding}: ${path}. ${describeBytes(bytes, encoding)}`
  return new OperationError('ENCODING_ERROR', message, { path })
}

/** Bytes as text; undefined if they are gone or are not text in this encoding. */
export function decodeIfText(bytes: Buffer | undefined, encoding: string, path: string): string | undefined {
  return bytes && unlessRefused(() => decodeText(bytes, encoding, path))
}
