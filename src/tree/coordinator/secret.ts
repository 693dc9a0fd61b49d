// The secret of the process that serves a tree, in a file that only its user can read.
import { closeSync, constants, fstatSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { isErrno } from '../../support/errno.ts'
import { lazyCrypto } from '../../support/lazy-crypto.ts'
import { replaceFile } from '../../support/replace-file.ts'
import { refuseForeign } from '../state/state-directory.ts'
import { readText } from '../../support/read-text.ts'

const secretBytes = 32
const length = 2 * secretBytes
/** O_NONBLOCK: opening a FIFO that another user has put there returns at once. */
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

export function newSecret(): string {
  return lazyCrypto().randomBytes(secretBytes).toString('hex')
}

/** Takes the place of whatever is there. @throws Error of the file system */
export function writeSecret(path: string, secret: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  rmSync(path, { force: true, recursive: true })
  replaceFile(path, secret)
}

/** @throws Error that says why there is none */
export function readSecret(path: string, shownPath: string): string {
  let fd: number | undefined
  try {
    fd = openSync(path, readFlags)
    const stat = fstatSync(fd, { bigint: true })
    refuseForeign(stat, 'file', shownPath)
    const secret = stat.size === BigInt(length) ? readText(fd) : ''
    if (secret.length !== length) throw new Error(`${shownPath} is no secret of a server`)
    return secret
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
    throw new Error(`there is no ${shownPath}`, { cause: error })
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
