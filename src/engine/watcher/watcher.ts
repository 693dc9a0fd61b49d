// Notices changes that other programs make to files in use. It gives hints, never the truth: operations compare the content anyhow.
import { external } from '../versions/author.ts'
import type { LogEntry } from '../versions/history.ts'
import type { Root } from '../files/roots.ts'
import { createBursts, type BulkChange } from './bursts.ts'
import type { ExamineParts } from './examine.ts'
import { createFolders, type Shortage } from './folders.ts'
import { createGather } from './gather.ts'
import { createInspection } from './inspection.ts'
import { createRounds } from './rounds.ts'
import { createListeners } from '../../support/listeners.ts'

export interface WatcherOptions extends ExamineParts {
  readonly roots: readonly Root[]
  /** How long a path must have been quiet. */
  readonly debounceMs: number
  /** Between two rounds over all tracked files; 0 means none. */
  readonly rescanMs: number
  /** More changes than this within a second are reported as one. */
  readonly bulkFiles: number
  /** The system has noticed something at a tracked file, or at a folder above it. */
  readonly onTouch: (path: string, isFolder: boolean) => void
  /** A look at a tracked file has found no change. */
  readonly onSame: (path: string) => void
  /** Called when folders cannot be watched, and when they can again. */
  readonly onShortage: (shortage: WatchShortage | undefined) => void
  /** Called on an unexpected failure. */
  readonly onError: (error: unknown) => void
}

export interface WatchShortage extends Shortage {
  readonly folders: number
  readonly watchedFolders: number
  /** Between two rounds over all tracked files; 0 means none. */
  readonly rescanMs: number
}

export type Watcher = ReturnType<typeof createWatcher>

/** A file that an operation is changing is tried again after this time. */
const retryMs = 100
/** A folder with a flood of notices is examined as a whole at most this often. */
const sleepMs = 1000
/** How often a root that is gone is looked for. */
const rootLookMs = 1000
/** If not all folders are watched, all files are examined at least this often. */
const degradedRescanMs = 5000

/** Watches nothing until the first file is tracked. */
export function createWatcher(options: WatcherOptions) {
  const { roots, debounceMs, rescanMs, bulkFiles, history, onTouch, onSame, onShortage, onError } = options
  const bulks = createListeners<[change: BulkChange]>()
  /** As last passed to `onShortage`. */
  let shortage: WatchShortage | undefined

  const gather = createGather({
    quietMs: debounceMs,
    onDue(paths) {
      for (const path of paths) for (const file of [path, ...folders.recheck(path)]) inspection.add(file)
    }
  })
  const folders = createFolders({
    roots,
    onFile(path) {
      onTouch(path, false)
      gather.add(path)
    },
    onFolder: (path) => gather.add(path),
    // Until it is watched again, nothing else tells who has changed them.
    onFolderFile: (path) => onTouch(path, true),
    onAsleep: (path) => gather.add(path, Math.max(sleepMs, debounceMs)),
    onFlood: () => rounds.soon()
  })
  const bursts = createBursts({
    files: bulkFiles,
    countPending: () => inspection.countPending(),
    lookAgain: () => rounds.now(),
    onEnd: bulks.call
  })
  const inspection = createInspection({
    parts: options,
    bursts,
    beforeLook: (path) => folders.add(path),
    isCutOff: folders.isCutOff,
    pending: gather.paths,
    onBusy: (path) => gather.add(path, Math.max(retryMs, debounceMs)),
    onSame,
    onDone: notifyShortage,
    onError
  })
  const rounds = createRounds({ periodMs, folders, paths: history.paths, inspection })
  const looking = setInterval(() => folders.isRootBack() && void rounds.now(), rootLookMs).unref()

  function periodMs(): number {
    return shortage === undefined ? rescanMs : Math.min(rescanMs, degradedRescanMs)
  }

  function notifyShortage(): void {
    if (folders.shortage === undefined && shortage === undefined) return
    const { size, watched } = folders
    const wasShort = shortage !== undefined
    shortage = folders.shortage && { ...folders.shortage, folders: size, watchedFolders: watched, rescanMs: 0 }
    if (shortage !== undefined) shortage = { ...shortage, rescanMs: periodMs() }
    onShortage(shortage)
    // The next round would come after the time that was meant for watched folders.
    if (wasShort !== (shortage !== undefined)) rounds.arm()
  }

  function onEntry({ operation, isBulk, steps }: LogEntry): void {
    if (operation === external.operation && isBulk === bursts.isOn) for (const { path } of steps) bursts.note(path)
  }

  const stopFollowing = [
    history.onTrack((path) => inspection.add(path)),
    history.onForget((path) => folders.remove(path)),
    history.onEntry(onEntry)
  ]
  for (const path of history.paths()) inspection.add(path)

  return {
    /** Number of folders that the system watches. */
    get watchedFolders(): number {
      return folders.watched
    },
    /** Why not all folders are watched; undefined if they are. */
    get shortage(): WatchShortage | undefined {
      return shortage
    },
    /** Reports very many changes at once, when they have ended; the history has each, as `isBulk`. @returns removes the listener */
    onBulk: bulks.add,
    async close(): Promise<void> {
      for (const stop of stopFollowing) stop()
      clearInterval(looking)
      rounds.close()
      bursts.close()
      gather.close()
      folders.close()
      await inspection.close()
    }
  }
}
