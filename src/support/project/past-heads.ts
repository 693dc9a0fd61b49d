// What commits that HEAD was before have at paths, as the log of HEAD names them.
import { join } from 'node:path'
import { readBlobs } from './head-blobs.ts'
import { readEnd } from './read-small.ts'
import { pipeGit } from './run-git.ts'
import { withStandIn } from './stand-in.ts'
import { nameIn, type WorkTree } from './work-tree.ts'

export interface PastCommit {
  readonly commit: string
  /** When HEAD left it, at the latest, in milliseconds since the epoch. */
  readonly until: number
  /** Why HEAD left it, as its log says, such as `commit: Title`. */
  readonly reason: string
}

export interface PastBlob extends Omit<PastCommit, 'commit'> {
  readonly bytes: Buffer
}

/** Commits that are looked at, the newest. */
const maxCommits = 100

/** @returns by path, the newest first; only what the path had and has no more */
export async function readPastHeads(
  tree: WorkTree,
  commits: readonly PastCommit[],
  paths: readonly string[],
  signal: AbortSignal
): Promise<ReadonlyMap<string, readonly PastBlob[]>> {
  const found = new Map<string, PastBlob[]>()
  const named = paths.filter((path) => !nameIn(tree, path).includes('\n'))
  if (named.length === 0 || commits.length === 0) return found
  const asked = named.flatMap((path) => commits.map((commit) => ({ path, ...commit })))
  const input = asked.map(({ path, commit }) => `${commit}:${nameIn(tree, path)}\n`).join('')
  const output = await withStandIn(tree, tree.workTree, ({ options, variables }) =>
    pipeGit(
      [...options, 'cat-file', '--batch-check=%(objectname) %(objecttype)'],
      signal,
      variables,
      Buffer.from(input)
    )
  )
  const answers = output?.toString('latin1').split('\n') ?? []
  const blobs = asked.flatMap(({ path, until, reason }, index) => {
    const [, blob] = /^([0-9a-f]{40,64}) blob$/.exec(answers[index] ?? '') ?? []
    return blob === undefined ? [] : { path, until, reason, blob }
  })
  const distinct = [...new Map(blobs.map((one) => [`${one.blob} ${one.path}`, one])).values()]
  const bytes = await readBlobs(tree, distinct, signal)
  const bytesAt = new Map(distinct.map((one) => [`${one.blob} ${one.path}`, bytes.get(one)]))
  for (const { path, until, reason, blob } of blobs) {
    const content = bytesAt.get(`${blob} ${path}`)
    if (content !== undefined) found.set(path, [...(found.get(path) ?? []), { bytes: content, until, reason }])
  }
  return found
}

/** The newest first, without the one that HEAD is. */
export function pastCommits({ gitDir }: WorkTree): PastCommit[] {
  const log = readEnd(join(gitDir, 'logs', 'HEAD')) ?? ''
  const lines = log.split('\n').flatMap((line) => {
    const [, commit, seconds, reason = ''] =
      /^[0-9a-f]{40,64} ([0-9a-f]{40,64}) .*> (\d+) [+-]\d{4}(?:\t(.*)|$)/.exec(line) ?? []
    return commit === undefined ? [] : { commit, at: Number(seconds) * 1000, reason }
  })
  // Times are whole seconds.
  const commits = lines.map(({ commit }, index) => {
    const { at = Infinity, reason = '' } = lines[index + 1] ?? {}
    return { commit, until: at + 999, reason }
  })
  return commits.slice(0, -1).slice(-maxCommits).reverse()
}
