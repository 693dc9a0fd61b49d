// Which paths of a layer Git ignores: by the rules of its .gitignore files, except for what Git or the log of the tree knows.
import { join, relative, sep } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { toName } from '../../support/raw-name.ts'
import { readSmall } from '../../support/project/read-small.ts'
import { streamGit } from '../../support/project/run-git.ts'
import { withStandIn } from '../../support/project/stand-in.ts'
import { openWorkTree, type WorkTree } from '../../support/project/work-tree.ts'
import { Directory } from '../files/directory.ts'
import { readIgnoreRules, rulesOf, type IgnoreRules } from '../files/ignore-rules.ts'

export interface IgnoredPaths {
  /** Rules that hold in the whole root, the innermost last. Names are relative to `base`. */
  readonly rules: readonly IgnoreRules[]
  /** The path of the root in the working tree, with `/` behind it; empty if the root is all of it. */
  readonly base: string
  /** True for a file that is a version like any other, whatever the rules say. */
  isException(path: string): boolean
  hasExceptionBelow(folder: string): boolean
}

/** @param known paths that the log knows */
export async function readIgnoredPaths(
  root: string,
  known: Iterable<string>,
  signal: AbortSignal
): Promise<IgnoredPaths> {
  const tree = await openWorkTree(root, signal)
  const exceptions = new Set(known)
  if (tree !== undefined) for (const path of await listTracked(tree, root, signal)) exceptions.add(path)
  return {
    ...rulesAbove(root, tree),
    isException: (path) => exceptions.has(path),
    hasExceptionBelow(folder) {
      const prefix = folder + sep
      for (const path of exceptions) if (path.startsWith(prefix)) return true
      return false
    }
  }
}

/** Files that Git tracks although a rule excludes them. */
async function listTracked(tree: WorkTree, root: string, signal: AbortSignal): Promise<readonly string[]> {
  const found: string[] = []
  await withStandIn(tree, root, async ({ options, variables }) => {
    const args = [...options, 'ls-files', '-z', '--cached', '--ignored', '--exclude-standard']
    await streamGit(args, signal, variables, (name) => {
      found.push(join(root, toName(name)))
      return true
    })
  })
  return found
}

/** Those of the working tree's own list, and of the folders above the root. */
function rulesAbove(root: string, tree: WorkTree | undefined): Pick<IgnoredPaths, 'rules' | 'base'> {
  if (tree === undefined) return { rules: [], base: '' }
  const way = relative(tree.workTree, root)
  const names = way === '' ? [] : way.split(sep)
  const own = readSmall(join(tree.commonDir, 'info', 'exclude'))
  const rules = own === undefined ? [] : [rulesOf(own, '')]
  for (const depth of names.keys()) {
    const above = names.slice(0, depth)
    rules.push(...readRules(join(tree.workTree, ...above), above.map((name) => `${name}/`).join('')))
  }
  return { rules, base: names.map((name) => `${name}/`).join('') }
}

function readRules(folder: string, prefix: string): readonly IgnoreRules[] {
  const directory = orUndefined(() => Directory.open(folder))
  if (directory === undefined) return []
  try {
    return readIgnoreRules(directory, prefix, [{ name: '.gitignore', type: 'file' }])
  } finally {
    directory.close()
  }
}
