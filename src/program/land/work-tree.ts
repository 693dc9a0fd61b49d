// A working tree of its own for the commit: its files are exactly those that are landed.
import { chmod, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { isRunning } from '../../support/process-identity.ts'
import { createGit, type OwnGit } from './own-git.ts'

export interface LandedContent {
  readonly name: string
  readonly mode: string
  /** In Base64; null if the file is removed. */
  readonly content: string | null
}

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
  { parent, files, isWhole }: { parent: string; files: readonly LandedContent[]; isWhole: boolean }
): Promise<LandingTree> {
  const path = join(own, folderName, `${process.pid}-${randomBytes(4).toString('hex')}`)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await git(['worktree', 'add', '--quiet', '--detach', ...(isWhole ? [] : ['--no-checkout']), path, parent])
  const remove = () => removeWorkTree(git, path)
  try {
    const inside = createGit(path)
    if (!isWhole) await inside(['read-tree', parent])
    const removed = files.filter(({ content }) => content === null)
    const made = files.filter(({ content }) => content !== null)
    for (const { name } of removed) await rm(join(path, name), { force: true })
    await update(inside, ['--force-remove'], removed)
    for (const file of made) await place(path, file)
    await update(inside, ['--add'], made)
    await update(
      inside,
      ['--chmod=+x'],
      made.filter(({ mode }) => mode === '100755')
    )
    await update(
      inside,
      ['--chmod=-x'],
      made.filter(({ mode }) => mode === '100644')
    )
    const content = (await inside(['write-tree'])).toString().trim()
    return { path, git: inside, content, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function update(git: OwnGit, flags: readonly string[], files: readonly LandedContent[]): Promise<void> {
  if (files.length === 0) return
  await git(['update-index', ...flags, '-z', '--stdin'], Buffer.from(files.map(({ name }) => `${name}\0`).join('')))
}

async function place(workTree: string, { name, mode, content }: LandedContent): Promise<void> {
  const path = join(workTree, name)
  const bytes = Buffer.from(content ?? '', 'base64')
  await mkdir(dirname(path), { recursive: true })
  await rm(path, { force: true })
  if (mode === '120000') return symlink(bytes.toString(), path)
  await writeFile(path, bytes)
  if (mode === '100755') await chmod(path, 0o755)
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
