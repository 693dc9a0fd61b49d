// Whether a native edit would overwrite what its session has not seen.
import type { StringPatch } from '../../../schemas/patches.ts'
import type { OperationContext } from '../../engine/context.ts'
import { isWhole } from '../../engine/diff/changed-lines.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import { decodeIfText } from '../../engine/files/text.ts'
import { describeAuthors } from '../../engine/notices/notices.ts'
import { isMadeBy } from '../../engine/versions/history.ts'
import type { Version } from '../../engine/versions/version.ts'
import type { FileEdit, Harness } from './native-call.ts'

export interface TargetFile extends Omit<FileEdit, 'path'> {
  /** Canonical. */
  readonly path: string
  /** As the harness spells it. */
  readonly given: string
}

/** What others have changed since the session saw the file, beside the place of its edit. */
export interface UnseenChange {
  readonly path: string
  readonly given: string
  readonly from: string
  readonly to: string
  readonly authors: string
}

type Judged = { readonly refusal: string } | { readonly unseen: UnseenChange | undefined }

interface Edit {
  readonly agentId: string
  readonly tool: string
  readonly harness: Harness
}

const passes: Judged = { unseen: undefined }

export async function judgeEdit(
  context: OperationContext,
  { agentId, tool, harness }: Edit,
  file: TargetFile,
  current: FileVersion | undefined
): Promise<Judged> {
  const { history, reads } = context
  const { path, given, patches } = file
  const versions = history.versions(path)
  const last = versions.at(-1)
  const seen = reads.seenHashes(agentId, path).map((hash) => followOwn(hash, versions, agentId))
  if (current === undefined) return judgeMissing(context, agentId, tool, file, seen.length > 0)
  if (seen.length === 0) {
    const isOthers =
      last !== undefined && !last.isFirstSight && last.operation !== 'external' && !isMadeBy(last, agentId)
    if (patches !== undefined || !isOthers) return passes
    if (!harness.reportsReads) markKnown(context, agentId, file, current.hash)
    return {
      refusal: `You have not read ${given}, and ${describeAuthors([last])} made it what it is. ${tool} would replace it, so it was not run. Read the file first.`
    }
  }
  if (seen.some(({ hash }) => hash === current.hash)) return passes
  const [base] = seen
  if (base === undefined) return passes
  const authors = describeAuthors(base.since)
  const text = await textOf(context, current.hash, path)
  if (patches !== undefined && text !== undefined) {
    for (const { hash } of seen) {
      if (await stillFits(context, { base: await textOf(context, hash, path), current: text, patches }))
        return { unseen: { path, given, from: base.hash, to: current.hash, authors } }
    }
  }
  return {
    refusal: await refuse(context, { agentId, tool, harness }, file, {
      base: base.hash,
      current: current.hash,
      authors
    })
  }
}

interface Seen {
  readonly hash: string
  /** What others have made of it since. */
  readonly since: readonly Version[]
}

/** A session knows what it made itself of a version that it knew. */
function followOwn(hash: string, versions: readonly Version[], agentId: string): Seen {
  let at = versions.findLastIndex((version) => version.hash === hash)
  if (at === -1) return { hash, since: versions }
  for (let next = versions[at + 1]; next !== undefined && isMadeBy(next, agentId); next = versions[at + 1]) at += 1
  return { hash: versions[at]?.hash ?? hash, since: versions.slice(at + 1) }
}

function judgeMissing(
  { history, reads }: OperationContext,
  agentId: string,
  tool: string,
  { path, given, patches }: TargetFile,
  isKnown: boolean
): Judged {
  const last = history.last(path)
  // The tool itself reports that there is nothing to replace.
  if (!isKnown || patches !== undefined || last?.hash !== null || isMadeBy(last, agentId)) return passes
  reads.forgetFile(agentId, path)
  return {
    refusal: `${describeAuthors([last])} removed ${given} since you last saw it. ${tool} would bring it back, so it was not run. If that is what you want, call ${tool} again.`
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
function withLineEndsOf(text: string, patch: StringPatch): StringPatch {
  if (!text.includes('\r\n') || patch.old_string.includes('\r\n')) return patch
  const spell = (words: string) => words.replaceAll('\n', '\r\n')
  return { ...patch, old_string: spell(patch.old_string), new_string: spell(patch.new_string) }
}

interface Difference {
  readonly base: string
  readonly current: string
  readonly authors: string
}

async function refuse(
  context: OperationContext,
  { agentId, tool, harness }: Edit,
  file: TargetFile,
  { base, current, authors }: Difference
): Promise<string> {
  const { given } = file
  const happened = `${authors} changed ${given} since you last saw it, and ${tool} would overwrite that, so it was not run.`
  const diff = await differenceText(context, file.path, base, current)
  if (diff !== undefined || !harness.reportsReads) markKnown(context, agentId, file, current, base)
  if (diff === undefined)
    return `${happened} The difference is not kept, or is longer than the file: read the file again.`
  return `${happened} From the version you know to the current one:\n${diff}\nAdjust your edit to that and call ${tool} again; if it asks for it, read the file first.`
}

/** A unified diff, if there is one that costs less than reading the file. */
export async function differenceText(
  context: OperationContext,
  path: string,
  from: string,
  to: string
): Promise<string | undefined> {
  const [base, current] = [await textOf(context, from, path), await textOf(context, to, path)]
  if (base === undefined || current === undefined) return undefined
  const { diff } = await context.differ.compare({ base, current, format: 'unified', signal: context.signal })
  return diff !== null && isWhole(diff) ? diff.content : undefined
}

export function markKnown(
  { reads }: OperationContext,
  agentId: string,
  { path, given }: Pick<TargetFile, 'path' | 'given'>,
  hash: string,
  from?: string
): void {
  reads.recordKnown(agentId, { path, given, hash, ...(from !== undefined && { from }) })
}

async function textOf({ bases, config }: OperationContext, hash: string, path: string): Promise<string | undefined> {
  return decodeIfText(await bases.get(hash), config.crud.default_encoding, path)
}
