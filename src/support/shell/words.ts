// What a word of a shell command stands for, as far as its text tells: quotes, braces, `~`, and variables whose value is known.
import type { Word, WordPart } from 'unbash'

/** One argument. */
export interface Field {
  /** As the shell passes it, if it is no pattern or matches nothing. */
  readonly text: string
  /** The pattern of names that the shell looks for, with `\` before what is meant literally. */
  readonly pattern?: string
}

export interface WordScope {
  readonly home: string | undefined
  /** Undefined for a variable whose value cannot be told. */
  readonly valueOf: (name: string) => string | undefined
  /** What a command in `$(...)` prints, without its last line end. */
  readonly outputOf: (part: Extract<WordPart, { type: 'CommandExpansion' }>) => string | undefined
}

/** More words of one brace expansion than anyone writes. */
const maxAlternatives = 256
const maxBraceLength = 500

const patternCharacters = /[*?[]/
const special = /[\\*?[\]{}()!]/g

/** @returns undefined if it cannot be told; no field for an empty word that is not quoted */
export function resolveWord(word: Word, scope: WordScope): readonly Field[] | undefined {
  const { parts, value, text } = word
  const tilde = text.startsWith('~') ? /^~(?=\/|$)/.exec(value) : null
  if (text.startsWith('~') && (tilde === null || scope.home === undefined)) return undefined
  if (parts === undefined) {
    const plain = tilde === null ? value : `${scope.home}${value.slice(1)}`
    return [{ text: plain }]
  }
  let fields: Field[] = [{ text: '', pattern: '' }]
  for (const [index, part] of parts.entries()) {
    const pieces = resolvePart(part, scope)
    if (pieces === undefined) return undefined
    const first = index === 0 && tilde !== null && pieces[0] !== undefined
    const own = first ? [literal(`${scope.home}${pieces[0]!.text.slice(1)}`)] : pieces
    fields = fields.flatMap((field) =>
      own.map((piece) => ({ text: field.text + piece.text, pattern: field.pattern! + piece.pattern! }))
    )
    if (fields.length > maxAlternatives) return undefined
  }
  const isUnquoted = parts.every(({ type }) => type === 'SimpleExpansion' || type === 'ParameterExpansion')
  const isPattern = parts.some(({ type }) => type === 'Glob' || type === 'ExtendedGlob' || type === 'BraceExpansion')
  return fields
    .filter(({ text: one }) => one !== '' || !isUnquoted)
    .map(({ text: one, pattern }) =>
      isPattern && hasPattern(pattern!) ? { text: one, pattern: pattern! } : { text: one }
    )
}

/** The word as one text, as in an assignment: no patterns, no splitting. */
export function resolveText(word: Word, scope: WordScope): string | undefined {
  const fields = resolveWord(word, scope)
  return fields?.length === 0 ? '' : fields?.length === 1 ? fields[0]!.text : undefined
}

function resolvePart(part: WordPart, scope: WordScope): readonly Field[] | undefined {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return [literal(part.value)]
    case 'LocaleString':
    case 'DoubleQuoted': {
      const texts = part.parts.map((child) => (child.type === 'Literal' ? child.value : valueOfPart(child, scope)))
      return texts.includes(undefined) ? undefined : [literal(texts.join(''))]
    }
    case 'Glob':
      return [{ text: part.value, pattern: part.text }]
    case 'BraceExpansion':
      return expandBraces(part.text)
    case 'SimpleExpansion':
    case 'ParameterExpansion':
    case 'CommandExpansion': {
      const value = valueOfPart(part, scope)
      // The shell would split it, or look for names.
      return value === undefined || /[\s*?[]/.test(value) ? undefined : [literal(value)]
    }
    case 'ExtendedGlob':
    case 'ArithmeticExpansion':
    case 'ProcessSubstitution':
      return undefined
    default:
      return part satisfies never
  }
}

function valueOfPart(part: WordPart, scope: WordScope): string | undefined {
  if (part.type === 'SimpleExpansion') return scope.valueOf(part.text.slice(1))
  if (part.type === 'CommandExpansion') return scope.outputOf(part)
  if (part.type !== 'ParameterExpansion') return undefined
  const { parameter, prefix, index, operation } = part
  return prefix === undefined && index === undefined && operation === undefined ? scope.valueOf(parameter) : undefined
}

function literal(text: string): Field {
  return { text, pattern: text.replaceAll(special, '\\$&') }
}

function hasPattern(pattern: string): boolean {
  return patternCharacters.test(pattern.replaceAll(/\\./gs, ''))
}

/** `{a,b}` and `{1..3}`, nested; undefined with quotes or expansions in it. */
function expandBraces(text: string): readonly Field[] | undefined {
  if (text.length > maxBraceLength || /["'`$\\]/.test(text)) return undefined
  const words = alternativesOf(text)
  if (words.length > maxAlternatives) return undefined
  return words.map((word) => ({ text: word, pattern: patternCharacters.test(word) ? word : literal(word).pattern! }))
}

function alternativesOf(text: string): string[] {
  const open = text.indexOf('{')
  if (open === -1) return [text]
  const commas: number[] = []
  let depth = 0
  let close = -1
  for (let at = open; at < text.length && close === -1; at += 1) {
    const character = text[at]
    if (character === '{') depth += 1
    else if (character === '}') close = --depth === 0 ? at : -1
    else if (character === ',' && depth === 1) commas.push(at)
  }
  if (close === -1) return [text]
  const inner = text.slice(open + 1, close)
  const cuts = [open, ...commas, close]
  const options =
    commas.length > 0
      ? cuts.slice(0, -1).flatMap((cut, index) => alternativesOf(text.slice(cut + 1, cuts[index + 1])))
      : (rangeOf(inner) ?? [`{${inner}}`])
  const rests = alternativesOf(text.slice(close + 1))
  const words: string[] = []
  for (const option of options)
    for (const rest of rests) if (words.length <= maxAlternatives) words.push(text.slice(0, open) + option + rest)
  return words
}

function rangeOf(inner: string): string[] | undefined {
  const numbers = /^(-?\d{1,6})\.\.(-?\d{1,6})$/.exec(inner)
  const letters = /^([A-Za-z])\.\.([A-Za-z])$/.exec(inner)
  const ends = numbers?.slice(1).map(Number) ?? letters?.slice(1).map((letter) => letter.charCodeAt(0))
  if (ends === undefined) return undefined
  const [from, to] = ends as [number, number]
  const count = Math.min(Math.abs(to - from), maxAlternatives) + 1
  return Array.from({ length: count }, (_item, index) => {
    const value = from + (to < from ? -index : index)
    return numbers === null ? String.fromCharCode(value) : String(value)
  })
}
