// After a restart: whether the files still are what they were when the last process saw them. What is not was changed from outside.
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { external } from '../files/history.ts'
import type { Logger } from '../operations/context.ts'
import { examine, type ExamineParts } from '../watcher/examine.ts'

interface Parts extends ExamineParts {
  readonly log: Logger
}

/** Paths that the log names; of more only the number. */
const maxNamed = 20
/** After so many, nobody is told of each. */
const manyChanges = 100
const passes = 5
/** Before those that somebody works on are looked at again. */
const pauseMs = 100

/** One file after the other, in the background. The watcher, which does the same, may come before. */
export async function revalidate(paths: readonly string[], parts: Parts, signal: AbortSignal): Promise<void> {
  const { history, log } = parts
  const awaited = new Set(paths)
  const changed: string[] = []
  const end = history.onChange(({ path, operation }) => {
    if (operation === external.operation && awaited.delete(path)) changed.push(path)
  })
  try {
    let left: readonly string[] = paths
    for (let pass = 1; left.length > 0 && pass <= passes && !signal.aborted; pass += 1) {
      if (pass > 1) await delay(pauseMs, undefined, { ref: false })
      left = await examineAll(left, () => changed.length >= manyChanges, parts, signal)
    }
  } finally {
    end()
  }
  const fields = { count: changed.length, paths: changed.slice(0, maxNamed) }
  if (changed.length > 0) log.info(fields, 'files were changed from outside while no server ran')
}

/** @returns those that are to be looked at again */
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
