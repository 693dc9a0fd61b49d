// Globs that name files by their paths below a root.
import { below } from '../../../support/relocate.ts'
import { withSlashes } from '../../../support/slashes.ts'
import { compilePathGlob } from './glob.ts'

/** @returns whether one of the patterns fits the canonical path, below any of the roots. @throws OperationError INVALID_PATTERN */
export function compileBelowRoots(
  patterns: readonly string[],
  roots: readonly { readonly real: string }[]
): (path: string) => boolean {
  const globs = patterns.map((pattern) => compilePathGlob(pattern))
  return (path) =>
    roots.some(({ real }) => {
      const rest = below(real, path)
      return rest !== undefined && globs.some((glob) => glob.matches(withSlashes(rest)))
    })
}
