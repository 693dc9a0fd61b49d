// What bytes that are not text in the named encoding seem to be, and what to do about it.
import { isUtf8 } from 'node:buffer'

const marks: readonly [bytes: readonly number[], encoding: string][] = [
  [[0xff, 0xfe, 0, 0], 'utf-32'],
  [[0, 0, 0xfe, 0xff], 'utf-32'],
  [[0xff, 0xfe], 'utf-16'],
  [[0xfe, 0xff], 'utf-16'],
  [[0xef, 0xbb, 0xbf], 'utf-8']
]
const maxSampleBytes = 4096
const backspace = 0x08
const carriageReturn = 0x0d
const escape = 0x1b
const space = 0x20
/** Of the high bytes in UTF-16, at least so many are zero if the text is mostly Latin. */
const minZeroShare = 0.5

export function describeBytes(bytes: Buffer, encoding: string): string {
  const marked = marks.find(([mark]) => mark.every((byte, at) => bytes[at] === byte))?.[1]
  if (marked !== undefined) {
    return encoding.toLowerCase() === marked
      ? `It has the byte order mark of ${marked}, but not all of it is: a part may be missing, or another program may be writing it. Read it again.`
      : `It has the byte order mark of ${marked}: pass encoding "${marked}".`
  }
  const sample = bytes.subarray(0, maxSampleBytes)
  const unmarked = utf16Order(sample)
  if (unmarked !== undefined)
    return `It seems to be ${unmarked} without a byte order mark: pass encoding "${unmarked}".`
  if (sample.some(isNoText)) return 'It seems to be a binary file; only text files are supported.'
  if (isUtf8(bytes)) return 'It is valid utf-8: pass encoding "utf-8".'
  return 'If it has another encoding, name that one: async_read and async_update take an encoding (windows-1252, shift_jis, ...).'
}

/** The byte order in which every other byte is mostly zero and all is text; undefined if there is none. */
function utf16Order(sample: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  const units = Math.floor(sample.length / 2)
  const zerosAt = (place: number) => sample.filter((byte, at) => byte === 0 && at % 2 === place).length
  const even = Buffer.from(sample.subarray(0, units * 2))
  if (units === 0) return undefined
  if (zerosAt(1) >= units * minZeroShare && !unitsOf(even).some(isNoText)) return 'utf-16le'
  if (zerosAt(0) >= units * minZeroShare && !unitsOf(even.swap16()).some(isNoText)) return 'utf-16be'
  return undefined
}

function unitsOf(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 2 }, (_, index) => bytes.readUInt16LE(index * 2))
}

/** Control characters that text does not have. */
function isNoText(code: number): boolean {
  return code < backspace || (code > carriageReturn && code < space && code !== escape)
}
