// Whether a working tree has changes, found without the repository's own configuration: that can name filters, which are programs
// that a status runs. A user who can write to the tree could have this server run them, outside that user's own confinement.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSmall } from './read-small.ts'
import type { Repository } from './repository.ts'
import { runGit } from './run-git.ts'

export interface WorkTree extends Repository {
  /** Undefined in an empty repository. */
  readonly commit: string | undefined
  /** The entries of `core` in the configuration, as key and value. */
  readonly core: readonly (readonly [string, string])[]
}

/** Settings of how files are compared. They are words; none names a program. */
const harmless = /^core\.(?:filemode|ignorecase|symlinks|autocrlf|eol|precomposeunicode|trustctime|checkstat)$/
const status = ['status', '--porcelain', '--no-renames', '--untracked-files=normal', '--ignore-submodules=dirty']

/** Undefined if it could not be found. Changes within a submodule do not count, its commit does. */
export async function readStatus(tree: WorkTree, signal: AbortSignal): Promise<'clean' | 'dirty' | undefined> {
  const standIn = await mkdtemp(join(tmpdir(), 'async-crud-mcp-git-'))
  try {
    await fill(standIn, tree)
    const { output, isCut } = await runGit(
      [`--git-dir=${standIn}`, `--work-tree=${tree.workTree}`, '-C', tree.workTree, ...status],
      signal,
      { GIT_INDEX_FILE: join(tree.gitDir, 'index'), GIT_OBJECT_DIRECTORY: join(tree.commonDir, 'objects') }
    )
    if (isCut) return 'dirty'
    return output === undefined ? undefined : output === '' ? 'clean' : 'dirty'
  } finally {
    await rm(standIn, { recursive: true, force: true })
  }
}

/** Writes what Git needs of a repository beside objects and index. From other users it copies only words and patterns. */
async function fill(folder: string, { commonDir, commit, core }: WorkTree): Promise<void> {
  const isSha256 = commit?.length === 64
  const settings = core.filter(([key, value]) => harmless.test(key) && /^\w+$/.test(value))
  const config = [
    '[core]',
    `repositoryformatversion = ${isSha256 ? 1 : 0}`,
    ...settings.map(([key, value]) => `${key.slice('core.'.length)} = ${value}`),
    ...(isSha256 ? ['[extensions]', 'objectformat = sha256'] : [])
  ]
  await Promise.all([mkdir(join(folder, 'refs')), mkdir(join(folder, 'info'))])
  await Promise.all([
    writeFile(join(folder, 'HEAD'), `${commit ?? 'ref: refs/heads/none'}\n`),
    writeFile(join(folder, 'config'), `${config.join('\n')}\n`),
    writeFile(join(folder, 'info', 'exclude'), readSmall(join(commonDir, 'info', 'exclude')) ?? '')
  ])
}
