// read_file (FES 2.1): lines without their ends, joined by \n.
import { contract } from '../../schemas/contract.ts'
import type { ReadFileInput, ReadFileOutput } from '../../schemas/file-editing.ts'
import type { Static } from '../../schemas/typebox.ts'
import { countLines, skipLines, splitMark, withoutTerminator } from '../engine/diff/lines.ts'
import { decodeText } from '../engine/files/text.ts'
import type { OperationContext } from '../engine/call/context.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { contentRoom, fits, linesThatFit } from './answer-size.ts'
import { lockSeconds, refuseLines, requireFileName } from './file-name.ts'
import { readLocked } from './locking/read-locked.ts'
import { largeBytes, largeTurn } from '../support/large-work.ts'

export const readFile = defineOperation({
  name: 'read_file',
  title: 'Read a file of the folder',
  description:
    'Reads a UTF-8 text file directly in the first root, whole or from start_line to end_line. Lines are joined by \\n, whichever line ends the file has. To change the file safely while others do, use async_read, which gives the hash that async_update needs.',
  ...contract.read_file,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  errors: [...pathErrors, 'FILE_NOT_FOUND', 'ENCODING_ERROR', 'FILE_TOO_LARGE', 'LOCK_TIMEOUT', 'DEADLOCK'],
  handle: read
})

async function read(input: ReadFileInput, context: OperationContext): Promise<Static<typeof ReadFileOutput>> {
  const { name, start_line, end_line } = input
  requireFileName(name)
  if (start_line !== undefined && end_line !== undefined && start_line > end_line)
    refuseLines(name, `Start line ${start_line} cannot exceed end line ${end_line}.`)
  const { version, canonicalPath } = await readLocked(context, name, 'read_file', lockSeconds(context))
  if (version.bytes.length > largeBytes) await largeTurn()
  const text = splitMark(decodeText(version.bytes, 'utf-8', name)).body
  const total = countLines(text)
  const first = start_line ?? 1
  if (start_line !== undefined && start_line > total)
    refuseLines(name, `Start line ${start_line} exceeds file length: the file has ${total} lines.`)
  const asked = Math.min(end_line ?? total, total)
  const start = skipLines(text, 0, first - 1)
  const last = lastThatFits(text, start, { first, last: asked }, contentRoom(context.caller.maxAnswerChars, name))
  const isWhole = first === 1 && last === total
  context.reads.recordRead(context.caller.agentId, {
    path: canonicalPath,
    given: name,
    hash: version.hash,
    lines: isWhole ? undefined : { start: first, end: last }
  })
  const end = last === total ? text.length : skipLines(text, start, last - first + 1)
  return {
    total_lines: total,
    ...((start_line !== undefined || end_line !== undefined) && {
      range_requested: { ...(start_line !== undefined && { start_line }), ...(end_line !== undefined && { end_line }) }
    }),
    ...(last < asked && { next_start_line: last + 1 }),
    content: joinLines(text.slice(start, end))
  }
}

/** A line that is longer than an answer comes as a whole. */
function lastThatFits(text: string, start: number, { first, last }: LineSpan, room: number | undefined): number {
  const end = skipLines(text, start, last - first + 1)
  const asked = text.slice(start, end)
  if (room === undefined || fits(asked, room)) return last
  return first - 1 + Math.max(1, linesThatFit(asked, room).lines)
}

interface LineSpan {
  readonly first: number
  readonly last: number
}

/** Joins lines with \n, whatever ends them. */
function joinLines(text: string): string {
  const body = withoutTerminator(text)
  return body.includes('\r') ? body.replace(/\r\n?/g, '\n') : body
}
