// Splits a byte stream into lines. Keeps only one line at a time, and none that is too long.
import type { Readable } from 'node:stream'

/** A line without its line feed; undefined for one that was longer than the limit. */
export type Line = Buffer | undefined

const lineFeed = 10

/** The lines of a stream, the last one even without a line feed. Reads on only when the next line is asked for. */
export async function* readLines(input: Readable, maxBytes: number): AsyncGenerator<Line> {
  let parts: Buffer[] = []
  let length = 0

  function take(part: Buffer): void {
    length += part.length
    if (length <= maxBytes) parts.push(part)
    else parts = []
  }

  function finish(): Line {
    const line = length <= maxBytes ? Buffer.concat(parts) : undefined
    parts = []
    length = 0
    return line
  }

  for await (const chunk of input as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      take(chunk.subarray(start, end))
      start = end + 1
      yield finish()
    }
    take(chunk.subarray(start))
  }
  if (length > 0) yield finish()
}
