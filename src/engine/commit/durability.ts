// What is synced, when and in which order. The bytes are synced before a name leads to them. Then the folder that has gained a name is
// synced, then the one that has lost it. A new folder is synced before anything is made in it.
import { fsync } from 'node:fs'
import { promisify } from 'node:util'
import { notDurable, type AfterChange } from './after-change.ts'
import type { Directory } from '../files/directory.ts'
import type { OpenEntry } from '../files/walk.ts'

const fsyncAsync = promisify(fsync)

export type Durability = ReturnType<typeof createDurability>

/** @param setting crud.durability: with any value but `full` nothing is synced, and a power loss may undo changes */
export function createDurability(setting: string) {
  const isFull = setting === 'full'
  return {
    isFull,
    /** Before the file has its own name. @throws Error of the file system: nothing has been changed then */
    async syncContent(fd: number): Promise<void> {
      if (isFull) await fsyncAsync(fd)
    },
    /** Before anything else runs: another operation that finds the folder need not know that it is new. */
    syncNewFolder(parent: Directory): void {
      if (isFull) parent.syncNow()
    },
    /** After the change. @param places first the one that has gained a name */
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
