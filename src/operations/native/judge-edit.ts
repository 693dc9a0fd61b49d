// Whether a native edit would overwrite what its session has not seen.
import type { StringPatch } from '../../../schemas/patches.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { isWhole } from '../../engine/diff/changed-lines.ts'
import { countLines, splitMark } from '../../engine/diff/lines.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import { decodeIfText } from '../../engine/files/text.ts'
import type { TargetFile, UnseenChange } from '../../engine/leases/native-turns.ts'
import { describeAuthors, describeLines } from '../../engine/notices/notices.ts'
import { isCommandOf, isMadeBy, isWrittenBy } from '../../engine/versions/author.ts'
import type { LineRange } from '../../engine/seen/line-ranges.ts'
import { findSeenLines } from '../../engine/seen/seen-lines.ts'
import { lastWhole } from '../../engine/seen/seen-versions.ts'
import { hasAll, hasLines, spanOf, unseenLines } from '../../engine/seen/spans.ts'
import type { Named } from '../../engine/seen/read-tracker.ts'
import type { Version } from '../../engine/versions/version.ts'
import { keptText } from '../change/kept-version.ts'
import { linesWith } from './draft.ts'
import type { Harness } from './native-call.ts'

type Judged = { readonly refusal: string } | { readonly unseen: UnseenChange | undefined }

interface Edit {
  readonly agentId: string
  readonly tool: string
  readonly harness: Harness
}

const passes: Judged = { unseen: undefined }

/** @param current the version to be changed; undefined if there is no file */
export async function judgeEdit(
  context: OperationContext,
  edit: Edit,
  file: TargetFile,
  current: FileVersion | undefined
): Promise<Judged> {
  const { path, given, patches } = file
  // What a command has made of it so far is the version before this edit.
  context.history.release(path)
  const known = context.reads.seen(edit.agentId, path)?.seen ?? []
  if (current === undefined) return judgeMissing(context, edit, file, known.length > 0)
  const seen = await findSeenLines(context, edit.agentId, path, current.hash, { ownsCommands: true })
  if (seen === undefined) return judgeUnread(context, edit, file, current)
  if (seen === 'all') return passes
  const text = decodeIfText(current.bytes, context.config.crud.default_encoding, path)
  const lines = text === undefined ? undefined : countLines(splitMark(text).body)
  if (lines !== undefined && hasAll(seen, lines)) return passes
  const whole = lastWhole(known)
  const bases = known.map(({ hash }) => followOwn(hash, context.history.versions(path), edit.agentId))
  const older = bases.filter(({ hash }) => hash !== current.hash)
  const change = older.find(({ known: hash }) => hash === whole) ?? older.at(-1)
  if (patches !== undefined && text !== undefined) {
    const isSeen = patches.every((patch) => linesWith(text, patch)?.every((range) => hasLines(seen, range)) === true)
    if (isSeen || (await isUntouched(context, { bases, current: current.hash, text, patches, path })))
      return {
        unseen: change && { path, given, from: change.hash, to: current.hash, authors: authorsOf(change, edit) }
      }
  }
  if (change !== undefined && (whole !== undefined || patches !== undefined))
    return { refusal: await refuse(context, edit, file, { change, current: current.hash }) }
  return { refusal: refusePart(context, edit, file, current, lines === undefined ? [] : unseenLines(seen, lines)) }
}

/** A session that has never seen the file. */
function judgeUnread(
  context: OperationContext,
  { agentId, tool, harness }: Edit,
  file: TargetFile,
  current: FileVersion
): Judged {
  const { path, given, patches, content } = file
  const last = context.history.last(path)
  const isOthers = last !== undefined && !last.isFirstSight && last.operation !== 'external' && !isMadeBy(last, agentId)
  const isReplaced =
    content !== undefined && harness.reportsReads && current.bytes.length > 0 && !hasMadeAll(context, agentId, path)
  if (patches !== undefined || (!isOthers && !isReplaced)) return passes
  if (!harness.reportsReads) markRead(context, agentId, file, current.hash)
  const madeBy = isOthers ? `, and ${describeAuthors([last], agentId)} made it what it is` : ''
  return {
    refusal: `You have not read ${given}${madeBy}. ${tool} would replace it, so it was not run. Read the file first.`
  }
}

/** Its own command has created the file, and nobody else has changed it. */
function hasMadeAll({ history }: OperationContext, agentId: string, path: string): boolean {
  const versions = history.versions(path)
  const own = versions.slice(versions.findLastIndex(({ isCreated }) => isCreated === true))
  return own[0]?.isCreated === true && own.every((version) => isMadeBy(version, agentId))
}

interface Known {
  /** The version that it was shown. */
  readonly known: string
  /** What it has made of that. */
  readonly hash: string
  /** What others have made of it since. */
  readonly since: readonly Version[]
}

/** A session knows what it made itself of a version that it knew. */
function followOwn(hash: string, versions: readonly Version[], agentId: string): Known {
  let at = versions.findLastIndex((version) => version.hash === hash)
  if (at === -1) return { known: hash, hash, since: versions }
  const isOwn = (version: Version) => isWrittenBy(version, agentId) || isCommandOf(version, agentId)
  for (let next = versions[at + 1]; next !== undefined && isOwn(next); next = versions[at + 1]) at += 1
  return { known: hash, hash: versions[at]?.hash ?? hash, since: versions.slice(at + 1) }
}

function authorsOf({ since }: Known, { agentId }: Edit): string {
  return describeAuthors(
    since.filter((version) => !isMadeBy(version, agentId)),
    agentId
  )
}

interface Places {
  /** What the session knew, with what it made of it. */
  readonly bases: readonly Known[]
  readonly current: string
  readonly text: string
  readonly patches: readonly StringPatch[]
  readonly path: string
}

/** Whether the place of the edit is untouched since the session saw something of the file. */
async function isUntouched(
  context: OperationContext,
  { bases, current, text, patches, path }: Places
): Promise<boolean> {
  const older = new Set(bases.map(({ hash }) => hash).filter((hash) => hash !== current))
  for (const hash of older)
    if (await stillFits(context, { base: await keptText(context, path, hash), current: text, patches })) return true
  return older.size === 0
}

function judgeMissing(
  { history, reads }: OperationContext,
  { agentId, tool }: Edit,
  { path, given, patches }: TargetFile,
  isKnown: boolean
): Judged {
  const last = history.last(path)
  // The tool itself reports that there is nothing to replace.
  if (!isKnown || patches !== undefined || last?.hash !== null || isMadeBy(last, agentId)) return passes
  reads.forget(agentId, path)
  return {
    refusal: `${describeAuthors([last], agentId)} removed ${given} since you last saw it. ${tool} would bring it back, so it was not run. If that is what you want, call ${tool} again.`
  }
}

async function stillFits(
  { differ, signal }: OperationContext,
  { base, current, patches }: { base: string | undefined; current: string; patches: readonly StringPatch[] }
): Promise<boolean> {
  if (base === undefined) return false
  const spelt = patches.map((patch) => withLineEndsOf(current, patch))
  const { judgement } = await differ.compare({ base, current, patches: spelt, signal })
  return judgement?.patches_applicable === true
}

/** Harnesses show and replace text as if all line ends were "\n". */
export function withLineEndsOf(text: string, patch: StringPatch): StringPatch {
  if (!text.includes('\r\n') || patch.old_string.includes('\r\n')) return patch
  const spell = (words: string) => words.replaceAll('\n', '\r\n')
  return { ...patch, old_string: spell(patch.old_string), new_string: spell(patch.new_string) }
}

interface Difference {
  /** From what the session knows. */
  readonly change: Known
  readonly current: string
}

async function refuse(
  context: OperationContext,
  edit: Edit,
  file: TargetFile,
  { change, current }: Difference
): Promise<string> {
  const { agentId, tool, harness } = edit
  const { path, given } = file
  const happened = `${authorsOf(change, edit)} changed ${given} since you last saw it, and ${tool} would overwrite that, so it was not run.`
  const diff = await differenceText(context, path, change.hash, current)
  if (!harness.reportsReads) markRead(context, agentId, file, current)
  else if (diff !== undefined) recordUnified(context, agentId, { path, given, hash: current, from: change.hash }, diff)
  if (diff === undefined)
    return `${happened} The difference is not kept, or is longer than the file: read the file again.`
  return `${happened} From the version you know to the current one:\n${diff}\nAdjust your edit to that and call ${tool} again; if it asks for it, read the file first.`
}

/** It has seen too little to replace all. */
function refusePart(
  context: OperationContext,
  { agentId, tool, harness }: Edit,
  file: TargetFile,
  { hash }: FileVersion,
  unseen: readonly LineRange[]
): string {
  if (!harness.reportsReads) markRead(context, agentId, file, hash)
  const what = unseen.length === 0 ? 'all' : describeLines(unseen)
  return `You have not seen ${what} of ${file.given} as it is now. ${tool} would replace the whole file, so it was not run. Read the file first.`
}

/** A unified diff, if there is one that costs less than reading the file. */
export async function differenceText(
  context: OperationContext,
  path: string,
  from: string,
  to: string
): Promise<string | undefined> {
  const [base, current] = [await keptText(context, path, from), await keptText(context, path, to)]
  if (base === undefined || current === undefined) return undefined
  const { diff } = await context.differ.compare({ base, current, format: 'unified', signal: context.signal })
  return diff !== null && isWhole(diff) ? diff.content : undefined
}

/** The difference is shown with lines around it. */
export function recordUnified(
  { reads }: OperationContext,
  agentId: string,
  { from, ...named }: Named & { readonly from: string },
  diff: string
): void {
  const shown = [...diff.matchAll(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/gm)].map(([, start = '1', lines = '1']) =>
    spanOf({ start: Number(start), end: Number(start) + Number(lines) - 1 })
  )
  reads.recordDifference(agentId, { ...named, from })
  reads.recordParts(agentId, named, shown)
}

/** A harness that does not report its reads: the model has been told to read the file. */
function markRead(
  { reads }: OperationContext,
  agentId: string,
  { path, given }: Pick<TargetFile, 'path' | 'given'>,
  hash: string
): void {
  reads.recordRead(agentId, { path, given, hash })
}
