// Symbolic links as entries of their own: read and made, never followed.
import { readlinkSync, symlinkSync } from 'node:fs'
import { isErrno } from '../../errors.ts'
import { StaleFileError } from './preconditions.ts'
import type { OpenEntry } from './walk.ts'

export function readLink({ directory, name }: OpenEntry): string {
  return readlinkSync(directory.at(name))
}

/** @throws StaleFileError if the system finds that the name is taken */
export function makeLink({ directory, name, path }: OpenEntry, target: string): void {
  try {
    symlinkSync(target, directory.at(name))
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
    throw new StaleFileError(`created meanwhile: ${path}`, { cause: error })
  }
}
