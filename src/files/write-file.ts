// Writes a file atomically and durably: temporary file, fsync, last checks, rename, fsync of the directory, and only then the answer.
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  linkSync,
  openSync,
  renameSync,
  unlinkSync,
  write,
  writeSync
} from 'node:fs'
import { promisify } from 'node:util'
import { isErrno, OperationError } from '../errors.ts'
import { identityOf, type FileIdentity } from './identity.ts'
import { temporaryName } from './own-names.ts'
import type { FileVersion } from './read-file.ts'
import type { Place } from './walk.ts'

export interface WriteSettings {
  readonly durability: string
  readonly maxSyncBytes: number
}

interface WriteRequest {
  readonly place: Place
  /** As the caller spelt it, for messages. */
  readonly path: string
  readonly bytes: Buffer
  /** The version that is replaced, whose mode and owner are kept; undefined creates. */
  readonly replaces: FileVersion | undefined
  /** Runs in the same tick as the rename, immediately before it; throws to refuse. */
  readonly check: () => void
}

const fsyncAsync = promisify(fsync)
const writeAsync = promisify(write)

export type Writer = ReturnType<typeof createWriter>

export function createWriter({ durability, maxSyncBytes }: WriteSettings) {
  const temporaries = new Set<() => void>()
  let isClosed = false

  /** @throws OperationError WRITE_ERROR, ACCESS_DENIED, FILE_EXISTS (creating only), or what `check` throws; then the file is as it was */
  async function writeFile({ place, path, bytes, replaces, check }: WriteRequest): Promise<FileIdentity> {
    const temporary = place.directory.at(temporaryName())
    const removeTemporary = () => removeIfThere(temporary)
    let fd: number | undefined
    try {
      fd = openSync(
        temporary,
        constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0),
        0o600
      )
      temporaries.add(removeTemporary)
      await fill(fd, bytes)
      dress(fd, replaces)
      if (durability === 'full') await fsyncAsync(fd)
      // No await between the checks and the rename: no other operation of this process can come in between.
      if (isClosed) throw stopping(path)
      check()
      if (replaces === undefined) createLink(temporary, place.directory.at(place.name), path)
      else renameSync(temporary, place.directory.at(place.name))
      const identity = identityOf(fstatSync(fd, { bigint: true }))
      if (replaces === undefined) removeTemporary()
      return identity
    } catch (error) {
      removeTemporary()
      throw explainWriteError(error, path)
    } finally {
      temporaries.delete(removeTemporary)
      if (fd !== undefined) closeSync(fd)
    }
  }

  async function fill(fd: number, bytes: Buffer): Promise<void> {
    let written = 0
    while (written < bytes.length) {
      if (bytes.length <= maxSyncBytes) written += writeSync(fd, bytes, written)
      else written += (await writeAsync(fd, bytes, written)).bytesWritten
    }
  }

  /**
   * Makes the names in the directory durable after a rename or delete that has been made.
   * @param hashOf gives the hash of what is there now; asked for only where that fails
   */
  async function syncNames(places: readonly Place[], path: string, hashOf: () => string): Promise<void> {
    if (durability !== 'full') return
    try {
      await Promise.all(places.map(({ directory }) => directory.sync()))
    } catch (error) {
      const message = `The change was made, but the system could not make it durable: ${path}. A power loss may undo it; check the disk.`
      throw new OperationError('WRITE_ERROR', message, {
        path,
        details: { applied: true, durable: false, hash: hashOf() },
        cause: error
      })
    }
  }

  return {
    writeFile,
    syncNames,
    /** Refuses every further rename and removes the temporary files that are still there. */
    close(): void {
      isClosed = true
      for (const remove of temporaries) remove()
    }
  }
}

/** Mode and, where permitted, owner of the version that is replaced; a new file gets 0666 minus the umask. */
function dress(fd: number, replaces: FileVersion | undefined): void {
  if (replaces === undefined) {
    fchmodSync(fd, 0o666 & ~process.umask())
    return
  }
  const own = fstatSync(fd)
  let mode = replaces.mode
  if (own.uid !== replaces.uid || own.gid !== replaces.gid) {
    try {
      fchownSync(fd, replaces.uid, replaces.gid)
    } catch (error) {
      if (!isErrno(error, 'EPERM', 'EINVAL')) throw error
      // Set-user and set-group bits meant the old owner; they must not pass to the new one.
      mode &= 0o1777
    }
  }
  fchmodSync(fd, mode)
}

/** A new name by link: unlike rename it fails where somebody outside has just created the file. */
function createLink(temporary: string, target: string, path: string): void {
  try {
    linkSync(temporary, target)
  } catch (error) {
    if (isErrno(error, 'EEXIST'))
      throw new OperationError('FILE_EXISTS', `File already exists: ${path}. Use async_update to change it.`, {
        path,
        cause: error
      })
    // File systems without hard links (FAT, some network ones).
    if (!isErrno(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS')) throw error
    renameSync(temporary, target)
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

function stopping(path: string): OperationError {
  return new OperationError(
    'OVERLOADED',
    `The server is stopping and has not changed ${path}. Try again when it runs again.`,
    {
      path,
      details: { retry_after_seconds: 1 }
    }
  )
}

export function explainWriteError(
  error: unknown,
  path: string,
  code: 'WRITE_ERROR' | 'DELETE_ERROR' | 'RENAME_ERROR' = 'WRITE_ERROR'
): unknown {
  if (error instanceof OperationError || !(error instanceof Error) || !('code' in error)) return error
  if (isErrno(error, 'EACCES', 'EPERM', 'EROFS')) {
    return new OperationError('ACCESS_DENIED', `The operating system denies the change (${error.code}): ${path}`, {
      path,
      cause: error
    })
  }
  const reasons: Record<string, string> = {
    ENOSPC: 'the disk is full',
    EDQUOT: 'the quota is used up',
    EIO: 'the disk failed'
  }
  const reason = reasons[String(error.code)] ?? `the system answered ${String(error.code)}`
  return new OperationError(code, `Nothing was changed at ${path}: ${reason}.`, { path, cause: error })
}
