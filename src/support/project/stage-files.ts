// Puts files into a working tree and its index, as a commit is to have them.
import { chmod, lstat, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isErrno } from '../errno.ts'

export interface CommitFile {
  /** As Git spells it: relative to the working tree, with slashes. */
  readonly name: string
  /** `100644`, `100755` or `120000`. */
  readonly mode: string
  /** As the file has them in a working tree, or the target of a link; undefined if the file is removed. */
  readonly bytes: Buffer | undefined
}

/** Files that are written at once. */
const atOnce = 16

/** @param git runs Git on that working tree and index @returns the id of the tree that the index has then */
export async function stageFiles(
  workTree: string,
  files: readonly CommitFile[],
  git: (args: readonly string[], input: Buffer) => Promise<Buffer>
): Promise<string> {
  const update = async (flags: readonly string[], some: readonly CommitFile[]) => {
    if (some.length === 0) return
    const names = Buffer.from(some.map(({ name }) => `${name}\0`).join(''))
    // The modes are given here, also where the repository takes no notice of them.
    await git(['-c', 'core.fileMode=true', 'update-index', ...flags, '-z', '--stdin'], names)
  }
  const removed = files.filter(({ bytes }) => bytes === undefined)
  const made = files.filter(({ bytes }) => bytes !== undefined)
  // A name that was a file can be a folder now: what goes must go first.
  await inGroups(removed, ({ name }) => rm(join(workTree, name), { force: true }))
  const folders = new Set(made.map(({ name }) => dirname(join(workTree, name))))
  await inGroups([...folders], (folder) => mkdir(folder, { recursive: true }))
  await inGroups(made, (file) => place(workTree, file))
  await update(['--add', '--remove', '--replace'], [...removed, ...made])
  // Not every file system has modes: one shows all files as executable, another none.
  const stats = await Promise.all(made.map(({ name }) => lstat(join(workTree, name))))
  const isShown = stats.map(({ mode }) => (mode & 0o100) !== 0)
  const mistaken = (wanted: string, shows: boolean) =>
    made.filter(({ mode }, at) => mode === wanted && isShown[at] === shows)
  await update(['--chmod=+x'], mistaken('100755', false))
  await update(['--chmod=-x'], mistaken('100644', true))
  return (await git(['write-tree'], Buffer.alloc(0))).toString('latin1').trim()
}

async function inGroups<Item>(items: readonly Item[], act: (item: Item) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < items.length; at += atOnce) await Promise.all(items.slice(at, at + atOnce).map(act))
}

async function place(workTree: string, file: CommitFile): Promise<void> {
  const path = join(workTree, file.name)
  try {
    await make(path, file)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
    // A folder is left of a name that was one.
    await rm(path, { force: true, recursive: true })
    await make(path, file)
  }
}

/** @throws EEXIST if something is there */
async function make(path: string, { mode, bytes = Buffer.alloc(0) }: CommitFile): Promise<void> {
  if (mode === '120000') return symlink(bytes.toString(), path)
  await writeFile(path, bytes, { flag: 'wx' })
  if (mode === '100755') await chmod(path, 0o755)
}
