// What is at a path, and not where a link there leads.
import { lstatSync, type BigIntStats } from 'node:fs'
import { isErrno } from './errno.ts'

/** Nothing is at a path of whose folders one is a file, too: Node throws ENOTDIR then. @returns undefined if nothing is there */
export function entryAt(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch (error) {
    if (isErrno(error, 'ENOTDIR')) return undefined
    throw error
  }
}

export function isThere(path: string): boolean {
  return entryAt(path) !== undefined
}

export function isFolder(path: string): boolean {
  return entryAt(path)?.isDirectory() === true
}
