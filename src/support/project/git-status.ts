// Whether a working tree has changes, found without running what the repository's own configuration names.
import { runGit } from './run-git.ts'
import { withStandIn } from './stand-in.ts'
import type { WorkTree } from './work-tree.ts'

const status = ['status', '--porcelain', '--no-renames', '--untracked-files=normal', '--ignore-submodules=dirty']

/** Undefined if it could not be found. Changes within a submodule do not count, its commit does. */
export function readStatus(tree: WorkTree, signal: AbortSignal): Promise<'clean' | 'dirty' | undefined> {
  return withStandIn(tree, tree.workTree, async ({ options, variables }) => {
    const { output, isCut } = await runGit([...options, ...status], signal, variables)
    if (isCut) return 'dirty'
    return output === undefined ? undefined : output === '' ? 'clean' : 'dirty'
  })
}
