// Looks at what differs from HEAD when the server begins to serve a tree, and whenever HEAD moves. The bytes of these files are kept, so
// that they are there before a command discards them; the versions of the others are committed.
import { statSync, watch, type FSWatcher } from 'node:fs'
import { join } from 'node:path'
import { orUndefined } from '../../support/attempt.ts'
import { below } from '../../support/relocate.ts'
import { inSlices } from '../../support/slices.ts'
import { anySignal } from '../../support/lazy-signal.ts'
import type { Logger } from '../../support/logger.ts'
import { readSmall } from '../../support/project/read-small.ts'
import { findRepository, type Repository } from '../../support/project/repository.ts'
import { listUnsaved } from '../../support/project/unsaved.ts'
import { createSharedRounds } from '../../support/shared-rounds.ts'
import type { ExamineParts } from '../watcher/examine.ts'
import { keepUnsaved, type KeepBounds } from './keep-unsaved.ts'

export type FirstSights = ReturnType<typeof createFirstSights>

interface Options {
  /** Real paths. */
  readonly roots: readonly string[]
  readonly parts: ExamineParts
  /** Undefined while nothing is to be kept. */
  readonly bounds: () => KeepBounds | undefined
  /** Whether the watcher is about to examine it, and to count it with other changes: in the middle of a checkout HEAD differs from all. */
  readonly isWatched: (path: string) => boolean
  readonly log: Logger
}

/** The first calls of a new server come first. */
const startMs = 500
/** Git changes several files of its folder at once. */
const settleMs = 200
const timeoutMs = 60_000

export function createFirstSights({ roots, parts, bounds, isWatched, log }: Options) {
  const rounds = createSharedRounds<void>()
  const watchers: FSWatcher[] = []
  let timer: NodeJS.Timeout | undefined
  let closing: AbortController | undefined
  let heads = ''

  async function keepIn(root: string, signal: AbortSignal): Promise<void> {
    const now = bounds()
    if (now === undefined || signal.aborted) return
    const upTo = parts.history.seq
    const limited = anySignal(signal, AbortSignal.timeout(timeoutMs))
    const unsaved = await listUnsaved(root, { signal: limited })
    if (unsaved === undefined) {
      if (findRepository(root) !== undefined && !limited.aborted)
        log.warn(
          { root },
          'Git is not in PATH, or refuses this repository: commands that discard others’ work are not refused'
        )
      return
    }
    if (unsaved.isComplete) await noteCommitted(root, unsaved.files, upTo)
    const { left } = await keepUnsaved(unwatched(unsaved.files.keys()), parts, now)
    if (left > 0 || !unsaved.isComplete)
      log.info({ left }, 'not all files that differ from HEAD are kept (hooks.keep_files, hooks.keep_bytes)')
  }

  function* unwatched(paths: Iterable<string>): Iterable<string> {
    for (const path of paths) if (!isWatched(path)) yield path
  }

  /** A file that is gone may have been moved: what differs from HEAD then is another name. */
  async function noteCommitted(root: string, unsaved: ReadonlyMap<string, unknown>, upTo: number): Promise<void> {
    const { history } = parts
    await inSlices(history.paths(), (path) => {
      if (below(root, path) !== undefined && !unsaved.has(path) && history.known(path) !== undefined)
        history.commit(path, upTo)
    })
  }

  function keepSoon(ms: number): void {
    clearTimeout(timer)
    timer = setTimeout(() => void keep(), ms).unref()
  }

  async function keep(): Promise<void> {
    const signal = closing?.signal
    if (signal === undefined) return
    heads = headsNow()
    try {
      await Promise.all(roots.map((root) => rounds.ask(root, () => keepIn(root, signal))))
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'what differs from HEAD could not be kept')
    }
  }

  const repositories = () => roots.flatMap((root) => orUndefined(() => findRepository(root)) ?? [])
  const headsNow = () => repositories().map(headOf).join('\n')

  function noteChange(): void {
    if (closing !== undefined && headsNow() !== heads) keepSoon(settleMs)
  }

  return {
    /** From now on this process serves the tree. */
    begin(): void {
      if (closing !== undefined) return
      closing = new AbortController()
      for (const { gitDir } of repositories()) {
        const watcher = orUndefined(() => watch(gitDir, { persistent: false }, noteChange))
        if (watcher === undefined) continue
        watcher.on('error', () => watcher.close())
        watchers.push(watcher)
      }
      keepSoon(startMs)
    },
    /** Another process serves the tree, or none. */
    end(): void {
      closing?.abort()
      closing = undefined
      clearTimeout(timer)
      for (const watcher of watchers.splice(0)) watcher.close()
    }
  }
}

/** Differs if HEAD means another commit; found without starting Git. */
function headOf({ gitDir, commonDir }: Repository): string {
  const head = readSmall(join(gitDir, 'HEAD')) ?? ''
  const [, ref] = /^ref:\s*(\S+)/.exec(head) ?? []
  if (ref === undefined) return head
  const packed = () => String(orUndefined(() => statSync(join(commonDir, 'packed-refs')).mtimeMs))
  return `${ref} ${readSmall(join(commonDir, ref)) ?? packed()}`
}
