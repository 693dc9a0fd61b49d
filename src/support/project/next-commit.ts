// Makes a commit of files that are given, beside the working tree and the index of the user, without running anything that the repository
// names.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { withScratch } from '../scratch.ts'
import { GitFailed } from './head-and-index.ts'
import { importCommit } from './import-commit.ts'
import { pipeGit, runGit } from './run-git.ts'
import { stageFiles, type CommitFile } from './stage-files.ts'
import { makeStandIn } from './stand-in.ts'
import type { WorkTree } from './work-tree.ts'

type OpenTree = WorkTree & { readonly commit: string }

interface NextCommit {
  readonly files: readonly CommitFile[]
  readonly message: string
  /** Whether the index of the user has every `.gitattributes` as HEAD has it. */
  readonly hasAttributesOfHead: boolean
}

/** @returns the id of the commit; undefined if Git knows no name for it. To be called once. */
export type MakeCommit = (next: NextCommit) => Promise<string | undefined>

/** What the commit needs whatever its files are, Git reads while `use` finds out what these are. */
export function withNextCommit<Result>(
  tree: OpenTree,
  signal: AbortSignal,
  use: (makeCommit: MakeCommit) => Promise<Result>
): Promise<Result> {
  return withScratch(async (scratch) => {
    const base = readBase(tree, scratch, signal)
    // If it fails, so does what waits for it.
    const settled = Promise.allSettled([base])
    try {
      return await use(async ({ files, message, hasAttributesOfHead }) => {
        const { workTree, git, gitOfUser, identity } = await base
        if (identity === undefined) return undefined
        const { line, name, email } = identity
        let readingHead: Promise<unknown> | undefined
        const gitOfHead = async () => {
          await (readingHead ??= git(['read-tree', tree.commit], Buffer.alloc(0)))
          return git
        }
        const next = { parent: tree.commit, identity: line, message }
        const ofParent = hasAttributesOfHead ? gitOfUser : await gitOfHead()
        // Git refuses a message with a NUL, and an import does not.
        const imported = message.includes('\0') ? undefined : await importCommit(files, next, ofParent, git)
        if (imported !== undefined) return imported
        const content = await stageFiles(workTree, files, await gitOfHead())
        const names = {
          GIT_AUTHOR_NAME: name,
          GIT_AUTHOR_EMAIL: email,
          GIT_COMMITTER_NAME: name,
          GIT_COMMITTER_EMAIL: email
        }
        const made = await git(['commit-tree', content, '-p', tree.commit, '-F', '-'], Buffer.from(message), names)
        return made.toString('latin1').trim()
      })
    } finally {
      // It writes into the folder that goes now.
      await settled
    }
  })
}

/** Git with an empty index and working tree, the same with the index of the user, and the author of the next commit. */
async function readBase(tree: OpenTree, scratch: string, signal: AbortSignal) {
  const [workTree, gitDir] = [join(scratch, 'tree'), join(scratch, 'git')]
  const make = async () => {
    await Promise.all([mkdir(workTree), mkdir(gitDir)])
    return makeStandIn(gitDir, { ...tree, workTree }, workTree)
  }
  const [identity, { options, variables }] = await Promise.all([readIdentity(tree, signal), make()])
  const gitOfUser = async (args: readonly string[], input: Buffer, more: Readonly<Record<string, string>> = {}) => {
    const output = await pipeGit([...options, ...args], signal, { ...variables, ...more }, input)
    if (output === undefined) throw new GitFailed('make the commit')
    return output
  }
  const own = { GIT_INDEX_FILE: join(scratch, 'index') }
  const git: typeof gitOfUser = (args, input, more) => gitOfUser(args, input, { ...own, ...more })
  return { workTree, git, gitOfUser, identity }
}

/** As Git's settings say, of the repository and of the user; undefined if they name nobody. */
async function readIdentity({ workTree }: WorkTree, signal: AbortSignal) {
  const output = await runGit(['-C', workTree, 'var', 'GIT_COMMITTER_IDENT'], signal)
  const [line, name, email] = /^(.+?) <([^>]+)> \d+ \S+/.exec(output ?? '') ?? []
  return line === undefined ? undefined : { line, name: name!, email: email! }
}
