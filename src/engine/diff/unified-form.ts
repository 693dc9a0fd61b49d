// Reads a unified diff of one file, as diff, git, svn and models write it: what patch(1) or git apply take without a guess is taken.
import { beginningOf } from '../../support/cut-text.ts'

/** One hunk, in the form that the library applies. */
export interface Hunk {
  /** 1-based line of the header in the diff. */
  readonly line: number
  /** The header as it was sent. */
  readonly header: string
  /** 1-based; of a hunk without old lines, the line before which it inserts. */
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  /** Each with its sign. */
  readonly lines: string[]
}

export interface MalformedDiff {
  readonly reason: 'malformed'
  /** Says the line of the diff, and what is wrong in it. */
  readonly fault: string
  /** 1-based, of the diff. */
  readonly line: number
}

export type UnifiedForm = { readonly hunks: readonly Hunk[]; readonly files: number } | MalformedDiff

const hunkHeader = /^@@ -(\d{1,15})(?:,(\d{1,15}))? \+(\d{1,15})(?:,(\d{1,15}))? @@/
const byteOrderMark = /^(?:\uFEFF|\u00EF\u00BB\u00BF)/
/** patch(1) takes so many for blank lines that were cut off at the end. */
const maxCutOff = 2
const maxShown = 100

class Fault extends Error {
  readonly line: number

  constructor(index: number, what: string) {
    super(`line ${index + 1} ${what}`)
    this.line = index + 1
  }
}

export function readUnified(text: string): UnifiedForm {
  const lines = withoutIndent(text.replace(byteOrderMark, '').split('\n'))
  if (lines.at(-1) === '') lines.pop()
  try {
    return readFiles(lines)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { reason: 'malformed', fault: error.message, line: error.line }
  }
}

/** A diff that is indented as a whole, as within a list or a quotation. */
function withoutIndent(lines: string[]): string[] {
  const indent = lines.map((line) => /^([ \t]+)@@ -\d/.exec(line)?.[1]).find((found) => found !== undefined)
  if (indent === undefined || lines.some((line) => line.startsWith('@@ -'))) return lines
  return lines.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
}

function readFiles(lines: readonly string[]): UnifiedForm {
  const hunks: Hunk[] = []
  let files = 0
  let isNewFile = true
  // Right behind a hunk, what looks like a line of it is one that its header does not count.
  let isBehindHunk = false
  for (let at = 0; at < lines.length;) {
    const line = lines[at]!
    if (hunkHeader.test(line)) {
      const hunk = readHunk(lines, at)
      if (isNewFile) files++
      isNewFile = false
      hunks.push(hunk)
      at = endOf(lines, at + 1, hunk)
      isBehindHunk = true
      continue
    }
    if (line.startsWith('@@')) throw new Fault(at, headerFault(line))
    if (isFileHeader(lines, at)) isNewFile = true
    else if (isBehindHunk && /^[-+ ]/.test(line) && !isSignature(lines, at)) {
      const { line: header } = hunks.at(-1)!
      throw new Fault(
        at,
        `(${show(line)}) is one more than the header in line ${header} counts${recounted(lines, header - 1)}`
      )
    }
    // Behind other words, such as those of svn on properties, everything is words.
    if (line.trim() !== '') isBehindHunk = false
    at++
  }
  return { hunks, files }
}

function isFileHeader(lines: readonly string[], at: number): boolean {
  const [line, next = ''] = [lines[at]!, lines[at + 1]]
  if (/^(?:diff |Index:\s)/.test(line)) return true
  if (/^\+\+\+\s/.test(line)) return /^---\s/.test(lines[at - 1] ?? '') || hunkHeader.test(next)
  return /^---\s/.test(line) && (/^\+\+\+\s/.test(next) || hunkHeader.test(next))
}

/** With which git format-patch ends: "-- " and its version. */
function isSignature(lines: readonly string[], at: number): boolean {
  return (
    /^-- ?\r?$/.test(lines[at]!) &&
    lines.slice(at + 1).every((line, index) => (index === 0 ? /^[\w.() -]*\r?$/.test(line) : line.trim() === ''))
  )
}

interface Counts {
  old: number
  new: number
}

function readHunk(lines: readonly string[], header: number): Hunk {
  const [, oldStart = '', oldCount = '1', newStart = '', newCount = '1'] = hunkHeader.exec(lines[header]!)!
  const wanted: Counts = { old: Number(oldCount), new: Number(newCount) }
  const counted: Counts = { old: 0, new: 0 }
  const body: string[] = []
  let at = header + 1
  for (; at < lines.length; at++) {
    const isDone = counted.old === wanted.old && counted.new === wanted.new
    const line = withSign(lines[at]!)
    if (isDone && !line.startsWith('\\')) break
    if (!/^[-+ \\]/.test(line)) throw misplaced(lines, at, header)
    count(line, counted)
    if (counted.old > wanted.old || counted.new > wanted.new)
      throw new Fault(
        at,
        `(${show(line)}) is one more than the header in line ${header + 1} counts${recounted(lines, header)}`
      )
    body.push(line)
  }
  const missing = wanted.old - counted.old
  if (missing > maxCutOff || missing !== wanted.new - counted.new)
    throw new Fault(
      header,
      `counts ${wanted.old} old and ${wanted.new} new lines, and the hunk has ${counted.old} and ${counted.new}${recounted(lines, header)}`
    )
  const blank = body.every((line) => line.endsWith('\r')) ? ' \r' : ' '
  for (let line = 0; line < missing; line++) body.push(blank)
  return {
    line: header + 1,
    header: lines[header]!.replace(/\r$/, ''),
    // If there are no lines, the number is that of the line before.
    oldStart: Number(oldStart) + (wanted.old === 0 ? 1 : 0),
    oldLines: wanted.old,
    newStart: Number(newStart) + (wanted.new === 0 ? 1 : 0),
    newLines: wanted.new,
    lines: body
  }
}

/** An empty line, and one that begins with a tab, have lost the space in front. */
function withSign(line: string): string {
  return line === '' || line === '\r' || line.startsWith('\t') ? ` ${line}` : line
}

function count(line: string, counts: Counts): void {
  if (line.startsWith(' ') || line.startsWith('-')) counts.old++
  if (line.startsWith(' ') || line.startsWith('+')) counts.new++
}

/** The index behind the lines of a hunk that were sent. */
function endOf(lines: readonly string[], start: number, { lines: body }: Hunk): number {
  return Math.min(lines.length, start + body.length)
}

function misplaced(lines: readonly string[], at: number, header: number): Fault {
  const line = lines[at]!
  if (line.startsWith('@@') || isFileHeader(lines, at))
    return new Fault(header, `counts more lines than the hunk has${recounted(lines, header)}`)
  return new Fault(at, `(${show(line)}) begins with none of space, + and -, and is in the hunk of line ${header + 1}`)
}

/** What the header would have to be, if all lines up to the next header are the hunk. */
function recounted(lines: readonly string[], header: number): string {
  const counts: Counts = { old: 0, new: 0 }
  for (let at = header + 1; at < lines.length && !lines[at]!.startsWith('@@') && !isFileHeader(lines, at); at++) {
    if (at < lines.length - 1 || lines[at] !== '') count(withSign(lines[at]!), counts)
  }
  const [, oldStart, , newStart] = hunkHeader.exec(lines[header]!)!
  return `. If these are all its lines, the header is @@ -${oldStart},${counts.old} +${newStart},${counts.new} @@`
}

function headerFault(line: string): string {
  const what = line.startsWith('@@@')
    ? 'is of a combined diff, which has several old versions'
    : 'is no header of a hunk'
  return `(${show(line)}) ${what}: write it as @@ -3,7 +3,8 @@, with the line numbers and counts of the old and the new lines`
}

function show(line: string): string {
  return JSON.stringify(beginningOf(line, maxShown))
}
