// What is synced, when and in which order. The bytes are synced before a name leads to them. Then the folder that has gained a name is
// synced, then the one that has lost it. A new folder is synced before anything is made in it. Windows syncs no folder: there the file is synced
// once more under its name.
import { closeSync, constants, fsync } from 'node:fs'
import { promisify } from 'node:util'
import { orUndefined } from '../../support/attempt.ts'
import { notDurable, type AfterChange } from './after-change.ts'
import type { Directory, Shelf } from '../files/directory.ts'
import type { OpenEntry } from '../files/walk.ts'

const fsyncAsync = promisify(fsync)

/** NTFS writes the names of a file down when the file is flushed. */
const syncsFolders = process.platform !== 'win32'

export type Durability = ReturnType<typeof createDurability>

/** @param setting crud.durability: with any value but `full` nothing is synced, and a power loss may undo changes */
export function createDurability(setting: string) {
  const isFull = setting === 'full'
  /** After the change. @param places first the one that has gained a name */
  async function syncNames(places: readonly OpenEntry[], after: AfterChange): Promise<void> {
    if (!isFull) return
    for (const place of places) {
      try {
        await (syncsFolders ? place.directory.sync() : syncFile(place))
      } catch (error) {
        after.note(notDurable, error)
        return
      }
    }
  }

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
    syncNames,
    /** The same for many, whose folders are synced once each. */
    async syncAllNames(places: readonly OpenEntry[], folders: readonly Shelf[], after: AfterChange): Promise<void> {
      if (!isFull) return
      if (!syncsFolders) return syncNames(places, after)
      await Promise.all(folders.map((folder) => folder.sync().catch((error: unknown) => after.note(notDurable, error))))
    }
  }
}

/** What cannot be opened for writing has no name here any more, or is not ours to flush. */
async function syncFile({ directory, name }: OpenEntry): Promise<void> {
  const fd = orUndefined(() => directory.open(name, constants.O_RDWR))
  if (fd === undefined) return
  try {
    await fsyncAsync(fd)
  } finally {
    closeSync(fd)
  }
}
