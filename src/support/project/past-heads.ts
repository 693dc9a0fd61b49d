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
  const named = paths.filter((path) => isAskable(tree, path))
  const asked = named.flatMap((path) => commits.map((commit) => ({ path, ...commit })))
  const answers = (await askObjects(tree, asked, signal)) ?? []
  const blobs = asked.flatMap(({ path, until, reason }, index) => {
    const blob = blobIn(answers[index])
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

export interface WantedPath {
  readonly path: string
  /** What HEAD has there; undefined if no file. */
  readonly blob: string | undefined
  /** From when on it matters, in milliseconds since the epoch. */
  readonly since: number
}

/**
 * When HEAD was something else the last time, at the latest: whatever HEAD was behind that had at a path what HEAD has now.
 * @returns by path; none for one of which the log of HEAD does not tell
 */
export async function readSteady(
  tree: WorkTree,
  wanted: readonly WantedPath[],
  signal: AbortSignal
): Promise<ReadonlyMap<string, number>> {
  const from = wanted.length === 0 ? Infinity : listedFrom(tree)
  const known = wanted.filter(({ path, since }) => since > from && isAskable(tree, path))
  const commits = known.length === 0 ? [] : pastCommits(tree)
  const asked = known.flatMap(({ since, ...one }) =>
    commits.filter(({ until }) => until >= since).map((commit) => ({ ...one, ...commit }))
  )
  const answers = await askObjects(tree, asked, signal)
  if (answers === undefined) return new Map()
  const steady = new Map(known.map(({ path }) => [path, from]))
  for (const [index, { path, blob, until }] of asked.entries())
    if (blobIn(answers[index]) !== blob) steady.set(path, Math.max(steady.get(path)!, until))
  return steady
}

const isAskable = (tree: WorkTree, path: string) => !nameIn(tree, path).includes('\n')

const blobIn = (answer = '') => /^([0-9a-f]{40,64}) blob$/.exec(answer)?.[1]

interface AskedObject {
  readonly path: string
  readonly commit: string
}

/** What Git says of each; undefined if it cannot tell. */
async function askObjects(
  tree: WorkTree,
  asked: readonly AskedObject[],
  signal: AbortSignal
): Promise<readonly string[] | undefined> {
  if (asked.length === 0) return []
  const input = asked.map(({ path, commit }) => `${commit}:${nameIn(tree, path)}\n`).join('')
  const output = await withStandIn(tree, tree.workTree, ({ options, variables }) =>
    pipeGit(
      [...options, 'cat-file', '--batch-check=%(objectname) %(objecttype)'],
      signal,
      variables,
      Buffer.from(input)
    )
  )
  return output?.toString('latin1').split('\n')
}

interface Move {
  /** The commit that HEAD was before; zeros if it was none. */
  readonly from: string
  /** The one that it is since then. */
  readonly to: string
  /** Milliseconds since the epoch, of a whole second. */
  readonly at: number
  readonly reason: string
}

/** Of HEAD, as its log names them, the oldest first. */
function movesOf({ gitDir }: WorkTree): Move[] {
  const log = readEnd(join(gitDir, 'logs', 'HEAD')) ?? ''
  return log.split('\n').flatMap((line) => {
    const [, from, to, seconds, reason = ''] =
      /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*> (\d+) [+-]\d{4}(?:\t(.*)|$)/.exec(line) ?? []
    return from === undefined || to === undefined ? [] : { from, to, at: Number(seconds) * 1000, reason }
  })
}

/** Times are whole seconds. */
const endOf = ({ at }: Pick<Move, 'at'>) => at + 999

/** The time from which on `pastCommits` lists all that HEAD was. */
function listedFrom(tree: WorkTree): number {
  const [first] = movesOf(tree).slice(-1 - maxCommits)
  if (first === undefined) return Infinity
  return /^0+$/.test(first.from) ? -Infinity : endOf(first)
}

/** The newest first, without the one that HEAD is. */
export function pastCommits(tree: WorkTree): PastCommit[] {
  const moves = movesOf(tree)
  const commits = moves.map(({ to }, index) => {
    const { at = Infinity, reason = '' } = moves[index + 1] ?? {}
    return { commit: to, until: endOf({ at }), reason }
  })
  return commits.slice(0, -1).slice(-maxCommits).reverse()
}
