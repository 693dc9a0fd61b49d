// Folders that walks have opened stay open for a moment: the next walk looks at such a folder by its path instead of opening it again.
import { lstatSync, statfsSync } from 'node:fs'
import { orUndefined } from '../../support/attempt.ts'
import { isSameFile } from '../../support/same-file.ts'
import type { Directory } from './directory.ts'
import { openRoot } from './root-presence.ts'
import type { Root } from './roots.ts'

/** A descriptor each. */
const maxKept = 64
/** Bounds how long an open folder stands in the way of an unmount, or outlives its removal. */
const keptMs = 2000
/**
 * Of Linux: ext2 to ext4, XFS, Btrfs, F2FS, bcachefs, ZFS, overlay, tmpfs and ramfs. On others another machine may replace a folder, and only
 * opening it is sure to show that.
 */
const localTypes: ReadonlySet<number> = new Set([
  0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0xca45_1a4e, 0x2fc1_2fc1, 0x794c_7630, 0x0102_1994, 0x8584_58f6
])

export type KeptFolders = ReturnType<typeof createKeptFolders>

export function createKeptFolders(roots: readonly Root[]) {
  /** By path, the longest kept first. A descriptor keeps its folder's inode from being given to another one. */
  const kept = new Map<string, Directory>()
  /** Of the roots, which are held open: nothing else gets these numbers. Folders of file systems mounted below are not kept. */
  const devices = new Set(roots.filter(({ real }) => isLocal(real)).map(({ node }) => node.dev))
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  /** The folder that is at this path now, if it is one that is kept. Each folder above it has been looked at before. */
  function find(path: string): Directory | undefined {
    const directory = kept.get(path)
    if (directory === undefined) return undefined
    if (isUnchanged(path, directory)) return directory.share()
    release(path, directory)
    return undefined
  }

  function keep(directory: Directory): Directory {
    if (isClosed || !devices.has(directory.opened().dev)) return directory
    const [oldest] = kept
    if (oldest !== undefined && kept.size >= maxKept) release(...oldest)
    kept.set(directory.path, directory.share())
    timer ??= setTimeout(releaseAll, keptMs).unref()
    return directory
  }

  function release(path: string, directory: Directory): void {
    kept.delete(path)
    directory.close()
  }

  function releaseAll(): void {
    clearTimeout(timer)
    timer = undefined
    for (const [path, directory] of kept) release(path, directory)
  }

  return {
    /** As `openRoot`. */
    openRoot: (root: Root): Directory => find(root.real) ?? keep(openRoot(root)),
    /** As `parent.openChild`. */
    openChild(parent: Directory, name: string): Directory {
      if (!name.isWellFormed()) return parent.openChild(name)
      return find(parent.pathOf(name)) ?? keep(parent.openChild(name))
    },
    close(): void {
      isClosed = true
      releaseAll()
    }
  }
}

/** Whether opening the path would give this folder, to the same users. */
function isUnchanged(path: string, directory: Directory): boolean {
  const was = directory.opened()
  const now = orUndefined(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }))
  return isSameFile(now, was) && now?.mode === was.mode && now.uid === was.uid && now.gid === was.gid
}

/** Whether only this machine changes the file system. Of Linux: elsewhere false. */
export function isLocal(path: string): boolean {
  return process.platform === 'linux' && localTypes.has(orUndefined(() => statfsSync(path).type) ?? 0)
}
