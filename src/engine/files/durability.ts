// When what is synced, and in which order. Before a name leads to new bytes, the bytes; after it, the folder that has gained a name, then
// the one that has lost it; of new folders each before anything is made in it.
import { fsync } from 'node:fs'
import { promisify } from 'node:util'
import { notDurable, type AfterChange } from './after-change.ts'
import type { Directory } from './directory.ts'
import type { OpenEntry } from './walk.ts'

const fsyncAsync = promisify(fsync)

export type Durability = ReturnType<typeof createDurability>

/** @param setting crud.durability: with anything but `full` nothing is synced, and a power loss may take changes back */
export function createDurability(setting: string) {
  const isFull = setting === 'full'
  return {
    isFull,
    /** Of a file that has no name of its own yet. @throws Error of the file system: nothing has been changed then */
    async syncContent(fd: number): Promise<void> {
      if (isFull) await fsyncAsync(fd)
    },
    /** Before anything else runs: whoever finds the folder need not know that it is new. */
    syncNewFolder(parent: Directory): void {
      if (isFull) parent.syncNow()
    },
    /** After the change. @param places the one that has gained a name first */
    async syncNames(places: readonly OpenEntry[], after: AfterChange): Promise<void> {
      if (!isFull) return
      for (const { directory } of places) {
        try {
          await directory.sync()
        } catch (error) {
          after.note(notDurable, error)
          return
        }
      }
    }
  }
}
