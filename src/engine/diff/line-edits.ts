// Edits by line number (FES 2.3): bytes that no edit touches stay, whatever their line ends.
import type { LineEdit } from '../../../schemas/file-editing.ts'
import {
  breakOf,
  countLines,
  endFinder,
  endsWithBreak,
  lineEnd,
  lineStart,
  skipLines,
  splitMark,
  withoutTerminator
} from './lines.ts'

export interface LineEditRequest {
  /** Their line numbers mean the text as it is before; several inserts at one line keep their order. */
  readonly edits: readonly LineEdit[]
  /** Lines added after the last one. */
  readonly append: string
}

export interface LineEditFailure {
  /** Of the edit in the request. */
  readonly edit_index: number
  readonly message: string
}

/** A request that contradicts neither itself nor the rules; only the text shows whether its lines exist. */
export interface LineChanges {
  /** By line, ascending. */
  readonly changes: readonly LineChange[]
  readonly appended: Block
  /** The first line break in the request; \n if there is none. */
  readonly handedBreak: string
}

export interface EditedLines {
  readonly text: string
  readonly linesModified: number
  readonly totalLines: number
}

/** What `editLines` takes, as a plain object that can go to another thread. */
export interface EditTask {
  readonly text: string
  readonly changes: LineChanges
  /** True for a file that is being created. */
  readonly isNew: boolean
}

export type EditResult = EditedLines | { readonly failure: LineEditFailure }

/** Lines of the request, as one text: with their original breaks, one at the end or not. Undefined if there are none. */
type Block = string | undefined

/** All edits that mean one line. */
interface LineChange {
  readonly line: number
  /** Index of the first edit in the request that needs this line, or the place behind the last one, to be there. */
  readonly editIndex: number
  readonly inserted: string[]
  /** What replaces the line, nothing for a deletion; undefined if the line stays. */
  replacement?: { readonly block: Block }
}

const anyBreak = /\r\n?|\n/g

/** Checks the form of a request without the file, but not how many lines it brings. */
export function readLineEdits({ edits, append }: LineEditRequest): LineChanges | { readonly failure: LineEditFailure } {
  const byLine = new Map<number, LineChange>()
  for (const [editIndex, { line, operation, content }] of edits.entries()) {
    const change = byLine.get(line) ?? { line, editIndex, inserted: [] }
    const message = refusal({ line, operation, content }, change)
    if (message !== undefined) return { failure: { edit_index: editIndex, message } }
    byLine.set(line, change)
    // An edit puts in at least one line, be it empty.
    if (operation === 'insert') change.inserted.push(content ?? '')
    else change.replacement = { block: operation === 'delete' ? undefined : (content ?? '') }
  }
  const handed = [...edits.map(({ content = '' }) => content), append].map(firstBreak)
  return {
    changes: [...byLine.values()].sort((a, b) => a.line - b.line),
    appended: append === '' ? undefined : append,
    handedBreak: handed.find((found) => found !== '') ?? '\n'
  }
}

/**
 * Makes all changes, or none. Lines put in take the line end of the line before them, at the start of the text of the one behind.
 * The final line break stays or stays away as it was (a new file ends with one), except that an empty last line always has one:
 * without it there would be no such line. A byte order mark stays in front.
 */
export function editLines({ text, changes, isNew }: EditTask): EditResult {
  const { mark, body } = splitMark(text)
  const edited = editBody(body, changes, isNew)
  if ('failure' in edited) return edited
  const whole = mark + edited.text
  // An inserted byte order mark with nothing else is no line either.
  return { ...edited, text: whole, totalLines: splitMark(whole).body === '' ? 0 : edited.totalLines }
}

function editBody(text: string, { changes, appended, handedBreak }: LineChanges, isNew: boolean): EditResult {
  const total = countLines(text)
  const outside = changes.find(({ line, replacement }) => line > (replacement === undefined ? total + 1 : total))
  if (outside !== undefined) return { failure: describeOutside(outside, total) }
  const output = createOutput(text, handedBreak)
  const endOf = endFinder(text)
  let offset = 0
  let line = 1
  for (const change of changes) {
    const start = skipLines(text, offset, change.line - line, endOf)
    output.keep(offset, start)
    for (const block of change.inserted) output.add(block, start)
    offset = start
    line = change.line
    if (change.replacement === undefined) continue
    offset = endOf(text, start)
    line += 1
    output.add(change.replacement.block, start, text.slice(start, offset))
  }
  output.keep(offset, text.length)
  output.add(appended, text.length)
  return { text: output.finish(isNew || endsWithBreak(text)), ...countChanges(changes, appended, total) }
}

/** Characters in the request. */
export function sizeOfEdits({ changes, appended }: LineChanges): number {
  const blocks = changes.flatMap(({ inserted, replacement }) => [...inserted, replacement?.block ?? ''])
  return blocks.reduce((sum, block) => sum + block.length, appended?.length ?? 0)
}

function countChanges(changes: readonly LineChange[], appended: Block, total: number): Omit<EditedLines, 'text'> {
  let linesModified = linesIn(appended)
  let totalLines = total + linesModified
  for (const { inserted, replacement } of changes) {
    for (const block of inserted) {
      const lines = linesIn(block)
      linesModified += lines
      totalLines += lines
    }
    if (replacement === undefined) continue
    // A deletion counts as one line, a replacement as the lines it brings.
    const lines = linesIn(replacement.block)
    linesModified += Math.max(1, lines)
    totalLines += lines - 1
  }
  return { linesModified, totalLines }
}

function refusal(
  { line, operation, content }: { line: number; operation: string; content: string | undefined },
  { replacement }: LineChange
): string | undefined {
  if (operation === 'delete' && content !== undefined) return 'Delete operation cannot specify content.'
  if (operation !== 'delete' && content === undefined) return `A ${operation} needs content.`
  if (operation !== 'insert' && replacement !== undefined)
    return `Line ${line} is replaced or deleted by two edits; send one for each line.`
  return undefined
}

function describeOutside({ line, editIndex, replacement }: LineChange, total: number): LineEditFailure {
  const [kind, last] = replacement === undefined ? ['insert', total + 1] : ['replace and delete', total]
  const range = last === 0 ? 'the file has no lines' : `1 to ${last} can be given`
  return { edit_index: editIndex, message: `Line ${line} out of range for ${kind}: ${range}.` }
}

/** The new text, put together from slices of the old one and lines put in. */
function createOutput(text: string, handedBreak: string) {
  const pieces: string[] = []
  // A line can be as long as the text, and a thousand lines be put in before it.
  const ends = new Map<number, string>()
  let last = ''

  function push(piece: string): void {
    if (piece === '') return
    // Two line ends must not become one: \r before a \n that was another line's.
    if (last.endsWith('\r') && piece.startsWith('\n')) pieces.push('\n')
    pieces.push(piece)
    last = piece
  }

  /** The line end for a line put in at an offset. */
  function endAt(offset: number): string {
    const known = ends.get(offset)
    if (known !== undefined) return known
    const end = findEnd(offset)
    ends.set(offset, end)
    return end
  }

  function findEnd(offset: number): string {
    const before = breakBefore(text, offset) || breakBefore(text, lineStart(text, offset))
    if (before !== '') return before
    return breakOf(text.slice(offset, lineEnd(text, offset))) || firstBreak(text) || handedBreak
  }

  return {
    keep(from: number, to: number): void {
      push(text.slice(from, to))
    },
    /** @param replaced the line that they replace, with its line end, which they take */
    add(block: Block, offset: number, replaced = ''): void {
      if (block === undefined) return
      const body = withoutTerminator(block)
      const end = breakOf(replaced) || endAt(offset)
      if (last !== '' && !endsWithBreak(last)) push(end)
      push((end === '\n' && !body.includes('\r') ? body : body.replace(anyBreak, end)) + end)
    },
    finish(hasFinalBreak: boolean): string {
      if (last === '') return ''
      if (hasFinalBreak && !endsWithBreak(last)) push(endAt(text.length))
      const joined = pieces.join('')
      if (hasFinalBreak || !endsWithBreak(joined)) return joined
      const cut = withoutTerminator(joined)
      return cut === '' || endsWithBreak(cut) ? joined : cut
    }
  }
}

/** One line break at the end of a text in the request is not a further line. */
function linesIn(block: Block): number {
  return block === undefined ? 0 : Math.max(1, countLines(block))
}

/** The line end just before an offset; "" if there is none. */
function breakBefore(text: string, offset: number): string {
  return breakOf(text.slice(Math.max(0, offset - 2), offset))
}

function firstBreak(text: string): string {
  const feed = text.indexOf('\n')
  const carriageReturn = (feed === -1 ? text : text.slice(0, feed)).indexOf('\r')
  const at = carriageReturn === -1 ? feed : carriageReturn
  if (at === -1) return ''
  return text.startsWith('\r\n', at) ? '\r\n' : text[at]!
}
