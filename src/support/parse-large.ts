// Parses large JSON in pieces, since JSON.parse would hold the event loop: long strings are decoded piece by piece, then put into the rest.
import { randomUUID } from 'node:crypto'
import { largeTurn, pieceBytes } from './large-work.ts'

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
/** A string up to this length stays in the rest. */
const longBytes = 65_536

/** The bytes of a string, without its quotes. */
interface Span {
  readonly start: number
  readonly end: number
}

/** @param bytes valid UTF-8 @throws SyntaxError, whose position means nothing */
export async function parseInPieces(bytes: Buffer): Promise<unknown> {
  const spans: Span[] = []
  await inTurns(findLongStrings(bytes, spans))
  const strings: string[] = []
  for (const span of spans) strings.push(await decodeString(bytes, span))
  await largeTurn()
  // No string of a client can be equal to a place.
  const place = randomUUID()
  const value: unknown = JSON.parse(restOf(bytes, spans, place))
  return strings.length === 0 ? value : restore(value, place, strings)
}

/** Runs work that yields after every piece. */
export async function inTurns(work: Iterator<void, void>): Promise<void> {
  do await largeTurn()
  while (work.next().done !== true)
}

/** @returns the offset of the quote that ends the string; that of the end if none does */
export function* endOfString(bytes: Buffer, start: number): Generator<void, number> {
  const end = bytes.indexOf(quote, start + 1)
  if (end === -1) return bytes.length
  if (bytes[end - 1] !== backslash) return end
  // Byte by byte from here: a native search for each of a million escaped quotes costs more.
  let at = start + 1
  let pieceEnd = at + pieceBytes
  for (;;) {
    while (at < pieceEnd && at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
    if (at >= bytes.length || bytes[at] === quote) return at
    yield
    pieceEnd = at + pieceBytes
  }
}

function* findLongStrings(bytes: Buffer, spans: Span[]): Generator<void, void> {
  let pieceStart = 0
  for (let at = bytes.indexOf(quote); at !== -1; at = bytes.indexOf(quote, at + 1)) {
    const start = at + 1
    at = yield* endOfString(bytes, at)
    // A key stays: the names of an object are not looked through.
    if (at - start > longBytes && at < bytes.length && !isKey(bytes, at + 1)) spans.push({ start, end: at })
    if (at - pieceStart < pieceBytes) continue
    yield
    pieceStart = at
  }
}

function isKey(bytes: Buffer, after: number): boolean {
  let at = after
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0a || bytes[at] === 0x0d) at++
  return bytes[at] === colon
}

async function decodeString(bytes: Buffer, { start, end }: Span): Promise<string> {
  const parts: string[] = []
  for (let from = start; from < end;) {
    await largeTurn()
    const to = end - from <= pieceBytes ? end : cutBefore(bytes, from, from + pieceBytes)
    parts.push(JSON.parse(`"${bytes.toString('utf8', from, to)}"`) as string)
    from = to
  }
  await largeTurn()
  return parts.join('')
}

const escapeBytes = 6

/** The last place up to `to` that is neither within a character nor within an escape. */
function cutBefore(bytes: Buffer, from: number, to: number): number {
  for (let at = to - 1; at >= to - escapeBytes; at--) {
    if (bytes[at] !== backslash) continue
    let first = at
    while (first > from && bytes[first - 1] === backslash) first--
    // The first of a row escapes the second, and so on.
    const escape = (at - first) % 2 === 0 ? at : at - 1
    const length = bytes[escape + 1] === 0x75 ? escapeBytes : 2
    if (escape + length > to) return escape
    break
  }
  let at = to
  while ((bytes[at]! & 0xc0) === 0x80) at--
  return at
}

function restOf(bytes: Buffer, spans: readonly Span[], place: string): string {
  const parts: string[] = []
  let from = 0
  for (const [index, { start, end }] of spans.entries()) {
    parts.push(bytes.toString('utf8', from, start), place, String(index))
    from = end
  }
  parts.push(bytes.toString('utf8', from))
  return parts.join('')
}

function restore(value: unknown, place: string, strings: readonly string[]): unknown {
  const stringAt = (item: string): string =>
    item.startsWith(place) ? strings[Number(item.slice(place.length))]! : item
  if (typeof value === 'string') return stringAt(value)
  const open = [value]
  for (let container = open.pop(); container !== undefined; container = open.pop()) {
    if (typeof container !== 'object' || container === null) continue
    for (const [key, item] of Object.entries(container)) {
      if (typeof item === 'object') open.push(item)
      else if (typeof item === 'string' && item.startsWith(place))
        Object.defineProperty(container, key, { value: stringAt(item) })
    }
  }
  return value
}
