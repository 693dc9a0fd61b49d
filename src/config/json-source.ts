// JSON with the position of each value, so that a message can point at a fault in a configuration file. Accepts exactly what JSON.parse does.

export interface JsonNode {
  /** Start of the value, in UTF-16 units from the start of the text. */
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

/** Text that is not JSON, with the position at which it stops being JSON. */
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
/** A message names only these: other characters may belong to a secret. */
const namable = /[{}[\]:,'"/#]/

/** @throws JsonFault */
export function parseJson(text: string): JsonNode {
  return new Reader(text).read()
}

/** A recursive-descent reader; `#at` is its position. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  read(): JsonNode {
    const node = this.#readValue(0)
    this.#skip(whitespace)
    if (this.#at < this.#text.length) this.#fail('nothing more')
    return node
  }

  #readValue(depth: number): JsonNode {
    if (depth > maxDepth) this.#fail(`no more than ${maxDepth} levels`)
    this.#skip(whitespace)
    const offset = this.#at
    if (this.#take('{')) return { offset, members: this.#readMembers(depth) }
    if (this.#take('[')) return { offset, items: this.#readItems(depth) }
    if (this.#text[offset] === '"') return { offset, value: this.#readString('a value') }
    const found = this.#skip(scalar)
    // The rest of 01 or nullable would be reported as a missing comma.
    if (found === undefined || /[\w.]/.test(this.#text[this.#at] ?? '')) {
      this.#at = offset
      this.#fail('a value: a string in double quotes, a number, true, false, null, a list or an object')
    }
    return { offset, value: JSON.parse(found) as number | boolean | null }
  }

  #readMembers(depth: number): JsonMember[] {
    const members: JsonMember[] = []
    if (this.#take('}')) return members
    do {
      this.#skip(whitespace)
      const offset = this.#at
      const name = this.#readString(members.length === 0 ? 'a name in double quotes or }' : 'a name in double quotes')
      if (!this.#take(':')) this.#fail('a colon')
      members.push({ name, offset, node: this.#readValue(depth + 1) })
    } while (this.#take(','))
    if (!this.#take('}')) this.#fail('a comma or }')
    return members
  }

  #readItems(depth: number): JsonNode[] {
    const items: JsonNode[] = []
    if (this.#take(']')) return items
    do items.push(this.#readValue(depth + 1))
    while (this.#take(','))
    if (!this.#take(']')) this.#fail('a comma or ]')
    return items
  }

  #readString(what: string): string {
    const start = this.#at
    if (this.#text[start] !== '"') this.#fail(what)
    const found = this.#skip(string)
    if (found !== undefined) return JSON.parse(found) as string
    throw new JsonFault(
      'the string that begins here has no end, or a character that JSON writes with a backslash',
      start
    )
  }

  /** If the next character after white space is this one, takes it. Returns whether it was. */
  #take(character: string): boolean {
    this.#skip(whitespace)
    if (this.#text[this.#at] !== character) return false
    this.#at += 1
    return true
  }

  /** Takes the text here that matches the pattern. */
  #skip(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    this.#at += found?.length ?? 0
    return found
  }

  #fail(expected: string): never {
    throw new JsonFault(`expected ${expected}, found ${describe(this.#text[this.#at])}`, this.#at)
  }
}

/** The value itself, as from JSON.parse. */
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
