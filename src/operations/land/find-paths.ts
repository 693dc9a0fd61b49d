// The paths that a landing looks at: what differs from HEAD, and every other name that these files have had.
import { OperationError } from '../../errors.ts'
import type { OperationContext } from '../../engine/call/context.ts'
import { isThere } from '../../support/is-there.ts'
import { below } from '../../support/relocate.ts'
import { listUnsavedOf, type UnsavedFile } from '../../support/project/unsaved.ts'
import type { WorkTree } from '../../support/project/work-tree.ts'
import { readLineages, type Lineage } from '../undo/lineages.ts'
import { isSame, placesLike } from './base.ts'
import { shortLifeOf } from './short-lived.ts'

/** What differs from HEAD, and the other names that these files have had. */
export async function findPaths(context: OperationContext, tree: WorkTree, asMadeBy: readonly string[] = []) {
  const { files, signal } = context
  const unsaved = new Map<string, UnsavedFile>()
  for (const { real } of files.roots) {
    if (below(tree.workTree, real) === undefined) continue
    const found = await listUnsavedOf(tree, real, { signal, findsRenames: false })
    if (found?.isComplete !== true)
      throw new OperationError(
        'SERVER_ERROR',
        'Git could not say what differs from HEAD. Nothing was landed: look at git status.'
      )
    for (const [path, file] of found.files) unsaved.set(path, file)
  }
  const lives = await readLineages(context)
  const isWanted = (life: Lineage) => {
    const agents = shortLifeOf(life)?.agents ?? restorersOf(life)
    return asMadeBy.some((agent) => agents.has(agent))
  }
  const names = lives.filter((life) => concerns(life, unsaved) || isWanted(life)).flatMap(namesOf)
  const paths: string[] = []
  const replaced = new Set<string>()
  // Only a file that is there can be called by such a name, as one with a backslash: these are not.
  const gone: string[] = []
  for (const path of new Set([...unsaved.keys(), ...names])) {
    if (!path.isWellFormed()) continue
    const obstacle = obstacleTo(path, context)
    if (obstacle === undefined) paths.push(path)
    else if (obstacle === 'NOT_A_FILE' && unsaved.get(path)?.head !== undefined) replaced.add(path)
    else if (obstacle === 'INVALID_REQUEST' && !isThere(path)) gone.push(path)
  }
  return { paths, replaced, gone, unreachable: [...unsaved.keys()].filter((path) => !path.isWellFormed()), unsaved }
}

/** Who has changed a file and made it again what it was. */
function restorersOf(life: Lineage): ReadonlySet<string> {
  const [first = Infinity] = placesLike(life, (state) => isSame(state, life.state))
  return new Set(life.changes.slice(first).map(({ version }) => version.agentId))
}

/** Why no call reaches the path; undefined if one does. */
function obstacleTo(path: string, { files }: OperationContext): string | undefined {
  try {
    files.resolve(path, 'entry')
    return undefined
  } catch (error) {
    if (error instanceof OperationError) return error.code
    throw error
  }
}

export function concerns(life: Lineage, paths: Pick<ReadonlySet<string>, 'has'>): boolean {
  return namesOf(life).some((name) => paths.has(name))
}

export function namesOf({ path, changes }: Lineage): string[] {
  return [path, ...changes.flatMap(({ from, path: to }) => [from, to])]
}
