// The first character in which a text differs from what a caller took it for, by place and name.
import { nameCodePoint } from './code-point-names.ts'
import { countLines, lineStart } from './lines.ts'

export interface FirstDifference {
  /** 1-based, of the text. */
  readonly line: number
  /** 1-based, in characters (code points). */
  readonly column: number
  /** The character of the text there, such as `U+00A0 NO-BREAK SPACE`; null at its end. */
  readonly found: string | null
  /** The character that the caller's text has in its place. */
  readonly wanted: string
}

/** Undefined if one of them begins with the other. @param from where `wanted` was expected in the text @param start where to begin in `wanted` */
export function findFirstDifference(
  text: string,
  from: number,
  wanted: string,
  start = 0
): FirstDifference | undefined {
  let at = from
  let other = start
  for (;;) {
    const [found, want] = [text.codePointAt(at), wanted.codePointAt(other)]
    if (want === undefined) return undefined
    if (found !== want) return describe(text, at, found, want)
    const length = found > 0xffff ? 2 : 1
    at += length
    other += length
  }
}

function describe(text: string, at: number, found: number | undefined, wanted: number): FirstDifference {
  const start = lineStart(text, at)
  return {
    line: countLines(text.slice(0, start)) + 1,
    column: Array.from(text.slice(start, at)).length + 1,
    found: found === undefined ? null : nameCodePoint(found),
    wanted: nameCodePoint(wanted)
  }
}

/** The end of a sentence: what the text has, and what the caller's text has instead. */
export function describeFirstDifference({ line, column, found, wanted }: FirstDifference, name: string): string {
  return `line ${line}, column ${column} has ${found ?? 'nothing more'}, ${name} has ${wanted}`
}
