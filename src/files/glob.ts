// Glob patterns as picomatch understands them with `dot: true`, matched in time linear in the name: a client's pattern cannot hang the server.
import { OperationError } from '../errors.ts'
import { run, type State } from './glob-automaton.ts'

export type GlobMatcher = (relativePath: string) => boolean

export const maxPatternLength = 256
/** Each character of a name costs a step for each state. */
const maxStates = 1000
const maxRangeItems = 100
const isNotSlash = (character: string) => character !== '/'
const isAnything = () => true

/**
 * Compiles `*`, `?`, `[a-z]`, `[!a-z]`, `**`, `{a,b}`, `{1..3}` and `\` escapes. A pattern without `/` and without `**` is matched
 * against the last name of the path, at every depth; any other against the whole relative path.
 * @throws OperationError INVALID_PATTERN
 */
export function compileGlob(pattern: string): GlobMatcher {
  if (pattern.length > maxPatternLength) throw invalid(pattern, `is longer than ${maxPatternLength} characters`)
  const states = new Compiler(pattern).compile()
  if (pattern.includes('/') || pattern.includes('**')) return (path) => run(states, path)
  return (path) => run(states, path.slice(path.lastIndexOf('/') + 1))
}

function invalid(pattern: string, why: string): OperationError {
  return new OperationError('INVALID_PATTERN', `Glob pattern ${why}: ${pattern.slice(0, 100)}`)
}

/** Appends the pieces of the pattern to one list of states: each piece continues where the one before it ended. */
class Compiler {
  readonly #pattern: string
  readonly #states: State[] = []
  #at = 0

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  compile(): readonly State[] {
    this.#sequence(0)
    if (this.#at < this.#pattern.length) throw invalid(this.#pattern, 'has an unexpected character')
    // The accepting state: consumes nothing, leads nowhere.
    this.#states.push({ accepts: () => false, next: -1 })
    if (this.#states.length > maxStates) throw invalid(this.#pattern, 'is too complex: use fewer or smaller braces')
    return this.#states
  }

  /** Pieces until the end, or until the comma or brace that ends an alternative at this depth. */
  #sequence(depth: number): void {
    while (this.#at < this.#pattern.length) {
      const character = this.#pattern[this.#at] as string
      if (depth > 0 && (character === ',' || character === '}')) return
      this.#piece(character, depth)
    }
  }

  #piece(character: string, depth: number): void {
    if (this.#atExtendedGlob())
      throw invalid(this.#pattern, 'uses an extended glob such as +(a|b), which is not supported')
    if (this.#atFinalGlobstar()) return this.#finalGlobstar()
    this.#at += 1
    if (character === '*') return this.#stars()
    if (character === '?') return this.#consume(isNotSlash)
    if (character === '[') return this.#characterClass()
    if (character === '{') return this.#braces(depth)
    if (character === '\\' && this.#at < this.#pattern.length) {
      this.#at += 1
      return this.#literal(this.#pattern[this.#at - 1] as string)
    }
    return this.#literal(character)
  }

  #atExtendedGlob(): boolean {
    return /^[?*+@!]\(/.test(this.#pattern.slice(this.#at, this.#at + 2))
  }

  #literal(character: string): void {
    this.#consume((other) => other === character)
  }

  #consume(accepts: (character: string) => boolean): void {
    this.#states.push({ accepts, next: this.#states.length + 1 })
  }

  /** Any number of characters that `accepts` takes. */
  #loop(accepts: (character: string) => boolean): void {
    const start = this.#states.length
    this.#states.push({ next: start + 1, other: start + 2 }, { accepts, next: start })
  }

  /** `/**` at the end: the directory itself, or anything below it. */
  #atFinalGlobstar(): boolean {
    return this.#at > 0 && this.#pattern.slice(this.#at) === '/**'
  }

  #finalGlobstar(): void {
    this.#at = this.#pattern.length
    const start = this.#states.length
    this.#states.push({ next: start + 1, other: start + 4 })
    this.#literal('/')
    this.#loop(isAnything)
  }

  /** After the first star of a run: one or more stars within a name, or `**` that is a whole segment. */
  #stars(): void {
    const before = this.#at - 2
    let count = 1
    while (this.#pattern[this.#at] === '*') {
      this.#at += 1
      count += 1
    }
    const startsSegment = before < 0 || '/{,'.includes(this.#pattern[before] as string)
    const after = this.#pattern[this.#at]
    if (count === 2 && startsSegment && after === '/') return this.#leadingGlobstar()
    if (count === 2 && startsSegment && (after === undefined || after === '}' || after === ','))
      return this.#loop(isAnything)
    return this.#loop(isNotSlash)
  }

  /** `**` and the slash behind it: no directory at all, or any number of them. */
  #leadingGlobstar(): void {
    this.#at += 1
    const start = this.#states.length
    this.#states.push({ next: start + 1, other: start + 5 })
    this.#consume(isNotSlash)
    this.#loop(isNotSlash)
    this.#states.push({ accepts: (character) => character === '/', next: start })
  }

  #characterClass(): void {
    const end = this.#classEnd()
    if (end === -1) return this.#literal('[')
    const body = this.#pattern.slice(this.#at, end)
    this.#at = end + 1
    if (body.startsWith('[:'))
      throw invalid(this.#pattern, 'uses a POSIX class such as [[:alpha:]], which is not supported')
    const negated = body.startsWith('!') || body.startsWith('^')
    const accepts = classOf(negated ? body.slice(1) : body)
    this.#consume((character) => character !== '/' && accepts(character) !== negated)
  }

  /** The closing bracket; one right behind the opening bracket (or its `!`) is a member. */
  #classEnd(): number {
    const first = this.#pattern[this.#at]
    const skip = first === '!' || first === '^' ? 2 : 1
    return this.#pattern.indexOf(']', this.#at + skip)
  }

  #braces(depth: number): void {
    const close = this.#closingBrace()
    if (close === -1) return this.#literal('{')
    const body = this.#pattern.slice(this.#at, close)
    const range = rangeOf(body)
    if (range !== undefined) {
      this.#at = close + 1
      if (range.length > maxRangeItems) throw invalid(this.#pattern, `has a range of more than ${maxRangeItems}`)
      return this.#alternatives(
        range.map((item) => () => Array.from(item).forEach((character) => this.#literal(character)))
      )
    }
    if (!hasCommaAtTop(body)) return this.#literal('{')
    if (depth >= 8) throw invalid(this.#pattern, 'nests braces too deeply')
    const first = () => this.#sequence(depth + 1)
    const rest = () => {
      this.#at += 1
      this.#sequence(depth + 1)
    }
    this.#alternatives([first, ...Array.from({ length: commasAtTop(body) }, () => rest)])
    this.#at += 1
  }

  #alternatives(builders: readonly (() => void)[]): void {
    const ends: State[] = []
    builders.forEach((build, index) => {
      const isLast = index === builders.length - 1
      const split: State = { next: this.#states.length + 1 }
      this.#states.push(split)
      build()
      const end: State = { next: -1 }
      this.#states.push(end)
      ends.push(end)
      if (!isLast) split.other = this.#states.length
    })
    for (const end of ends) end.next = this.#states.length
  }

  #closingBrace(): number {
    let depth = 1
    for (let index = this.#at; index < this.#pattern.length; index += 1) {
      const character = this.#pattern[index]
      if (character === '\\') index += 1
      else if (character === '{') depth += 1
      else if (character === '}' && --depth === 0) return index
    }
    return -1
  }
}

function classOf(body: string): (character: string) => boolean {
  const characters = Array.from(body)
  const ranges: [string, string][] = []
  for (let index = 0; index < characters.length; index += 1) {
    const from =
      characters[index] === '\\' && index + 1 < characters.length
        ? (characters[++index] as string)
        : (characters[index] as string)
    const isRange = characters[index + 1] === '-' && index + 2 < characters.length
    const to = isRange ? (characters[index + 2] as string) : from
    if (isRange) index += 2
    ranges.push([from, to])
  }
  return (character) => ranges.some(([from, to]) => character >= from && character <= to)
}

/** The items of `1..3` or `a..e`; undefined where the braces hold no range. */
function rangeOf(body: string): string[] | undefined {
  const numbers = /^(-?\d{1,9})\.\.(-?\d{1,9})$/.exec(body)
  const letters = /^([a-zA-Z])\.\.([a-zA-Z])$/.exec(body)
  const match = numbers ?? letters
  if (match === null) return undefined
  const valueOf = (text: string) => (numbers === null ? text.charCodeAt(0) : Number(text))
  const [from, to] = [valueOf(match[1] as string), valueOf(match[2] as string)]
  const length = Math.min(Math.abs(to - from) + 1, maxRangeItems + 1)
  const step = to < from ? -1 : 1
  return Array.from({ length }, (_, index) => {
    const value = from + index * step
    return numbers === null ? String.fromCharCode(value) : String(value)
  })
}

function hasCommaAtTop(body: string): boolean {
  return commasAtTop(body) > 0
}

/** Commas that separate alternatives of these braces, not of nested ones. */
function commasAtTop(body: string): number {
  let depth = 0
  let commas = 0
  for (let index = 0; index < body.length; index += 1) {
    const character = body[index]
    if (character === '\\') index += 1
    else if (character === '{') depth += 1
    else if (character === '}') depth -= 1
    else if (character === ',' && depth === 0) commas += 1
  }
  return commas
}
