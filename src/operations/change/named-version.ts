// The version that a call names by its hash, or by the first digits of it: resolved once, against all versions that are known of the file.
import { dirname, resolve } from 'node:path'
import type { OperationContext } from '../../engine/call/context.ts'
import { OperationError } from '../../errors.ts'
import { isWhole, withAlgorithm } from '../../support/hash-digits.ts'

type Known = Pick<OperationContext, 'history' | 'reads'>

interface NamedFile {
  /** As the caller spelt it. */
  readonly path: string
  readonly canonicalPath: string
  /** Of the version that is there, if it was read. */
  readonly current?: string | undefined
}

const maxShown = 5

/**
 * Behind it only whole hashes are compared, so that a version is never taken for another one that begins with the same digits.
 * @returns the whole hash; what was given if no version that is known of the file begins so
 * @throws OperationError INVALID_REQUEST if several do
 */
export function wholeHash(named: string, { path, canonicalPath, current }: NamedFile, context: Known): string {
  const given = withAlgorithm(named)
  if (isWhole(given)) return given
  const fitting = new Set<string>()
  if (current?.startsWith(given) === true) fitting.add(current)
  for (const hash of knownHashes(canonicalPath, context)) if (hash.startsWith(given)) fitting.add(hash)
  const [only = given] = fitting
  if (fitting.size <= 1) return only
  const versions = [...fitting].slice(0, maxShown)
  const message = `${path}: ${given} begins the hashes of ${fitting.size} versions of the file: ${versions.join(', ')}. Nothing was changed. Give more digits of the one that you mean; async_history shows who made each.`
  throw new OperationError('INVALID_REQUEST', message, { path, details: { versions } })
}

/** Of all versions that the history knows, and that any agent was shown; of a file that was renamed or is a link, under its other name, too. */
function* knownHashes(path: string, context: Known, visited = new Set<string>()): Generator<string> {
  visited.add(path)
  yield* context.reads.hashesShown(path)
  for (const { hash, renamedFrom, was, link = was?.link } of context.history.versions(path)) {
    if (hash !== null) yield hash
    const other = link === undefined ? renamedFrom : resolve(dirname(path), link)
    if (other !== undefined && !visited.has(other)) yield* knownHashes(other, context, visited)
  }
}
