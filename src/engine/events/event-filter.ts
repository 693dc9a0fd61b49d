// What a client wants to follow: types, paths and patterns as it spelt them, and one agent.
import { isAbsolute, sep } from 'node:path'
import type { EventType } from '../../../schemas/events.ts'
import { OperationError } from '../../errors.ts'
import type { FileStore } from '../files/file-store.ts'
import { below } from '../../support/relocate.ts'
import { compileFileGlob } from '../files/glob/plain-pattern.ts'
import type { EventFilter } from './tree-event.ts'
import { beginningOf } from '../../support/cut-text.ts'
import { withSlashes } from '../../support/slashes.ts'

export interface FilterInput {
  /** Undefined for all. */
  readonly types: readonly EventType[] | undefined
  /** Of files, of folders with all below them, or patterns. */
  readonly paths: readonly string[]
  readonly agentId: string | undefined
}

interface Matcher {
  readonly matches: (path: string) => boolean
  /** Equal for two matchers that always agree. */
  readonly key: string
  /** Cost for each character of a path; next to nothing for a name. */
  readonly steps: number
}

/** Of all paths together: more does not fit into the 16 KB of address and headers that Node takes. */
const maxPathsLength = 8192
/** Of all patterns together: about twelve ordinary ones, or two of the longest there can be. The path of an event may have 4096 characters. */
const maxSteps = 100
const globCharacter = /[*?[{]/

/** @throws OperationError INVALID_REQUEST, INVALID_PATTERN, PATH_OUTSIDE_BASE, and as an operation on such a path would */
export function toEventFilter({ types, paths, agentId }: FilterInput, files: FileStore): EventFilter {
  if (paths.join('').length > maxPathsLength)
    throw invalid(`path has more than ${maxPathsLength} characters in all. Use patterns, or several streams.`)
  const matchers = toAllMatchers(paths, files)
  return {
    types: types && new Set(types),
    matchesPath: paths.length === 0 ? undefined : (path) => matchers.some(({ matches }) => matches(path)),
    pathKey: JSON.stringify(matchers.map(({ key }) => key)),
    agentId
  }
}

function toAllMatchers(paths: readonly string[], files: FileStore): Matcher[] {
  const matchers: Matcher[] = []
  let steps = 0
  for (const path of paths) {
    for (const matcher of toMatchers(path, files)) {
      matchers.push(matcher)
      steps += matcher.steps
    }
    if (steps > maxSteps) throw tooCostly(path)
  }
  return matchers
}

/** A name may have the characters of a pattern in it: it is followed as both. */
function toMatchers(path: string, files: FileStore): Matcher[] {
  if (!globCharacter.test(path)) return [toPlace(path, files)]
  const pattern = toPatternUnlessName(path, files)
  return [...(pattern === undefined ? [] : [pattern]), toPrefixMatcher(path, files)]
}

/** Undefined for an existing file such as "a[b", whose name is not a pattern. */
function toPatternUnlessName(path: string, files: FileStore): Matcher | undefined {
  try {
    return toPatternMatcher(path, files)
  } catch (error) {
    if (error instanceof OperationError && error.code === 'INVALID_PATTERN' && files.isThere(path)) return undefined
    throw error
  }
}

/** The file that the path leads to, the link that it names, and everything below. */
function toPlace(path: string, files: FileStore): Matcher {
  const places = [files.resolve(path, 'target').path, files.resolve(path, 'entry').path]
  return {
    matches: (changed) => places.some((place) => below(place, changed) !== undefined),
    key: `places ${JSON.stringify(places)}`,
    steps: 0
  }
}

const nowhere: Matcher = { matches: () => false, key: '', steps: 0 }

function toPrefixMatcher(path: string, files: FileStore): Matcher {
  try {
    return toPlace(path, files)
  } catch (error) {
    // As a name it leads nowhere; as a pattern it may.
    if (error instanceof OperationError && error.code !== 'PATH_OUTSIDE_BASE') return nowhere
    throw error
  }
}

/** A relative pattern is relative to every root, an absolute one to the root that it begins with. */
function toPatternMatcher(pattern: string, files: FileStore): Matcher {
  const roots = files.roots.map(({ real }) => real)
  if (pattern.split('/').includes('..')) throw outside(pattern)
  if (!isAbsolute(pattern)) {
    const glob = compileFileGlob(pattern)
    const matches = (path: string) => roots.some((root) => isMatch(glob, root, path))
    return { matches, key: `pattern ${pattern}`, steps: glob.steps }
  }
  const path = pattern.replaceAll('/', sep)
  const bases = files.roots.flatMap(({ real, given }) => [real, given].map((base) => ({ real, base })))
  const found = bases.map(({ real, base }) => ({ real, rest: below(base, path) ?? '' })).find(({ rest }) => rest !== '')
  if (found === undefined) throw outside(pattern)
  // Without a slash it would be matched at every depth.
  const glob = compileFileGlob(`./${withSlashes(found.rest)}`)
  const matches = (path: string) => isMatch(glob, found.real, path)
  return { matches, key: `pattern ${pattern}`, steps: glob.steps }
}

function isMatch(glob: ReturnType<typeof compileFileGlob>, root: string, path: string): boolean {
  const rest = below(root, path)
  return rest !== undefined && glob.matches(withSlashes(rest))
}

function tooCostly(pattern: string): OperationError {
  const message = `The patterns up to this one are too many or too long to be matched at every event: ${beginningOf(pattern, 200)}. Use fewer or shorter ones, folders instead of patterns, or several streams.`
  return new OperationError('INVALID_PATTERN', message)
}

function outside(pattern: string): OperationError {
  const message = `This pattern matches no path below a root: ${beginningOf(pattern, 200)}. Patterns are relative to the roots, such as src/**.`
  return new OperationError('PATH_OUTSIDE_BASE', message)
}

function invalid(message: string): OperationError {
  return new OperationError('INVALID_REQUEST', message)
}
