// The lines that a read asks for, and the page of them that one answer shows.
import type { ReadOutput } from '../../schemas/read.ts'
import type { Static } from '../../schemas/typebox.ts'
import { countLines, endFinder, lineEnd, skipLines, splitMark } from '../engine/diff/lines.ts'
import { isByteName, isUtf8Name } from '../engine/files/text.ts'
import type { KnownText } from '../engine/versions/known-text.ts'
import type { LineRange } from '../engine/seen/line-ranges.ts'
import { charactersThatFit, fits, jsonChars, linesThatFit } from './answer-size.ts'

export interface Selection {
  readonly content: string
  /** Offset of the content in the text without its byte order mark. */
  readonly start: number
  readonly lines: LineRange
  /** Lines of the whole text. */
  readonly total: number
  /** Lines of the content. */
  readonly returned: number
}

export function selectLines({ body: text, lines: total }: KnownText, offset: number, limit: number | null): Selection {
  if (offset === 0 && limit === null)
    return { content: text, start: 0, lines: { start: 1, end: total }, total, returned: total }
  const last = limit === null ? total : Math.min(total, offset + limit)
  const returned = Math.max(0, last - offset)
  const lines = { start: offset + 1, end: offset + returned }
  if (returned === 0) return { content: '', start: 0, lines, total, returned }
  const start = skipLines(text, 0, offset)
  return { content: text.slice(start, skipLines(text, start, returned)), start, lines, total, returned }
}

interface PageOptions {
  /** Characters of the content in JSON; undefined if there is no limit. */
  readonly room: number | undefined
  /** Whether each line begins with its number. */
  readonly isNumbered: boolean
}

interface Page {
  readonly content: string
  /** Lines of the content, the beginning of one included. */
  readonly returned: number
  /** Those that the content has as a whole: none if `end` is before `start`. */
  readonly shown: LineRange
  /** Undefined if nothing is left, and nothing is to be said. */
  readonly goOn?: Pick<Static<typeof ReadOutput>, 'message' | 'next_offset' | 'next_byte_offset'>
}

/** @param byteAt the byte offset in the file of an offset in its text; undefined if a line cannot be read in parts */
export function toPage(
  selection: Selection,
  { room, isNumbered }: PageOptions,
  byteAt?: (offset: number) => number
): Page {
  const { start, lines, total, returned } = selection
  const offset = lines.start - 1
  if (offset > 0 && offset >= total) {
    const message = `The file ends before offset ${offset} (total_lines ${total}).`
    return { content: '', returned, shown: lines, goOn: { message } }
  }
  const number = isNumbered ? numberOf(lines.start) : ''
  const content = isNumbered ? numberLines(textNear(selection.content, room), lines.start) : selection.content
  if (room === undefined || fits(content, room)) return { content, returned, shown: lines }
  const { end, lines: whole } = linesThatFit(content, room)
  if (whole === 0 && byteAt !== undefined) {
    const length = charactersThatFit(content, room)
    const next = byteAt(start + length - number.length)
    const unnumbered = isNumbered ? ', without line_numbers' : ''
    const message = `This is the beginning of line ${lines.start}, which is longer than an answer to this client. Go on with byte_offset ${next}${unnumbered}.`
    const goOn = { message, next_byte_offset: next }
    return { content: content.slice(0, length), returned: 1, shown: { ...lines, end: lines.start - 1 }, goOn }
  }
  // In an encoding that has no parts by bytes, a long line comes as a whole.
  const count = Math.max(whole, 1)
  const shown = { start: lines.start, end: lines.start + count - 1 }
  const shownContent =
    whole === 0 ? number + selection.content.slice(0, lineEnd(selection.content, 0)) : content.slice(0, end)
  if (count === returned) return { content: shownContent, returned: count, shown }
  const message = `These are lines ${shown.start} to ${shown.end} of ${total}: more would be longer than an answer to this client. Go on with offset ${shown.end}.`
  return { content: shownContent, returned: count, shown, goOn: { message, next_offset: shown.end } }
}

function numberOf(line: number): string {
  return `${line}\t`
}

/** @param first number of the first line */
function numberLines(text: string, first: number): string {
  const endOf = endFinder(text)
  const lines: string[] = []
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = endOf(text, start)
    lines.push(numberOf(first + lines.length) + text.slice(start, end))
  }
  return lines.join('')
}

/** Whether a page has all of the text, be it numbered or not. */
export function fitsNumbered(text: string, room: number | undefined): boolean {
  if (room === undefined) return true
  const count = countLines(text)
  return fits(text, room - count * jsonChars(numberOf(count)))
}

/** As much as shows whether all of it fits, and which lines do: of a large text a page is a small part. */
function textNear(text: string, room = Infinity): string {
  return text.length > room ? text.slice(0, room + 1) : text
}

/** For encodings in which a part can begin at any character. */
export function byteOffsets({ text, encoding }: { readonly text: string; readonly encoding: string }) {
  const markLength = splitMark(text).mark.length
  if (isUtf8Name(encoding)) return (offset: number) => Buffer.byteLength(text.slice(0, markLength + offset))
  return isByteName(encoding) ? (offset: number) => offset : undefined
}
