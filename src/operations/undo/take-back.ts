// Takes chosen changes of one file back, newest first: three-way merges against what the file is now.
import type { MergeConflict } from '../../../schemas/contention.ts'
import type { UndoConflict } from '../../../schemas/undo.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { contentHash } from '../../engine/files/content-hash.ts'
import { shownPath } from '../../engine/notices/shown-path.ts'
import { VersionTexts } from '../change/version-texts.ts'
import { leftOf, type Lineage, type LineageChange, type State } from './lineages.ts'

/** What the file is to be. */
export interface Target {
  readonly path: string
  readonly content:
    | { readonly kind: 'none' }
    | {
        readonly kind: 'bytes'
        readonly hash: string
        readonly bytes: Buffer | undefined
        /** Permission bits, as far as known. */
        readonly mode: number | undefined
      }
    | Exclude<State, { readonly kind: 'none' | 'file' }>
}

export interface TakenBack {
  readonly lineage: Lineage
  readonly target: Target
  /** Changes that are taken back: of which something was there. */
  readonly count: number
  /** See `Version.takesBack`. */
  readonly takesBack: readonly number[]
  readonly conflicts: readonly UndoConflict[]
}

/** Changes of which each begins where the one before it ended. */
interface Run {
  readonly first: LineageChange
  readonly last: LineageChange
  readonly changes: readonly LineageChange[]
  /** Permission bits at its start, and at its end, as far as it is known to have changed them. */
  readonly modes: { readonly before?: number | undefined; readonly since?: number | undefined }
}

type Reason = UndoConflict['reason']

export async function takeBack(
  context: OperationContext,
  lineage: Lineage,
  { isChosen, isPartial }: { readonly isChosen: (change: LineageChange) => boolean; readonly isPartial: boolean }
): Promise<TakenBack | undefined> {
  const { left, cancelled } = leftOf(lineage.changes, isChosen)
  const runs = runsOf(lineage.changes, left)
  if (runs.length === 0) return undefined
  let target = toTarget(lineage, context.history.was(lineage.path)?.mode)
  const taken: LineageChange[] = []
  const conflicts: UndoConflict[] = []
  for (const run of runs) await takeRun(run)
  const takesBack = taken.length === 0 ? [] : [...taken, ...cancelled].map(({ version }) => version.seq)
  return { lineage, target, count: taken.length, takesBack, conflicts }

  async function takeRun(run: Run): Promise<void> {
    const { changes } = run
    const next = await takeRunBack(context, target, run)
    if (!('reason' in next)) {
      if (!isSameTarget(target, next)) taken.push(...changes)
      target = next
    } else if (isPartial && changes.length > 1)
      for (const change of changes.toReversed()) await takeRun(extended(undefined, change))
    else conflicts.push(next)
  }
}

function isSameTarget(one: Target, other: Target): boolean {
  const [now, next] = [one.content, other.content]
  if (one.path !== other.path || now.kind !== next.kind) return false
  if (now.kind === 'bytes' && next.kind === 'bytes') return now.hash === next.hash && now.mode === next.mode
  return now.kind !== 'link' || next.kind !== 'link' || now.target === next.target
}

/** The newest first. */
function runsOf(all: readonly LineageChange[], left: readonly LineageChange[]): Run[] {
  const following = new Map(all.map((change, at) => [change, all[at + 1]]))
  const runs: Run[] = []
  for (const change of left) {
    const run = runs.at(-1)
    const isNext = run !== undefined && (following.get(run.last) === change || isUnchangedBetween(run.last, change))
    if (isNext) runs.pop()
    runs.push(extended(isNext ? run : undefined, change))
  }
  return runs.reverse()
}

function extended(run: Run | undefined, change: LineageChange): Run {
  const { first = change, changes = [], modes = {} } = run ?? {}
  return { first, last: change, changes: [...changes, change], modes: modesSince(modes, change) }
}

function isUnchangedBetween({ path, after }: LineageChange, { from, before }: LineageChange): boolean {
  if (path !== from || after.kind === 'unread') return false
  return isSame(after, before) || (after.kind === 'none' && before.kind === 'none')
}

function modesSince({ before, since }: Run['modes'], { version, ...change }: LineageChange): Run['modes'] {
  const [was = removedMode(change), is] = version.modes ?? []
  return { before: before ?? was, since: is ?? (change.before.kind === 'none' ? undefined : since) }
}

function removedMode({ before, after }: Pick<LineageChange, 'before' | 'after'>): number | undefined {
  return before.kind === 'file' && after.kind === 'none' ? before.mode : undefined
}

function toTarget({ path, state }: Lineage, mode: number | undefined): Target {
  if (state.kind === 'file') return { path, content: { kind: 'bytes', hash: state.hash, bytes: undefined, mode } }
  return { path, content: state }
}

async function takeRunBack(context: OperationContext, now: Target, run: Run): Promise<Target | UndoConflict> {
  const mode = modeBack(now, run)
  if (mode === 'changed_again') return conflict(context, now, run.last, 'mode_changed_again')
  const next = await takeContentBack(context, now, run)
  return 'reason' in next || next.content.kind !== 'bytes' ? next : { ...next, content: { ...next.content, mode } }
}

/** Permission bits that the file gets. */
function modeBack({ content }: Target, { last, modes: { before, since } }: Run): number | undefined | 'changed_again' {
  if (content.kind !== 'bytes') return before
  const { mode } = content
  // Of a removed file that others have brought back, they have given it its mode, too.
  if (before === undefined || before === mode || last.after.kind === 'none') return mode
  return since === undefined || mode === undefined || since === mode ? before : 'changed_again'
}

async function takeContentBack(context: OperationContext, now: Target, run: Run): Promise<Target | UndoConflict> {
  const { first, last } = run
  const { before } = first
  const { after } = last
  const refuse = (reason: Reason, merge_conflicts?: MergeConflict[]) =>
    conflict(context, now, last, reason, { merge_conflicts })
  const isMoved = first.from !== last.path && after.kind !== 'none'
  if (isMoved && now.content.kind !== 'none' && now.path !== last.path && now.path !== first.from)
    return refuse('renamed_again')
  const path = isMoved ? first.from : now.path
  if (before.kind === 'unknown' || after.kind === 'unknown') return refuse('not_kept')
  // It was taken back before.
  if (isSameContent(now.content, before)) return { ...now, path }
  if (after.kind === 'none') {
    if (before.kind === 'none') return now
    if (now.content.kind !== 'none') return refuse('created_again')
    return restored(context, { path: first.from, before }, refuse)
  }
  if (now.content.kind === 'none') return before.kind === 'none' ? now : { path, content: now.content }
  if (before.kind === 'none')
    return isSameContent(now.content, after) ? { path: now.path, content: { kind: 'none' } } : refuse('built_upon')
  if (isSame(before, after)) return { ...now, path }
  if (before.kind === 'unread' || after.kind === 'unread') return refuse('not_kept')
  if (isSameContent(now.content, after)) return restored(context, { path, before }, refuse)
  if (before.kind !== 'file' || after.kind !== 'file' || now.content.kind !== 'bytes') return refuse('built_upon')
  return merged(context, { path, content: now.content }, { before: before.hash, after: after.hash }, refuse)
}

type Refuse = (reason: Reason, conflicts?: MergeConflict[]) => UndoConflict

async function restored(
  { bases }: OperationContext,
  { path, before }: { readonly path: string; readonly before: State },
  refuse: Refuse
): Promise<Target | UndoConflict> {
  if (before.kind === 'link') return { path, content: before }
  if (before.kind === 'unread') return refuse('not_kept')
  if (before.kind !== 'file') return { path, content: { kind: 'none' } }
  const { hash } = before
  const bytes = await bases.get(hash)
  return bytes === undefined ? refuse('not_kept') : { path, content: { kind: 'bytes', hash, bytes, mode: undefined } }
}

type Bytes = Extract<Target['content'], { readonly kind: 'bytes' }>

async function merged(
  { bases, differ, config, signal }: OperationContext,
  { path, content }: { readonly path: string; readonly content: Bytes },
  { before, after }: { readonly before: string; readonly after: string },
  refuse: Refuse
): Promise<Target | UndoConflict> {
  const texts = new VersionTexts(config.crud.default_encoding, path)
  const bytes = content.bytes ?? (await bases.get(content.hash))
  const [base, current, incoming] = [await bases.get(after), bytes, await bases.get(before)].map((version) =>
    texts.decodeIfText(version)
  )
  if (base === undefined || current === undefined || incoming === undefined) return refuse('not_kept')
  const result = await differ.merge({ base, current, incoming, signal })
  if (!('text' in result)) return refuse('overlap', result.conflicts)
  const next = texts.encode(result.text, bytes)
  return { path, content: { ...content, hash: contentHash(next), bytes: next } }
}

function isSameContent(content: Target['content'], state: State): boolean {
  if (content.kind === 'bytes') return state.kind === 'file' && state.hash === content.hash
  if (content.kind === 'link') return state.kind === 'link' && state.target === content.target
  return content.kind === 'unread' && state.kind === 'unread'
}

function isSame(one: State, other: State): boolean {
  if (one.kind === 'file') return other.kind === 'file' && one.hash === other.hash
  if (one.kind === 'link') return other.kind === 'link' && one.target === other.target
  return one.kind === 'unread' && other.kind === 'unread'
}

const words: Readonly<Record<Reason, string>> = {
  overlap:
    'others have changed the same lines since: decide at the places in merge_conflicts, and make the change by async_update.',
  built_upon: 'others have changed the file since it was created: change or delete it yourself.',
  created_again: 'the name is taken by another file since: move that file away, then undo again.',
  mode_changed_again: 'others have changed the mode of the file since: change it yourself.',
  renamed_again: 'the file was renamed once more since: take that back first, or rename it yourself.',
  in_the_way: 'something else is at the name that the file had: move it away, then undo again.',
  refused: 'the file must not be changed.',
  not_kept:
    'the server does not have the bytes that this needs. They are no longer kept (crud.base_cache_bytes, crud.max_history_bytes), or it never had them: nobody had read the file, and Git did not say in time what it was (hooks.look_ms). Change the file yourself.'
}

export function conflict(
  { files }: Pick<OperationContext, 'files'>,
  { path }: Pick<Target, 'path'>,
  { version }: Pick<LineageChange, 'version'>,
  reason: Reason,
  { merge_conflicts, why }: { merge_conflicts?: MergeConflict[] | undefined; why?: string | undefined } = {}
): UndoConflict {
  const shown = shownPath(path, files)
  const because = why === undefined ? `, because ${words[reason]}` : `: ${why}`
  const message = `${shown}: the change by ${version.agentId} is not taken back${because}`
  return { path: shown, hash: version.hash, reason, message, ...(merge_conflicts !== undefined && { merge_conflicts }) }
}
