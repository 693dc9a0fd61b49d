// Polls a file for changes, on every kind of file system, and waits until no process writes to it any more.
import { statSync } from 'node:fs'

export interface WatchOptions {
  readonly path: string
  /** Milliseconds between two looks; called before each. */
  readonly pollMs: () => number
  /** The file must have been unchanged for this long; called at each look. */
  readonly settleMs: () => number
  /** Also called once after the start, for a change since the file was read, and when the file appears or disappears. */
  readonly onChange: () => void
}

/** The least time between two looks at a file that has just changed. */
const leastMs = 20

/** @returns a function that ends it; it keeps no process alive */
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
    // Missing or unreadable: the reader of the file reports what that means.
    return String((error as NodeJS.ErrnoException).code)
  }
}
