// Changes one value in a JSON text, with or without comments and trailing commas, and leaves every other byte as it is.
import { createScanner, parse, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser'
import { isFields } from '../../support/json-fields.ts'
import type { Data, TextEdit } from './text-edit.ts'

type Path = readonly string[]

interface Style {
  readonly lineEnd: string
  /** One level of indentation. */
  readonly unit: string
}

/** @throws Error that says in which line the text is not JSON of this dialect */
export function parseJson(text: string, dialect: 'json' | 'jsonc'): Data {
  if (text.trim() === '') return {}
  const errors: ParseError[] = []
  const isStrict = dialect === 'json'
  const data: unknown = parse(text, errors, { allowTrailingComma: !isStrict, disallowComments: isStrict })
  const [first] = errors
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split('\n').length
    throw new Error(`is not valid JSON: ${printParseErrorCode(first.error)} in line ${line}`)
  }
  if (!isFields(data)) throw new Error('is not a JSON object')
  return data
}

/** Sets the property at the path to this value: in place if it exists, else as the first of its object. */
export function putInJson(text: string, path: Path, value: unknown): TextEdit {
  const { node, rest, style } = locate(text, path)
  if (node === undefined)
    return { offset: 0, length: 0, content: `${JSON.stringify(nest(path, value), undefined, 2)}\n` }
  const [key, ...below] = rest
  if (key === undefined)
    return { offset: node.offset, length: node.length, content: render(value, indentAt(text, node.offset), style) }
  if (node.type !== 'object') throw new Error(`has no object at ${path.slice(0, -rest.length).join('.')}`)
  return insertFirst(text, node, style, (write) => `${JSON.stringify(key)}: ${write(nest(below, value))}`)
}

/** Adds an item at the start of the array at the path. */
export function addToJsonArray(text: string, path: Path, item: unknown): TextEdit {
  const { node, rest, style } = locate(text, path)
  if (node === undefined || rest.length > 0) return putInJson(text, path, [item])
  if (node.type !== 'array') throw new Error(`has no array at ${path.join('.')}`)
  return insertFirst(text, node, style, (write) => write(item))
}

/** The text without the property, or the array item, at the path; the same text if there is none. */
export function removeFromJson(text: string, path: readonly (string | number)[]): string {
  const names = path.filter((part) => typeof part === 'string')
  const { node, rest } = locate(text, names)
  if (node === undefined || rest.length > 0) return text
  const index = path.at(-1)
  const gone = typeof index === 'number' ? node.children?.[index] : node.parent
  const siblings = gone?.parent?.children ?? []
  if (gone === undefined) return text
  const cuts = [[gone.offset, endOf(gone)]]
  const ownComma = commaAfter(text, endOf(gone))
  const previous = siblings[siblings.indexOf(gone) - 1]
  const comma = ownComma ?? (previous === undefined ? undefined : commaAfter(text, endOf(previous)))
  if (comma !== undefined) cuts.push([comma, comma + 1])
  cuts.sort(([a = 0], [b = 0]) => b - a)
  return cuts.reduce((rest, [from = 0, to = 0]) => cut(rest, from, to), text)
}

/** The node at the longest part of the path that exists, and what is left of the path. */
function locate(text: string, path: Path): { node: Node | undefined; rest: Path; style: Style } {
  const root = parseTree(text, [], { allowTrailingComma: true })
  const first = root?.children?.[0]
  const unit = first === undefined ? '' : indentAt(text, first.offset)
  const style = { lineEnd: text.includes('\r\n') ? '\r\n' : '\n', unit: unit === '' ? '  ' : unit }
  let node = root
  let rest = path
  while (node !== undefined && rest.length > 0) {
    const [key] = rest
    const found: Node[] = (node.children ?? []).filter(({ children }) => children?.[0]?.value === key)
    if (found.length > 1) throw new Error(`has two entries ${JSON.stringify(key)} in one object`)
    const value: Node | undefined = node.type === 'object' ? found[0]?.children?.[1] : undefined
    if (value === undefined) break
    node = value
    rest = rest.slice(1)
  }
  return { node, rest, style }
}

/** At the beginning: there no comma, comment or line of a neighbour has to change. */
function insertFirst(
  text: string,
  node: Node,
  style: Style,
  write: (render: (value: unknown) => string) => string
): TextEdit {
  const { offset } = node
  const [first] = node.children ?? []
  const comma = first === undefined ? '' : ','
  const isOnOneLine = first !== undefined && !text.slice(offset, endOf(node)).includes('\n')
  if (isOnOneLine)
    return { offset: offset + 1, length: 0, content: `${write((value) => JSON.stringify(value))}${comma} ` }
  const closing = indentAt(text, offset)
  const ownLine = first !== undefined && /\n[ \t]*$/.test(text.slice(0, first.offset))
  const indent = ownLine ? indentAt(text, first.offset) : closing + style.unit
  const content = `${style.lineEnd}${indent}${write((value) => render(value, indent, style))}${comma}`
  // A comment on the line of the opening bracket is about the whole.
  const restOfLine = /^[ \t]*(?:\/\/[^\r\n]*|\/\*(?:[^*\r\n]|\*(?!\/))*\*\/[ \t]*)?(?=\r?\n)/.exec(
    text.slice(offset + 1)
  )
  if (restOfLine !== null) return { offset: offset + 1 + restOfLine[0].length, length: 0, content }
  return { offset: offset + 1, length: 0, content: `${content}${first === undefined ? style.lineEnd + closing : ''}` }
}

function render(value: unknown, indent: string, { unit, lineEnd }: Style): string {
  return JSON.stringify(value, undefined, unit).replaceAll('\n', `${lineEnd}${indent}`)
}

function nest(path: Path, value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
}

/** The blanks with which the line of this offset begins. */
function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? ''
}

function endOf({ offset, length }: Node): number {
  return offset + length
}

/** The offset of the comma that follows, after any comments. */
function commaAfter(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true)
  scanner.setPosition(offset)
  scanner.scan()
  const at = scanner.getTokenOffset()
  return text[at] === ',' ? at : undefined
}

/** Removes a stretch, and its line if nothing else is on it. */
function cut(text: string, from: number, to: number): string {
  const before = text.slice(0, from)
  const after = text.slice(to)
  const blankBefore = /\r?\n[ \t]*$/.exec(before)
  if (blankBefore !== null && /^[ \t]*\r?(?:\n|$)/.test(after))
    return before.slice(0, blankBefore.index) + after.replace(/^[ \t]+/, '')
  return before + after
}
