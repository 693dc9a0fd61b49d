// A working tree of its own for the commit: its files are exactly those that are landed.
import { mkdir, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { isRunning } from '../../support/process-identity.ts'
import { stageFiles, type CommitFile } from '../../support/project/stage-files.ts'
import { createGit, type OwnGit } from './own-git.ts'

export interface LandingTree {
  readonly path: string
  /** In it. */
  readonly git: OwnGit
  /** The id of the tree that the commit is to have. */
  readonly content: string
  readonly remove: () => Promise<void>
}

/** In the server's own folder. */
const folderName = 'landing'

/**
 * @param own the server's own folder below the root
 * @param isWhole false if only the files of the commit are needed
 */
export async function makeWorkTree(
  git: OwnGit,
  own: string,
  { parent, files, isWhole }: { parent: string; files: readonly CommitFile[]; isWhole: boolean }
): Promise<LandingTree> {
  const path = join(own, folderName, `${process.pid}-${randomBytes(4).toString('hex')}`)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await git(['worktree', 'add', '--quiet', '--detach', ...(isWhole ? [] : ['--no-checkout']), path, parent])
  const remove = () => removeWorkTree(git, path)
  try {
    const inside = createGit(path)
    if (!isWhole) await inside(['read-tree', parent])
    const content = await stageFiles(path, files, inside)
    return { path, git: inside, content, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function removeWorkTree(git: OwnGit, path: string): Promise<void> {
  await git(['worktree', 'remove', '--force', '--force', path]).catch(() => rm(path, { recursive: true, force: true }))
  await git(['worktree', 'prune']).catch(() => {})
}

/** Those of processes that were killed. */
export async function removeLeftTrees(git: OwnGit, own: string): Promise<void> {
  const names = await readdir(join(own, folderName)).catch(() => [])
  for (const name of names) {
    const pid = Number(/^(\d+)-[0-9a-f]{8}$/.exec(name)?.[1])
    if (pid > 0 && pid !== process.pid && !isRunning(pid, null)) await removeWorkTree(git, join(own, folderName, name))
  }
}
