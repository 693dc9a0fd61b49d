// Finds the folders that a command has removed and made again. The overlay notes that in an attribute that Node cannot read, so it is asked what it shows.
import { lstatSync, readdirSync, type Dirent } from 'node:fs'
import { join } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { ownFolder } from '../../engine/files/temporary-names.ts'
import type { LayerPlace } from './namespace.ts'

/** @param shown below it are the files as the command sees them */
export function findHidden({ folder, roots }: LayerPlace, shown: string): string[] {
  const hidden: string[] = []

  function look(upper: string, live: string): void {
    const entries = orUndefined(() => readdirSync(upper, { withFileTypes: true })) ?? []
    const before = orUndefined(() => readdirSync(live))
    if (before !== undefined && isHidden(entries, before, join(shown, live))) hidden.push(live)
    for (const entry of entries)
      if (entry.isDirectory() && isFolder(join(live, entry.name))) look(join(upper, entry.name), join(live, entry.name))
  }

  for (const [index, root] of roots.entries()) look(join(folder, String(index), 'upper'), root)
  return hidden
}

/** True if of what the layer does not have itself, nothing is shown. */
function isHidden(entries: readonly Dirent[], before: readonly string[], shown: string): boolean {
  const own = new Set(entries.map(({ name }) => name))
  const others = before.filter((name) => !own.has(name) && name !== ownFolder)
  if (others.length === 0) return false
  const now = new Set(orUndefined(() => readdirSync(shown)))
  return others.every((name) => !now.has(name))
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
