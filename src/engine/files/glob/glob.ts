// Glob patterns as picomatch understands them with `dot: true`, matched in time linear in the name: a client's pattern cannot hang the server.
import { OperationError } from '../../../errors.ts'
import { anything, membersOf, notSlash, slashAlone, toRange } from './glob-characters.ts'
import { closingBrace, commasAtTop, maxRangeItems, rangeOf } from './glob-braces.ts'
import { createAutomaton, type Automaton, type Ranges, type State } from './glob-automaton.ts'
import { beginningOf } from '../../../support/cut-text.ts'

export type GlobMatcher = (relativePath: string) => boolean

export interface CompiledGlob extends GlobMatcher {
  /** What each character of a path costs, in operations on 32 states: about 5 for a short pattern, some dozens for a long one. */
  readonly steps: number
}

export const maxPatternLength = 256
const maxStates = 1000
const maxSteps = 4096

/**
 * Compiles `*`, `?`, `[a-z]`, `[!a-z]`, `**`, `{a,b}`, `{1..3}` and `\` escapes. A pattern without `/` and without `**` is matched
 * against the last name of the path, at every depth; any other against the whole relative path.
 * @throws OperationError INVALID_PATTERN
 */
export function compileGlob(pattern: string): CompiledGlob {
  const { matches, steps } = compilePathGlob(pattern)
  const isDeep = pattern.includes('/') || pattern.includes('**')
  const matcher = isDeep ? matches : (path: string) => matches(path.slice(path.lastIndexOf('/') + 1))
  return Object.assign(matcher, { steps })
}

/**
 * Compiles a pattern that means the whole relative path, slash or not.
 * @throws OperationError INVALID_PATTERN
 */
export function compilePathGlob(pattern: string): Automaton {
  if (pattern.length > maxPatternLength)
    throw invalidPattern(pattern, `is longer than ${maxPatternLength} characters`, 'Use several shorter ones')
  const automaton = createAutomaton(new Compiler(pattern).compile())
  if (automaton.steps > maxSteps) throw tooComplex(pattern)
  return automaton
}

function tooComplex(pattern: string): OperationError {
  return invalidPattern(pattern, 'is too complex', 'Use fewer or smaller braces')
}

/** @param advice what to do next, without a full stop */
export function invalidPattern(pattern: string, why: string, advice: string): OperationError {
  return new OperationError('INVALID_PATTERN', `Glob pattern ${why}: ${beginningOf(pattern, 100)}. ${advice}.`)
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
    if (this.#at < this.#pattern.length)
      throw invalidPattern(this.#pattern, 'has an unexpected character', 'Put a backslash before it')
    // The accepting state: consumes nothing, leads nowhere.
    this.#states.push({ accepts: [], next: -1 })
    if (this.#states.length > maxStates) throw tooComplex(this.#pattern)
    return this.#states
  }

  /** Pieces until the end, or until the comma or brace that ends an alternative at this depth. */
  #sequence(depth: number): void {
    while (this.#at < this.#pattern.length) {
      const character = this.#characterAt(this.#at)
      if (depth > 0 && (character === ',' || character === '}')) return
      this.#piece(character, depth)
    }
  }

  #piece(character: string, depth: number): void {
    if (this.#atExtendedGlob())
      throw invalidPattern(this.#pattern, 'uses an extended glob such as +(a|b)', 'Use braces: {a,b}')
    if (this.#atFinalGlobstar()) return this.#finalGlobstar()
    this.#at += character.length
    if (character === '*') return this.#stars()
    if (character === '?') return this.#consume(notSlash)
    if (character === '[') return this.#characterClass()
    if (character === '{') return this.#braces(depth)
    if (character === '\\' && this.#at < this.#pattern.length) {
      const escaped = this.#characterAt(this.#at)
      this.#at += escaped.length
      return this.#literal(escaped)
    }
    return this.#literal(character)
  }

  #atExtendedGlob(): boolean {
    return /^[?*+@!]\(/.test(this.#pattern.slice(this.#at, this.#at + 2))
  }

  /** The whole character, if it is one of two halves. */
  #characterAt(index: number): string {
    return String.fromCodePoint(this.#pattern.codePointAt(index) as number)
  }

  #literal(character: string): void {
    this.#consume([toRange(character)])
  }

  #consume(accepts: Ranges): void {
    this.#states.push({ accepts, next: this.#states.length + 1 })
  }

  /** Any number of characters that `accepts` takes. */
  #loop(accepts: Ranges): void {
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
    this.#loop(anything)
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
      return this.#loop(anything)
    return this.#loop(notSlash)
  }

  /** `**` and the slash behind it: no directory at all, or any number of them. */
  #leadingGlobstar(): void {
    this.#at += 1
    const start = this.#states.length
    this.#states.push({ next: start + 1, other: start + 5 })
    this.#consume(notSlash)
    this.#loop(notSlash)
    this.#states.push({ accepts: slashAlone, next: start })
  }

  #characterClass(): void {
    const end = this.#classEnd()
    if (end === -1)
      throw invalidPattern(this.#pattern, 'has a [ that no ] closes', 'Close it, or write \\[ for the character itself')
    const body = this.#pattern.slice(this.#at, end)
    this.#at = end + 1
    if (body.startsWith('[:'))
      throw invalidPattern(this.#pattern, 'uses a POSIX class such as [[:alpha:]]', 'Use ranges: [a-z]')
    const members = membersOf(body)
    if (members === undefined)
      throw invalidPattern(this.#pattern, 'has a range from a higher to a lower character', 'Reverse it: [a-z]')
    this.#consume(members)
  }

  /** The closing bracket; one right behind the opening bracket (or its `!`) is a member. */
  #classEnd(): number {
    const first = this.#pattern[this.#at]
    const skip = first === '!' || first === '^' ? 2 : 1
    return this.#pattern.indexOf(']', this.#at + skip)
  }

  #braces(depth: number): void {
    const close = closingBrace(this.#pattern, this.#at)
    if (close === -1)
      throw invalidPattern(this.#pattern, 'has a { that no } closes', 'Close it, or write \\{ for the character itself')
    const body = this.#pattern.slice(this.#at, close)
    const range = rangeOf(body)
    if (range !== undefined) {
      this.#at = close + 1
      if (range.length > maxRangeItems)
        throw invalidPattern(this.#pattern, `has a range of more than ${maxRangeItems}`, 'Use smaller ones')
      return this.#alternatives(
        range.map((item) => () => Array.from(item).forEach((character) => this.#literal(character)))
      )
    }
    const commas = commasAtTop(body)
    if (commas === 0) return this.#literal('{')
    if (depth >= 8) throw invalidPattern(this.#pattern, 'nests braces too deeply', 'Use several patterns')
    const first = () => this.#sequence(depth + 1)
    const rest = () => {
      this.#at += 1
      this.#sequence(depth + 1)
    }
    this.#alternatives([first, ...Array.from({ length: commas }, () => rest)])
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
}
