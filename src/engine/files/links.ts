// Symbolic links as entries of their own: read and made, never followed.
import { readlinkSync, symlinkSync } from 'node:fs'
import { isErrno } from '../../errors.ts'
import { ChangedMeanwhile } from './preconditions.ts'
import type { Place } from './walk.ts'

export function readLink({ directory, name }: Place): string {
  return readlinkSync(directory.at(name))
}

/** @throws ChangedMeanwhile where the name is taken, by the system's own look */
export function makeLink({ directory, name, path }: Place, target: string): void {
  try {
    symlinkSync(target, directory.at(name))
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
    throw new ChangedMeanwhile(`created meanwhile: ${path}`, { cause: error })
  }
}
