// Texts that a reader takes for the same: what is left of them without line ends, whitespace, look-alikes or case.

export type Difference = 'line_ends' | 'whitespace' | 'case' | 'characters' | 'whitespace_and_case' | 'text'

/**
 * Takes each character for itself, except that a line feed after a carriage return is part of that line end, and keeps the
 * line breaks: a line of the normalized text has the number that it has in the text.
 */
export type Normalize = (text: string) => string

export interface Normalization {
  readonly difference: Exclude<Difference, 'text'>
  readonly normalize: Normalize
}

const withPlainLineEnds: Normalize = (text) => text.replace(/\r\n?/g, '\n')
const withoutBlanks: Normalize = (text) => withPlainLineEnds(text).replace(/[^\S\n]+/g, '')
const withPlainCharacters: Normalize = (text) => withoutBlanks(text).replace(/[^\0-\x7f]/gu, toPlain)

/** In the order in which they are tried: the first that makes two texts equal says how they differ. */
export const normalizations: readonly Normalization[] = [
  { difference: 'line_ends', normalize: withPlainLineEnds },
  { difference: 'whitespace', normalize: withoutBlanks },
  { difference: 'case', normalize: (text) => withPlainLineEnds(text).toLowerCase() },
  { difference: 'characters', normalize: withPlainCharacters },
  { difference: 'whitespace_and_case', normalize: (text) => withoutBlanks(text).toLowerCase() }
]

/** Whether whitespace around a text does not count. */
export function ignoresBlanks({ difference }: Normalization): boolean {
  return difference !== 'line_ends' && difference !== 'case'
}

/** Quotes and dashes as a keyboard has them; nothing for what cannot be seen; letters and marks apart, whatever the normal form. */
function toPlain(char: string): string {
  if (/[\u2018-\u201b\u2032\u02bc\u00b4]/.test(char)) return "'"
  if (/[\u201c-\u201f\u2033\u00ab\u00bb]/.test(char)) return '"'
  if (/[\u2010-\u2015\u2212]/.test(char)) return '-'
  if (/\p{Cf}|[\ufe00-\ufe0f]/u.test(char)) return ''
  return char.normalize('NFKD').replace(/\s/g, '')
}
