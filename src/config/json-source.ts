// JSON with the position of each value, so that a message can point at a fault in a configuration file. Accepts exactly what JSON.parse does.
import { createScanner, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser'

export type JsonNode = Node

export interface JsonMember {
  readonly name: string
  readonly offset: number
  readonly node: JsonNode
}

/** Text that is not JSON, with the position at which it stops being JSON. */
export class JsonFault extends Error {
  readonly offset: number
  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

const badString = 'the string that begins here has no end, or a character that JSON writes with a backslash'
const badStrings: ReadonlySet<string> = new Set([
  'UnexpectedEndOfString',
  'InvalidCharacter',
  'InvalidEscapeCharacter',
  'InvalidUnicode'
])
const aValue = 'a value: a string in double quotes, a number, true, false, null, a list or an object'
const expectations: Readonly<Record<string, string>> = {
  PropertyNameExpected: 'a name in double quotes',
  ColonExpected: 'a colon',
  CommaExpected: 'a comma',
  CloseBraceExpected: 'a comma or }',
  CloseBracketExpected: 'a comma or ]',
  EndOfFileExpected: 'nothing more',
  ValueExpected: aValue,
  InvalidCommentToken: 'no comment'
}
/** A message names only these: other characters may belong to a secret. */
const namable = /[{}[\]:,'"/#]/

/** Deeper nesting than this is a mistake, and must not exhaust the stack. */
const maxDepth = 64

/** @throws JsonFault */
export function parseJson(text: string): JsonNode {
  refuseDepth(text)
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { disallowComments: true })
  const [first] = errors
  if (root === undefined || first !== undefined) throw new JsonFault(describe(text, errors), first?.offset ?? 0)
  return root
}

/** @throws JsonFault */
function refuseDepth(text: string): void {
  const scanner = createScanner(text, true)
  let depth = 0
  // Only the end of the text is a token without a length.
  for (scanner.scan(); scanner.getTokenLength() > 0; scanner.scan()) {
    const offset = scanner.getTokenOffset()
    const first = text[offset]
    if (first === '}' || first === ']') depth -= 1
    else if (depth > maxDepth)
      throw new JsonFault(`expected no more than ${maxDepth} levels, found ${show(first)}`, offset)
    else if (first === '{' || first === '[') depth += 1
  }
}

/** The value itself. */
export function valueOf(text: string, { offset, length }: JsonNode): unknown {
  return JSON.parse(text.slice(offset, offset + length))
}

/** Undefined for anything but an object. */
export function membersOf({ type, children = [] }: JsonNode): JsonMember[] | undefined {
  if (type !== 'object') return undefined
  return children.flatMap(({ children: [name, node] = [] }) =>
    name === undefined || node === undefined ? [] : [{ name: name.value as string, offset: name.offset, node }]
  )
}

/** Both counted from 1, the column in UTF-16 units. */
export function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: offset - lineStart + 1 }
}

/** What follows something unknown says what was expected there. */
function describe(text: string, errors: readonly ParseError[]): string {
  const codes = errors.map(({ error }) => printParseErrorCode(error))
  if (badStrings.has(codes[0] ?? '')) return badString
  const expected = expectations[codes.find((code) => code in expectations) ?? ''] ?? aValue
  const { offset } = errors[0] ?? { offset: 0 }
  const isFirst = text.slice(0, offset).trimEnd().endsWith('{')
  return `expected ${expected}${isFirst && expected === expectations['PropertyNameExpected'] ? ' or }' : ''}, found ${show(text[offset])}`
}

function show(character: string | undefined): string {
  if (character === undefined) return 'the end of the file'
  return namable.test(character) ? character : 'something else'
}
