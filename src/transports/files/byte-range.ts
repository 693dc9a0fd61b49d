// The Range header: one range of bytes (RFC 9110, 14).
import { endFinder, withoutTerminator } from '../../engine/diff/lines.ts'
import { OperationError } from '../../errors.ts'

export interface ByteRange {
  readonly start: number
  /** Not included. */
  readonly end: number
}

/** @throws OperationError RANGE_NOT_SATISFIABLE also for what other servers ignore: another unit, several ranges */
export function readRange(header: string, size: number): ByteRange {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header.trim()) ?? []
  const range = first === '' ? lastBytes(last, size) : { start: Number(first), end: endOf(last, size) }
  if (range !== undefined && range.start < range.end) return range
  const message = `Range must be one range of bytes within the ${size} bytes of the file: bytes=0-99, bytes=100- or bytes=-100.`
  throw new OperationError('RANGE_NOT_SATISFIABLE', message, { details: { size_bytes: size } })
}

/** The lines that lie within a range, but for the end of the last one, as async_read takes them; undefined if there is none. */
export function linesIn(
  content: string,
  { start, end }: ByteRange
): { readonly offset: number; readonly limit: number } | undefined {
  const endOf = endFinder(content)
  let offset = 0
  let limit = 0
  for (let from = 0; from < end && from < content.length;) {
    const to = endOf(content, from)
    if (from < start) offset += 1
    else if (from + withoutTerminator(content.slice(from, to)).length <= end) limit += 1
    from = to
  }
  return limit === 0 ? undefined : { offset, limit }
}

function lastBytes(count: string, size: number): ByteRange | undefined {
  return count === '' ? undefined : { start: Math.max(0, size - Number(count)), end: size }
}

function endOf(last: string, size: number): number {
  return last === '' ? size : Math.min(size, Number(last) + 1)
}
