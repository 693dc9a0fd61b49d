// Puts files into a working tree and its index, as a commit is to have them.
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export interface CommitFile {
  /** As Git spells it: relative to the working tree, with slashes. */
  readonly name: string
  /** `100644`, `100755` or `120000`. */
  readonly mode: string
  /** As the file has them in a working tree, or the target of a link; undefined if the file is removed. */
  readonly bytes: Buffer | undefined
}

/** @param git runs Git on that working tree and index @returns the id of the tree that the index has then */
export async function stageFiles(
  workTree: string,
  files: readonly CommitFile[],
  git: (args: readonly string[], input: Buffer) => Promise<Buffer>
): Promise<string> {
  const update = async (flag: string, some: readonly CommitFile[]) => {
    if (some.length === 0) return
    await git(['update-index', flag, '-z', '--stdin'], Buffer.from(some.map(({ name }) => `${name}\0`).join('')))
  }
  const removed = files.filter(({ bytes }) => bytes === undefined)
  const made = files.filter(({ bytes }) => bytes !== undefined)
  // A name that was a file can be a folder now: what goes must go first.
  for (const { name } of removed) await rm(join(workTree, name), { force: true })
  await update('--force-remove', removed)
  for (const file of made) await place(workTree, file)
  await update('--add', made)
  for (const [flag, mode] of [
    ['--chmod=+x', '100755'],
    ['--chmod=-x', '100644']
  ] as const)
    await update(
      flag,
      made.filter((file) => file.mode === mode)
    )
  return (await git(['write-tree'], Buffer.alloc(0))).toString('latin1').trim()
}

async function place(workTree: string, { name, mode, bytes = Buffer.alloc(0) }: CommitFile): Promise<void> {
  const path = join(workTree, name)
  await mkdir(dirname(path), { recursive: true })
  await rm(path, { force: true })
  if (mode === '120000') return symlink(bytes.toString(), path)
  await writeFile(path, bytes)
  if (mode === '100755') await chmod(path, 0o755)
}
