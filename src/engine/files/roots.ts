// The roots: the directories below which files are reachable. Compared by path segment, never by string prefix.
import { accessSync, closeSync, constants, openSync, realpathSync, statSync } from 'node:fs'
import thisSystem, { isAbsolute, resolve, sep, type PlatformPath } from 'node:path'
import { isErrno, OperationError } from '../../errors.ts'
import { attempt, orUndefined } from '../../support/attempt.ts'
import type { FileNode } from '../../support/same-file.ts'

export interface Root {
  /** The directory as the operator spelt it, made absolute. */
  readonly given: string
  /** Its real path, taken at start. */
  readonly real: string
  /** Other paths that mean it, which need not be there: those at which containers have it. Of the first root. */
  readonly knownAs: readonly string[]
  /** The folder that was there at the start: another one at its path is not this root. */
  readonly node: FileNode
}

/** A place below a root, not examined yet. */
export interface Location {
  readonly root: Root
  /** Names below the root, as `namesOf` gives them. Empty for the root itself. */
  readonly segments: readonly string[]
}

export type Roots = ReturnType<typeof createRoots>

/**
 * @param directories absolute or relative to the working directory; each must be an existing directory
 * @param knownAs other paths of the first, absolute
 * @throws Error naming the directory that cannot be used, or the two that overlap, and why
 */
export function createRoots(directories: readonly string[], knownAs: readonly string[] = []) {
  const roots = directories.map((directory, index) => findRoot(directory, index === 0 ? knownAs : []))
  refuseOverlap(roots)
  refuseKnown(roots)
  // A slash at the end means nothing here: a root may be a whole drive, or "/".
  const nameAll = (path: string) => namesOf(path).filter((name) => name !== '.')
  const known = roots.map((root) => ({ root, spellings: [root.real, root.given, ...root.knownAs].map(nameAll) }))

  /**
   * The location of an absolute path, or of one relative to the first root. Looks at names only, apart from the spelling of the roots;
   * a ".." is left to the walk, since a link may come before it.
   */
  function locate(path: string): Location {
    const [first] = roots
    if (first === undefined) {
      const message = `This server has no root, so it refuses every path, including ${path}. Ask the operator to set crud.base_directories (async-crud-mcp config edit), or to start the server with --dir <folder>.`
      throw new OperationError('PATH_OUTSIDE_BASE', message, { path })
    }
    const names = namesOf(path)
    if (!isAbsolute(path)) return { root: first, segments: names }
    const location = within(names) ?? withinReal(names)
    if (location === undefined) throw outsideRoots(path)
    return location
  }

  /** The location of an absolute path by its names; undefined if it begins with the names of no root. */
  function within(names: readonly string[]): Location | undefined {
    for (const { root, spellings } of known) {
      for (const base of spellings) {
        if (base.every((name, index) => name === names[index])) return { root, segments: names.slice(base.length) }
      }
    }
    return undefined
  }

  /** The same with the deepest existing folder by its real path, for spellings that reach a root through a link above it. */
  function withinReal(names: readonly string[]): Location | undefined {
    const up = names.indexOf('..')
    // The last name is left to the walk: the path may mean the link itself.
    for (let count = up === -1 ? names.length - 1 : up; count > 0; count -= 1) {
      try {
        const real = realpathSync.native(toPath(names.slice(0, count)))
        return within([...namesOf(real), ...names.slice(count)])
      } catch {
        // Missing or unreadable: go on with the directory above.
      }
    }
    return undefined
  }

  function outsideRoots(path: string): OperationError {
    const list = roots.map(describeRoot).join(', ')
    const message = `Path is outside every root: ${path}. Roots: ${list}. Name it from a root on, as in src/main.ts.`
    return new OperationError('PATH_OUTSIDE_BASE', message, { path })
  }

  const held = roots.flatMap(({ real }) => hold(real) ?? [])

  return {
    list: roots as readonly Root[],
    locate,
    within,
    outsideRoots,
    close(): void {
      for (const fd of held.splice(0)) attempt(() => closeSync(fd))
    }
  }
}

function describeRoot({ given, knownAs }: Root): string {
  return knownAs.length === 0 ? given : `${given} (known as ${knownAs.join(', ')}, too)`
}

/**
 * The names of a path, without empty ones and ".". One "." stays at the end of a path that ends in a slash, or in "/.": its target
 * must be a folder. The first name of a share of Windows keeps its `\\`.
 */
export function namesOf(text: string, system: PlatformPath = thisSystem): string[] {
  const parts = text.split(system.sep === '\\' ? /[\\/]/ : '/')
  const names = parts.filter((name) => name !== '' && name !== '.')
  if (system.sep === '\\' && /^[\\/]{2}[^\\/]/.test(text)) names[0] = `\\\\${names[0]}`
  const last = parts.at(-1)
  const isFolder = parts.length > 1 && (last === '' || last === '.')
  return isFolder ? [...names, '.'] : names
}

/** The absolute path of these names. */
export function toPath(names: readonly string[], system: PlatformPath = thisSystem): string {
  // A drive or a share of Windows is no folder of the current drive.
  const isWhole = system.sep === '\\' && /^(?:[A-Za-z]:$|\\\\)/.test(names[0] ?? '')
  return isWhole ? system.resolve(names.join('\\') + '\\') : system.resolve(system.sep, ...names)
}

/** While it is open, the system gives its inode number to no other folder. Windows does not reuse these numbers. */
function hold(path: string): number | undefined {
  const { O_RDONLY, O_DIRECTORY } = constants
  return process.platform === 'win32' ? undefined : orUndefined(() => openSync(path, O_RDONLY | (O_DIRECTORY ?? 0)))
}

function findRoot(directory: string, knownAs: readonly string[]): Root {
  const given = isAbsolute(directory) ? directory : process.cwd() + sep + directory
  try {
    if (!statSync(given).isDirectory()) throw new Error(`root is not a directory: ${given}`)
    const real = realpathSync.native(given)
    accessSync(real, constants.R_OK | constants.W_OK)
    // Names cannot be compared across a "..", which may have left a link.
    const { dev, ino } = statSync(real, { bigint: true })
    const path = namesOf(given).includes('..') ? real : resolve(given)
    return { given: path, real, knownAs: knownAs.map((each) => resolve(each)), node: { dev, ino } }
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
          ? `roots overlap: ${inner.given} and ${outer.given} are one directory, name it once`
          : `roots overlap: ${inner.given} lies in ${outer.given}, which already includes it: leave out the inner one`
      )
    }
  }
}

/** A path means one place. The first root may be known by its own path, too: a container can have the same one. */
function refuseKnown(roots: readonly Root[]): void {
  const known = roots[0]?.knownAs ?? []
  for (const { given, real, knownAs } of roots) {
    for (const path of [given, real]) {
      const isSame = (other: string) => other === path && knownAs.includes(other)
      const wrong = known.find((other) => !isSame(other) && (segmentsBelow(other, path) ?? segmentsBelow(path, other)))
      if (wrong === undefined) continue
      throw new Error(
        `tree.known_as has ${wrong}, which overlaps the root ${given}: name the path at which a container has the first root`
      )
    }
  }
}

/** The names that lead from `base` down to `path`; undefined if the path is not below it. */
export function segmentsBelow(base: string, below: string, separator = sep): readonly string[] | undefined {
  if (below === base) return []
  const prefix = base.endsWith(separator) ? base : base + separator
  return below.startsWith(prefix) ? below.slice(prefix.length).split(separator) : undefined
}
