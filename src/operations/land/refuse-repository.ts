// The states of a repository in which nothing can be landed, each with what to do about it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { OperationError } from '../../errors.ts'
import { runGit } from '../../support/project/run-git.ts'
import { openWorkTree, type WorkTree } from '../../support/project/work-tree.ts'

const unfinished = [
  ['MERGE_HEAD', 'a merge', 'git commit ends it, git merge --abort gives it up'],
  ['rebase-merge', 'a rebase', 'git rebase --continue ends it, --abort gives it up'],
  ['rebase-apply', 'a rebase or an am', 'git rebase --continue or git am --continue ends it, --abort gives it up'],
  ['CHERRY_PICK_HEAD', 'a cherry-pick', 'git cherry-pick --continue ends it, --abort gives it up'],
  ['REVERT_HEAD', 'a revert', 'git revert --continue ends it, --abort gives it up'],
  ['BISECT_LOG', 'a bisection', 'git bisect reset ends it']
] as const

/** @throws OperationError INVALID_REQUEST that says what is in the way */
export async function openForLanding(
  folder: string,
  signal: AbortSignal
): Promise<WorkTree & { readonly commit: string }> {
  const tree = await openWorkTree(folder, signal)
  const refuse = (message: string) => new OperationError('INVALID_REQUEST', `Nothing was landed: ${message}`)
  if (tree === undefined) {
    const output = await runGit(['-C', folder, 'rev-parse', '--is-bare-repository'], signal)
    if (output?.trim() === 'true') throw refuse(`the repository of ${folder} is bare. Serve a working tree of it.`)
    throw refuse(`${folder} is in no Git repository with a working tree, or Git is not installed (2.34 or later).`)
  }
  const { commit, gitDir, settings } = tree
  if (commit === undefined) throw refuse('HEAD has no commit yet. Make the first one yourself.')
  for (const [name, what, advice] of unfinished)
    if (existsSync(join(gitDir, name))) throw refuse(`${what} is under way in the repository. ${advice}.`)
  const sparse = settings.findLast(([key]) => key === 'core.sparsecheckout')?.[1] ?? ''
  if (/^(?:true|1|yes|on)$/i.test(sparse))
    throw refuse('the checkout is sparse (core.sparseCheckout). git sparse-checkout disable ends that.')
  return { ...tree, commit }
}
