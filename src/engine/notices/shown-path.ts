// How to show a canonical path that no caller has spelt.
import { sep } from 'node:path'
import type { FileStore } from '../files/file-store.ts'

/** Relative to the first root if it lies below it, else absolute: operations accept either path. */
export function shownPath(canonicalPath: string, { roots }: FileStore): string {
  const [first] = roots
  const isBelow = first !== undefined && canonicalPath.startsWith(first.real + sep)
  return isBelow ? canonicalPath.slice(first.real.length + 1) : canonicalPath
}
