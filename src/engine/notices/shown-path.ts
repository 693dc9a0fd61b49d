// How to show a canonical path that no caller has spelt.
import { below } from '../../support/relocate.ts'
import { showName } from '../../support/raw-name.ts'
import { withSlashes } from '../../support/slashes.ts'
import type { FileStore } from '../files/file-store.ts'

/**
 * Relative to the first root if it lies below it, with `/` between names on every system; else absolute: operations accept either path.
 * A name that is not UTF-8 is escaped, as in a listing: no operation reaches it.
 */
export function shownPath(canonicalPath: string, { roots }: FileStore): string {
  const [first] = roots
  const rest = first === undefined ? '' : (below(first.real, canonicalPath) ?? '')
  return showName(rest === '' ? canonicalPath : withSlashes(rest)).name
}
