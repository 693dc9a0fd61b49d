// One round of a landing: prepared by the server, tested and committed here, finished by the server.
import { realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { runProcess } from '../run/run-process.ts'
import { ownFolder } from '../../engine/files/temporary-names.ts'
import type { LandPrepareOutput } from '../../../schemas/land.ts'
import { withoutGit, type OwnGit } from './own-git.ts'
import { shareFolders } from './share-folders.ts'
import { makeWorkTree, type LandingTree } from './work-tree.ts'

export interface LandOptions {
  readonly test: readonly string[]
  readonly keepsTree: boolean
  /** Skips Git's pre-commit and commit-msg hooks. */
  readonly skipsHooks: boolean
  /** On standard output; else its output goes to standard error. */
  readonly printsTest: boolean
}

export type LandResult =
  | { readonly kind: 'landed'; readonly commit: string; readonly branch: string | null }
  /** HEAD has moved meanwhile. */
  | { readonly kind: 'moved' }
  | { readonly kind: 'failed'; readonly why: string }

interface Round {
  readonly git: OwnGit
  /** Of the server. */
  readonly root: string
  readonly prepared: LandPrepareOutput
  readonly finish: (parent: string, commit: string) => Promise<{ status: string; branch?: string | null }>
  readonly say: (line: string) => void
}

export async function landOnce({ git, root, prepared, finish, say }: Round, options: LandOptions): Promise<LandResult> {
  const { parent, commit_message: message } = prepared
  // The target of a link, too; null if the file is removed.
  const files = prepared.files.map(({ name, mode, content }) => ({
    name,
    mode,
    bytes: content === null ? undefined : Buffer.from(content, 'base64')
  }))
  const test = options.test.length > 0 ? options.test : prepared.test
  const isWhole = test.length > 0 || (!options.skipsHooks && (await hasHooks(git)))
  const tree = await makeWorkTree(git, join(root, ownFolder), { parent, files, isWhole })
  let isKept = false
  try {
    if (isWhole) await share(git, tree, prepared, say)
    const code = test.length === 0 ? 0 : await runTest(tree, prepared.work_tree, test, options)
    if (code !== 0) {
      isKept = options.keepsTree
      const where = isKept ? ` The files are in ${await tree.keep()}: git worktree remove --force removes them.` : ''
      return { kind: 'failed', why: `${test.join(' ')} ended with ${code}.${where}` }
    }
    const commit = await makeCommit(tree, message, options)
    if ('why' in commit) return commit
    const { status, branch = null } = await finish(parent, commit.id)
    return status === 'moved' ? { kind: 'moved' } : { kind: 'landed', commit: commit.id, branch }
  } finally {
    if (!isKept) await tree.remove()
  }
}

async function share(
  git: OwnGit,
  tree: LandingTree,
  { work_tree, share: names }: LandPrepareOutput,
  say: Round['say']
) {
  const { copied, linked } = await shareFolders(git, work_tree, tree.path, names)
  if (copied.length > 0) say(`copied on write: ${copied.join(', ')}`)
  if (linked.length > 0)
    say(`linked, so that what the test writes there is in the working tree, too: ${linked.join(', ')}`)
}

/** In the folder of the caller, if that is in the working tree. */
async function runTest(
  tree: LandingTree,
  workTree: string,
  test: readonly string[],
  { printsTest }: LandOptions
): Promise<number> {
  const below = relative(await realpath(workTree), await realpath(process.cwd()))
  const cwd = below.startsWith('..') ? tree.path : join(tree.path, below)
  const stdio = printsTest ? 'inherit' : (['inherit', 2, 2] as const)
  return runProcess(test, { cwd, env: withoutGit(process.env), stdio })
}

async function makeCommit(
  { git, content }: LandingTree,
  message: string,
  { skipsHooks }: LandOptions
): Promise<{ readonly id: string } | Extract<LandResult, { kind: 'failed' }>> {
  const flags = ['--quiet', '--cleanup=whitespace', ...(skipsHooks ? ['--no-verify'] : []), '--file=-']
  try {
    await git(['commit', ...flags], Buffer.from(message))
  } catch (error) {
    return { kind: 'failed', why: error instanceof Error ? error.message : String(error) }
  }
  const [id = '', made] = (await git(['rev-parse', 'HEAD', 'HEAD^{tree}'])).toString().trim().split('\n')
  if (made === content) return { id }
  return {
    kind: 'failed',
    why: 'a hook of Git has changed the files of the commit, so that it is not what was tested. Change them in the working tree first, or pass --no-verify.'
  }
}

const committing = ['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit']

async function hasHooks(git: OwnGit): Promise<boolean> {
  const { existsSync } = await import('node:fs')
  const folder = (await git(['rev-parse', '--path-format=absolute', '--git-path', 'hooks'])).toString().trim()
  return committing.some((name) => existsSync(join(folder, name)))
}
