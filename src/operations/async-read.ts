// async_read (PRD 3.1).
import { contract } from '../../schemas/contract.ts'
import type { Static } from '../../schemas/typebox.ts'
import type { ReadInput, ReadOutput } from '../../schemas/read.ts'
import { isWhole } from '../engine/diff/changed-lines.ts'
import type { DiffFormat } from '../engine/diff/compare.ts'
import type { FileVersion } from '../engine/files/read-file.ts'
import { decodeText, decodeIfText, isUtf8Name } from '../engine/files/text.ts'
import { findSeenLines } from '../engine/seen/seen-lines.ts'
import { hasAll, hasLines } from '../engine/seen/spans.ts'
import { contentText, type OperationContext } from '../engine/call/context.ts'
import { KnownText } from '../engine/versions/known-text.ts'
import { defineOperation, pathErrors } from './definition/define.ts'
import { versionAt } from './change/kept-version.ts'
import { wholeHash } from './change/named-version.ts'
import { readLocked } from './locking/read-locked.ts'
import { contentRoom, diffFor } from './answer-size.ts'
import { byteOffsets, fitsNumbered, selectLines, toPage, type Selection } from './read-page.ts'
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
  const { version, canonicalPath } = await readLocked(context, path, 'async_read')
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
  const { path, offset, limit, line_numbers, encoding = context.config.crud.default_encoding } = input
  const { bytes, hash } = await versionAt(context, path, snapshot)
  const selection = selectLines(new KnownText(decodeText(bytes, encoding, path)), offset, limit)
  const { content, returned, goOn } = toPage(selection, { room: contentRoom(maxChars, path), isNumbered: line_numbers })
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
  const { path, offset, limit, encoding = context.config.crud.default_encoding, known_hash: given, diff_format } = input
  const known_hash = given && wholeHash(given, { path, canonicalPath, current: version.hash }, context)
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
  const room = input.line_numbers ? now.room : roomFor(now, known)
  const page = toPage(now.selection, { room, isNumbered: input.line_numbers }, byteOffsets(now))
  const { content, shown, goOn } = page
  take(news ?? { content })
  const { agentId } = context.caller
  const named = { path: canonicalPath, given: path, hash: version.hash }
  if (news === undefined) {
    // Of a line that was cut nothing counts as seen.
    if (shown.end >= shown.start || total === 0)
      context.reads.recordRead(agentId, { lines: shown.end - shown.start + 1 === total ? undefined : shown, ...named })
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

/** Undefined if the whole text is shown and surely fits: its JSON is known, and has no more characters than bytes. */
function roomFor({ selection: { content }, room }: Present, known: KnownText): number | undefined {
  const mayFit = room !== undefined && content === known.body && content.length <= room
  return mayFit && known.json.length - 2 <= room ? undefined : room
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
    knowledge === 'claimed' && !fitsNumbered(known, contentRoom(context.caller.maxAnswerChars, present.path))
  if (knownHash === hash) return couldBePart(text) ? undefined : { not_modified: true }
  if (selection.content.length < minContentLength) return undefined
  const base = decodeIfText(await bases.get(knownHash), encoding, knownHash)
  if (base === undefined || couldBePart(base)) return undefined
  const { diff } = await differ.compare({ base, current: text, ...diffFor(context.caller, diffFormat), signal })
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
