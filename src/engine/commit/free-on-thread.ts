// Frees a version that loses its name on a thread. The last one to let go of a file frees its blocks, and first waits for those that are still
// being written; if only the name is left, that is the rename or unlink, and the event loop stands still for it
// (docs/decisions/2026-11-22-freed-on-a-thread.md).
import { close } from 'node:fs'
import { orUndefined } from '../../support/attempt.ts'
import { closeReader } from '../files/close-reader.ts'
import type { OpenEntry } from '../files/walk.ts'
import { readFlags } from '../files/read-flags.ts'

/** Windows replaces no file that is open. */
const canHold = process.platform !== 'win32'

/**
 * Holds a regular file open while `change` takes its name away. `change` gets its descriptor, if it could be opened.
 * @returns when it has been let go; wait for that, so that no more versions are held than calls are under way
 * @throws what `change` throws
 */
export function freeOnThread(
  { directory, name }: OpenEntry,
  change: (held: number | undefined) => void
): Promise<void> | undefined {
  const fd = canHold ? orUndefined(() => directory.open(name, readFlags)) : undefined
  try {
    change(fd)
  } catch (error) {
    if (fd !== undefined) closeReader(fd)
    throw error
  }
  // It was opened for reading: there is nothing that a failure to close could lose.
  return fd === undefined ? undefined : new Promise((resolve) => close(fd, () => resolve()))
}
