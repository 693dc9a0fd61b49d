// A part of a file by bytes: of a line of any length, and of a file that is too large to be read whole.
import type { ReadInput } from '../../schemas/read.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { countLines, endsWithBreak, splitMark } from '../engine/diff/lines.ts'
import { decodeText, isUtf8Name } from '../engine/files/text.ts'
import { decodePart, type TextPart } from '../engine/files/text-part.ts'
import type { FilePart } from '../engine/files/read-part.ts'
import type { FileVersion } from '../engine/files/read-file.ts'
import type { LineRange } from '../engine/seen/line-ranges.ts'
import { OperationError } from '../errors.ts'
import { largeBytes, largeTurn } from '../support/large-work.ts'
import { timestamp } from '../support/timestamp.ts'
import { charactersThatFit, contentRoom, fits, linesThatFit } from './answer-size.ts'
import { readVersion } from './change/file-version.ts'
import { withLocks } from './locking/with-locks.ts'

type PartInput = Omit<ReadInput, 'agent_id' | 'include_modified'>

export function asksForPart({ byte_offset, byte_limit }: Pick<PartInput, 'byte_offset' | 'byte_limit'>): boolean {
  return byte_offset !== undefined || byte_limit !== undefined
}

function asksForLines({ offset, limit, line_numbers, known_hash, snapshot }: PartInput): boolean {
  return offset !== 0 || limit !== null || line_numbers || known_hash !== undefined || snapshot !== undefined
}

interface Found {
  readonly part: FilePart
  /** Undefined if the file is too large for a whole read: then its hash is not known. */
  readonly version: FileVersion | undefined
  readonly canonicalPath: string
}

export async function answerPart(input: PartInput, context: OperationContext) {
  const { path, offset, limit, encoding = context.config.crud.default_encoding } = input
  if (asksForLines(input)) {
    const message = `byte_offset and byte_limit ask for a part by bytes: leave out offset, limit, line_numbers, known_hash and snapshot (${path}).`
    throw new OperationError('INVALID_REQUEST', message, { path })
  }
  const { part, version, canonicalPath } = await findPart(input, context)
  const decoded = decodePart(part, encoding, path)
  const { start } = decoded
  const { mark, body } = start === 0 ? splitMark(decoded.text) : { mark: '', body: decoded.text }
  const content = beginningFor(body, contentRoom(context.caller.maxAnswerChars, path))
  const isCut = content.length < body.length
  const shown = mark + content
  const end = isCut ? start + (isUtf8Name(encoding) ? Buffer.byteLength(shown) : shown.length) : decoded.end
  if (version !== undefined)
    await recordLines(context, { version, start, end, content }, encoding, {
      path: canonicalPath,
      given: path
    })
  return {
    identity: part.identity,
    answer: {
      status: 'ok' as const,
      path,
      ...(version && { hash: version.hash }),
      ...(isCut && {
        message: `The part goes on: more would be longer than an answer to this client. Go on with byte_offset ${end}.`,
        next_byte_offset: end
      }),
      offset,
      limit,
      lines_returned: countLines(content),
      byte_range: { start, end },
      total_bytes: part.size,
      encoding,
      timestamp: timestamp(),
      content
    }
  }
}

/** Whole lines if there are any, so that they count as seen. */
function beginningFor(text: string, room: number | undefined): string {
  if (room === undefined || fits(text, room)) return text
  const { end } = linesThatFit(text, room)
  return text.slice(0, end === 0 ? charactersThatFit(text, room) : end)
}

async function findPart(
  { path, byte_offset: offset = 0, byte_limit }: PartInput,
  context: OperationContext
): Promise<Found> {
  const { max_file_size_bytes: most, max_timeout: timeout } = context.config.crud
  const length = Math.min(byte_limit ?? most, most)
  const options = { operation: 'async_read', timeout }
  return withLocks(context, [{ path, mode: 'shared', reach: 'target' }], options, async ([place]) => {
    const { stat, path: canonicalPath } = place!
    if (stat?.isFile() === true && stat.size > most) {
      const part = await context.files.readPart(place!, path, { offset, length })
      return { part, version: undefined, canonicalPath }
    }
    const version = await readVersion(context, place!, path)
    const { bytes, identity } = version
    const start = Math.min(offset, bytes.length)
    return {
      part: { bytes: bytes.subarray(start, start + length), start, size: bytes.length, identity },
      version,
      canonicalPath
    }
  })
}

interface Shown extends Pick<TextPart, 'start' | 'end'> {
  readonly version: FileVersion
  readonly content: string
}

/** Lines that the part has only a piece of do not count as seen. */
async function recordLines(
  { reads, caller }: OperationContext,
  { version, start, end, content }: Shown,
  encoding: string,
  place: { readonly path: string; readonly given: string }
): Promise<void> {
  const { bytes, hash } = version
  if (start === 0 && end === bytes.length) {
    reads.recordRead(caller.agentId, { ...place, hash, lines: undefined })
    return
  }
  if (start > largeBytes) await largeTurn()
  const before = splitMark(decodeText(bytes.subarray(0, start), encoding, place.path)).body
  const lines = wholeLines(before, content, end === bytes.length)
  if (lines !== undefined) reads.recordRead(caller.agentId, { ...place, hash, lines })
}

/** @param before the text before the content @param isEnd whether nothing follows it */
export function wholeLines(before: string, content: string, isEnd: boolean): LineRange | undefined {
  // A line feed that follows a carriage return is part of the line before.
  const beginsWhole = before === '' || (endsWithBreak(before) && !(before.endsWith('\r') && content.startsWith('\n')))
  const endsWhole = isEnd || content.endsWith('\n')
  const count = countLines(content) - (beginsWhole ? 0 : 1) - (endsWhole ? 0 : 1)
  if (count <= 0) return undefined
  const start = countLines(before) + 1
  return { start, end: start + count - 1 }
}
