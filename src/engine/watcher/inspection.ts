// Examines files that may have changed: first all by stat, which is cheap and tells how many they are, then the content of the suspects.
import type { Bursts } from './bursts.ts'
import { examine, type ExamineParts } from './examine.ts'
import { inspectFile, type Look } from './inspect-file.ts'
import { createSlices, type Slices } from '../../support/slices.ts'

interface InspectionOptions {
  readonly parts: ExamineParts
  readonly bursts: Bursts
  /** Called before a look at a tracked file, so that no change falls between the look and the watch. */
  readonly beforeLook: (path: string) => void
  /** True if a folder above is known to be none: what a look by path finds there is not the file. */
  readonly isCutOff: (path: string) => boolean
  /** The paths of known changes that are still to be examined. */
  readonly pending: () => Iterable<string>
  readonly onBusy: (path: string) => void
  /** A look has found no change. */
  readonly onSame: (path: string) => void
  /** There is nothing more to look at. */
  readonly onDone: () => void
  readonly onError: (error: unknown) => void
}

export type Inspection = ReturnType<typeof createInspection>

/** Pending paths that are examined to tell whether a burst has begun. */
const maxSample = 400

export function createInspection(options: InspectionOptions) {
  const { parts, bursts, beforeLook, isCutOff, pending, onBusy, onSame, onDone, onError } = options
  const looks = new Set<string>()
  /** With what the look by stat has found. */
  const suspects = new Map<string, Look>()
  let working: Promise<void> | undefined
  let isClosed = false

  async function work(): Promise<void> {
    const slices = createSlices()
    // Never within the call that added a path: it may not have recorded its change yet.
    await slices.next()
    while (looks.size + suspects.size > 0) {
      await lookAtAll(slices)
      const changed = bursts.isOn ? 0 : countChanged()
      if (changed > 0) bursts.expect(changed + countPending())
      await examineSome(slices)
    }
  }

  async function lookAtAll(slices: Slices): Promise<void> {
    for (const path of looks) {
      looks.delete(path)
      const look = lookAtOne(path)
      if (look === 'same') onSame(path)
      if (look === 'different' || look === 'unknown') suspects.set(path, look)
      if (slices.isOver()) await slices.next()
    }
  }

  /** Suspects that have changed for certain, among them those that an earlier look has found. */
  function countChanged(): number {
    let changed = 0
    for (const look of suspects.values()) if (look === 'different') changed += 1
    return changed
  }

  function lookAtOne(path: string): ReturnType<typeof inspectFile> {
    const last = parts.history.last(path)
    if (last === undefined) return 'untracked'
    beforeLook(path)
    return last.hash !== null && isCutOff(path) ? 'different' : inspectFile(path, parts.history)
  }

  /** Until all are examined, or new paths need a look first. */
  async function examineSome(slices: Slices): Promise<void> {
    for (const path of suspects.keys()) {
      if (looks.size > 0) return
      suspects.delete(path)
      try {
        if ((await examine(path, () => bursts.isOn, parts, true)) === 'busy') onBusy(path)
      } catch (error) {
        onError(error)
      }
      if (slices.isOver()) await slices.next()
    }
  }

  function countPending(): number {
    let looked = 0
    let changed = 0
    for (const path of pending()) {
      if (inspectFile(path, parts.history) === 'different') changed += 1
      looked += 1
      if (looked === maxSample) break
    }
    return changed
  }

  function start(): void {
    working ??= work()
      .catch(onError)
      .finally(() => {
        working = undefined
        if (isClosed) return
        // A path may have been added while it was ending.
        if (looks.size > 0) start()
        else onDone()
      })
  }

  return {
    add(path: string): void {
      looks.add(path)
      start()
    },
    /** Counts the pending changes that are certain, up to a limit. */
    countPending,
    /** Resolves when there is nothing to examine. */
    async done(): Promise<void> {
      await working
      if (working !== undefined) await this.done()
    },
    async close(): Promise<void> {
      isClosed = true
      looks.clear()
      suspects.clear()
      await working
    }
  }
}
