// How a canonical path is shown where no caller has spelt it.
import { sep } from 'node:path'
import type { FileStore } from '../files/file-store.ts'

/** Relative to the first root where it lies below it, else absolute: either way a path that can be passed to an operation. */
export function shownPath(canonicalPath: string, { roots }: FileStore): string {
  const [first] = roots
  const isBelow = first !== undefined && canonicalPath.startsWith(first.real + sep)
  return isBelow ? canonicalPath.slice(first.real.length + 1) : canonicalPath
}
