// How to show a canonical path that no caller has spelt.
import { below } from '../../support/relocate.ts'
import { withSlashes } from '../../support/slashes.ts'
import type { FileStore } from '../files/file-store.ts'

/**
 * Relative to the first root if it lies below it, with `/` between names on every system; else absolute: operations accept either path.
 */
export function shownPath(canonicalPath: string, { roots }: FileStore): string {
  const [first] = roots
  const rest = first === undefined ? '' : (below(first.real, canonicalPath) ?? '')
  return rest === '' ? canonicalPath : withSlashes(rest)
}
