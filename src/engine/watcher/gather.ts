// Gathers the notices of one path into one, which is passed on once the path has been quiet for a while.

interface GatherOptions {
  readonly quietMs: number
  readonly onDue: (paths: string[]) => void
}

/** Notices that never end are passed on after this many times `quietMs`. */
const patience = 10
/** Between two checks of what is due: ten thousand paths that fall due one by one must not cost ten thousand timers. */
const leastMs = 10

export function createGather({ quietMs, onDue }: GatherOptions) {
  const pending = new Map<string, { dueAt: number; readonly lastAt: number }>()
  let timer: NodeJS.Timeout | undefined

  function pass(): void {
    timer = undefined
    const now = performance.now()
    const due: string[] = []
    let nextAt = Infinity
    for (const [path, { dueAt }] of pending) {
      if (dueAt > now) nextAt = Math.min(nextAt, dueAt)
      else due.push(path)
    }
    for (const path of due) pending.delete(path)
    if (nextAt < Infinity) arm(nextAt - now)
    if (due.length > 0) onDue(due)
  }

  function arm(ms: number): void {
    timer = setTimeout(pass, Math.max(leastMs, ms)).unref()
  }

  return {
    /** @param waitMs replaces `quietMs` for a path to try again later */
    add(path: string, waitMs = quietMs): void {
      const now = performance.now()
      const known = pending.get(path)
      if (known === undefined)
        pending.set(path, { dueAt: now + waitMs, lastAt: now + Math.max(waitMs, patience * quietMs) })
      else known.dueAt = Math.min(now + waitMs, known.lastAt)
      if (timer === undefined) arm(waitMs)
    },
    /** The paths that are not due yet. */
    paths: (): Iterable<string> => pending.keys(),
    get size(): number {
      return pending.size
    },
    close(): void {
      clearTimeout(timer)
      pending.clear()
    }
  }
}
