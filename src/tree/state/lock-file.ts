// The file below a root that the authority of its tree keeps locked: what it says, and whether it is locked.
import { constants, existsSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from '../../support/attempt.ts'
import { tryLock } from 'fs-native-extensions'
import { closeReader } from '../../engine/files/close-reader.ts'
import { ownFolder } from '../../engine/files/temporary-names.ts'
import { orUndefined } from '../../support/attempt.ts'
import { parseFields } from '../../support/json-fields.ts'
import type { StateDirectory } from './state-directory.ts'

/** What the locked file says. */
interface Holder {
  /** The root that the file was written in; below any other root it is a copy, made with a tree. */
  readonly root: string
  /** First root of the tree. */
  readonly tree: string
  /** Its other paths. */
  readonly known_as: readonly string[]
  readonly pid: number
}

export const fileName = 'authority.lock'
/** Windows lets no other process read what is locked. There only a byte behind the text is, so that the holder can be read. */
export const lockedRange: readonly [offset: number, length: number] =
  process.platform === 'win32' ? [2 ** 40, 1] : [0, 0]
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** So that other processes can name the holder. The lock counts without it, such as on a full disk. */
export function writeHolder(fd: number, holder: Holder): void {
  // Else other processes report a holder without its process id.
  attempt(() => {
    ftruncateSync(fd)
    writeSync(fd, JSON.stringify(holder), 0)
  })
}

/** Undefined if a process is just coming or going. */
export function readHolder(directory: StateDirectory): Holder | undefined {
  const { root, tree, known_as, pid } = parseFields(orUndefined(() => directory.read(fileName)) ?? '') ?? {}
  const isHolder = typeof root === 'string' && typeof tree === 'string' && Number.isSafeInteger(pid)
  return isHolder && isTexts(known_as) ? { root, tree, known_as, pid: Number(pid) } : undefined
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** A process that serves a root always has the file there. */
export function isUnserved(root: string): boolean {
  return !existsSync(join(root, ownFolder, fileName))
}

export function isServed(root: string): boolean {
  const fd = orUndefined(() => openSync(join(root, ownFolder, fileName), readFlags))
  if (fd === undefined) return false
  try {
    return !tryLock(fd, ...lockedRange, { shared: true })
  } catch {
    return false
  } finally {
    closeReader(fd)
  }
}
