// Edits by line number (FES 2.3): bytes that no edit touches stay as they are, whatever line ends they have.
import type { LineEdit } from '../../schemas/file-editing.ts'
import { countLines, endFinder, lineEnd, lineStart, skipLines, splitLines, withoutTerminator } from './lines.ts'

export interface LineEditRequest {
  readonly text: string
  /** Their line numbers mean `text`; several inserts at one line keep their order. */
  readonly edits: readonly LineEdit[]
  /** Lines put behind the last one. */
  readonly append: string
  /** True for a file that does not exist yet: it will end with a line break. */
  readonly isNew: boolean
}

export interface LineEditFailure {
  /** Of the edit in the request. */
  readonly edit_index: number
  readonly message: string
}

export type LineEdited =
  | { readonly text: string; readonly linesModified: number; readonly totalLines: number }
  | { readonly failure: LineEditFailure }

/** All edits that mean one line. */
interface LineChange {
  readonly line: number
  readonly inserted: string[]
  /** What stands in its place; empty for a deletion, undefined where the line stays. */
  replacement?: readonly string[]
}

/**
 * Applies all edits, or none. Lines put in take the line end of the line before them, at the start of the text of the one behind.
 * The final line break stays or stays away as it was, except that an empty last line always has one: without it there would be no such line.
 */
export function editLines({ text, edits, append, isNew }: LineEditRequest): LineEdited {
  const total = countLines(text)
  const collected = collectChanges(edits, total)
  if ('failure' in collected) return collected
  const { changes } = collected
  const appended = linesOf(append)
  const output = createOutput(text, [...edits.map(({ content = '' }) => content), append])
  const endOf = endFinder(text)
  let offset = 0
  let line = 1
  for (const change of changes) {
    const start = skipLines(text, offset, change.line - line, endOf)
    output.keep(offset, start)
    output.add(change.inserted, start)
    offset = start
    line = change.line
    if (change.replacement === undefined) continue
    offset = endOf(text, start)
    line += 1
    output.add(change.replacement, start, text.slice(start, offset))
  }
  output.keep(offset, text.length)
  output.add(appended, text.length)
  const modified = changes.map(({ inserted, replacement }) => inserted.length + sizeOf(replacement))
  const added = changes.map(
    ({ inserted, replacement }) => inserted.length + (replacement === undefined ? 0 : replacement.length - 1)
  )
  return {
    text: output.finish(isNew || endsWithBreak(text)),
    linesModified: sum(modified) + appended.length,
    totalLines: total + sum(added) + appended.length
  }
}

/** A deletion counts as one line, a replacement as the lines it brings. */
function sizeOf(replacement: readonly string[] | undefined): number {
  return replacement === undefined ? 0 : Math.max(1, replacement.length)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** The changes by line, ascending. */
function collectChanges(
  edits: readonly LineEdit[],
  total: number
): { changes: readonly LineChange[] } | { failure: LineEditFailure } {
  const byLine = new Map<number, LineChange>()
  for (const [edit_index, { line, operation, content }] of edits.entries()) {
    const change = byLine.get(line) ?? { line, inserted: [] }
    const message = refusal({ line, operation, content }, change, total)
    if (message !== undefined) return { failure: { edit_index, message } }
    byLine.set(line, change)
    // An edit puts in at least one line, be it empty.
    const lines = content === undefined || content === '' ? [''] : linesOf(content)
    if (operation === 'insert') change.inserted.push(...lines)
    else change.replacement = operation === 'delete' ? [] : lines
  }
  return { changes: [...byLine.values()].sort((a, b) => a.line - b.line) }
}

function refusal(
  { line, operation, content }: { line: number; operation: string; content: string | undefined },
  { replacement }: LineChange,
  total: number
): string | undefined {
  if (operation === 'delete' && content !== undefined) return 'Delete operation cannot specify content.'
  if (operation !== 'delete' && content === undefined) return `A ${operation} needs content.`
  const last = operation === 'insert' ? total + 1 : total
  if (line > last) {
    const range = last === 0 ? 'the file has no lines' : `1 to ${last} can be given`
    return `Line ${line} out of range for ${operation} operation: ${range}.`
  }
  if (operation !== 'insert' && replacement !== undefined)
    return `Line ${line} is replaced or deleted by two edits; send one for each line.`
  return undefined
}

/** The new text, put together from slices of the old one and lines put in. */
function createOutput(text: string, handed: readonly string[]) {
  const pieces: string[] = []
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
    const before = breakBefore(text, offset) || breakBefore(text, lineStart(text, offset))
    if (before !== '') return before
    return breakOf(text.slice(offset, lineEnd(text, offset))) || firstBreak(text) || handedBreak()
  }

  function handedBreak(): string {
    for (const content of handed) {
      const found = firstBreak(content)
      if (found !== '') return found
    }
    return '\n'
  }

  return {
    keep(from: number, to: number): void {
      push(text.slice(from, to))
    },
    /** @param replaced the line in whose place they stand, with its line end, which they take */
    add(lines: readonly string[], offset: number, replaced = ''): void {
      if (lines.length === 0) return
      const end = breakOf(replaced) || endAt(offset)
      if (last !== '' && !endsWithBreak(last)) push(end)
      for (const line of lines) push(line + end)
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

/** The lines of a text handed in, without their ends: "" has none. */
function linesOf(content: string): string[] {
  return splitLines(content).map(withoutTerminator)
}

function endsWithBreak(text: string): boolean {
  return text.endsWith('\n') || text.endsWith('\r')
}

/** The line end at the end of a text; "" where it has none. */
function breakOf(text: string): string {
  return text.slice(withoutTerminator(text).length)
}

/** The line end just before an offset; "" where something else stands there. */
function breakBefore(text: string, offset: number): string {
  return breakOf(text.slice(Math.max(0, offset - 2), offset))
}

function firstBreak(text: string): string {
  return breakOf(text.slice(0, lineEnd(text, 0)))
}
