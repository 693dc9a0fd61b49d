// The working trees of commits that the command line tests, below the server's own folder.
import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isRunning } from '../../support/process-identity.ts'
import { findRepository } from '../../support/project/repository.ts'

/** In the server's own folder. */
export const treesFolder = 'landing'

/** Removes those of processes that were killed. @param own the server's own folder below the root */
export async function removeLeftTrees(own: string): Promise<void> {
  const names = await readdir(join(own, treesFolder)).catch(() => [])
  for (const name of names) {
    const pid = Number(/^(\d+)-[0-9a-f]{8}$/.exec(name)?.[1])
    if (pid > 0 && pid !== process.pid && !isRunning(pid, null)) await removeLandingTree(join(own, treesFolder, name))
  }
}

/** The tree, and what the repository has of it: Git itself would leave one that was made in part. */
export async function removeLandingTree(path: string): Promise<void> {
  const options = { recursive: true, force: true }
  await rm(path, options)
  const repository = findRepository(dirname(path))
  if (repository !== undefined) await rm(join(repository.commonDir, 'worktrees', basename(path)), options)
}
