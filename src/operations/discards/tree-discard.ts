// What a command takes that makes files those of a commit, of the index, or of nothing.
import { dirname } from 'node:path'
import { isFolder, isThere } from '../../support/is-there.ts'
import type { Options } from '../../support/shell/options.ts'
import {
  changesFromHead,
  conflictBlobs,
  hasUnmatched,
  resolveCommit,
  resolveTree,
  type PathChange
} from '../../support/project/tree-look.ts'
import type { UnsavedFile } from '../../support/project/unsaved.ts'
import {
  isTracked,
  leftBlob,
  LookFailed,
  noDiscard,
  type Discard,
  type Left,
  type Look,
  type Taken
} from './discard.ts'

export async function toCommit(look: Look, name: string): Promise<Discard> {
  return wholeTree(look, await resolveCommit(look.tree, name, look.signal))
}

/** Index and files become those of the commit. @param isEmpty the tree without files */
export async function wholeTree(look: Look, commit: string | undefined, isEmpty = false): Promise<Discard> {
  if (commit === undefined && !isEmpty) return noDiscard
  const changes = commit === undefined ? new Map<string, PathChange>() : await changesTo(look, commit)
  const { files } = await look.unsaved()
  const leftAt = (path: string, head: string | undefined): Left => {
    if (isEmpty) return 'nothing'
    const change = changes.get(path)
    return leftBlob(change === undefined ? head : change.to)
  }
  const taken = new Map<string, Taken>()
  for (const [path, file] of files) {
    if (isTracked(file)) taken.set(path, { left: leftAt(path, file.head), renamedFrom: file.renamedFrom })
    else if (changes.get(path)?.to !== undefined) taken.set(path, { left: leftAt(path, undefined) })
    // A file of the commit comes where its folder is.
    else if (
      isBelowFile(path, look, (above) => leftAt(above, files.get(above)?.head) !== 'nothing' && files.has(above))
    )
      taken.set(path, { left: 'nothing' })
  }
  // What is ignored gives way without a word.
  for (const [path, { from, to }] of changes)
    if (from === undefined && to !== undefined && !files.has(path) && isThere(path))
      taken.set(path, { left: { blob: to } })
  return { taken }
}

function isBelowFile(path: string, { tree }: Look, isFile: (above: string) => boolean): boolean {
  for (let above = dirname(path); above.length > tree.workTree.length; above = dirname(above))
    if (isFile(above)) return true
  return false
}

export async function fromIndex(
  folder: string,
  look: Look,
  paths: readonly string[],
  { has }: Options
): Promise<Discard> {
  if (await hasUnmatched(look.tree, folder, paths, look.signal)) return noDiscard
  const stage = has('ours') ? 2 : has('theirs') ? 3 : undefined
  const blobs = stage === undefined ? undefined : await conflictBlobs(look.tree, stage, look.signal)
  const skipsConflicts = has('force') || has('ignore-unmerged')
  const taken = new Map<string, Taken>()
  for (const [path, file] of await look.matching(folder, paths)) {
    if (file.isUnmerged === true) {
      if (blobs !== undefined) taken.set(path, { left: leftBlob(blobs.get(path)) })
      else if (has('merge') || has('conflict')) taken.set(path, { left: 'unknown' })
      else if (!skipsConflicts) return noDiscard
    } else if (file.isUnstaged && file.index !== undefined) taken.set(path, { left: { blob: file.index } })
  }
  return { taken }
}

export async function fromTree(
  folder: string,
  look: Look,
  name: string,
  paths: readonly string[],
  removes: boolean
): Promise<Discard> {
  const id = await resolveTree(look.tree, name === '-' ? '@{-1}' : name, look.signal)
  if (id === undefined) return noDiscard
  const changes = await changesTo(look, id)
  const taken = new Map<string, Taken>()
  for (const [path, file] of await look.matching(folder, paths)) {
    const change = changes.get(path)
    const to = change === undefined ? file.head : change.to
    if (to !== undefined) taken.set(path, { left: { blob: to } })
    else if (removes && file.index !== undefined) taken.set(path, { left: 'nothing', renamedFrom: file.renamedFrom })
  }
  return { taken }
}

async function changesTo(look: Look, id: string): Promise<ReadonlyMap<string, PathChange>> {
  const changes = await changesFromHead(look.tree, id, look.signal)
  if (changes === undefined) throw new LookFailed('git diff-tree')
  return changes
}

/** The removal of files and whole folders, of which what differs from HEAD is taken. */
export async function removalOf(paths: readonly string[], look: Look | undefined): Promise<Discard> {
  const files = look === undefined ? new Map<string, UnsavedFile>() : (await look.unsaved()).files
  const folders = paths.filter(isFolder)
  const whole = new Set(folders)
  const taken = new Map<string, Taken>()
  for (const path of paths) if (!whole.has(path) && isThere(path)) taken.set(path, { left: 'nothing' })
  for (const [path, { what }] of files)
    if (what !== 'deleted' && isWithin(path, whole)) taken.set(path, { left: 'nothing' })
  return { taken, folders }
}

/** Whether the path or a folder above it is among them. */
export function isWithin(path: string, whole: ReadonlySet<string>): boolean {
  for (let here = path; ; here = dirname(here)) {
    if (whole.has(here)) return true
    if (dirname(here) === here) return false
  }
}
