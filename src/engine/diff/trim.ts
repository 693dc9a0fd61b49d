// Cuts from two texts what they have in common at the start and the end, so that a small change in a large file costs little.

export interface TrimmedTexts {
  readonly base: string
  readonly current: string
  /** The text cut from the start of both. */
  readonly head: string
}

const chunkChars = 16 * 1024

/**
 * Cuts only after a \n, where a line of a unified diff ends as well, and leaves `contextLines` of these on either side.
 */
export function trimTexts(base: string, current: string, contextLines: number): TrimmedTexts {
  const prefix = commonPrefix(base, current)
  let start = lineFeedBefore(base, prefix)
  for (let line = 0; line < contextLines && start > 0; line++) start = lineFeedBefore(base, start - 1)

  const suffix = commonSuffix(base, current, Math.min(base.length, current.length) - prefix)
  let end = lineFeedAfter(base, base.length - suffix)
  for (let line = 0; line < contextLines && end < base.length; line++) end = lineFeedAfter(base, end)
  return {
    base: base.slice(start, end),
    current: current.slice(start, current.length - (base.length - end)),
    head: base.slice(0, start)
  }
}

/** The offset behind the last \n before `offset`. */
function lineFeedBefore(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1
}

/** The offset behind the first \n from `offset` on. */
function lineFeedAfter(text: string, offset: number): number {
  const at = text.indexOf('\n', offset)
  return at === -1 ? text.length : at + 1
}

function commonPrefix(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let length = 0
  // Slices are compared by the engine, many characters at a time.
  while (length < most && a.slice(length, length + chunkChars) === b.slice(length, length + chunkChars)) {
    length += chunkChars
  }
  while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length++
  return Math.min(length, most)
}

function commonSuffix(a: string, b: string, most: number): number {
  const tail = (text: string, from: number) => text.slice(text.length - from - chunkChars, text.length - from)
  let length = 0
  while (length + chunkChars <= most && tail(a, length) === tail(b, length)) length += chunkChars
  while (length < most && a.charCodeAt(a.length - 1 - length) === b.charCodeAt(b.length - 1 - length)) length++
  return length
}
