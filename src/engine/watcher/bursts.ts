// Separates very many changes at once from the few of an editor: the many are reported as one.

/** Very many changes noticed together. */
export interface BulkChange {
  /** Files changed. */
  readonly count: number
  /** Some of their paths. */
  readonly examples: readonly string[]
  /** Milliseconds since the epoch: when the first and the last of them were noticed. */
  readonly from: number
  readonly to: number
}

interface BurstsOptions {
  /** More changes than this within a second are a burst. It ends when the rate falls below that: some file may change for ever. */
  readonly files: number
  /** Counts changes that are known but not recorded yet. */
  readonly countPending: () => number
  /** Examines every file again before the report: in a burst the system drops notices. */
  readonly lookAgain: () => Promise<void>
  readonly onEnd: (change: BulkChange) => void
}

export type Bursts = ReturnType<typeof createBursts>

const windowMs = 1000
const maxExamples = 5
const checkMs = 500
/** A burst that does not end is reported this often. */
const maxBurstMs = 30_000

export function createBursts({ files, countPending, lookAgain, onEnd }: BurstsOptions) {
  /** When the last changes were noticed, the oldest first; at most `files` + 1. */
  let recent: number[] = []
  let paths: Set<string> | undefined
  let from = 0
  let to = 0
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function begin(): void {
    paths = new Set()
    from = to = Date.now()
    arm()
  }

  function arm(): void {
    if (!isClosed) timer = setTimeout(() => void check(), checkMs).unref()
  }

  async function check(): Promise<void> {
    const isLong = Date.now() - from > maxBurstMs
    if (!isOver()) {
      if (isLong) report()
      return arm()
    }
    await lookAgain()
    if (isClosed) return
    if (!isOver()) return arm()
    report()
    paths = undefined
  }

  function isOver(): boolean {
    return countRecent() + countPending() <= files
  }

  function countRecent(): number {
    const since = performance.now() - windowMs
    recent = recent.filter((at) => at > since)
    return recent.length
  }

  function report(): void {
    if (paths === undefined || paths.size === 0) return
    onEnd({ count: paths.size, examples: [...paths].slice(0, maxExamples), from, to })
    paths = new Set()
    from = to
  }

  return {
    get isOn(): boolean {
      return paths !== undefined
    },
    /** @param count of the files that are about to be recorded as changed */
    expect(count: number): void {
      if (paths === undefined && count + countRecent() > files) begin()
    },
    /** An external change has been recorded. */
    note(path: string): void {
      recent.push(performance.now())
      if (recent.length > files + 1) recent.shift()
      if (paths === undefined) return
      paths.add(path)
      to = Date.now()
    },
    close(): void {
      isClosed = true
      clearTimeout(timer)
    }
  }
}
