// The files in which two commits differ.
import { join } from 'node:path'
import { toName } from '../raw-name.ts'
import { streamGit } from './run-git.ts'
import { withStandIn } from './stand-in.ts'
import type { WorkTree } from './work-tree.ts'

const maxPaths = 20_000

/** Absolute paths, of the commit and HEAD; none if Git does not know the commit any more. */
export async function listChanged(tree: WorkTree, commit: string, signal: AbortSignal): Promise<readonly string[]> {
  const { workTree, commit: head } = tree
  if (head === undefined || head === commit) return []
  const paths: string[] = []
  await withStandIn(tree, workTree, ({ options, variables }) =>
    streamGit(
      [...options, 'diff-tree', '-r', '-z', '--no-renames', '--name-only', commit, head],
      signal,
      variables,
      (record) => {
        paths.push(join(workTree, toName(record)))
        return paths.length < maxPaths
      }
    )
  )
  return paths
}
