// Examines all tracked files from time to time, to find what the system did not report.
import type { Folders } from './folders.ts'
import type { Inspection } from './inspection.ts'
import { createSlices } from '../../support/slices.ts'

interface RoundsOptions {
  /** Asked before each round; 0 ends the rounds until the next call of `now` or `soon`. */
  readonly periodMs: () => number
  readonly folders: Folders
  readonly paths: () => Iterable<string>
  readonly inspection: Inspection
}

/** Time for a flood of notices to pass. */
const soonMs = 2000

export function createRounds({ periodMs, folders, paths, inspection }: RoundsOptions) {
  let timer: NodeJS.Timeout | undefined
  let soonTimer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isClosed = false

  function arm(): void {
    clearTimeout(timer)
    const ms = periodMs()
    if (!isClosed && ms > 0) timer = setTimeout(() => void now(), ms).unref()
  }

  function now(): Promise<void> {
    running ??= round().finally(() => {
      running = undefined
      arm()
    })
    return running
  }

  async function round(): Promise<void> {
    await folders.recheckAll(createSlices())
    if (isClosed) return
    for (const path of paths()) inspection.add(path)
    await inspection.done()
  }

  arm()
  return {
    /** The period has changed: it begins anew. A round in progress does the same at its end. */
    arm,
    /** Resolves when all files are examined and the changes are recorded. */
    now,
    /** One round, a little later. */
    soon(): void {
      soonTimer ??= setTimeout(() => {
        soonTimer = undefined
        void now()
      }, soonMs).unref()
    },
    close(): void {
      isClosed = true
      clearTimeout(timer)
      clearTimeout(soonTimer)
    }
  }
}
