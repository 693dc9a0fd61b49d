// What has changed below the roots beside the files in use. Git's index tells; without Git, the times of the files.
import type { BigIntStats } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { entryAt } from '../../support/is-there.ts'
import { anySignal } from '../../support/lazy-signal.ts'
import { createSharedRounds } from '../../support/shared-rounds.ts'
import { createSlices } from '../../support/slices.ts'
import type { Logger } from '../../support/logger.ts'
import { listChanged } from '../../support/project/tree-look.ts'
import { listUnsaved } from '../../support/project/unsaved.ts'
import type { WorkTree } from '../../support/project/work-tree.ts'
import { later, type Arrivals, type LookAtFolders } from './arrival.ts'
import { stampsOf, type Moment } from './file-clock.ts'

export interface Unused {
  /** Absolute. */
  readonly path: string
  /** False if nothing was there before; undefined if that is not known. */
  readonly wasThere?: boolean
  /** The tree in whose commit the file is, if it did not differ from it before. */
  readonly cleanIn?: WorkTree
  /** True if it has come there in a folder that was renamed: its own times say nothing of when. */
  readonly hasCome?: true
}

export interface TreeChanges {
  /** Before a command begins that may write any file. */
  readonly look: () => Promise<Surveys | undefined>
  /** Paths that may have changed since a command began. Some of them may be in use. */
  readonly since: (begun: Moment, before: Surveys | undefined) => Promise<readonly Unused[]>
  readonly close: () => void
}

interface Options {
  /** Real paths. */
  readonly roots: readonly string[]
  readonly lookAtFolders: LookAtFolders
  readonly log: Logger
}

/** By root. */
export type Surveys = ReadonlyMap<string, Survey>

/** One look at all that differs from HEAD. */
export interface Survey {
  /** Milliseconds since the epoch: when it ended. */
  readonly at: number
  /** Undefined without Git. */
  readonly tree: WorkTree | undefined
  /** False if there are more files that differ. */
  readonly isComplete: boolean
  /** Whether Git knows of it. */
  readonly files: ReadonlyMap<string, { readonly isNew: boolean; readonly isGone: boolean }>
}

/** Files that one command has changed and that are looked at. */
const maxFound = 5000
const maxUnsaved = 20_000
/** Entries of a tree without Git that are looked at. */
const maxEntries = 50_000
const timeoutMs = 20_000
/** Between two surveys, as a multiple of what the last one took, and at most. */
const restFactor = 2
const maxRestMs = 2000
const skipped: ReadonlySet<string> = new Set(['.git', '.async-crud-mcp', 'node_modules'])

export function createTreeChanges({ roots, lookAtFolders, log }: Options): TreeChanges {
  const rounds = createSharedRounds<Survey>()
  const last = new Map<string, Survey>()
  const closing = new AbortController()
  let tookMs = 0
  let endedAt = -Infinity

  const limited = () => anySignal(closing.signal, AbortSignal.timeout(timeoutMs))

  async function survey(root: string): Promise<Survey> {
    const restMs = Math.min(maxRestMs, restFactor * tookMs) - (performance.now() - endedAt)
    if (restMs > 1) await delay(restMs, undefined, { ref: false })
    const began = performance.now()
    try {
      const unsaved = await listUnsaved(root, { signal: limited(), maxFiles: maxUnsaved })
      const files = [...(unsaved?.files ?? [])].map(
        ([path, { what, head }]) =>
          [path, { isNew: head === undefined && what !== 'deleted', isGone: what === 'deleted' }] as const
      )
      const { tree, isComplete = false } = unsaved ?? {}
      const now = { at: Date.now(), tree, isComplete, files: new Map(files) }
      last.set(root, now)
      return now
    } finally {
      endedAt = performance.now()
      tookMs = endedAt - began
    }
  }

  async function sinceIn(root: string, begun: Moment, own: Survey | undefined): Promise<readonly Unused[]> {
    const before = own ?? last.get(root)
    const now = await rounds.ask(root, () => survey(root))
    const arrivals = lookAtFolders()
    if (now.tree === undefined) return walk(root, begun, arrivals)
    const found: Unused[] = []
    const cleanIn = own?.isComplete === true ? own.tree : undefined
    const add = (unused: Unused) =>
      found.push(cleanIn === undefined || before?.files.has(unused.path) === true ? unused : { ...unused, cleanIn })
    const commit = before?.tree?.commit
    const moved = commit === undefined ? [] : await listChanged(now.tree, commit, limited())
    const paths = new Set([...now.files.keys(), ...(before?.files.keys() ?? []), ...moved])
    const rules = [...paths].filter((path) => basename(path) === '.gitignore' && hasNewRules(path, begun)).map(dirname)
    /** It differs from HEAD since then, and was not changed itself: a folder has brought it, unless it was ignored. */
    const hasCome = (path: string, { dev }: BigIntStats) =>
      cleanIn !== undefined &&
      now.files.has(path) &&
      !before!.files.has(path) &&
      !moved.includes(path) &&
      arrivals(path).changedAt >= stampsOf(begun, dev).from &&
      !rules.some((folder) => path.startsWith(folder + sep))
    const { pause } = createSlices()
    for (const path of paths) {
      if (found.length >= maxFound) break
      await pause()
      const [known, earlier] = [now.files.get(path), before?.files.get(path)]
      const stat = entryAt(path)
      if (stat === undefined) {
        const wasGone = earlier?.isGone === true && before !== undefined && before.at < begun.at
        if (!wasGone && hasChanged(path, stat, begun, arrivals)) add({ path, wasThere: true })
      } else if (!stat.isDirectory()) {
        const isChanged = hasChanged(path, stat, begun, arrivals)
        if (!isChanged && !hasCome(path, stat)) continue
        const wasMade = cleanIn !== undefined || wasMadeSince(path, stat, begun, arrivals)
        const isNew = known?.isNew === true && earlier === undefined && wasMade
        add({ path, wasThere: !isNew, ...(!isChanged && { hasCome: true }) })
      }
    }
    return found
  }

  return {
    async look() {
      try {
        const ask = async (root: string) => [root, await rounds.ask(root, () => survey(root))] as const
        return new Map(await Promise.all(roots.map(ask)))
      } catch (error) {
        note(error)
        return undefined
      }
    },
    async since(begun, before) {
      try {
        return (await Promise.all(roots.map((root) => sinceIn(root, begun, before?.get(root))))).flat()
      } catch (error) {
        note(error)
        return []
      }
    },
    close: () => closing.abort()
  }

  function note(error: unknown): void {
    if (!closing.signal.aborted) log.warn({ err: error }, 'what has changed beside the files in use could not be found')
  }
}

/** Whether what is at a path may have changed since. Of what is gone, the entries of the nearest folder above have changed. */
export function hasChanged(path: string, stat: BigIntStats | undefined, begun: Moment, arrivals: Arrivals): boolean {
  if (stat !== undefined) return later(stat.ctimeNs, arrivals(path).renamedAt) >= stampsOf(begun, stat.dev).from
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const beside = entryAt(folder)
    if (beside !== undefined) return hasChangedSince(beside, begun)
  }
  return false
}

const hasChangedSince = ({ dev, ctimeNs }: BigIntStats, begun: Moment) => ctimeNs >= stampsOf(begun, dev).from

const wasMadeSince = (path: string, { dev, birthtimeNs }: BigIntStats, begun: Moment, arrivals: Arrivals) =>
  later(birthtimeNs, arrivals(path).renamedAt) >= stampsOf(begun, dev).from

/** Files that were ignored may differ from HEAD by them. */
function hasNewRules(path: string, begun: Moment): boolean {
  const stat = entryAt(path)
  return stat === undefined || hasChangedSince(stat, begun)
}

/** Without Git: files that have changed since. What has been removed cannot be told. */
async function walk(root: string, begun: Moment, arrivals: Arrivals): Promise<readonly Unused[]> {
  const found: Unused[] = []
  const folders = [root]
  const { pause } = createSlices()
  let entries = 0
  for (const folder of folders) {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      entries += 1
      if (entries > maxEntries || found.length >= maxFound) return found
      if (skipped.has(entry.name)) continue
      const path = join(folder, entry.name)
      if (entry.isDirectory()) folders.push(path)
      else {
        const stat = entryAt(path)
        if (stat !== undefined && hasChanged(path, stat, begun, arrivals))
          found.push({ path, wasThere: !wasMadeSince(path, stat, begun, arrivals) })
      }
      await pause()
    }
  }
  return found
}
