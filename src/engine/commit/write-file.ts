// Writes a file atomically and durably: temporary file, fsync, last checks, rename, fsync of the directory, and only then the answer.
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  openSync,
  renameSync,
  unlinkSync,
  write,
  writeSync,
  type Stats
} from 'node:fs'
import { promisify } from 'node:util'
import { attempt } from '../../support/attempt.ts'
import { isErrno } from '../../errors.ts'
import { isSameFile } from '../../support/same-file.ts'
import { ifSupported, isUnsupported } from '../../support/unsupported.ts'
import { notDurable, notLookedAt, type AfterChange } from './after-change.ts'
import type { Durability } from './durability.ts'
import { freeOnThread } from './free-on-thread.ts'
import { identityOf, type FileIdentity } from '../files/identity.ts'
import { link, type Shelf } from '../files/directory.ts'
import type { Stage, Stages } from './stages.ts'
import { temporaryName } from '../files/temporary-names.ts'
import type { FileVersion } from '../files/read-file.ts'
import type { OpenEntry } from '../files/walk.ts'
import { StaleFileError } from './preconditions.ts'
import { isGone, makeCertainly, Unanswered } from './unanswered.ts'
import { explainWriteError, stopping } from './write-error.ts'

export interface WriteSettings {
  readonly durability: Durability
  readonly maxSyncBytes: number
  /** Undefined if new versions are made beside their files. */
  readonly stages: Stages | undefined
}

export interface StageRequest {
  readonly place: OpenEntry
  readonly bytes: Buffer
  /** The version whose mode and owner are kept; undefined creates. */
  readonly replaces: FileVersion | undefined
  /** Permission bits. Default: those of the version that is replaced, or of a new file. */
  readonly mode?: number | undefined
}

export interface WriteRequest extends StageRequest {
  /** As the caller spelt it, for messages. */
  readonly path: string
  /** Runs in the same tick as the rename, immediately before it; throws to refuse. It may get a descriptor of what is replaced. */
  readonly check: (held?: number) => void
  /** Runs right before the change, in the same tick. @param staged name of the new version @returns called if the change fails after all, while that name is still there */
  readonly announce?: ((staged: string) => () => void) | undefined
}

/** Bytes under a temporary name. */
export interface StagedFile {
  readonly name: string
  readonly shelf: Shelf
  readonly fd: number
  readonly remove: () => void
  /** Before the change: no system replaces a file that is open, and some take none back. @throws Error of the file system */
  readonly close: () => void
  /** Nothing of it remains. */
  readonly discard: () => void
  /** The temporary name is not the writer's to remove any more. */
  readonly placed: () => void
}

export interface Written {
  /** Undefined if the system did not say which file it is. */
  readonly identity: FileIdentity | undefined
  /** The replaced version has been let go. */
  readonly freed: Promise<void> | undefined
}

type Entry = Pick<OpenEntry, 'directory' | 'name'>

const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)
const leftover = {
  message: 'its temporary file beside it could not be removed (the next start of the server removes it)',
  details: { leftover: true }
}
const writeAsync = promisify(write)

export type Writer = ReturnType<typeof createWriter>

export function createWriter({ durability, maxSyncBytes, stages }: WriteSettings) {
  const temporaries = new Set<() => void>()
  let isClosed = false

  /** Writes the bytes under a temporary name, not synced. @param folder default: that of the place. @throws Error of the file system; then nothing is left */
  async function stage({ place, bytes, replaces, mode }: StageRequest, folder?: Stage): Promise<StagedFile> {
    const name = temporaryName()
    const shelf: Shelf = folder ?? place.directory
    const remove = () => removeIfThere(shelf, name)
    const fd = shelf.within((at) => openSync(at(name), createFlags, 0o600))
    temporaries.add(remove)
    let isOpen = true
    const close = () => {
      if (isOpen) closeSync(fd)
      isOpen = false
    }
    const discard = () => {
      attempt(remove)
      temporaries.delete(remove)
      attempt(close)
    }
    try {
      await fill(fd, bytes)
      copyModeAndOwner(fd, replaces, mode)
      return { name, shelf, fd, remove, close, discard, placed: () => void temporaries.delete(remove) }
    } catch (error) {
      discard()
      throw error
    }
  }

  /**
   * The bytes are at the place once this returns; `after` takes later failures.
   * @throws OperationError WRITE_ERROR, ACCESS_DENIED, StaleFileError (creating only), or what `check` throws; then the file is as it was.
   * OperationError AUTHORITY_LOST if it is not known whether it is
   */
  async function writeFile(request: WriteRequest, after: AfterChange): Promise<Written> {
    const { place, path, replaces, check, announce } = request
    const own = stages?.of(place.path)
    let staged: StagedFile | undefined
    let withdraw: (() => void) | undefined
    let freed: Promise<void> | undefined
    try {
      staged = await stage(request, own)
      await durability.syncContent(staged.fd)
      // No await between the checks and the rename, so that no other operation of this process comes in between.
      assertOpen(path)
      const { name, shelf } = staged
      const change = (held?: number) => {
        check(held)
        withdraw = announce?.(name)
        if (replaces === undefined) createLink(shelf, name, place, path)
        else rename(shelf, name, place)
      }
      if (replaces === undefined) change()
      else freed = freeOnThread(place, change)
    } catch (error) {
      if (!(error instanceof Unanswered)) withdraw?.()
      staged?.discard()
      throw explainWriteError(own === undefined ? error : own.explain(error, path), path)
    }
    staged.placed()
    if (replaces === undefined) after.attempt(staged.remove, leftover)
    return { identity: settle(staged.fd, after), freed }
  }

  /** @throws OperationError OVERLOADED once the server stops */
  function assertOpen(path: string): void {
    if (isClosed) throw stopping(path)
  }

  /** After the change. */
  function settle(fd: number, after: AfterChange): FileIdentity | undefined {
    const stat = after.attempt(() => fstatSync(fd, { bigint: true }), notLookedAt)
    // Without an fsync before, some file systems report only now that the bytes could not be written.
    after.attempt(() => closeSync(fd), notDurable)
    return stat === undefined ? undefined : identityOf(stat)
  }

  async function fill(fd: number, bytes: Buffer): Promise<void> {
    let written = 0
    while (written < bytes.length) {
      if (bytes.length <= maxSyncBytes) written += writeSync(fd, bytes, written)
      else written += (await writeAsync(fd, bytes, written)).bytesWritten
    }
  }

  return {
    writeFile,
    stage,
    settle,
    assertOpen,
    /** Refuses every further rename and removes the remaining temporary files. */
    close(): void {
      isClosed = true
      for (const remove of temporaries) attempt(remove)
    }
  }
}

/**
 * Mode and, if permitted, owner of the replaced version. A new file gets 0666 minus the umask, and each another mode if one is given. Set-user and set-group bits meant an owner that is no longer known.
 */
function copyModeAndOwner(fd: number, replaces: FileVersion | undefined, newMode: number | undefined): void {
  const own = fstatSync(fd)
  if (replaces === undefined) {
    // To read the umask is to set it for a moment: only where it is needed.
    return setMode(fd, own, (newMode ?? 0o666 & ~process.umask()) & 0o1777)
  }
  const { uid, gid } = replaces
  const mode = newMode ?? replaces.mode
  const isOwners = (own.uid === uid && own.gid === gid) || ifSupported(() => fchownSync(fd, uid, gid))
  // Set-user and set-group bits meant the old owner; they must not pass to the new one.
  setMode(fd, own, isOwners ? mode : mode & 0o1777)
}

/** A file system without modes gives each file the same, and refuses another. */
function setMode(fd: number, own: Stats, mode: number): void {
  if ((own.mode & 0o7777) !== mode) ifSupported(() => fchmodSync(fd, mode))
}

/** A new name by link: unlike rename it fails if another program has just created the file. @throws StaleFileError */
export function createLink(shelf: Shelf, temporary: string, { directory, name }: Entry, path: string): void {
  try {
    makeCertainly(
      () => link(shelf, temporary, directory, name),
      () => isSameFile(shelf.stat(temporary), directory.stat(name))
    )
  } catch (error) {
    if (isErrno(error, 'EEXIST')) throw new StaleFileError(`created meanwhile: ${path}`, { cause: error })
    // File systems without hard links (FAT, some network ones), and links where no path leads through a descriptor.
    if (!isUnsupported(error) && !isErrno(error, 'EMLINK', 'EXDEV')) throw error
    rename(shelf, temporary, { directory, name })
  }
}

/** @param shelf the folder of the entry, or a stage */
export function rename(shelf: Shelf, temporary: string, { directory, name }: Entry): void {
  makeCertainly(
    () => shelf.within((at) => directory.within((into) => renameSync(at(temporary), into(name)))),
    () => isGone(shelf, temporary)
  )
}

export function removeIfThere(shelf: Shelf, name: string): void {
  try {
    shelf.within((at) => unlinkSync(at(name)))
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}
