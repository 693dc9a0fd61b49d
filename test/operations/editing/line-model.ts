// What edit_file and read_file must do to a text, written down from FES 2.1-2.3 alone: nothing of src/ is used here.

/** A line and the line end it has in the file; "" where the file ends without one. */
interface Line {
  readonly text: string
  readonly end: string
}

export interface ModelEdit {
  readonly line: number
  readonly operation: 'replace' | 'insert' | 'delete'
  readonly content?: string
}

export interface ModelRequest {
  readonly edits: readonly ModelEdit[]
  readonly append: string
}

export type ModelAnswer =
  | 'invalid'
  | { readonly text: string; readonly linesModified: number; readonly totalLines: number }

/** \n, \r\n and \r end a line, nothing else does. */
function linesOf(text: string): Line[] {
  return [...text.matchAll(/([^\n\r]*)(\r\n|\n|\r|$)/g)]
    .map(([, text = '', end = '']) => ({ text, end }))
    .filter(({ text, end }) => text + end !== '')
}

/** The byte order mark stays the first bytes of the file and belongs to no line. */
function splitMark(text: string): [mark: string, body: string] {
  const [, mark = '', body = ''] = /^(\ufeff?)([^]*)$/.exec(text) ?? []
  return [mark, body]
}

/** The lines of a whole file. */
export function fileLines(text: string): Line[] {
  return linesOf(splitMark(text)[1])
}

/** @param file undefined for one that is not there yet */
export function edit(file: string | undefined, { edits, append }: ModelRequest): ModelAnswer {
  const [mark, body] = splitMark(file ?? '')
  const before = file === undefined ? undefined : body
  const lines = linesOf(body)
  if (!isPossible(lines.length, edits)) return 'invalid'
  const handed = [...edits.map(({ content = '' }) => content), append]
  // The nearest line before that has a line end, else the nearest behind, else what was handed in.
  const endAt = (index: number) => {
    const near = [...lines.slice(0, index).reverse(), ...lines.slice(index), ...handed.flatMap(linesOf)]
    return near.find(({ end }) => end !== '')?.end ?? '\n'
  }
  const insertedAt = (line: number) =>
    edits.flatMap((edit) => (edit.line === line && edit.operation === 'insert' ? textsOf(edit.content) : []))

  const after: Line[] = []
  let modified = 0
  const put = (texts: readonly string[], end: string) => {
    after.push(...texts.map((text) => ({ text, end })))
    modified += texts.length
  }
  lines.forEach((line, index) => {
    put(insertedAt(index + 1), endAt(index))
    const change = edits.find((edit) => edit.line === index + 1 && edit.operation !== 'insert')
    if (change === undefined) after.push(line.end === '' ? { ...line, end: endAt(index) } : line)
    else if (change.operation === 'delete') modified += 1
    else put(textsOf(change.content), line.end || endAt(index))
  })
  put(insertedAt(lines.length + 1), endAt(lines.length))
  put(append === '' ? [] : textsOf(append), endAt(lines.length))

  const endsWithBreak = before === undefined || lines.at(-1)?.end !== ''
  const text = mark + join(after, before !== '' && endsWithBreak)
  return { text, linesModified: modified, totalLines: text === '\ufeff' ? 0 : after.length }
}

/** The lines of a text handed in: one line break at its end is not an extra line, and "" is an empty line. */
function textsOf(content = ''): string[] {
  return content === '' ? [''] : linesOf(content).map(({ text }) => text)
}

/** What can be said of edits before anybody looks at the file: FES looks at them first. */
export function isConsistent(edits: readonly ModelEdit[]): boolean {
  const changed = edits.filter(({ operation }) => operation !== 'insert').map(({ line }) => line)
  return (
    new Set(changed).size === changed.length &&
    edits.every(({ operation, content }) => (operation === 'delete') === (content === undefined))
  )
}

function isPossible(total: number, edits: readonly ModelEdit[]): boolean {
  return (
    isConsistent(edits) && edits.every(({ line, operation }) => line <= (operation === 'insert' ? total + 1 : total))
  )
}

/** Two line ends do not become one, and an empty last line has a line end: without it there would be no such line. */
function join(lines: readonly Line[], hasFinalBreak: boolean): string {
  return lines.reduce((before, { text, end }, index) => {
    const isOpen = index === lines.length - 1 && !hasFinalBreak && text !== ''
    const line = isOpen ? text : text + end
    return before.endsWith('\r') && line.startsWith('\n') ? `${before}\n${line}` : before + line
  }, '')
}

/** The lines from `start` to `end`, joined; undefined where there is no such range. */
export function read(text: string, start?: number, end?: number): string | undefined {
  const texts = fileLines(text).map(({ text }) => text)
  if (start !== undefined && (start > texts.length || (end !== undefined && start > end))) return undefined
  return texts.slice((start ?? 1) - 1, end).join('\n')
}
