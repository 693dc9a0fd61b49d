// What Git says of commits, pathspecs and untracked files of a repository, without running what the repository names.
import { join } from 'node:path'
import { toName } from '../raw-name.ts'
import { runGit, streamGit, type StreamEnd } from './run-git.ts'
import { withStandIn } from './stand-in.ts'
import type { WorkTree } from './work-tree.ts'

/** The commit that a name means; undefined if it means none. */
export async function resolveCommit(tree: WorkTree, name: string, signal: AbortSignal): Promise<string | undefined> {
  if (name === 'HEAD') return tree.commit
  const wanted = `${name === '-' ? '@{-1}' : name}^{commit}`
  const args = ['-C', tree.workTree, 'rev-parse', '--verify', '--quiet', '--end-of-options', wanted]
  return (await runGit(args, signal))?.trim()
}

/** The tree that a name means, or that of the commit that it means. */
export async function resolveTree(tree: WorkTree, name: string, signal: AbortSignal): Promise<string | undefined> {
  const args = ['-C', tree.workTree, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{tree}`]
  return (await runGit(args, signal))?.trim()
}

/** What a path has in HEAD and in another tree; undefined if it is not there. */
export interface PathChange {
  readonly from: string | undefined
  readonly to: string | undefined
}

/** The paths in which a tree differs from HEAD, with the ids of their blobs. */
export async function changesFromHead(
  tree: WorkTree,
  id: string,
  signal: AbortSignal
): Promise<Map<string, PathChange> | undefined> {
  const changes = new Map<string, PathChange>()
  if (id === tree.commit) return changes
  return withStandIn(tree, tree.workTree, async ({ options, variables }) => {
    const diff = ['diff-tree', '-r', '-z', '--no-renames', '--no-abbrev', '--no-textconv', '--no-ext-diff']
    const all = ['ls-tree', '-r', '-z', '--full-tree', id]
    let change: PathChange | undefined
    const end = await streamGit(
      [...options, ...(tree.commit === undefined ? all : [...diff, tree.commit, id])],
      signal,
      variables,
      (record) => {
        const text = record.toString('latin1')
        const listed = /^\d+ \w+ ([0-9a-f]+)\t/.exec(text)
        if (tree.commit === undefined) {
          if (listed !== null)
            changes.set(pathOf(tree, record.subarray(listed[0].length)), { from: undefined, to: listed[1] })
        } else if (change === undefined) {
          const [, , from, to] = text.split(' ')
          change = { from: blobId(from), to: blobId(to) }
        } else {
          changes.set(pathOf(tree, record), change)
          change = undefined
        }
        return true
      }
    )
    return end === 'complete' ? changes : undefined
  })
}

/** The files in which a commit differs from HEAD, as far as they are known; none if Git does not know the commit any more. */
export async function listChanged(tree: WorkTree, commit: string, signal: AbortSignal): Promise<readonly string[]> {
  const { workTree, commit: head } = tree
  if (head === undefined || head === commit) return []
  const diff = ['diff-tree', '-r', '-z', '--no-renames', '--name-only', commit, head]
  return (await listPaths(tree, workTree, diff, signal, maxChanged)).paths
}

/** Untracked files that are ignored, by pathspecs in the folder. */
export async function listIgnored(
  tree: WorkTree,
  folder: string,
  pathspecs: readonly string[],
  signal: AbortSignal
): Promise<string[] | undefined> {
  const list = ['ls-files', '-z', '--full-name', '--others', '--ignored', '--exclude-standard', '--', ...pathspecs]
  const { paths, end } = await listPaths(tree, folder, list, signal)
  return end === 'complete' ? paths : undefined
}

/** Which of the pathspecs mean no file of the index. */
export async function hasUnmatched(
  tree: WorkTree,
  folder: string,
  pathspecs: readonly string[],
  signal: AbortSignal
): Promise<boolean> {
  const list = ['ls-files', '-z', '--error-unmatch', '--', ...pathspecs]
  return (await listPaths(tree, folder, list, signal)).end !== 'complete'
}

/** The blobs of paths that a merge has left in conflict: those of stage 2 (ours) or 3 (theirs). */
export async function conflictBlobs(tree: WorkTree, stage: 2 | 3, signal: AbortSignal): Promise<Map<string, string>> {
  const blobs = new Map<string, string>()
  await withStandIn(tree, tree.workTree, ({ options, variables }) =>
    streamGit([...options, 'ls-files', '-z', '--unmerged'], signal, variables, (record) => {
      const [head, id, at] = /^\d+ ([0-9a-f]+) (\d)\t/.exec(record.toString('latin1')) ?? []
      if (head !== undefined && Number(at) === stage) blobs.set(pathOf(tree, record.subarray(head.length)), id!)
      return true
    })
  )
  return blobs
}

/** What `git clean` would remove, with a separator behind whole folders. */
export async function listCleaned(
  tree: WorkTree,
  folder: string,
  args: readonly string[],
  signal: AbortSignal
): Promise<string[] | undefined> {
  return withStandIn(tree, folder, async ({ options, variables }) => {
    const dry = ['-c', 'core.quotePath=false', 'clean', '--dry-run', ...args]
    const output = await runGit([...options, ...dry], signal, variables, maxCleanBytes)
    return output?.split('\n').flatMap((line) => {
      const name = line.startsWith(cleaned) ? unquote(line.slice(cleaned.length)) : undefined
      return name === undefined ? [] : [join(folder, name)]
    })
  })
}

/** Git writes zeros for no blob. */
export function blobId(id: string | undefined): string | undefined {
  return id === undefined || /^0+$/.test(id) ? undefined : id
}

const cleaned = 'Would remove '
const maxCleanBytes = 16 * 1024 * 1024
const maxChanged = 20_000

/** Absolute paths. */
async function listPaths(
  tree: WorkTree,
  folder: string,
  list: readonly string[],
  signal: AbortSignal,
  maxPaths = Infinity
): Promise<{ readonly paths: string[]; readonly end: StreamEnd }> {
  const paths: string[] = []
  const end = await withStandIn(tree, folder, ({ options, variables }) =>
    streamGit([...options, ...list], signal, variables, (record) => {
      paths.push(pathOf(tree, record))
      return paths.length < maxPaths
    })
  )
  return { paths, end }
}

function pathOf({ workTree }: WorkTree, name: Buffer): string {
  return join(workTree, toName(name))
}

const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  '"': '"',
  '\\': '\\'
}

/** As Git quotes names for people. */
function unquote(text: string): string {
  if (!text.startsWith('"')) return text
  const bytes = Buffer.from(text.slice(1, -1))
    .toString('latin1')
    .replaceAll(/\\([0-7]{3}|.)/g, (_all, code: string) => escapes[code] ?? String.fromCharCode(parseInt(code, 8)))
  return toName(Buffer.from(bytes, 'latin1'))
}
