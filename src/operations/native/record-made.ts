// Records what a native tool has made of a file, with its agent.
import { isOperationError, OperationError } from '../../errors.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { countLines, splitMark } from '../../engine/diff/lines.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import { decodeIfText } from '../../engine/files/text.ts'
import type { TargetFile } from '../../engine/leases/native-turns.ts'
import { type Author, isMadeBy, nativeEdit, probableEdit } from '../../engine/versions/author.ts'
import { type Now, nothing } from '../../engine/versions/made-step.ts'
import { findSeenLines } from '../../engine/seen/seen-lines.ts'
import { spanOf, type Spans } from '../../engine/seen/spans.ts'
import { keptText } from '../change/kept-version.ts'
import type { Harness } from './native-call.ts'
import { traceMade, type Announced } from './trace-made.ts'

/** An edit that a tool has announced, and whether its harness has reported its end. */
export interface ToolEdit extends Announced {
  readonly isReported: boolean
}

/** What native tools were to change in one file. */
export interface MadeFile extends Pick<TargetFile, 'path' | 'given'> {
  /** In the order in which they were announced. */
  readonly edits: readonly ToolEdit[]
  /** What was there before; its hash is null if there was no file. Undefined if what was there is not known. */
  readonly before: { readonly hash: string | null } | undefined
  /** True if others may have changed the file between that and the edits. */
  readonly isLate: boolean
}

/**
 * Runs under the lock of the file. Other programs take no locks: what is there now counts as the agent's only if its tools were to make
 * it of the version before, or of one that the agent knew. An agent that is taken to know more would overwrite it.
 */
export async function recordMade(
  context: OperationContext,
  { agentId, harness }: { readonly agentId: string; readonly harness: Harness },
  file: MadeFile
): Promise<void> {
  const { history, bases, reads } = context
  const { path, given, before, edits } = file
  const made = await readNow(context, file)
  if (made === 'unreadable') return
  const isChanged = before === undefined || (made?.hash ?? null) !== before.hash
  const last = history.last(path)
  const note = (operation: string, now: Now, isExact = false) =>
    before === undefined
      ? history.observe(path, now)
      : history.append(authorOf(operation, now, isExact), [{ path, now }])
  /** What the tool did not announce, a command that was open may have made. */
  function authorOf(operation: string, now: Now, isExact: boolean): Author {
    const others = isExact ? [] : context.commands.writersOf(path, now)
    const agents = [...new Set([agentId, ...others])]
    return { agentId, operation, ...(agents.length > 1 && { agents }) }
  }
  if (!isChanged && (!file.isLate || made === undefined || (last !== undefined && isMadeBy(last, agentId)))) return
  if (made === undefined) {
    const operation = edits.some(isWordless) ? nativeEdit : probableEdit
    return note(operation, nothing)
  }
  const named = { path, given, hash: made.hash }
  const traced = await traceFile(context, agentId, file, made)
  if (isChanged) {
    const operation = traced.isSent === true || traced.from !== undefined ? nativeEdit : probableEdit
    bases.keep(made.hash, made.bytes)
    // Of a file that it has not seen the agent knows what it writes.
    if (typeof before?.hash === 'string' && reads.seen(agentId, path) === undefined && harness.reportsReads)
      reads.recordParts(agentId, { ...named, hash: before.hash }, [])
    note(operation, { kind: 'file', ...made }, traced.isExact)
  }
  if (traced.isSent === true) return reads.recordSent(agentId, named)
  if (traced.spans !== undefined) reads.recordParts(agentId, named, traced.spans)
  if (traced.from === undefined) return
  if (reads.seen(agentId, path) === undefined) return reads.recordSent(agentId, named)
  // What is there was noted as a change from outside, or the tools have begun with an earlier version.
  if (!isChanged || traced.from !== before?.hash) reads.recordDifference(agentId, { ...named, from: traced.from })
}

interface Traced {
  /** The version of which the tools have made what is there, and nothing else has; undefined if there is none. */
  readonly from: string | undefined
  /** What is there is what the tools announced, to the letter. */
  readonly isExact?: boolean
  /** The agent has sent all of it. */
  readonly isSent?: boolean
  /** What the agent has seen of what is there, if it has not made all that is new. */
  readonly spans?: Spans
}

async function traceFile(
  context: OperationContext,
  agentId: string,
  { path, before, edits, isLate }: MadeFile,
  made: FileVersion
): Promise<Traced> {
  const last = before?.hash ?? undefined
  // Tools that delete, and those of notebooks, do not say what they make.
  if (edits.some(isWordless)) return isLate ? { from: undefined } : { from: last, isSent: last === undefined }
  const text = decodeIfText(made.bytes, context.config.crud.default_encoding, path)
  if (text === undefined) return { from: undefined }
  const sent = edits.at(-1)?.content
  if (sent !== undefined && traceMade('', text, edits.slice(-1)).isOwn)
    return { from: undefined, isSent: true, isExact: true }
  const known = context.reads.seen(agentId, path)?.seen.map(({ hash }) => hash) ?? []
  for (const hash of new Set([last, ...(isLate ? known.toReversed() : [])])) {
    const base = hash === undefined || hash === made.hash ? undefined : await keptText(context, path, hash)
    if (hash === undefined || base === undefined) continue
    const { isOwn, isExact } = traceMade(base, text, edits)
    if (isOwn) return { from: hash, isExact }
  }
  const base = last === undefined || last === made.hash ? undefined : await keptText(context, path, last)
  if (last === undefined || base === undefined) return { from: undefined }
  const seen = await findSeenLines(context, agentId, path, last)
  const { carry } = traceMade(base, text, edits)
  const spans = carry(seen === 'all' ? [spanOf({ start: 1, end: countLines(splitMark(base).body) })] : (seen ?? []))
  return { from: undefined, spans }
}

function isWordless({ patches, content, isReported }: ToolEdit): boolean {
  return patches === undefined && content === undefined && isReported
}

/** Whether there is no file at a path, or something else than a file. */
export function isNoFile(error: unknown): boolean {
  return isOperationError(error, 'FILE_NOT_FOUND') || isOperationError(error, 'NOT_A_FILE')
}

async function readNow(
  { files, log }: OperationContext,
  { path, given }: Pick<TargetFile, 'path' | 'given'>
): Promise<FileVersion | undefined | 'unreadable'> {
  try {
    const place = files.open(path, 'target')
    try {
      // A link that the tool has put in its place leads to another file, which is not locked.
      return place.stat === undefined || place.path !== path ? undefined : await files.read(place, given)
    } finally {
      place.close()
    }
  } catch (error) {
    if (isNoFile(error)) return undefined
    if (!(error instanceof OperationError)) throw error
    log.warn({ err: error, path }, 'what a native tool has made could not be read')
    return 'unreadable'
  }
}
