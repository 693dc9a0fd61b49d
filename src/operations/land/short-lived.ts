// Files that an agent has created and another one has removed again before they were committed: neither HEAD nor the tree has them.
import { dirname, join } from 'node:path'
import { external } from '../../engine/versions/author.ts'
import { isFolder, isThere } from '../../support/is-there.ts'
import { findIgnored } from '../../support/project/ignored.ts'
import { readSteady } from '../../support/project/past-heads.ts'
import type { WorkTree } from '../../support/project/work-tree.ts'
import type { Lineage } from '../undo/lineages.ts'
import { madeAt } from './base.ts'
import { makerOf } from './maker.ts'

interface ShortLife {
  /** All that it has had. */
  readonly names: readonly string[]
  /** When it began, in milliseconds since the epoch. */
  readonly since: number
  /** Whoever has changed it. */
  readonly agents: ReadonlySet<string>
}

/**
 * Undefined for any other life. What people have taken out stays out, and what its own author has taken back, or an undo, was not to
 * stay.
 */
export function shortLifeOf({ state, changes }: Lineage): ShortLife | undefined {
  const begin = changes.findLastIndex(({ before }) => before.kind === 'none')
  const [creation, removal] = [changes[begin], changes.at(-1)]
  // A file that was there when it was first seen may have been made by anybody.
  if (state.kind !== 'none' || removal === undefined || creation?.version.isCreated !== true) return undefined
  const [creator, remover] = [makerOf(creation.version), makerOf(removal.version)]
  const isKept = remover.agentId !== creator.agentId && remover.agentId !== external.agentId
  if (!isKept || !creator.isCertain || !remover.isCertain || removal.version.takesBack !== undefined) return undefined
  const since = changes.slice(begin)
  return {
    names: [...new Set(since.flatMap(({ from, path }) => [from, path]))],
    since: madeAt(creation),
    agents: new Set(since.map(({ version }) => version.agentId))
  }
}

/** Those of the lives whose files are certainly in no commit that HEAD was, and could be in the next one. */
export async function findShortLived<Life extends Lineage>(
  tree: WorkTree,
  lives: readonly Life[],
  signal: AbortSignal
): Promise<ReadonlySet<Life>> {
  const found = lives.flatMap((life) => {
    const short = shortLifeOf(life)
    return short === undefined || !isFree(tree, life.path) ? [] : [{ life, ...short }]
  })
  const ends = found.map(({ life }) => life.path)
  const ignored = await findIgnored(tree, ends, signal)
  if (ignored === undefined) return new Set()
  const wanted = found.flatMap(({ names, since }) => names.map((path) => ({ path, blob: undefined, since })))
  const steady = await readSteady(tree, wanted, signal)
  const left = found.filter(
    ({ life, names, since }) => !ignored.has(life.path) && names.every((name) => since > (steady.get(name) ?? Infinity))
  )
  const clashing = clashesIn(left.map(({ life }) => life.path))
  return new Set(left.flatMap(({ life }) => (clashing.has(life.path) ? [] : life)))
}

/** Nothing is there, and its folders, as far as they are there, are folders of this repository. */
function isFree({ workTree }: WorkTree, path: string): boolean {
  const isOwn = (folder: string) => !isThere(folder) || (isFolder(folder) && !isThere(join(folder, '.git')))
  return !isThere(path) && foldersIn(workTree, path).every(isOwn)
}

/** Two files cannot have one name, and none can have that of a folder of another. */
function clashesIn(paths: readonly string[]): ReadonlySet<string> {
  const once = new Set<string>()
  const clashing = new Set<string>()
  for (const path of paths) (once.has(path) ? clashing : once).add(path)
  for (const path of once)
    for (const folder of foldersIn('', path)) if (once.has(folder)) for (const one of [path, folder]) clashing.add(one)
  return clashing
}

/** Those between the path and a folder above it. */
function foldersIn(top: string, path: string): string[] {
  const folders: string[] = []
  for (let here = dirname(path); here !== top && here !== dirname(here); here = dirname(here)) folders.push(here)
  return folders
}
