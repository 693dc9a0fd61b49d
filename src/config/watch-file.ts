// Notices by looking that a file has changed, on every kind of file system, and waits until nobody writes to it any more.
import { statSync } from 'node:fs'

export interface WatchOptions {
  readonly path: string
  /** Milliseconds between two looks; asked before each. */
  readonly pollMs: () => number
  /** How long the file must have stayed the same; asked at each look. */
  readonly settleMs: () => number
  /** Also called once after the start, for a change between its reading and now, and when the file comes or goes. */
  readonly onChange: () => void
}

/** The least time between two looks at a file that has just changed. */
const leastMs = 20

/** @returns how to end it; it keeps no process alive */
export function watchFile({ path, pollMs, settleMs, onChange }: WatchOptions): () => void {
  let taken: string | undefined
  let pending: { state: string; since: number } | undefined
  let isClosed = false
  let timer = setTimeout(look, pollMs()).unref()

  function look(): void {
    if (isClosed) return
    const state = stateOf(path)
    if (state === taken) pending = undefined
    else if (pending?.state !== state) pending = { state, since: performance.now() }
    if (pending !== undefined && performance.now() - pending.since >= settleMs()) {
      taken = state
      pending = undefined
      onChange()
    }
    const ms = pending === undefined ? pollMs() : Math.min(pollMs(), Math.max(settleMs(), leastMs))
    timer = setTimeout(look, ms).unref()
  }

  return () => {
    isClosed = true
    clearTimeout(timer)
  }
}

function stateOf(path: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`
  } catch (error) {
    // Missing, or not to be read: what that means, whoever reads it says.
    return String((error as NodeJS.ErrnoException).code)
  }
}
