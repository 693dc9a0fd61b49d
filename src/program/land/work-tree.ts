// A working tree of its own for the commit: its files are exactly those that are landed.
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { removeLandingTree, treesFolder } from '../../operations/land/landing-trees.ts'
import { stageFiles, type CommitFile } from '../../support/project/stage-files.ts'
import { createGit, type OwnGit } from './own-git.ts'

export interface LandingTree {
  readonly path: string
  /** In it. */
  readonly git: OwnGit
  /** The id of the tree that the commit is to have. */
  readonly content: string
  readonly remove: () => Promise<void>
  /** Under a name at which the next landing leaves it. @returns its path */
  readonly keep: () => Promise<string>
}

/**
 * @param own the server's own folder below the root
 * @param isWhole false if only the files of the commit are needed
 */
export async function makeWorkTree(
  git: OwnGit,
  own: string,
  { parent, files, isWhole }: { parent: string; files: readonly CommitFile[]; isWhole: boolean }
): Promise<LandingTree> {
  const id = randomBytes(4).toString('hex')
  const path = join(own, treesFolder, `${process.pid}-${id}`)
  const remove = () => removeLandingTree(path)
  const keep = async () => {
    const kept = join(own, treesFolder, `kept-${id}`)
    await git(['worktree', 'move', path, kept])
    return kept
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  try {
    await git(['worktree', 'add', '--quiet', '--detach', ...(isWhole ? [] : ['--no-checkout']), path, parent])
    const inside = createGit(path)
    if (!isWhole) await inside(['read-tree', parent])
    const content = await stageFiles(path, files, inside)
    return { path, git: inside, content, remove, keep }
  } catch (error) {
    await remove()
    throw error
  }
}
