// The roots: the directories below which files are reachable. Compared by path segment, never by string prefix.
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path'
import { isErrno, OperationError } from '../errors.ts'

export interface Root {
  /** The directory as the operator spelt it, made absolute. */
  readonly given: string
  /** Its real path, taken at start. */
  readonly real: string
}

/** A place below a root, not yet looked at. */
export interface Location {
  readonly root: Root
  /** Names below the root; none of them is empty, "." or "..". Empty for the root itself. */
  readonly segments: readonly string[]
}

export type Roots = ReturnType<typeof createRoots>

/**
 * @param directories absolute or relative to the working directory; each must be an existing directory
 * @throws Error naming the directory that cannot be used, or the two that overlap, and why
 */
export function createRoots(directories: readonly string[]) {
  const roots = directories.map(openRoot)
  refuseOverlap(roots)

  /** The location of an absolute path, or of one relative to the first root. Looks at names only, apart from the spelling of the roots. */
  function locate(path: string): Location {
    const [first] = roots
    if (first === undefined) {
      const hint = 'No root is configured, so every path is refused. Start the server with --dir <folder>.'
      throw new OperationError('PATH_OUTSIDE_BASE', hint, { path })
    }
    const absolute = isAbsolute(path) ? resolve(path) : resolve(first.given, path)
    const location = within(absolute) ?? within(realSpelling(absolute))
    if (location !== undefined) return location
    const list = roots.map(({ given }) => given).join(', ')
    throw new OperationError('PATH_OUTSIDE_BASE', `Path is outside every root: ${path}. Roots: ${list}`, { path })
  }

  /** The location of an absolute, normalized path; undefined where no root holds it. */
  function within(absolute: string): Location | undefined {
    for (const root of roots) {
      for (const base of [root.real, root.given]) {
        const segments = segmentsBelow(base, absolute)
        if (segments !== undefined) return { root, segments }
      }
    }
    return undefined
  }

  return { list: roots as readonly Root[], locate, within }
}

function openRoot(directory: string): Root {
  const given = resolve(directory)
  try {
    if (!statSync(given).isDirectory()) throw new Error(`root is not a directory: ${given}`)
    const real = realpathSync.native(given)
    accessSync(real, constants.R_OK | constants.W_OK)
    return { given, real }
  } catch (error) {
    if (isErrno(error, 'ENOENT')) throw new Error(`root does not exist: ${given}`, { cause: error })
    if (isErrno(error, 'EACCES', 'EPERM', 'EROFS'))
      throw new Error(`root cannot be read and written by this user: ${given}`, { cause: error })
    throw error
  }
}

/** A file in two roots would have two places, and belong to two trees. */
function refuseOverlap(roots: readonly Root[]): void {
  for (const [index, inner] of roots.entries()) {
    for (const [other, outer] of roots.entries()) {
      const segments = index === other ? undefined : segmentsBelow(outer.real, inner.real)
      if (segments === undefined) continue
      throw new Error(
        segments.length === 0
          ? `roots overlap: ${inner.given} and ${outer.given} are one directory, give it once`
          : `roots overlap: ${inner.given} lies in ${outer.given}, which reaches it already: leave the inner one out`
      )
    }
  }
}

/** The names that lead from `base` down to `path`; undefined where `path` is not below it. */
function segmentsBelow(base: string, path: string): readonly string[] | undefined {
  if (path === base) return []
  const prefix = base.endsWith(sep) ? base : base + sep
  return path.startsWith(prefix) ? path.slice(prefix.length).split(sep) : undefined
}

/** The path with its deepest existing ancestor replaced by that one's real path, for spellings that reach a root through a link above it. */
function realSpelling(absolute: string): string {
  const { root } = parse(absolute)
  let ancestor = absolute
  let rest = ''
  while (ancestor !== root) {
    const parent = dirname(ancestor)
    rest = join(ancestor.slice(parent.length).replace(/^[\\/]/, ''), rest)
    ancestor = parent
    try {
      return resolve(realpathSync.native(ancestor), rest)
    } catch {
      // Missing or unreadable: go on with the directory above.
    }
  }
  return absolute
}
