// The form of the journal: a record a line, each with a checksum over itself and all before it, so that no line can be lost, moved or changed unseen.
import { crc32 } from 'node:zlib'
import { parseFields } from '../../support/json-fields.ts'

/** What the first line says. */
export interface Header {
  /** Real path of the first root. */
  readonly tree: string
  /** How often the journal has been rewritten. */
  readonly generation: number
  /** True if a version of this program that reads only earlier forms has written it. */
  readonly isEarlier?: boolean
}

/** Why a file is not a journal of ours. It becomes part of the name under which the file is kept. */
export type Fault = 'damaged' | 'foreign' | 'newer'

export class JournalFault extends Error {
  readonly fault: Fault
  constructor(fault: Fault, message: string) {
    super(message)
    this.fault = fault
  }
}

export interface Scan {
  readonly header: Header
  /** Of each part, in their order; parsed on iteration. */
  readonly records: (part: string) => Iterable<unknown>
  /** Number of records of all parts. */
  readonly count: number
  /** Number of valid bytes. The write of what follows was cut off when the process or the machine died. */
  readonly end: number
  /** Of the last valid line. */
  readonly checksum: number
}

const format = 'async-crud-mcp state'
/** Since form 2 a change of several files is one record. Form 1 is read, too. */
const version = 2
/** Checksum, space. */
const prefixBytes = 9
const lineEnd = 10
const space = 32
const quote = 34
const hexDigits = Buffer.from('0123456789abcdef')
/** Ends the records with which the journal began: changes follow. */
const endOfSnapshot = '["end"]'

/** Builds the lines of one journal, in their order. */
export class LineWriter {
  checksum: number

  constructor(checksum = 0) {
    this.checksum = checksum
  }

  line(json: string): string {
    this.checksum = crc32(json, this.checksum)
    return `${prefixOf(this.checksum)}${json}\n`
  }

  header({ tree, generation }: Header): string {
    return this.line(JSON.stringify({ format, version, tree, generation }))
  }

  endOfSnapshot(): string {
    return this.line(endOfSnapshot)
  }
}

export function toJson(part: string, record: unknown): string {
  return JSON.stringify([part, record])
}

/**
 * @param tree that the journal should belong to; undefined takes any
 * @throws JournalFault
 */
export function scan(bytes: Buffer, tree: string | undefined): Scan {
  const first = lineAt(bytes, 0, 0)
  if (first === undefined) throw explainFirst(bytes)
  const header = readHeader(bytes, first, tree)
  /** By part: start and end of each record. */
  const ranges = new Map<string, number[]>()
  let isSnapshotWhole = false
  let count = 0
  let { end, checksum } = first
  for (let line = lineAt(bytes, end, checksum); line !== undefined; line = lineAt(bytes, end, checksum)) {
    const [start, stop] = [end + prefixBytes, line.end - 1]
    ;({ end, checksum } = line)
    const part = partOf(bytes, start)
    if (part === 'end') {
      isSnapshotWhole = true
      continue
    }
    const known = ranges.get(part)
    if (known === undefined) ranges.set(part, [start, stop])
    else known.push(start, stop)
    count += 1
  }
  if (hasLineAfter(bytes, end)) throw new JournalFault('damaged', 'a record in it is damaged')
  if (!isSnapshotWhole) throw new JournalFault('damaged', 'it ends within the records that it began with')
  return { header, count, end, checksum, records: (part) => parseAll(bytes, ranges.get(part) ?? []) }
}

/** Where the tree of a journal was; undefined if it is none of ours. */
export function readTree(bytes: Buffer): string | undefined {
  const first = lineAt(bytes, 0, 0)
  return first === undefined ? undefined : readHeader(bytes, first, undefined).tree
}

/**
 * The journal as if it had been written with the tree at another path. A torn end stays behind.
 * @param move changes a record, given where the tree was. @throws JournalFault
 */
export function moveJournal(bytes: Buffer, tree: string, move: (record: unknown, from: string) => unknown): string {
  const { header, end } = scan(bytes, undefined)
  const lines = new LineWriter()
  let text = lines.header({ ...header, tree })
  for (let start = bytes.indexOf(lineEnd) + 1; start < end;) {
    const stop = bytes.indexOf(lineEnd, start)
    const record: unknown = JSON.parse(bytes.toString('utf8', start + prefixBytes, stop))
    text += lines.line(JSON.stringify(move(record, header.tree)))
    start = stop + 1
  }
  return text
}

interface Line {
  /** Offset after its line end. */
  readonly end: number
  readonly checksum: number
}

function prefixOf(checksum: number): string {
  return `${checksum.toString(16).padStart(8, '0')} `
}

/** The line at this offset; undefined if none there is valid. */
function lineAt(bytes: Buffer, start: number, before: number): Line | undefined {
  const stop = bytes.indexOf(lineEnd, start)
  if (stop < start + prefixBytes) return undefined
  const checksum = crc32(bytes.subarray(start + prefixBytes, stop), before)
  return hasPrefix(bytes, start, checksum) ? { end: stop + 1, checksum } : undefined
}

/** Digit by digit, as `prefixOf` writes them: to make a text of each line's prefix takes longer than its checksum. */
function hasPrefix(bytes: Buffer, start: number, checksum: number): boolean {
  for (let digit = 0; digit < prefixBytes - 1; digit += 1) {
    const value = (checksum >>> (4 * (prefixBytes - 2 - digit))) & 15
    if (bytes[start + digit] !== hexDigits[value]) return false
  }
  return bytes[start + prefixBytes - 1] === space
}

/** Whether a valid line follows the first invalid one: then the invalid one was changed after it was written. */
function hasLineAfter(bytes: Buffer, from: number): boolean {
  for (let start = from; ;) {
    const stop = bytes.indexOf(lineEnd, start)
    if (stop === -1) return false
    const stated = Number.parseInt(bytes.toString('latin1', start, start + prefixBytes - 1), 16)
    if (!Number.isNaN(stated) && lineAt(bytes, stop + 1, stated) !== undefined) return true
    start = stop + 1
  }
}

function* parseAll(bytes: Buffer, ranges: readonly number[]): Generator<unknown, undefined> {
  for (let index = 0; index < ranges.length; index += 2) {
    const [, record] = JSON.parse(bytes.toString('utf8', ranges[index], ranges[index + 1])) as [string, unknown]
    yield record
  }
}

/** A record begins with `["<part>"`. */
function partOf(bytes: Buffer, start: number): string {
  return bytes.toString('latin1', start + 2, bytes.indexOf(quote, start + 2))
}

/** @param tree undefined takes any */
function readHeader(bytes: Buffer, { end }: Line, tree: string | undefined): Header {
  const header = parseFields(bytes.toString('utf8', prefixBytes, end - 1)) ?? {}
  if (header['format'] !== format) throw new JournalFault('damaged', 'it is not a state of this server')
  if (!isKnown(header['version'])) throw isNewer(header['version'])
  if (typeof header['tree'] !== 'string' || (tree !== undefined && header['tree'] !== tree))
    throw new JournalFault('foreign', `it is the state of another tree (${String(header['tree'])})`)
  const generation = header['generation']
  return {
    tree: header['tree'],
    generation: Number.isSafeInteger(generation) ? Number(generation) : 0,
    isEarlier: header['version'] !== version
  }
}

/** A later version may use another form for its lines, and says so in the first one. */
function explainFirst(bytes: Buffer): JournalFault {
  if (bytes.length === 0) return new JournalFault('damaged', 'it is empty')
  const text = bytes.toString('utf8', 0, Math.min(bytes.length, 4096)).split('\n', 1)[0] ?? ''
  const header = parseFields(text.slice(text.indexOf('{'))) ?? {}
  const isOther = header['format'] === format && !isKnown(header['version'])
  return isOther ? isNewer(header['version']) : new JournalFault('damaged', 'it is not a state of this server')
}

function isKnown(form: unknown): boolean {
  return form === 1 || form === version
}

function isNewer(found: unknown): JournalFault {
  return new JournalFault(
    'newer',
    `a later version of this server has written it (form ${String(found)}; this version reads up to ${version})`
  )
}
