// The pattern of a listing: what matches it, and how deep it reaches.
import type { Search } from '../find-entries.ts'
import { compileGlob, compilePathGlob, invalidPattern } from './glob.ts'
import { toPlainPattern } from './plain-pattern.ts'

const gitSegment = /(^|[/{,])\.git($|[/},])/

/**
 * @param folderSpellings absolute paths of the directory to list, for a pattern that is absolute
 * @throws OperationError INVALID_PATTERN
 */
export function toSearch(pattern: string, recursive: boolean, folderSpellings: () => readonly string[]): Search {
  const relative = pattern.startsWith('/') ? relativeTo(pattern, folderSpellings()) : pattern
  const { text, isPath, isFolder } = toPlainPattern(relative)
  const includesGit = gitSegment.test(text)
  if (!isPath) return { matches: compileGlob(text), reaches: () => recursive, includesGit: includesGit || !recursive }
  const glob = compilePathGlob(text)
  return {
    matches: (path, type) => (!isFolder || type === 'directory') && glob.matches(path),
    reaches: (folder) => glob.reaches(`${folder}/`),
    includesGit
  }
}

/** With `./`, so that it stays a pattern of paths. */
function relativeTo(pattern: string, folders: readonly string[]): string {
  const base = folders
    .map((folder) => (folder.endsWith('/') ? folder : `${folder}/`))
    .find((folder) => pattern.startsWith(folder))
  if (base !== undefined) return `./${pattern.slice(base.length)}`
  throw invalidPattern(pattern, `is not below the listed folder ${folders[0] ?? ''}`, 'Make it relative to path')
}
