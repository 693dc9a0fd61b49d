// Reads a text as JSON, plain or with comments: its form, and the names that its objects have more than once. Linear. Tells by that whether a
// merge of two such texts is still one.

export interface JsonForm {
  /** 0: JSON (RFC 8259). 1: with comments. 2: also with a comma before a closing bracket. */
  readonly liberty: number
  /** How many properties have the name of an earlier one of their object, by that name. */
  readonly surplus: ReadonlyMap<string, number>
}

type Expected = 'value' | 'colon' | 'comma' | 'end' | 'first item' | 'next item'

// A byte order mark, as a character or as the bytes that a file over HTTP is read as, is no part of the JSON.
const beforeJson = /^(?:\uFEFF|\u00EF\u00BB\u00BF)?/
const spaces = /[ \t\r\n]*/y
const comment = /\/\/[^\r\n]*|\/\*[^]*?\*\//y
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const escaped = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y

/** Undefined if the text is none of these forms. A text that is no JSON mostly shows it by its first character. */
export function jsonFormOf(text: string): JsonForm | undefined {
  const surplus = new Map<string, number>()
  // The names of each open object, undefined for an array. Not by recursion: a text can be nested as deeply as it likes.
  const open: (Set<string> | undefined)[] = []
  let liberty = 0
  let expected = 'value' as Expected
  let at = beforeJson.exec(text)![0].length

  for (;;) {
    at = matchEnd(spaces, text, at)!
    if (at === text.length) return expected === 'end' ? { liberty, surplus } : undefined
    const isComment = text[at] === '/'
    if (isComment) liberty = Math.max(liberty, 1)
    const end = isComment ? matchEnd(comment, text, at) : take(text[at]!)
    if (end === undefined) return undefined
    at = end
  }

  /** The end of the token that begins with this character; undefined if it is none, or out of place. */
  function take(char: string): number | undefined {
    const names = open.at(-1)
    const isItem = expected === 'first item' || expected === 'next item'
    if (isItem && names !== undefined && char === '"') return takeName(names)
    if (expected === 'value' || (isItem && open.length > 0 && names === undefined && char !== ']'))
      return takeValue(char)
    if (char === ':' && expected === 'colon') expected = 'value'
    else if (char === ',' && expected === 'comma') expected = 'next item'
    else if (char !== (names === undefined ? ']' : '}') || (!isItem && expected !== 'comma')) return undefined
    else {
      if (expected === 'next item') liberty = 2
      open.pop()
      endValue()
    }
    return at + 1
  }

  function takeName(names: Set<string>): number | undefined {
    const end = endOfString(text, at)
    if (end === undefined) return undefined
    const raw = text.slice(at, end)
    const name = raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
    if (names.has(name)) surplus.set(name, (surplus.get(name) ?? 0) + 1)
    names.add(name)
    expected = 'colon'
    return end
  }

  function takeValue(char: string): number | undefined {
    if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : undefined)
      expected = 'first item'
      return at + 1
    }
    endValue()
    return char === '"' ? endOfString(text, at) : matchEnd(scalar, text, at)
  }

  function endValue(): void {
    expected = open.length === 0 ? 'end' : 'comma'
  }
}

/** The offset behind the string that begins here. */
function endOfString(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) return at + 1
    if (code < 0x20) return undefined
    if (code === 0x5c) {
      const end = matchEnd(escaped, text, at + 1)
      if (end === undefined) return undefined
      at = end - 1
    }
  }
  return undefined
}

function matchEnd(sticky: RegExp, text: string, at: number): number | undefined {
  sticky.lastIndex = at
  return sticky.test(text) ? sticky.lastIndex : undefined
}

/**
 * True if both sides are JSON and the merged text is not in a form as strict, or has a name more often in one object than
 * either side: readers would see only one of the values. The content decides, and not the name of the file: notebooks,
 * maps and manifests are JSON under many names.
 */
export function breaksJson(merged: string, current: string, incoming: string): boolean {
  const one = jsonFormOf(current)
  const other = one && jsonFormOf(incoming)
  if (one === undefined || other === undefined) return false
  const result = jsonFormOf(merged)
  return result === undefined || isLooser(result, one, other)
}

function isLooser({ liberty, surplus }: JsonForm, one: JsonForm, other: JsonForm): boolean {
  if (liberty > Math.max(one.liberty, other.liberty)) return true
  const isMore = ([name, count]: [string, number]) =>
    count > Math.max(one.surplus.get(name) ?? 0, other.surplus.get(name) ?? 0)
  return [...surplus].some(isMore)
}
