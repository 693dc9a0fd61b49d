// After a restart: compares the files with what the last process saw. A file that differs was changed from outside.
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { external } from '../../engine/versions/author.ts'
import type { Logger } from '../../support/logger.ts'
import { examine, type ExamineParts } from '../../engine/watcher/examine.ts'

interface Parts extends ExamineParts {
  readonly log: Logger
}

/** Number of paths that the log names; of more it gives only the count. */
const maxNamed = 20
/** After this many changes, subscribers get no event for each. */
const manyChanges = 100
const passes = 5
/** Pause before files that a program is working on are looked at again. */
const pauseMs = 100

/**
 * Create it before the histories are restored: the watcher looks at a file as soon as its history is there, and may be first.
 * @param signal ends it
 */
export function createRevalidation(parts: Parts, signal: AbortSignal) {
  const { history, log } = parts
  const changed = new Set<string>()
  const end = history.onEntry(({ operation, steps }) => {
    if (operation === external.operation) for (const { path } of steps) changed.add(path)
  })
  signal.addEventListener('abort', end)

  /** Looks at the files one by one, in the background. */
  async function look(paths: readonly string[]): Promise<void> {
    let left = paths
    for (let pass = 1; left.length > 0 && pass <= passes && !signal.aborted; pass += 1) {
      if (pass > 1) await delay(pauseMs, undefined, { ref: false })
      left = await examineAll(left, () => changed.size >= manyChanges, parts, signal)
    }
  }

  return {
    /** @param paths all that were restored */
    async run(paths: readonly string[]): Promise<void> {
      await look(paths).finally(end)
      const found = paths.filter((path) => changed.has(path))
      const fields = { count: found.length, paths: found.slice(0, maxNamed) }
      if (found.length > 0) log.info(fields, 'files were changed from outside while no server ran')
    }
  }
}

/** @returns those to look at again */
async function examineAll(
  paths: readonly string[],
  areMany: () => boolean,
  parts: Parts,
  signal: AbortSignal
): Promise<string[]> {
  const busy: string[] = []
  for (const path of paths) {
    if (signal.aborted) break
    const known = parts.history.known(path)
    const isUnseen = known !== undefined && known.identity === undefined
    if (isUnseen && (await examine(path, areMany, parts)) === 'busy') busy.push(path)
    await nextTurn()
  }
  return busy
}
