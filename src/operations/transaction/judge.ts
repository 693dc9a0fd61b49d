// Judges one change of a transaction under the locks: plans what it makes, or says that its file is not the version expected.
import { splitMark } from '../../engine/diff/lines.ts'
import { assertMayCreate } from '../change/file-version.ts'
import type { OperationContext } from '../../engine/context.ts'
import { requireAbsent } from '../../engine/commit/preconditions.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import { isSameFile } from '../../support/same-file.ts'
import { appended, leavesLineOpen } from '../async-append.ts'
import { newText, requireOneForm } from '../async-update.ts'
import { findStale, type Outcome } from '../change/change-file.ts'
import { readEntry, readReplaced } from '../change/entry-version.ts'
import { readVersion } from '../change/file-version.ts'
import {
  describeMerge,
  findTexts,
  mergeStale,
  type Merged,
  type Rebased,
  type StaleChange
} from '../change/stale-change.ts'
import { VersionTexts } from '../change/version-texts.ts'
import { clash, type Item } from './items.ts'
import type { PathPlan, Plan } from './plan.ts'

/** The path whose hashes the answer shows, or a refusal. */
export type Judged = Outcome<{ readonly plan: PathPlan; readonly source?: PathPlan }>

type ItemOf<Kind extends Item['kind']> = Extract<Item, { readonly kind: Kind }>

/** @throws OperationError if the change cannot be made, whatever the version */
export async function judge(
  item: Item,
  [place, other]: readonly OpenEntry[],
  plan: Plan,
  context: OperationContext
): Promise<Judged> {
  switch (item.kind) {
    case 'update':
      return judgeUpdate(item, place!, plan, context)
    case 'append':
      return judgeAppend(item, place!, plan, context)
    case 'write':
      return judgeWrite(item, place!, plan, context)
    case 'delete':
      return judgeDelete(item, place!, plan, context)
    case 'rename':
      return judgeRename(item, [place!, other!], plan, context)
    default:
      return item satisfies never
  }
}

export function textsOf({ input }: Item, path: string, { config }: OperationContext): VersionTexts {
  const encoding = 'encoding' in input ? input.encoding : undefined
  return new VersionTexts(encoding ?? config.crud.default_encoding, path)
}

async function judgeUpdate(
  item: ItemOf<'update'>,
  place: OpenEntry,
  plan: Plan,
  context: OperationContext
): Promise<Judged> {
  const { input, index } = item
  const { path } = input
  requireOneForm(input)
  const texts = textsOf(item, path, context)
  const entered = plan.enter(place, path, 'update', index)
  const current = (entered.current ??= await readVersion(context, place, path))
  const textIn = (version: Buffer) => newText(input, version, texts, context)
  const stale = findStale(context, place, path, current, input.expected_hash)
  const next = await rebase(stale, input.on_contention, () => mergeStale(context, stale!, texts, textIn))
  if (next !== undefined && 'notMerged' in next) return { stale: stale!, notMerged: next.notMerged }
  const bytes = next?.bytes ?? texts.encode(await textIn(current.bytes), current.bytes)
  const all = await beside(entered, bytes, texts, context)
  await plan.give(entered, all)
  entered.isWhole = input.content !== undefined
  return { done: { plan: entered }, merged: next?.merged }
}

/** The change together with an earlier one of the same file. */
async function beside(entered: PathPlan, bytes: Buffer, texts: VersionTexts, { differ, signal }: OperationContext) {
  const { after, current, path, indices } = entered
  if (after?.kind !== 'bytes') return bytes
  const [base, earlier, incoming] = [current!.bytes, after.bytes, bytes].map((version) => texts.decode(version))
  const result = await differ.merge({ base: base!, current: earlier!, incoming: incoming!, signal })
  if ('text' in result) return texts.encode(result.text, current!.bytes)
  const isJson = result.conflicts[0]?.reason === 'invalid_json'
  const why = isJson
    ? 'together they are no JSON, or name a property twice.'
    : 'they change the same lines, or lines side by side.'
  throw clash(path, [indices.at(-2)!, indices.at(-1)!], why)
}

async function rebase(
  stale: StaleChange | undefined,
  onContention: string,
  merge: () => Promise<Rebased>
): Promise<{ bytes: Buffer; merged: Merged } | Exclude<Rebased, { bytes: Buffer }> | undefined> {
  if (stale === undefined) return undefined
  return onContention === 'merge' ? merge() : { notMerged: undefined }
}

async function judgeAppend(
  item: ItemOf<'append'>,
  place: OpenEntry,
  plan: Plan,
  context: OperationContext
): Promise<Judged> {
  const { input, index } = item
  const { path } = input
  const texts = textsOf(item, path, context)
  const entered = plan.enter(place, path, 'append', index)
  const before = entered.after?.kind === 'bytes' ? entered.after.bytes : undefined
  if (place.stat === undefined) {
    if (before === undefined) {
      assertMayCreate(path, input.expected_hash, input.create_if_missing, 'async_list')
      entered.createDirs = input.create_dirs
    }
    await plan.give(entered, before === undefined ? texts.encode(input.content) : appended(before, input, texts))
    return { done: { plan: entered } }
  }
  const current = (entered.current ??= await readVersion(context, place, path))
  const stale = findStale(context, place, path, current, input.expected_hash)
  const next = await rebase(stale, input.on_contention, async () => {
    const known = await findTexts(context, stale!, texts)
    if (known === undefined || leavesLineOpen(known.base, splitMark(known.current).body))
      return { notMerged: undefined }
    return { merged: describeMerge(context, stale!, known), bytes: current.bytes }
  })
  if (next !== undefined && 'notMerged' in next) return { stale: stale!, notMerged: next.notMerged }
  await plan.give(entered, appended(before ?? current.bytes, input, texts))
  return { done: { plan: entered }, merged: next?.merged }
}

async function judgeWrite(
  item: ItemOf<'write'>,
  place: OpenEntry,
  plan: Plan,
  context: OperationContext
): Promise<Judged> {
  const { input, index } = item
  const entered = plan.enter(place, input.path, 'write', index)
  if (entered.indices.length > 1) throw clash(input.path, entered.indices, 'both create it.')
  requireAbsent(place, input.path, 'Change it by an update, or choose another name.')
  entered.createDirs = input.create_dirs
  entered.isWhole = true
  await plan.give(entered, textsOf(item, input.path, context).encode(input.content))
  return { done: { plan: entered } }
}

async function judgeDelete(
  item: ItemOf<'delete'>,
  place: OpenEntry,
  plan: Plan,
  context: OperationContext
): Promise<Judged> {
  const { path, expected_hash = null } = item.input
  const entered = plan.enter(place, path, 'delete', item.index)
  if (entered.indices.length > 1) throw clash(path, entered.indices, 'both delete it.')
  const { version, content } = await readEntry(context, place, path, expected_hash !== null)
  const stale = findStale(context, place, path, content, expected_hash)
  if (stale !== undefined) return { stale }
  entered.current = version
  entered.after = { kind: 'none' }
  return { done: { plan: entered } }
}

async function judgeRename(
  item: ItemOf<'rename'>,
  [from, to]: readonly [OpenEntry, OpenEntry],
  plan: Plan,
  context: OperationContext
): Promise<Judged> {
  const { old_path, new_path, expected_hash = null, overwrite, create_dirs } = item.input
  const source = plan.enter(from, old_path, 'rename', item.index)
  if (source.renamedTo !== undefined) throw clash(old_path, source.indices, 'both rename it.')
  const isSame = from.path === to.path || isOneFile(from, to)
  // Even if it is refused: another change that is for its name is not in its way.
  if (!isSame) source.isMoved = true
  const { version, content } = await readEntry(context, from, old_path, expected_hash !== null)
  const stale = findStale(context, from, old_path, content, expected_hash)
  if (stale !== undefined) return { stale }
  source.current ??= version
  if (isSame) return { done: { plan: source } }
  const target = plan.enter(to, new_path, 'rename', item.index)
  if (target.renamedFrom !== undefined) throw clash(new_path, target.indices, 'both rename a file to it.')
  source.renamedTo = to.path
  source.after ??= { kind: 'none' }
  target.after = { kind: 'moved', from, version }
  target.renamedFrom = from.path
  target.mayReplace = overwrite
  target.createDirs = create_dirs
  target.current ??= await readReplaced(context, to, new_path)
  return { done: { plan: target, source } }
}

/** Two names of one file: both stay. */
function isOneFile({ stat: one }: OpenEntry, { stat: other }: OpenEntry): boolean {
  return one !== undefined && isSameFile(one, other) && one.nlink > 1n
}
