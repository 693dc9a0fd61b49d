// Makes one transaction of what is taken back of each file: files that meet at one name are one step of it.
import type { UndoConflict } from '../../../schemas/undo.ts'
import { isOperationError, OperationError } from '../../errors.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { permitsOwner } from '../../engine/files/access.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import type { Step } from '../../engine/commit/step.ts'
import { above, isCleared } from '../../engine/commit/swap.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import { shownPath } from '../../engine/notices/shown-path.ts'
import { nothing } from '../../engine/versions/made-step.ts'
import type { Version } from '../../engine/versions/version.ts'
import { notKept, readEntry, recordLink, replacedBy, type Replaced } from '../change/entry-version.ts'
import { requireReplaceable } from '../change/replaceable.ts'
import { conflict, type TakenBack } from './take-back.ts'

export interface ChangedFile extends Replaced {
  readonly from: string
  readonly to: string
  readonly previous_hash: string | null
  readonly hash: string | null
  readonly count: number
  /** Permission bits before and after the undo, if it changes them. */
  readonly modes: Version['modes']
  /** Whether something is at `to` after the undo, be it a link, which has no hash. */
  readonly isThere: boolean
  /** Of the version that it gets. */
  readonly bytes?: { readonly hash: string; readonly bytes: Buffer } | undefined
}

export interface Composed {
  readonly changes: readonly Step[]
  readonly changed: readonly ChangedFile[]
  readonly conflicts: readonly UndoConflict[]
}

/** Reads the files at these places, whose locks are held: what other programs have made of them is in the history then. */
export async function composeChanges(context: OperationContext, places: ReadonlyMap<string, OpenEntry>) {
  const versions = new Map<string, FileVersion>()
  for (const [path, place] of places) {
    context.files.checkWritable(place, path)
    const version = await look(context, place, path)
    if (version !== undefined) versions.set(path, version)
  }

  /** Whether a name that a file is to get is free, its own, or given up by another one, or by all files of a folder. */
  function isFree({ lineage, target }: TakenBack, leaving: ReadonlySet<string>): boolean {
    const place = places.get(target.path)
    if (place === undefined || place.isFolder) return false
    if (place.stat === undefined || place.stat.isDirectory()) return isCleared(place, (path) => leaving.has(path))
    if (!place.stat.isFile() && !place.stat.isSymbolicLink()) return false
    return isThere(lineage) && lineage.path === target.path ? true : leaving.has(target.path)
  }

  function compose(taken: readonly TakenBack[], isPartial: boolean): Composed {
    const conflicts = taken.flatMap((one) => one.conflicts)
    const isUseful = (one: TakenBack) => isChange(one) || modesOf(one) !== undefined
    let useful = taken.filter((one) => isPartial || one.conflicts.length === 0).filter(isUseful)
    for (;;) {
      const leaving = new Set(useful.filter(isLeaving).map(({ lineage }) => lineage.path))
      const arriving = useful.filter(({ target }) => target.content.kind !== 'none')
      const wanted = countBy(arriving, ({ target }) => target.path)
      const blocked = new Map<TakenBack, UndoConflict>()
      for (const one of arriving) {
        const { path } = one.target
        const isInTheWay = wanted.get(path)! > 1 || above(path, wanted) !== undefined || !isFree(one, leaving)
        const stop = isInTheWay ? conflictOf(one, 'in_the_way') : refusalOf(one)
        if (stop !== undefined) blocked.set(one, stop)
      }
      if (blocked.size === 0) break
      conflicts.push(...blocked.values())
      useful = useful.filter((one) => !blocked.has(one))
    }
    return { changes: changesOf(useful), changed: byName(useful.map(describe)), conflicts }
  }

  /** Permission bits now and then; undefined if they stay. */
  function modesOf({ lineage, target: { content } }: TakenBack): Version['modes'] {
    const now = isThere(lineage) ? versions.get(lineage.path)?.mode : undefined
    const then = content.kind === 'bytes' ? content.mode : undefined
    return now === undefined || then === undefined || now === then ? undefined : [now, then]
  }

  function conflictOf({ lineage, target }: TakenBack, reason: 'in_the_way' | 'refused', why?: string): UndoConflict {
    return conflict(context, target, lineage.changes.at(-1)!, reason, { why })
  }

  /** What forbids an update of a file in place forbids to change its content, too; its mode does not if the undo gives it another. */
  function refusalOf(one: TakenBack): UndoConflict | undefined {
    const { lineage, target } = one
    const { path, content } = target
    const version = versions.get(path)
    const isInPlace = isThere(lineage) && lineage.path === path && content.kind === 'bytes'
    if (!isInPlace || version === undefined || (content.bytes === undefined && modesOf(one) === undefined))
      return undefined
    const [, mode = version.mode] = modesOf(one) ?? []
    const isWritable = version.isWritable || permitsOwner({ ...version, mode }, 'write')
    try {
      requireReplaceable(
        context,
        shownPath(path, context.files),
        { ...version, isWritable },
        content.bytes ?? version.bytes
      )
      return undefined
    } catch (error) {
      if (isOperationError(error, 'ACCESS_DENIED') || isOperationError(error, 'FILE_TOO_LARGE'))
        return conflictOf(one, 'refused', error.message)
      throw error
    }
  }

  function changesOf(useful: readonly TakenBack[]): Step[] {
    const moved = new Set(useful.filter(isMove).map(({ lineage }) => lineage.path))
    const changes = new Map<string, Step>()
    for (const one of useful)
      if (one.target.content.kind !== 'none')
        changes.set(one.target.path, { ...at(one.target.path, moved), ...arrival(one) })
    for (const one of useful) {
      const { lineage, target } = one
      if (!isLeaving(one)) continue
      const arriving = changes.get(lineage.path)
      const left = isMove(one) ? { renamedTo: target.path } : { takesBack: one.takesBack }
      // What comes to the name that a file gives up takes its place in one step.
      changes.set(
        lineage.path,
        arriving === undefined
          ? { ...at(lineage.path, moved), after: { kind: 'none' }, ...left }
          : { ...arriving, takesBack: [...(arriving.takesBack ?? []), ...(left.takesBack ?? [])] }
      )
    }
    return [...changes.values()]
  }

  function at(path: string, moved: ReadonlySet<string>) {
    const place = places.get(path) as OpenEntry
    const version = versions.get(path)
    const before: Step['before'] =
      place.stat === undefined
        ? { kind: 'none' }
        : place.stat.isDirectory()
          ? { kind: 'folder' }
          : version === undefined
            ? { kind: 'entry' }
            : { kind: 'file', version }
    return { place, path, before, isMoved: moved.has(path) }
  }

  function arrival(one: TakenBack): Pick<Step, 'after' | 'renamedFrom' | 'restores' | 'takesBack'> {
    const { lineage, takesBack } = one
    const like = isThere(lineage) ? versions.get(lineage.path) : undefined
    const facts = isThere(lineage)
      ? { renamedFrom: isMove(one) ? lineage.path : undefined }
      : { restores: lineage.changes.at(-1)?.version.seq }
    return { after: contentOf(one, like), takesBack, ...facts }
  }

  function contentOf(one: TakenBack, like: FileVersion | undefined): Step['after'] {
    const { lineage, target } = one
    const { content } = target
    const from = places.get(lineage.path) as OpenEntry
    if (content.kind === 'link') return { kind: 'link', target: content.target }
    if (content.kind === 'unread') return { kind: 'moved', from, version: undefined }
    if (content.kind !== 'bytes') throw noBytes()
    const { hash, mode } = content
    if (like?.hash === hash && modesOf(one) === undefined) return { kind: 'moved', from, version: like }
    const bytes = content.bytes ?? (like?.hash === hash ? like.bytes : undefined)
    if (bytes === undefined) throw noBytes()
    return { kind: 'bytes', bytes, hash, like, mode }
  }

  function describe(one: TakenBack): ChangedFile {
    const { lineage, target, count } = one
    const { content } = target
    const modes = modesOf(one)
    const place = places.get(lineage.path)
    const version = isThere(lineage) ? versions.get(lineage.path) : undefined
    const isWritten =
      content.kind === 'bytes' && version !== undefined && (version.hash !== content.hash || modes !== undefined)
    const isReplaced = isThere(lineage) && content.kind !== 'unread' && place !== undefined
    return {
      from: lineage.path,
      to: content.kind === 'none' ? lineage.path : target.path,
      previous_hash: version?.hash ?? null,
      hash: content.kind === 'bytes' ? content.hash : null,
      count,
      modes,
      isThere: content.kind !== 'none',
      ...(isReplaced && (isWritten ? replacedBy(context, place, version) : notKept(context, place, version))),
      ...(content.kind === 'bytes' &&
        content.bytes !== undefined && { bytes: { hash: content.hash, bytes: content.bytes } })
    }
  }

  return { compose }
}

const noBytes = () => new OperationError('SERVER_ERROR', 'An undo has no bytes to write.')

/** One entry for a name: a file that goes where another comes is part of what that one replaces. */
function byName(files: readonly ChangedFile[]): ChangedFile[] {
  const arrived = files.filter(({ isThere }) => isThere)
  const gone = files.filter(({ isThere }) => !isThere)
  const merged = arrived.map((file) => {
    const replaced = gone.find(({ from }) => from === file.to)
    if (replaced === undefined) return file
    const { previous_hash, count, kept } = replaced
    return {
      ...file,
      count: file.count + count,
      ...(file.from === file.to && { previous_hash }),
      ...(kept !== undefined && { kept })
    }
  })
  return [...merged, ...gone.filter(({ from }) => !arrived.some(({ to }) => to === from))]
}

/** @returns undefined for what is no file, or one that cannot be read */
async function look(context: OperationContext, place: OpenEntry, path: string): Promise<FileVersion | undefined> {
  const { history } = context
  if (place.stat?.isSymbolicLink() === true) recordLink(context, place)
  else if (place.stat?.isFile() === true) return (await readEntry(context, place, path, false)).version
  else history.observe(place.path, nothing)
  return undefined
}

function isChange({ lineage, target, count }: TakenBack): boolean {
  const { state, path } = lineage
  const { content } = target
  if (count === 0) return false
  if (content.kind === 'none') return isThere(lineage)
  if (path !== target.path) return true
  if (content.kind === 'bytes') return state.kind !== 'file' || state.hash !== content.hash
  if (content.kind === 'link') return state.kind !== 'link' || state.target !== content.target
  return false
}

function isThere({ state }: TakenBack['lineage']): boolean {
  return state.kind !== 'none' && state.kind !== 'unknown'
}

/** Whether a file gives up its name. */
function isLeaving(one: TakenBack): boolean {
  return isThere(one.lineage) && (one.target.content.kind === 'none' || isMove(one))
}

function isMove({ lineage, target }: TakenBack): boolean {
  return isThere(lineage) && target.content.kind !== 'none' && target.path !== lineage.path
}

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1)
  return counts
}
