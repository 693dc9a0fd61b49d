// Writes a configuration file that only this user may read: it can contain a token.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isErrno } from '../support/errno.ts'
import { replaceFile } from '../support/replace-file.ts'

/**
 * @param isForced true to replace an existing file, whole or not at all
 * @throws Error if the file exists and may not be replaced, or cannot be written
 */
export function writeConfigFile(path: string, text: string, isForced: boolean): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (isForced) return replaceFile(path, text)
  try {
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
    throw new Error(`${path} exists: change it with async-crud-mcp config edit, or replace it with --force`, {
      cause: error
    })
  }
}
