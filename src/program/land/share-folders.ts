// Gives a working tree the ignored folders that its tests need, such as node_modules: copied on write if the file system can, else linked.
import { constants } from 'node:fs'
import { copyFile, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { OwnGit } from './own-git.ts'

export interface Shared {
  readonly copied: readonly string[]
  readonly linked: readonly string[]
}

/** @param from the working tree that has them @param names of folders, wherever they are */
export async function shareFolders(git: OwnGit, from: string, to: string, names: readonly string[]): Promise<Shared> {
  const listed = await git(['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z'])
  const found = listed
    .toString()
    .split('\0')
    .filter((path) => path.endsWith('/'))
    .map((path) => path.slice(0, -1))
    .filter((path) => names.includes(basename(path)))
  if (found.length === 0) return { copied: [], linked: [] }
  const copies = await canCopyOnWrite(dirname(to))
  for (const path of found) {
    const target = join(to, path)
    await mkdir(dirname(target), { recursive: true })
    const mode = constants.COPYFILE_FICLONE_FORCE
    if (copies) await cp(join(from, path), target, { recursive: true, mode, verbatimSymlinks: true })
    else await symlink(join(from, path), target, 'junction')
  }
  return copies ? { copied: found, linked: [] } : { copied: [], linked: found }
}

async function canCopyOnWrite(folder: string): Promise<boolean> {
  const scratch = await mkdtemp(join(folder, 'clone-'))
  try {
    await writeFile(join(scratch, 'one'), 'x')
    await copyFile(join(scratch, 'one'), join(scratch, 'other'), constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch {
    return false
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
