// Looks at every tracked file at once, for a caller that cannot wait until the system has reported a change, or whose watcher is off.
import { setTimeout as delay } from 'node:timers/promises'
import { createSlices } from '../../support/slices.ts'
import { examine, type ExamineParts } from './examine.ts'
import { inspectFile } from './inspect-file.ts'

const passes = 5
/** Pause before files that an operation is working on are looked at again. */
const pauseMs = 100

/**
 * Records what other programs have made of the tracked files until now.
 * @param bulkFiles watcher.bulk_files: more changes than this are reported as one
 * @throws the reason of the signal
 */
export async function lookAgain(parts: ExamineParts, bulkFiles: number, signal: AbortSignal): Promise<void> {
  const slices = createSlices(signal)
  let suspects: string[] = []
  for (const path of parts.history.paths()) {
    const look = inspectFile(path, parts.history)
    if (look === 'different' || look === 'unknown') suspects.push(path)
    await slices.pause()
  }
  const isBulk = suspects.length > bulkFiles
  for (let pass = 1; suspects.length > 0 && pass <= passes; pass += 1) {
    if (pass > 1) await delay(pauseMs, undefined, { signal })
    const busy: string[] = []
    for (const path of suspects) {
      if ((await examine(path, () => isBulk, parts)) === 'busy') busy.push(path)
      await slices.pause()
    }
    suspects = busy
  }
}
