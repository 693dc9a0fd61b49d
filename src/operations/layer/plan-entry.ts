// Plans one path of a layer: what the command has left there, merged with what others have made of it meanwhile.
import type { OperationContext } from '../../engine/call/context.ts'
import type { Layer } from '../../engine/layers/layers.ts'
import type { LayerEntry } from '../../engine/layers/layer-contents.ts'
import { byCommand } from '../../engine/versions/author.ts'
import { OperationError } from '../../errors.ts'
import { readVersion } from '../change/file-version.ts'
import type { PathPlan, Plan } from '../change/plan.ts'
import { exclusive, type Judged, type Planner } from '../change/planner.ts'
import { VersionTexts } from '../change/version-texts.ts'
import { describeMerge } from '../change/stale-change.ts'
import { mergeFromAll, type Conflict, type Result } from './merge-bases.ts'
import { readCurrent, readIncoming, stateOf, type Current, type Incoming } from './path-state.ts'
import { possibleBases } from './possible-bases.ts'

/** Paths of one plan that the command has removed, by the hash of their content: a new file of that content is the same file. */
const leaving = new WeakMap<Plan, Map<string, PathPlan>>()

export function planEntry(entry: LayerEntry, layer: Layer, context: OperationContext): Planner {
  const { path } = entry
  const { crud } = context.config
  const texts = new VersionTexts(crud.default_encoding, path)
  return {
    operation: byCommand,
    texts,
    targets: [exclusive(path, undefined, 'canonical')],
    async plan([place], plan, index) {
      const entered = plan.enter(place!, path, byCommand, index)
      const current = await readCurrent(context, place!, path, () => readVersion(context, place!, path))
      if (current.kind === 'file') entered.current = current.version
      const incoming = await readIncoming(entry, crud.max_file_size_bytes)
      const bases = possibleBases(
        entry,
        { versions: context.history.versions(place!.path), dev: place!.directory.opened().dev },
        layer
      )
      const merged = await mergeFromAll(context, bases, { incoming, current, texts })
      if ('base' in merged) return refuse(path, entered, current, merged)
      await give(plan, entered, current, incoming, merged.result)
      if (!isMerged(incoming, merged.result) || current.kind !== 'file') return { plan: entered }
      const base = bases?.find((one) => one !== null && 'hash' in one)
      const expectedHash = base !== null && base !== undefined && 'hash' in base ? base.hash : current.version.hash
      const stale = { path, canonicalPath: place!.path, expectedHash, current: current.version }
      return { plan: entered, merged: describeMerge(context, stale, { base: '', current: '' }) }
    }
  }
}

function isMerged(incoming: Incoming, result: Result): boolean {
  return result !== 'current' && result.kind === 'file' && incoming.kind === 'file' && result.hash !== incoming.hash
}

async function give(
  plan: Plan,
  entered: PathPlan,
  current: Current,
  incoming: Incoming,
  result: Result
): Promise<void> {
  const moved = leaving.get(plan) ?? new Map<string, PathPlan>()
  leaving.set(plan, moved)
  const next = result === 'current' ? withMode(current, incoming) : result
  if (next === undefined) return
  if (next.kind === 'link') entered.after = { kind: 'link', target: next.target }
  else if (next.kind === 'none') {
    if (current.kind === 'none') return
    entered.after = { kind: 'none' }
    if (current.kind === 'file') moved.set(current.version.hash, entered)
  } else {
    const isNew = current.kind !== 'file' || current.version.mode !== next.mode
    await plan.give(entered, next.bytes, isNew ? next.mode : undefined)
    const source = current.kind === 'none' ? moved.get(next.hash) : undefined
    if (source === undefined) return
    moved.delete(next.hash)
    entered.renamedFrom = source.place.path
    source.renamedTo = entered.place.path
  }
}

/** The same content with the mode that the command has given it. */
function withMode(current: Current, incoming: Incoming): Incoming | undefined {
  if (current.kind !== 'file' || incoming.kind !== 'file' || current.version.mode === incoming.mode) return undefined
  return { ...incoming, bytes: current.version.bytes, hash: current.version.hash }
}

/** @throws OperationError if there are no two versions to compare */
function refuse(path: string, { place }: PathPlan, current: Current, { base, notMerged }: Conflict): Judged {
  if (base === undefined) {
    const message = `${path} has changed while the command ran, and the version from which the command started is not known. Run the command again.`
    throw new OperationError('VERSION_NOT_KEPT', message, { path })
  }
  if (current.kind === 'file' && base !== null && 'hash' in base) {
    const stale = { path, canonicalPath: place.path, expectedHash: base.hash, current: current.version }
    return { stale, notMerged }
  }
  if (stateOf(current) === null) {
    const message = `${path} was removed by others while the command ran, which has changed it. Run the command again.`
    throw new OperationError('FILE_NOT_FOUND', message, { path })
  }
  const message = `${path} was made by others while the command ran, with another content than the command has given it. Run the command again.`
  throw new OperationError('FILE_EXISTS', message, { path })
}
