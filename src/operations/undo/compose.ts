// Makes one transaction of what is taken back of each file: names that files give up and get, and what is in their way.
import type { UndoConflict } from '../../../schemas/undo.ts'
import { OperationError } from '../../errors.ts'
import type { OperationContext } from '../../engine/context.ts'
import type { FileVersion } from '../../engine/files/read-file.ts'
import { readLink } from '../../engine/files/links.ts'
import type { PathChange } from '../../engine/files/transaction/step.ts'
import type { OpenEntry } from '../../engine/files/walk.ts'
import { readVersion } from '../change/file-version.ts'
import { conflict, type TakenBack } from './take-back.ts'

export interface ChangedFile {
  readonly from: string
  readonly to: string
  readonly previous_hash: string | null
  readonly hash: string | null
  readonly count: number
  /** Of the version that it gets. */
  readonly bytes?: { readonly hash: string; readonly bytes: Buffer } | undefined
}

export interface Composed {
  readonly changes: readonly PathChange[]
  readonly changed: readonly ChangedFile[]
  readonly conflicts: readonly UndoConflict[]
}

/** Reads the files at these places, whose locks are held: what other programs have made of them is in the history then. */
export async function composeChanges(context: OperationContext, places: ReadonlyMap<string, OpenEntry>) {
  const versions = new Map<string, FileVersion>()
  for (const [path, place] of places) {
    context.files.checkWritable(place, path)
    if (place.stat?.isFile() === true) versions.set(path, await readVersion(context, place, path))
    else if (place.stat?.isSymbolicLink() !== true) context.history.recordGone(path)
  }

  /** Whether a name that a file is to get is free, or given up by another one. */
  function isFree(path: string, lineage: string, leaving: ReadonlySet<string>): boolean {
    const place = places.get(path)
    if (place === undefined || place.isFolder) return false
    if (place.stat === undefined || path === lineage) return place.stat?.isDirectory() !== true
    return leaving.has(path) && place.stat.isFile()
  }

  function compose(taken: readonly TakenBack[], isPartial: boolean): Composed {
    const conflicts = taken.flatMap((one) => one.conflicts)
    let useful = taken.filter((one) => isPartial || one.conflicts.length === 0).filter(isChange)
    for (;;) {
      const leaving = new Set(
        useful
          .filter(({ lineage, target }) => target.content.kind === 'none' || target.path !== lineage.path)
          .map(({ lineage }) => lineage.path)
      )
      const wanted = new Map<string, number>()
      for (const { target } of useful)
        if (target.content.kind !== 'none') wanted.set(target.path, (wanted.get(target.path) ?? 0) + 1)
      const blocked = useful.filter(
        ({ lineage, target }) =>
          target.content.kind !== 'none' &&
          (wanted.get(target.path)! > 1 || !isFree(target.path, isThere(lineage) ? lineage.path : '', leaving))
      )
      if (blocked.length === 0) break
      for (const one of blocked)
        conflicts.push(conflict(context, one.target, one.lineage.changes.at(-1)!, 'in_the_way'))
      useful = useful.filter((one) => !blocked.includes(one))
    }
    return { changes: changesOf(useful), changed: useful.map(describe), conflicts }
  }

  function changesOf(useful: readonly TakenBack[]): PathChange[] {
    const moved = new Set(useful.filter(isMove).map(({ lineage }) => lineage.path))
    const changes = new Map<string, PathChange>()
    for (const { lineage, target } of useful) {
      const { content } = target
      if (content.kind === 'none') changes.set(lineage.path, { ...at(lineage.path, moved), after: { kind: 'none' } })
      else changes.set(target.path, { ...at(target.path, moved), ...arrival({ lineage, target }) })
    }
    for (const { lineage, target } of useful)
      if (isMove({ lineage, target }) && !changes.has(lineage.path))
        changes.set(lineage.path, { ...at(lineage.path, moved), after: { kind: 'none' }, renamedTo: target.path })
    return [...changes.values()]
  }

  function at(path: string, moved: ReadonlySet<string>) {
    const place = places.get(path) as OpenEntry
    const version = versions.get(path)
    const before: PathChange['before'] =
      place.stat === undefined
        ? { kind: 'none' }
        : version === undefined
          ? { kind: 'entry' }
          : { kind: 'file', version }
    return { place, path, before, isMoved: moved.has(path) }
  }

  function arrival({
    lineage,
    target
  }: Pick<TakenBack, 'lineage' | 'target'>): Pick<PathChange, 'after' | 'renamedFrom'> {
    const { content } = target
    const like = isThere(lineage) ? versions.get(lineage.path) : undefined
    const from = isMove({ lineage, target }) ? { renamedFrom: lineage.path } : {}
    if (content.kind === 'link') return { after: { kind: 'link', target: content.target } }
    if (content.kind !== 'bytes') throw new OperationError('SERVER_ERROR', 'An undo has no bytes to write.')
    const { hash, bytes, mode } = content
    if (bytes !== undefined && bytes.length > 0 && like?.hash !== hash)
      return { after: { kind: 'bytes', bytes, hash, like, mode }, ...from }
    if (like?.hash === hash)
      return { after: { kind: 'moved', from: places.get(lineage.path) as OpenEntry, version: like }, ...from }
    return { after: { kind: 'bytes', bytes: bytes ?? Buffer.alloc(0), hash, like, mode }, ...from }
  }

  function describe({ lineage, target, count }: TakenBack): ChangedFile {
    const { content } = target
    const hash = content.kind === 'bytes' ? content.hash : null
    return {
      from: lineage.path,
      to: content.kind === 'none' ? lineage.path : target.path,
      previous_hash: isThere(lineage) ? (versions.get(lineage.path)?.hash ?? null) : null,
      hash,
      count,
      ...(content.kind === 'bytes' &&
        content.bytes !== undefined && { bytes: { hash: content.hash, bytes: content.bytes } })
    }
  }

  function isChange({ lineage, target, count }: TakenBack): boolean {
    const { state, path } = lineage
    const { content } = target
    if (count === 0) return false
    if (content.kind === 'bytes') return state.kind !== 'file' || state.hash !== content.hash || path !== target.path
    if (content.kind === 'link') return readLinkAt(places.get(target.path)) !== content.target
    return content.kind === 'none' && state.kind !== 'none'
  }

  return { compose }
}

function isThere({ state }: TakenBack['lineage']): boolean {
  return state.kind === 'file'
}

function isMove({ lineage, target }: Pick<TakenBack, 'lineage' | 'target'>): boolean {
  return isThere(lineage) && target.content.kind !== 'none' && target.path !== lineage.path
}

function readLinkAt(place: OpenEntry | undefined): string | undefined {
  return place?.stat?.isSymbolicLink() === true ? readLink(place) : undefined
}
