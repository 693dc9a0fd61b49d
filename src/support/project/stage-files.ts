// Puts files into a working tree and its index, as a commit is to have them.
import { chmodSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isErrno } from '../errno.ts'
import { inSlices } from '../slices.ts'
import type { Git } from './run-git.ts'

export interface CommitFile {
  /** As Git spells it: relative to the working tree, with slashes. */
  readonly name: string
  /** `100644`, `100755` or `120000`. */
  readonly mode: string
  /** As the file has them in a working tree, or the target of a link; undefined if the file is removed. */
  readonly bytes: Buffer | undefined
}

/** @param git runs Git on that working tree and index @returns the id of the tree that the index has then */
export async function stageFiles(workTree: string, files: readonly CommitFile[], git: Git): Promise<string> {
  const update = async (flags: readonly string[], some: readonly CommitFile[]) => {
    if (some.length === 0) return
    const names = Buffer.from(some.map(({ name }) => `${name}\0`).join(''))
    // The modes are given here, also where the repository takes no notice of them.
    await git(['-c', 'core.fileMode=true', 'update-index', ...flags, '-z', '--stdin'], names)
  }
  const removed = files.filter(({ bytes }) => bytes === undefined)
  const made = files.filter(({ bytes }) => bytes !== undefined)
  // A name that was a file can be a folder now: what goes must go first.
  await inSlices(removed, ({ name }) => rmSync(join(workTree, name), { force: true }))
  const folders = new Set(made.map(({ name }) => dirname(join(workTree, name))))
  await inSlices(folders, (folder) => mkdirSync(folder, { recursive: true }))
  await inSlices(made, (file) => place(workTree, file))
  await update(['--add', '--remove', '--replace'], [...removed, ...made])
  // Not every file system has modes: one shows all files as executable, another none.
  for (const [mode, isExecutable, flag] of [
    ['100755', true, '+x'],
    ['100644', false, '-x']
  ] as const) {
    const some = made.filter((file) => file.mode === mode)
    const [first] = some
    const isShown = first && (lstatSync(join(workTree, first.name)).mode & 0o100) !== 0
    if (isShown !== isExecutable) await update([`--chmod=${flag}`], some)
  }
  return (await git(['write-tree'], Buffer.alloc(0))).toString('latin1').trim()
}

function place(workTree: string, file: CommitFile): void {
  const path = join(workTree, file.name)
  try {
    make(path, file)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
    // A folder is left of a name that was one.
    rmSync(path, { force: true, recursive: true })
    make(path, file)
  }
}

/** @throws EEXIST if something is there */
function make(path: string, { mode, bytes = Buffer.alloc(0) }: CommitFile): void {
  if (mode === '120000') return symlinkSync(bytes.toString(), path)
  writeFileSync(path, bytes, { flag: 'wx' })
  if (mode === '100755') chmodSync(path, 0o755)
}
