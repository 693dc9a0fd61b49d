// Names of a folder's entries: on Linux any bytes but NUL and the slash. A byte that is not UTF-8 becomes a lone surrogate, which no text contains.
import { isUtf8 } from 'node:buffer'

/** Byte 0x80 is U+DC80 and so on, as Python's `surrogateescape` has it. */
const firstEscape = 0xdc00
const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

export function toName(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  let name = ''
  for (let at = 0; at < bytes.length;) {
    const length = characterLength(bytes, at)
    name += length === 0 ? String.fromCharCode(firstEscape + bytes[at]!) : bytes.toString('utf8', at, at + length)
    at += length || 1
  }
  return name
}

/** The bytes of the name in the system. */
export function toBytes(name: string): Buffer {
  if (name.isWellFormed()) return Buffer.from(name, 'utf8')
  const parts = Array.from(name, (character) =>
    character.isWellFormed() ? Buffer.from(character, 'utf8') : Buffer.from([character.charCodeAt(0) - firstEscape])
  )
  return Buffer.concat(parts)
}

/** For people and models: `\xHH` for each byte that is not UTF-8, and in such a name `\\` for a backslash. Any other name is shown as it is. */
export function showName(name: string): { name: string; isEscaped: boolean } {
  if (name.isWellFormed()) return { name, isEscaped: false }
  const escaped = name
    .replaceAll('\\', '\\\\')
    .replaceAll(loneSurrogate, (unit) => `\\x${(unit.charCodeAt(0) - firstEscape).toString(16)}`)
  return { name: escaped, isEscaped: true }
}

/** Byte order. Without surrogates it is the order of the code units. */
export function compareNames(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index += 1) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)]
    if (left === right) continue
    return isSurrogate(left) || isSurrogate(right) ? Buffer.compare(toBytes(a), toBytes(b)) : left - right
  }
  return a.length - b.length
}

function isSurrogate(codeUnit: number): boolean {
  return codeUnit >= 0xd800 && codeUnit <= 0xdfff
}

/** Of the UTF-8 character that begins there; 0 if none does. */
function characterLength(bytes: Buffer, at: number): number {
  for (let length = 1; length <= 4 && at + length <= bytes.length; length += 1)
    if (isUtf8(bytes.subarray(at, at + length))) return length
  return 0
}
