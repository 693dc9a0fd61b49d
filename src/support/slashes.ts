// Relative paths have `/` between their names on every system: callers write them so, and patterns and Git know no other.
import { sep } from 'node:path'

export function withSlashes(path: string): string {
  return sep === '/' ? path : path.replaceAll(sep, '/')
}
