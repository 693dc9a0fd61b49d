// What has changed below the roots beside the files in use. Git's index tells; without Git, the times of the files.
import type { BigIntStats } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { entryAt } from '../../support/is-there.ts'
import { anySignal } from '../../support/lazy-signal.ts'
import { createSharedRounds } from '../../support/shared-rounds.ts'
import { createSlices } from '../../support/slices.ts'
import type { Logger } from '../../support/logger.ts'
import { listChanged } from '../../support/project/tree-look.ts'
import { listUnsaved } from '../../support/project/unsaved.ts'
import type { WorkTree } from '../../support/project/work-tree.ts'
import { stampsOf, type Moment } from './file-clock.ts'

export interface Unused {
  /** Absolute. */
  readonly path: string
  /** False if nothing was there before; undefined if that is not known. */
  readonly wasThere?: boolean
  /** The tree in whose commit the file is, if it did not differ from it before. */
  readonly cleanIn?: WorkTree
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

export function createTreeChanges({ roots, log }: Options): TreeChanges {
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
    if (now.tree === undefined) return walk(root, begun)
    const found: Unused[] = []
    const cleanIn = own?.isComplete === true ? own.tree : undefined
    const add = (unused: Unused) =>
      found.push(cleanIn === undefined || before?.files.has(unused.path) === true ? unused : { ...unused, cleanIn })
    const commit = before?.tree?.commit
    const moved = commit === undefined ? [] : await listChanged(now.tree, commit, limited())
    const paths = new Set([...now.files.keys(), ...(before?.files.keys() ?? []), ...moved])
    const { pause } = createSlices()
    for (const path of paths) {
      if (found.length >= maxFound) break
      await pause()
      const [known, earlier] = [now.files.get(path), before?.files.get(path)]
      const stat = entryAt(path)
      if (stat === undefined) {
        const wasGone = earlier?.isGone === true && before !== undefined && before.at < begun.at
        if (!wasGone && hasChanged(path, stat, begun)) add({ path, wasThere: true })
      } else if (!stat.isDirectory() && hasChanged(path, stat, begun)) {
        const wasMade = cleanIn !== undefined || wasMadeSince(stat, begun)
        const isNew = known?.isNew === true && earlier === undefined && wasMade
        add({ path, wasThere: !isNew })
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
export function hasChanged(path: string, stat: BigIntStats | undefined, begun: Moment): boolean {
  if (stat !== undefined) return hasChangedSince(stat, begun)
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const beside = entryAt(folder)
    if (beside !== undefined) return hasChangedSince(beside, begun)
  }
  return false
}

const hasChangedSince = ({ dev, ctimeNs }: BigIntStats, begun: Moment) => ctimeNs >= stampsOf(begun, dev).from

const wasMadeSince = ({ dev, birthtimeNs }: BigIntStats, begun: Moment) => birthtimeNs >= stampsOf(begun, dev).from

/** Without Git: files that have changed since. What has been removed cannot be told. */
async function walk(root: string, begun: Moment): Promise<readonly Unused[]> {
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
        if (stat !== undefined && hasChangedSince(stat, begun))
          found.push({ path, wasThere: !wasMadeSince(stat, begun) })
      }
      await pause()
    }
  }
  return found
}
