// Lines as this project counts them: \n, \r\n and a lone \r end a line, nothing else does.

const lineFeed = 10
const carriageReturn = 13
const byteOrderMark = '\uFEFF'
const markBytes = Buffer.from(byteOrderMark)

/** The byte order mark of a whole file, "" if it has none, and the text behind it: no line contains the mark. */
export function splitMark(text: string): { mark: string; body: string } {
  if (!text.startsWith(byteOrderMark)) return { mark: '', body: text }
  return { mark: byteOrderMark, body: text.slice(byteOrderMark.length) }
}

/** The lines of a text, each with its terminator: joined again they are the text. "" has none. */
export function splitLines(text: string): string[] {
  const endOf = endFinder(text)
  const lines: string[] = []
  for (let start = 0; start < text.length;) {
    const end = endOf(text, start)
    lines.push(text.slice(start, end))
    start = end
  }
  return lines
}

/** The number of lines `splitLines` would give: 1 for "a" and for "a\n", 0 for "". */
export function countLines(text: string): number {
  const endOf = endFinder(text)
  let count = 0
  for (let start = 0; start < text.length; start = endOf(text, start)) count++
  return count
}

/** Whether the texts together have more lines than this. Looks no further than it must. */
export function hasMoreLines(texts: readonly string[], limit: number): boolean {
  let left = limit
  for (const text of texts) {
    const endOf = endFinder(text)
    for (let start = 0; start < text.length; start = endOf(text, start)) if (--left < 0) return true
  }
  return false
}

/** The lines of a whole file in UTF-8, whose bytes 10 and 13 are never part of another character. Decoded only if there is a \r. */
export function countByteLines(bytes: Buffer): number {
  const markLength = bytes.subarray(0, markBytes.length).equals(markBytes) ? markBytes.length : 0
  if (bytes.includes(carriageReturn)) return countLines(bytes.toString('utf8', markLength))
  let count = 0
  for (let start = markLength; start < bytes.length; count++) {
    const at = bytes.indexOf(lineFeed, start)
    start = at === -1 ? bytes.length : at + 1
  }
  return count
}

export function withoutTerminator(line: string): string {
  if (line.endsWith('\r\n')) return line.slice(0, -2)
  return line.endsWith('\n') || line.endsWith('\r') ? line.slice(0, -1) : line
}

/** The line end at the end of a text; "" if it has none. */
export function breakOf(text: string): string {
  return text.slice(withoutTerminator(text).length)
}

export function endsWithBreak(text: string): boolean {
  return text.endsWith('\n') || text.endsWith('\r')
}

/** The offset just behind the line that begins at offset `start`, its terminator included. */
export function lineEnd(text: string, start: number): number {
  for (let offset = start; offset < text.length; offset++) {
    const code = text.charCodeAt(offset)
    if (code === lineFeed) return offset + 1
    if (code === carriageReturn) return text.charCodeAt(offset + 1) === lineFeed ? offset + 2 : offset + 1
  }
  return text.length
}

/** The offset `count` lines behind the start of a line. */
export function skipLines(text: string, start: number, count: number, endOf = endFinder(text)): number {
  let offset = start
  for (let line = 0; line < count && offset < text.length; line++) offset = endOf(text, offset)
  return offset
}

/** `lineEnd` for many lines of one text: without any \r the native search suffices, in a tenth of the time. */
export function endFinder(text: string): typeof lineEnd {
  return text.includes('\r') ? lineEnd : lineFeedEnd
}

function lineFeedEnd(text: string, start: number): number {
  const at = text.indexOf('\n', start)
  return at === -1 ? text.length : at + 1
}

/** The offset at which the line that contains `offset` begins. */
export function lineStart(text: string, offset: number): number {
  for (let start = offset; start > 0; start--) {
    const before = text.charCodeAt(start - 1)
    // Between \r and \n there is no new line.
    if (before === lineFeed || (before === carriageReturn && text.charCodeAt(start) !== lineFeed)) return start
  }
  return 0
}

/** The 1-based numbers of the lines that contain the offsets: ascending, each inside the text. One pass over the text. */
export function lineNumbersAt(text: string, offsets: readonly number[]): number[] {
  const endOf = endFinder(text)
  let end = 0
  let line = 0
  return offsets.map((offset) => {
    while (end <= offset && end < text.length) {
      end = endOf(text, end)
      line++
    }
    return line
  })
}
