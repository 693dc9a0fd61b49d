// A Git folder that stands in for the one of a repository while Git looks at its files: the repository's own configuration can name
// filters, which are programs. A user who can write to the tree could have this server run them, outside that user's own confinement.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withScratch } from '../scratch.ts'
import { readSmall } from './read-small.ts'
import type { WorkTree } from './work-tree.ts'

/** How Git is to be started for the files of the repository. */
export interface StandIn {
  readonly options: readonly string[]
  readonly variables: Readonly<Record<string, string>>
}

/** Settings of how files are compared. They are words; none names a program. */
const harmless = /^core\.(?:filemode|ignorecase|symlinks|autocrlf|eol|precomposeunicode|trustctime|checkstat)$/

/** @param folder in which Git is to run, in the working tree. The stand-in is there until `use` ends. */
export async function withStandIn<Result>(
  tree: WorkTree,
  folder: string,
  use: (standIn: StandIn) => Promise<Result>
): Promise<Result> {
  return withScratch(async (gitDir) => use(await makeStandIn(gitDir, tree, folder)))
}

/** The same in an empty folder of the caller's, who removes it. */
export async function makeStandIn(gitDir: string, tree: WorkTree, folder: string): Promise<StandIn> {
  await fill(gitDir, tree)
  return {
    options: [`--git-dir=${gitDir}`, `--work-tree=${tree.workTree}`, '-C', folder],
    variables: { GIT_INDEX_FILE: join(tree.gitDir, 'index'), GIT_OBJECT_DIRECTORY: join(tree.commonDir, 'objects') }
  }
}

/** Writes what Git needs of a repository beside objects and index. From other users it copies only words and patterns. */
async function fill(folder: string, { commonDir, commit, settings }: WorkTree): Promise<void> {
  const isSha256 = commit?.length === 64
  const compared = settings.filter(([key, value]) => harmless.test(key) && /^\w+$/.test(value))
  const config = [
    '[core]',
    `repositoryformatversion = ${isSha256 ? 1 : 0}`,
    ...compared.map(([key, value]) => `${key.slice('core.'.length)} = ${value}`),
    ...(isSha256 ? ['[extensions]', 'objectformat = sha256'] : [])
  ]
  await Promise.all([mkdir(join(folder, 'refs')), mkdir(join(folder, 'info'))])
  await Promise.all([
    writeFile(join(folder, 'HEAD'), `${commit ?? 'ref: refs/heads/none'}\n`),
    writeFile(join(folder, 'config'), `${config.join('\n')}\n`),
    ...['exclude', 'attributes'].map((name) =>
      writeFile(join(folder, 'info', name), readSmall(join(commonDir, 'info', name)) ?? '')
    )
  ])
}
