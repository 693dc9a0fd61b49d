// async_read (PRD 3.1).
import { contract } from '../../schemas/contract.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { ReadInput, ReadOutput } from '../../schemas/read.ts'
import { isWhole } from '../engine/diff/changed-lines.ts'
import type { DiffFormat } from '../engine/diff/compare.ts'
import { lineEnd, skipLines, splitMark } from '../engine/diff/lines.ts'
import type { FileVersion } from '../engine/files/read-file.ts'
import { decodeText, decodeIfText, isByteName, isUtf8Name } from '../engine/files/text.ts'
import type { LineRange } from '../engine/versions/line-ranges.ts'
import { findSeenLines } from '../engine/versions/seen-lines.ts'
import { hasAll, hasLines } from '../engine/versions/spans.ts'
import { contentText, type OperationContext } from '../engine/context.ts'
import { KnownText } from '../engine/versions/known-text.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { readVersion } from './change/file-version.ts'
import { versionAt } from './change/kept-version.ts'
import { withLocks } from './locking/with-locks.ts'
import { charactersThatFit, contentRoom, fits, linesThatFit } from './answer-size.ts'
import { answerPart, asksForPart } from './part.ts'
import { largeBytes, largeTurn } from '../support/large-work.ts'
import { timestamp } from '../support/timestamp.ts'

export const asyncRead = defineOperation({
  name: 'async_read',
  title: 'Read a file',
  description:
    'Reads a text file, whole or by lines (offset, limit), with the hash of the whole file. Keep the hash: async_update needs it, and the server keeps the bytes behind it, so that a later contention answer can show exactly what changed. To check whether a file that you know has changed, pass known_hash: the answer is not_modified or, if that is shorter, the difference. Waits only while the file is being written.',
  ...contract.async_read,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  readsDisk: true,
  errors: [
    ...pathErrors,
    'FILE_NOT_FOUND',
    'VERSION_NOT_KEPT',
    'ENCODING_ERROR',
    'FILE_TOO_LARGE',
    'LOCK_TIMEOUT',
    'DEADLOCK'
  ],
  handle: read
})

export type ReadAnswer = Static<typeof ReadOutput>

/** Called with what an answer will show, before the agent counts as having seen it; may throw instead. */
export type Take = (shown: Pick<ReadAnswer, 'content' | 'diff'>) => void

async function read(input: ReadInput, context: OperationContext): Promise<ReadAnswer> {
  if (!asksForPart(input)) return readOne(input, context)
  const { answer, identity } = await answerPart(input, context)
  return { ...answer, ...(input.include_modified && { modified: modifiedAt({ identity }) }) }
}

export async function readOne(
  input: Omit<ReadInput, 'agent_id' | 'include_modified'> & Partial<Pick<ReadInput, 'include_modified'>>,
  context: OperationContext,
  take: Take = () => {},
  maxChars = context.caller.maxAnswerChars
): Promise<ReadAnswer> {
  const { path, snapshot } = input
  if (snapshot !== undefined) {
    const answer = await readSnapshot(input, snapshot, context, maxChars)
    take(answer)
    return { ...answer, snapshot }
  }
  // A reader waits for writers only, for the longest time allowed (PRD 4.1).
  const options = { operation: 'async_read', timeout: context.config.crud.max_timeout }
  const { version, canonicalPath } = await withLocks(
    context,
    [{ path, mode: 'shared', reach: 'target' }],
    options,
    async ([place]) => ({ version: await readVersion(context, place!, path), canonicalPath: place!.path })
  )
  return present(input, version, canonicalPath, context, take, maxChars)
}

type ReadOneInput = Parameters<typeof readOne>[0]

/** The file as it was at a moment. */
async function readSnapshot(
  input: ReadOneInput,
  snapshot: string,
  context: OperationContext,
  maxChars: number | undefined
): Promise<ReadAnswer> {
  const { path, offset, limit, encoding = context.config.crud.default_encoding } = input
  const { bytes, hash } = await versionAt(context, path, snapshot)
  const selection = selectLines(new KnownText(decodeText(bytes, encoding, path)), offset, limit)
  const { content, returned, goOn } = toPage(selection, contentRoom(maxChars, path))
  return {
    status: 'ok',
    path,
    hash,
    total_lines: selection.total,
    ...goOn,
    offset,
    limit,
    lines_returned: returned,
    encoding,
    timestamp: timestamp(),
    content
  }
}

/** The answer to a read of this version, which is the current one. */
export async function present(
  input: ReadOneInput,
  version: FileVersion,
  canonicalPath: string,
  context: OperationContext,
  take: Take = () => {},
  maxChars = context.caller.maxAnswerChars
): Promise<ReadAnswer> {
  const { path, offset, limit, encoding = context.config.crud.default_encoding, known_hash, diff_format } = input
  if (version.bytes.length > largeBytes) await largeTurn()
  const decode = () => decodeText(version.bytes, encoding, path)
  const known = isUtf8Name(encoding) ? context.bases.textOf(version.bytes, decode) : new KnownText(decode())
  const now: Present = {
    path: canonicalPath,
    text: known.text,
    hash: version.hash,
    selection: selectLines(known, offset, limit),
    encoding,
    diffFormat: diff_format,
    room: contentRoom(maxChars, path)
  }
  const { returned, total } = now.selection
  const news = known_hash === undefined ? undefined : await newsSince(known_hash, now, context)
  const page = toPage(now.selection, now.room, byteOffsets(now))
  const { content, shown, goOn } = page
  take(news ?? { content })
  const { agentId } = context.caller
  const named = { path: canonicalPath, given: path, hash: version.hash }
  if (news === undefined) {
    // Of a line that was cut nothing counts as seen.
    if (shown.end >= shown.start || total === 0)
      context.reads.recordRead(agentId, { ...named, lines: shown.end - shown.start + 1 === total ? undefined : shown })
  } else if (news.diff !== undefined) context.reads.recordDifference(agentId, { ...named, from: known_hash! })
  // It shows nothing: the caller knows what it said that it knew.
  else if (returned === total) context.reads.recordNamed(agentId, named)
  return {
    status: 'ok',
    path,
    hash: version.hash,
    total_lines: total,
    ...(news === undefined && goOn),
    offset,
    limit,
    lines_returned: news === undefined ? page.returned : 0,
    encoding,
    ...(input.include_modified === true && { modified: modifiedAt(version) }),
    timestamp: timestamp(),
    ...(news ?? { content, ...(content === known.body && { [contentText]: known }) })
  }
}

function modifiedAt({ identity }: Pick<FileVersion, 'identity'>): string {
  return new Date(Number(identity.mtimeNs / 1_000_000n)).toISOString()
}

interface Present {
  /** Canonical. */
  readonly path: string
  readonly text: string
  readonly hash: string
  readonly selection: Selection
  readonly encoding: string
  readonly diffFormat: DiffFormat | undefined
  /** For content or a difference in the answer. */
  readonly room: number | undefined
}

interface Selection {
  readonly content: string
  /** Offset of the content in the text without its byte order mark. */
  readonly start: number
  readonly lines: LineRange
  /** Lines of the whole text. */
  readonly total: number
  /** Lines of the content. */
  readonly returned: number
}

/** Shorter than this, content is sent as it is. */
const minContentLength = 200

/** The difference that brings the caller to the current version; undefined if it is no shorter than the content, or that version is unknown. */
async function newsSince(
  knownHash: string,
  present: Present,
  context: OperationContext
): Promise<Pick<ReadAnswer, 'not_modified' | 'diff'> | undefined> {
  const { bases, differ, signal } = context
  const { text, hash, selection, encoding, diffFormat, room } = present
  const knowledge = await knowledgeOf(knownHash, present, context)
  if (knowledge === 'none') return undefined
  // The answer that gave an unnamed caller this hash may have had only the beginning of the file.
  const couldBePart = (known: string) =>
    knowledge === 'claimed' && !fits(known, contentRoom(context.caller.maxAnswerChars, present.path))
  if (knownHash === hash) return couldBePart(text) ? undefined : { not_modified: true }
  if (selection.content.length < minContentLength) return undefined
  const base = decodeIfText(await bases.get(knownHash), encoding, knownHash)
  if (base === undefined || couldBePart(base)) return undefined
  const { diff } = await differ.compare({ base, current: text, format: diffFormat, signal })
  const most = Math.min(JSON.stringify(selection.content).length - 1, room ?? Infinity)
  if (diff === null || !isWhole(diff) || JSON.stringify(diff).length > most) return undefined
  return { diff }
}

/** By a record, by the caller's own word, or not at all. */
type Knowledge = 'recorded' | 'claimed' | 'none'

/**
 * Whether the caller already has the lines that it can be spared: the requested lines of the current version, or all lines of another
 * version. If no record says which lines of the file it got (it gave no name, was forgotten, or has the hash from another agent), its
 * known_hash counts for the whole file only: that is what it claims to know.
 */
async function knowledgeOf(
  knownHash: string,
  { path, hash, selection }: Present,
  context: OperationContext
): Promise<Knowledge> {
  const { reads, history, caller } = context
  const { lines, returned, total } = selection
  const isPresent = knownHash === hash
  if (isPresent && returned === 0) return 'recorded'
  const { agentId } = caller
  const claimed = returned === total ? 'claimed' : 'none'
  if (agentId === undefined) return claimed
  if (reads.seenOf(agentId, path, knownHash) === 'all') return 'recorded'
  const seen = await findSeenLines(context, agentId, path, knownHash)
  if (seen === 'all') return 'recorded'
  if (seen !== undefined) {
    const hasThem = isPresent && (returned === total ? hasAll(seen, total) : hasLines(seen, lines))
    return hasThem ? 'recorded' : 'none'
  }
  const isOwn = history.versions(path).some((one) => one.hash === knownHash && one.agentId === agentId)
  const isTold = reads.seen(agentId, path)?.steps.some(({ to }) => to === knownHash) === true
  return isOwn || isTold ? 'none' : claimed
}

function selectLines({ body: text, lines: total }: KnownText, offset: number, limit: number | null): Selection {
  if (offset === 0 && limit === null)
    return { content: text, start: 0, lines: { start: 1, end: total }, total, returned: total }
  const last = limit === null ? total : Math.min(total, offset + limit)
  const returned = Math.max(0, last - offset)
  const lines = { start: offset + 1, end: offset + returned }
  if (returned === 0) return { content: '', start: 0, lines, total, returned }
  const start = skipLines(text, 0, offset)
  return { content: text.slice(start, skipLines(text, start, returned)), start, lines, total, returned }
}

interface Page {
  readonly content: string
  /** Lines of the content, the beginning of one included. */
  readonly returned: number
  /** Those that the content has as a whole: none if `end` is before `start`. */
  readonly shown: LineRange
  /** Undefined if nothing is left. */
  readonly goOn?: Pick<ReadAnswer, 'message' | 'next_offset' | 'next_byte_offset'>
}

/** @param byteAt the byte offset in the file of an offset in its text; undefined if a line cannot be read in parts */
function toPage(selection: Selection, room: number | undefined, byteAt?: (offset: number) => number): Page {
  const { content, start, lines, total, returned } = selection
  if (room === undefined || fits(content, room)) return { content, returned, shown: lines }
  const { end, lines: whole } = linesThatFit(content, room)
  if (whole === 0 && byteAt !== undefined) {
    const length = charactersThatFit(content, room)
    const next = byteAt(start + length)
    const message = `This is the beginning of line ${lines.start}, which is longer than an answer to this client. Go on with byte_offset ${next}.`
    const goOn = { message, next_byte_offset: next }
    return { content: content.slice(0, length), returned: 1, shown: { ...lines, end: lines.start - 1 }, goOn }
  }
  // In an encoding that has no parts by bytes, a long line comes as a whole.
  const count = Math.max(whole, 1)
  const shown = { start: lines.start, end: lines.start + count - 1 }
  const shownContent = content.slice(0, whole === 0 ? lineEnd(content, 0) : end)
  if (count === returned) return { content: shownContent, returned: count, shown }
  const message = `These are lines ${shown.start} to ${shown.end} of ${total}: more would be longer than an answer to this client. Go on with offset ${shown.end}.`
  return { content: shownContent, returned: count, shown, goOn: { message, next_offset: shown.end } }
}

/** For encodings in which a part can begin at any character. */
function byteOffsets({ text, encoding }: Pick<Present, 'text' | 'encoding'>) {
  const markLength = splitMark(text).mark.length
  if (isUtf8Name(encoding)) return (offset: number) => Buffer.byteLength(text.slice(0, markLength + offset))
  return isByteName(encoding) ? (offset: number) => offset : undefined
}
