// The names in a folder; none if there is no such folder.
import { readdirSync } from 'node:fs'
import { isErrno } from './errno.ts'

export function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return []
    throw error
  }
}
