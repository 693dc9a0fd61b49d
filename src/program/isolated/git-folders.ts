// Git's own folders of a root: an isolated command must not change them, since nobody could merge what it writes there.
import { lstatSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { findRepository } from '../../support/project/repository.ts'

/** Real paths of what is there: `.git` of the root, or the folders of the repository in which the root lies, a worktree's outside ones too. */
export function gitFolders(root: string): string[] {
  const repository = findRepository(root)
  const all = [
    gitEntryAbove(root),
    ...(repository === undefined ? [] : [repository.gitDir, repository.commonDir])
  ].filter((path) => path !== undefined)
  const real = all.map((path) => orUndefined(() => realpathSync(path))).filter((path) => path !== undefined)
  return [...new Set(real)].sort()
}

/** Also a file that names another folder. */
function gitEntryAbove(folder: string): string | undefined {
  for (let here = folder; ; here = dirname(here)) {
    const path = join(here, '.git')
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === false) return path
    if (dirname(here) === here) return undefined
  }
}
