// Which paths Git ignores, whether anything is there or not.
import { join } from 'node:path'
import { toBytes, toName } from '../raw-name.ts'
import { pipeGit } from './run-git.ts'
import { withStandIn } from './stand-in.ts'
import { nameIn, type WorkTree } from './work-tree.ts'

/** The code with which Git says that it ignores none. */
const none = 1
/** With it no name is a pattern. */
const here = './'

/** @returns undefined if Git cannot tell, as of a path in another repository */
export async function findIgnored(
  tree: WorkTree,
  paths: readonly string[],
  signal: AbortSignal
): Promise<ReadonlySet<string> | undefined> {
  if (paths.length === 0) return new Set()
  const asked = Buffer.concat(paths.map((path) => toBytes(`${here}${nameIn(tree, path)}\0`)))
  const output = await withStandIn(tree, tree.workTree, ({ options, variables }) =>
    pipeGit([...options, 'check-ignore', '-z', '--stdin'], signal, variables, asked, undefined, none)
  )
  if (output === undefined) return undefined
  const names = toName(output).split('\0').slice(0, -1)
  return new Set(names.map((name) => join(tree.workTree, name)))
}
