// Renames an entry within a file system, or copies it to another one.
import { accessSync, constants, renameSync, symlinkSync } from 'node:fs'
import { attempt } from '../../support/attempt.ts'
import { isErrno, isOperationError, OperationError } from '../../errors.ts'
import { isSameFile } from '../../support/same-file.ts'
import type { AfterChange } from './after-change.ts'
import type { CommitHooks, RenameOutcome } from './hooks.ts'
import { linkMark, nodeMark, type Mark, type NotedStep } from './note.ts'
import type { OpenNote } from './notes.ts'
import { assertAsSeen, assertFree, assertUnchanged, StaleFileError } from './preconditions.ts'
import { versionBefore, type Step } from './step.ts'
import type { Durability } from './durability.ts'
import { canReachBoth, descriptorPaths } from '../files/directory.ts'
import { readLink, refuseLinkToItself } from '../files/links.ts'
import { lockKey } from '../files/lock-key.ts'
import { ignoresLetters, isSpeltSo, onlyOtherLetters } from '../files/name-on-disk.ts'
import { temporaryName } from '../files/temporary-names.ts'
import { fileNotFound, type FileVersion } from '../files/read-file.ts'
import { renameThrough } from './rename-through.ts'
import type { Stages } from './stages.ts'
import type { OpenEntry } from '../files/walk.ts'
import { removeIfThere, type Writer } from './write-file.ts'
import { isGone, makeCertainly } from './unanswered.ts'
import { explainWriteError } from './write-error.ts'

interface RenameSource {
  readonly place: OpenEntry
  /** As the caller spelt it. */
  readonly path: string
  /** The version to rename; undefined for a link and for a file too large to read. */
  readonly current: FileVersion | undefined
}

interface RenameTarget {
  /** In its folder, which exists by now. */
  readonly place: OpenEntry
  readonly path: string
  readonly overwrite: boolean
}

interface RenameParts {
  readonly writer: Writer
  readonly durability: Durability
  readonly stages: Stages | undefined
  readonly note: OpenNote | undefined
  readonly after: AfterChange
}

/**
 * @param target its place is in its folder, which exists by now
 * @param seen the place of the target as it was opened
 */
export async function renameEntry(
  parts: RenameParts,
  source: Step,
  target: Step,
  seen: OpenEntry,
  { assertHeld, announce }: CommitHooks
): Promise<RenameOutcome> {
  const { note, stages } = parts
  const from = { ...source, current: versionBefore(source) }
  const to = { ...target, overwrite: target.before.kind !== 'none' }
  const { place } = to
  const check = () => {
    assertHeld()
    assertAsSeen(from.place, from.current)
    refuseLinkToItself(from.place, place, to.path)
    if (to.overwrite) assertAsSeen(seen, versionBefore(target))
    else if (!isOneName(from.place, place)) assertFree(place)
  }
  check()
  const one = from.place.directory.stat(from.place.name)
  const other = place.directory.stat(place.name)
  const before = other === undefined ? null : nodeMark(other)
  const stage = stages?.of(from.place.path)
  if (stage !== undefined) {
    // A note of both names could not be told from that of a rename to another name, whose old one is removed.
    if (isOneName(from.place, place)) throw onlyOtherLetters(from.path, to.path)
    const staged = temporaryName()
    const steps = one === undefined ? [] : renameSteps(from, to, { moved: nodeMark(one), before, staged })
    await note?.noteSteps(steps, check)
    check()
    announce?.({ steps })
    renameThrough(stage, staged, from, to, note)
    return 'renamed'
  }
  if (one !== undefined) announce?.({ steps: renameSteps(from, to, { moved: nodeMark(one), before }) })
  const isRespelt = isOneName(from.place, place)
  if (renameInPlace(from, to)) return isRespelt && !isSpeltSo(place.root, place.path) ? 'unchanged' : 'renamed'
  // Two mounts show one folder: a copy onto itself, then the delete of the source, would lose the file.
  if (isSameFile(one, other)) return 'unchanged'
  requireRemovable(from)
  const moved = from.current?.hash ?? linkMark(requireLink(from.place, from.path))
  const steps = renameSteps(from, to, { moved, before })
  announce?.({ steps })
  // Without its note, a kill leaves both names, and no byte is lost.
  await note?.noteSteps(steps).catch(() => {})
  return copyAcross(parts, from, to, check)
}

/** The file system ignores letters, and what it has at the new name is the entry itself. */
function isOneName(from: OpenEntry, to: OpenEntry): boolean {
  const mayBe = ignoresLetters(to.root) && lockKey(from.path) === lockKey(to.path)
  return mayBe && to.directory.stat(to.name) !== undefined && !isSpeltSo(to.root, to.path)
}

interface NotedRename {
  readonly moved: Mark
  /** What is at the target. */
  readonly before: Mark
  /** The name under which the entry is on its way. */
  readonly staged?: string | null
}

function renameSteps(
  { place: from }: RenameSource,
  { place: to }: RenameTarget,
  { moved, before, staged = null }: NotedRename
): NotedStep[] {
  return [
    { path: from.path, staged: null, backup: staged, before: moved, after: null, renamedTo: to.path },
    { path: to.path, staged, backup: null, before, after: moved, renamedFrom: from.path }
  ]
}

/** Copies, then deletes: not atomic, yet at every moment at least one name holds the bytes. The change is made once the copy has its name. */
async function copyAcross(
  { writer, durability, after }: RenameParts,
  from: RenameSource,
  to: RenameTarget,
  check: () => void
): Promise<'copied' | 'source-left'> {
  const { current } = from
  let requireSame: () => void
  let freed: Promise<void> | undefined
  if (current === undefined) {
    const target = copyLink(from, to, check)
    requireSame = () => requireTarget(from.place, target)
  } else {
    const request = { place: to.place, path: to.path, bytes: current.bytes, replaces: current, check }
    freed = (await writer.writeFile(request, after).catch(failRename)).freed
    requireSame = () => assertUnchanged(from.place, current)
  }
  await Promise.all([freed, durability.syncNames([to.place], after)])
  const isCopyDurable = after.isSure()
  const removed = after.attempt(
    () => {
      if (!isCopyDurable) throw new Error('the copy may not be durable')
      requireSame()
      removeIfThere(from.place.directory, from.place.name)
      return true
    },
    bothThere(from, to, isCopyDurable)
  )
  return removed === true ? 'copied' : 'source-left'
}

function bothThere({ path }: RenameSource, { path: newPath }: RenameTarget, isCopyDurable: boolean) {
  const reason = isCopyDurable
    ? 'it was changed meanwhile, or the system did not remove it'
    : 'its copy may not be durable'
  return {
    message: `${path} still exists beside its copy ${newPath}, because ${reason}: compare them and delete one`,
    details: { source_left: true }
  }
}

/** Refuses before anything is copied. */
function requireRemovable({ place, path }: RenameSource): void {
  try {
    requireWritable(place)
  } catch (error) {
    throw explainWriteError(error, path, 'RENAME_ERROR')
  }
}

/** The link gets its new name in one step, so that what it replaces is there until then. @returns the target of the link */
function copyLink(from: RenameSource, { place, path, overwrite }: RenameTarget, check: () => void): string {
  const target = readLink(from.place)
  const name = overwrite ? temporaryName() : place.name
  check()
  try {
    makeLink({ ...place, name }, target)
    if (overwrite) renameOver(place, name)
    return target
  } catch (error) {
    throw explainWriteError(error, path, 'RENAME_ERROR')
  }
}

/** @throws StaleFileError if the system finds that the name is taken */
function makeLink({ directory, name, path }: OpenEntry, target: string): void {
  try {
    directory.within((at) => symlinkSync(target, at(name)))
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
    throw new StaleFileError(`created meanwhile: ${path}`, { cause: error })
  }
}

function renameOver(place: OpenEntry, temporary: string): void {
  const { directory, name } = place
  try {
    directory.within((at) => renameSync(at(temporary), at(name)))
  } catch (error) {
    removeIfThere(directory, temporary)
    throw error
  }
}

function requireTarget(link: OpenEntry, target: string): void {
  if (readLink(link) !== target) throw new StaleFileError(`changed meanwhile: ${link.path}`)
}

/** @returns where it leads to */
function requireLink(place: OpenEntry, path: string): string {
  if (place.stat?.isSymbolicLink() === true) return readLink(place)
  throw new OperationError(
    'FILE_TOO_LARGE',
    `The file is above the size limit and new_path lies on another file system: ${path}. Move it with the system's own tools.`,
    { path }
  )
}

/** False if the two lie on different file systems. */
function renameInPlace({ place: from, path }: RenameSource, { place: to, path: newPath }: RenameTarget): boolean {
  // By two mounts of one folder it is the same entry: on Linux the system refuses that itself.
  if (!descriptorPaths && (from.name === to.name || !canReachBoth(from.directory, to.directory))) return false
  try {
    makeCertainly(
      () => from.directory.within((at) => to.directory.within((into) => renameSync(at(from.name), into(to.name)))),
      () => isGone(from.directory, from.name)
    )
    return true
  } catch (error) {
    if (isErrno(error, 'EXDEV')) return false
    if (isErrno(error, 'ENOENT') && from.directory.stat(from.name) === undefined) throw fileNotFound(path, error)
    throw explainWriteError(error, isWritable(to) ? path : newPath, 'RENAME_ERROR')
  }
}

/** Whether entries of a place's folder can be created and removed. */
function isWritable(place: OpenEntry): boolean {
  return attempt(() => requireWritable(place))
}

function requireWritable({ directory }: OpenEntry): void {
  directory.within((at) => accessSync(at('.'), constants.W_OK))
}

/** A copy that cannot be written is a failed rename. */
function failRename(error: unknown): never {
  if (!isOperationError(error, 'WRITE_ERROR')) throw error
  const { message, path, details, cause } = error
  throw new OperationError('RENAME_ERROR', message, { path, details, cause })
}
