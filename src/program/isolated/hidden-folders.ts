// Finds the folders that a command has removed and made again. The overlay notes that in an attribute that Node cannot read, so it is asked what it shows.
import { lstatSync, readdirSync, type Dirent } from 'node:fs'
import { join } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { ownFolder } from '../../engine/files/temporary-names.ts'
import type { LayerPlace } from './namespace.ts'

/** A folder in which the command has written is gone, or another one: what the command has read there is not known. */
export class FolderReplaced extends Error {
  constructor(folder: string) {
    super(`${folder} was removed or replaced while the command ran. Nothing was changed: run the command again.`)
  }
}

/** @param shown below it are the files as the command sees them @throws FolderReplaced */
export function findHidden({ folder, roots }: LayerPlace, shown: string): string[] {
  const hidden: string[] = []

  function look(upper: string, live: string, hasInodes: boolean): void {
    if (hasInodes && isReplaced(upper, live, join(shown, live))) throw new FolderReplaced(live)
    const before = orUndefined(() => readdirSync(live))
    if (before === undefined) return
    const entries = orUndefined(() => readdirSync(upper, { withFileTypes: true })) ?? []
    if (isHidden(entries, before, join(shown, live))) hidden.push(live)
    for (const entry of entries)
      if (entry.isDirectory()) look(join(upper, entry.name), join(live, entry.name), hasInodes)
  }

  for (const [index, root] of roots.entries()) {
    const upper = join(folder, String(index), 'upper')
    // Only if all lies on one file system the overlay shows the inode numbers of that.
    look(upper, root, lstatSync(upper).dev === lstatSync(root).dev)
  }
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

/** The overlay goes on with the folder of the tree that it has found first, and shows its inode number. */
function isReplaced(upper: string, live: string, shown: string): boolean {
  const [own, there, seen] = [upper, live, shown].map((path) => lstatSync(path, { throwIfNoEntry: false })?.ino)
  const isOfTree = seen !== undefined && seen !== own
  return isOfTree && seen !== there
}
