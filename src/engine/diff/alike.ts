// Where a text has a string apart from line ends, whitespace, look-alikes or case, and the patch by lines that replaces it there.
import type { LinePatch } from '../../../schemas/patches.ts'
import { breakOf, countLines, endsWithBreak, lineEnd, lineStart, skipLines, withoutTerminator } from './lines.ts'
import { ignoresBlanks, normalizations, type Difference, type Normalization } from './normalizations.ts'
import { occurrences } from './occurrences.ts'

export interface Alike {
  /** 0-based line. */
  readonly start: number
  readonly count: number
  readonly difference: Exclude<Difference, 'text'>
  /** Offsets of what the text has for the string. */
  readonly from: number
  readonly to: number
  /** Whether that is all of it: line breaks around the string may be without a counterpart. */
  readonly isWhole: boolean
  /** Whether there is no other such place. */
  readonly isOnly: boolean
}

/** The first place, by the first normalization that finds one. */
export function findAlike(text: string, wanted: string): Alike | undefined {
  for (const normalization of normalizations) {
    const normalized = normalization.normalize(text)
    const whole = normalization.normalize(wanted)
    for (const needle of new Set(ignoresBlanks(normalization) ? [whole, whole.trim()] : [whole])) {
      const [at, another] = occurrences(normalized, needle, 'overlapping')
      if (at === undefined) continue
      const start = countBreaks(normalized, at)
      const column = at - (normalized.lastIndexOf('\n', at - 1) + 1)
      const { difference } = normalization
      const place = locate(text, skipLines(text, 0, start), column, { needle, wanted, normalization })
      const isOnly = another === undefined
      return { start, count: countLines(needle), difference, ...place, isWhole: needle === whole, isOnly }
    }
  }
  return undefined
}

function countBreaks(text: string, end: number): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) count++
  return count
}

interface Sought {
  readonly needle: string
  readonly wanted: string
  readonly normalization: Normalization
}

/** Finds the place in the text from the place in the normalized text. What is nothing there counts if the string has such at that end, too. */
function locate(text: string, line: number, column: number, { needle, wanted, normalization }: Sought) {
  const lengthAt = (source: string, at: number) => {
    const char = String.fromCodePoint(source.codePointAt(at)!)
    if (char === '\r' && source[at + 1] === '\n') return 0
    return normalization.normalize(char).length
  }
  const step = (at: number) => at + (text.codePointAt(at)! > 0xffff ? 2 : 1)
  const skip = (start: number, length: number) => {
    let at = start
    for (let left = length; left > 0 && at < text.length; at = step(at)) left -= lengthAt(text, at)
    return at
  }
  const skipNothing = (start: number) => {
    let at = start
    while (at < text.length && text[at] !== '\r' && lengthAt(text, at) === 0) at = step(at)
    return at
  }
  const behind = skip(line, column)
  const first = skipNothing(behind)
  const end = skip(first, needle.length)
  const isNothing = (at: number) => wanted[at] !== '\r' && lengthAt(wanted, at) === 0
  return { from: isNothing(0) ? behind : first, to: isNothing(wanted.length - 1) ? skipNothing(end) : end }
}

/** As much as a model may be asked to send back. */
const maxPatchChars = 4_000

/** The patch that puts `replacement` there, if that is certain and not too long: it makes nothing else. */
export function toLinePatch(text: string, alike: Alike, replacement: string): LinePatch | undefined {
  const { from, to, isWhole, isOnly } = alike
  if (!isOnly || !isWhole || to - from + replacement.length > maxPatchChars) return undefined
  const start = lineStart(text, from)
  // What ends with a line break ends a line.
  const isLineEnd = endsWithBreak(text.slice(from, to))
  const end = isLineEnd ? to : lineEnd(text, to)
  const old = text.slice(start, end)
  const content = text.slice(start, from) + withBreaks(replacement, breakOf(old)) + text.slice(to, end)
  // Without its line break it would be joined with the next line, which a patch by lines does not do.
  if (isLineEnd && content !== '' && !endsWithBreak(content)) return undefined
  if (old.length + content.length > maxPatchChars) return undefined
  const start_line = countLines(text.slice(0, start)) + 1
  const end_line = start_line + countLines(old) - 1
  return { start_line, end_line, expected_lines: withoutTerminator(old), new_content: content }
}

/** With the line ends of the file, if the text has those of most models. */
function withBreaks(text: string, fileBreak: string): string {
  return fileBreak === '' || text.includes('\r') ? text : text.replaceAll('\n', fileBreak)
}
