// How far a call is, for clients that ask for it: some times a second at most, and nothing of calls that end soon.

export interface Progress {
  /** For people. */
  readonly message: string
  /** Steps that are done. Undefined while the call only waits. */
  readonly done?: number | undefined
  /** Undefined until it is known. */
  readonly total?: number | undefined
  /** How long the call waits at most, while it waits for a lock or for Git. */
  readonly waitSeconds?: number
}

export type Report = (progress: Progress) => void

/** Waits are reported at once, each place in each queue; work from the first interval on. Once work was reported, its end is as well. */
export function paceProgress(send: Report, intervalMs: number): { readonly report: Report; readonly end: () => void } {
  let dueAt = performance.now() + intervalMs
  let hasSentWork = false
  let pending: Progress | undefined
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    if (pending === undefined) return
    const progress = pending
    pending = undefined
    hasSentWork = true
    dueAt = performance.now() + intervalMs
    send(progress)
  }

  return {
    report(progress) {
      const { done, total } = progress
      if (done === undefined) return send(progress)
      const isDue = performance.now() >= dueAt
      if (done === total) {
        pending = isDue || hasSentWork ? progress : undefined
        return flush()
      }
      pending = progress
      if (isDue) return flush()
      timer ??= setTimeout(flush, dueAt - performance.now()).unref()
    },
    /** The call has ended: nothing may follow its answer. */
    end(): void {
      clearTimeout(timer)
      pending = undefined
    }
  }
}

export type Steps = ReturnType<typeof countSteps>

/** Counts the steps of a call. @param report undefined if the client did not ask @param what the steps are, in the plural */
export function countSteps(report: Report | undefined, what: string) {
  if (report === undefined) return undefined
  let done = 0
  let total: number | undefined
  const add = (count = 1): void => {
    done += count
    report({ message: `${done} ${total === undefined ? '' : `of ${total} `}${what}`, done, total })
  }
  return {
    add,
    /** From now on it is known how many there are. */
    expect(further: number): void {
      total = done + further
      if (further === 0) add(0)
    },
    /** For a part that is one step here, and counts steps of its own. */
    part: ({ message, done: inPart, total: ofPart }: Progress): void => {
      const share = inPart !== undefined && ofPart !== undefined && inPart < ofPart ? inPart / ofPart : 0
      report({ message, ...(inPart !== undefined && { done: done + share, total }) })
    }
  }
}
