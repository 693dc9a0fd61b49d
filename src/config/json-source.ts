// JSON with the places of its values, so that a fault in a configuration file can be pointed at. Accepts exactly what JSON.parse does.

export interface JsonNode {
  /** Where the value begins, in UTF-16 units from the start of the text. */
  readonly offset: number
  /** A text, number, boolean or null; undefined for a list or an object. */
  readonly value?: string | number | boolean | null
  readonly items?: readonly JsonNode[]
  readonly members?: readonly JsonMember[]
}

export interface JsonMember {
  readonly name: string
  readonly offset: number
  readonly node: JsonNode
}

/** Text that is no JSON, with the place where it stops being such. */
export class JsonFault extends Error {
  readonly offset: number
  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

/** Deeper nesting than this is a mistake, and must not exhaust the stack. */
const maxDepth = 64
const whitespace = /[\t\n\r ]*/y
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
// oxlint-disable-next-line eslint/no-control-regex -- JSON allows no control characters in a text
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"/y
/** Only these are named in a message: other characters may belong to a secret. */
const namable = /[{}[\]:,'"/#]/

/** @throws JsonFault */
export function parseJson(text: string): JsonNode {
  let at = 0

  function skip(pattern: RegExp): string | undefined {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }

  /** Whether the next character, after white space, is this one; then it is taken. */
  function take(character: string): boolean {
    skip(whitespace)
    if (text[at] !== character) return false
    at += 1
    return true
  }

  function fail(expected: string): never {
    throw new JsonFault(`expected ${expected}, found ${describe(text[at])}`, at)
  }

  function readValue(depth: number): JsonNode {
    if (depth > maxDepth) fail(`no more than ${maxDepth} levels`)
    skip(whitespace)
    const offset = at
    if (take('{')) return { offset, members: readMembers(depth) }
    if (take('[')) return { offset, items: readItems(depth) }
    if (text[at] === '"') return { offset, value: readString('a value') }
    const found = skip(scalar)
    // What is left of 01 or nullable would be reported as a missing comma.
    if (found === undefined || /[\w.]/.test(text[at] ?? '')) {
      at = offset
      fail('a value: a text in double quotes, a number, true, false, null, a list or an object')
    }
    return { offset, value: JSON.parse(found) as number | boolean | null }
  }

  function readString(what: string): string {
    const start = at
    const found = skip(string)
    if (found !== undefined) return JSON.parse(found) as string
    at = start
    if (text[at] === '"')
      throw new JsonFault('the text that begins here has no end, or a character that JSON writes with a backslash', at)
    return fail(what)
  }

  function readMembers(depth: number): JsonMember[] {
    const members: JsonMember[] = []
    if (take('}')) return members
    do {
      skip(whitespace)
      const offset = at
      const name = readString(members.length === 0 ? 'a name in double quotes or }' : 'a name in double quotes')
      if (!take(':')) fail('a colon')
      members.push({ name, offset, node: readValue(depth + 1) })
    } while (take(','))
    if (!take('}')) fail('a comma or }')
    return members
  }

  function readItems(depth: number): JsonNode[] {
    const items: JsonNode[] = []
    if (take(']')) return items
    do items.push(readValue(depth + 1))
    while (take(','))
    if (!take(']')) fail('a comma or ]')
    return items
  }

  const node = readValue(0)
  skip(whitespace)
  if (at < text.length) fail('nothing more')
  return node
}

/** The value itself, as JSON.parse gives it. */
export function valueOf({ value, items, members }: JsonNode): unknown {
  if (items !== undefined) return items.map(valueOf)
  if (members !== undefined) return Object.fromEntries(members.map(({ name, node }) => [name, valueOf(node)]))
  return value
}

/** Both counted from 1, the column in UTF-16 units. */
export function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: offset - lineStart + 1 }
}

function describe(character: string | undefined): string {
  if (character === undefined) return 'the end of the file'
  return namable.test(character) ? character : 'something else'
}
