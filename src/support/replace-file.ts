// Small files of our own, replaced whole or not at all. Synchronous: no other code of this process runs between the write and the rename.
import { closeSync, constants, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { lazyCrypto } from './lazy-crypto.ts'

export interface ReplaceOptions {
  /** Permission bits. Default: 0o600. */
  readonly mode?: number
  /** True syncs the file before it takes its name. Default: false. The caller syncs the folder. */
  readonly isDurable?: boolean
  /** The file that is written first, in the same folder. Default: the path with random characters and `.tmp` behind it. */
  readonly temporary?: string
  /** Called with the open file before anything is written. */
  readonly prepare?: (fd: number) => void
  /** Called right before the rename; if it throws, the old file stays as it was. */
  readonly check?: () => void
}

const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)

/** @throws Error of the file system; then the old file is unchanged, and there is no temporary one */
export function replaceFile(path: string, content: string | Uint8Array, options: ReplaceOptions = {}): void {
  const { mode = 0o600, isDurable = false, prepare, check } = options
  const temporary = options.temporary ?? `${path}.${lazyCrypto().randomBytes(8).toString('hex')}.tmp`
  const fd = openSync(temporary, createFlags, mode)
  try {
    try {
      prepare?.(fd)
      writeFileSync(fd, content)
      if (isDurable) fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    check?.()
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}
