// Removes the temporary files that a killed process left behind, in the background, one directory at a time.
import { attempt, orUndefined } from '../../support/attempt.ts'
import type { Directory } from '../files/directory.ts'
import { readWhole } from '../files/read-folder.ts'
import { openRoot } from '../files/root-presence.ts'
import { isLeftover } from '../files/temporary-names.ts'
import type { Root } from '../files/roots.ts'
import { removeWhole } from '../files/whole-folder.ts'

/** @returns the number of files removed; stops quietly when aborted */
export async function sweepLeftovers(roots: readonly Root[], signal: AbortSignal): Promise<number> {
  let removed = 0
  for (const root of roots) removed += await sweepIn(() => openRoot(root), signal)
  return removed
}

/**
 * Uses only open directories: one that is swapped for a link to the outside meanwhile is not entered. What cannot be opened or
 * removed is left to the next start.
 */
async function sweepIn(open: () => Directory, signal: AbortSignal): Promise<number> {
  const directory = orUndefined(open)
  if (directory === undefined) return 0
  let removed = 0
  try {
    for (const entry of await readWhole(directory).catch(() => [])) {
      if (signal.aborted) break
      const { name } = entry
      if (isLeftover(name)) removed += Number(attempt(() => removeWhole(directory, name)))
      else if (entry.isDirectory()) removed += await sweepIn(() => directory.openChild(name), signal)
    }
    return removed
  } finally {
    directory.close()
  }
}
