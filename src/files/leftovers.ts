// Removes the temporary files that a killed process left behind, in the background, one directory at a time.
import { readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isLeftover } from './own-names.ts'
import type { Root } from './roots.ts'

/** @returns the number of files removed; stops quietly when aborted */
export async function sweepLeftovers(roots: readonly Root[], signal: AbortSignal): Promise<number> {
  let removed = 0
  const pending = roots.map(({ real }) => real)
  for (let directory = pending.pop(); directory !== undefined && !signal.aborted; directory = pending.pop()) {
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const path = join(directory, entry.name)
      if (entry.isDirectory()) pending.push(path)
      else if ((entry.isFile() || entry.isSymbolicLink()) && isLeftover(entry.name))
        removed += await unlink(path).then(
          () => 1,
          () => 0
        )
    }
  }
  return removed
}
