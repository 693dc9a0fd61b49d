// Gives up a process that does not answer.

interface Silence {
  readonly isAsked: () => boolean
  /** By performance.now(). */
  readonly heardAt: () => number
  readonly silenceMs: () => number
  readonly ask: () => void
  readonly giveUp: () => void
}

/** Looks four times within the allowed time; pings, and gives the authority up if the ping brings no answer in time. */
export function watchSilence({ isAsked, heardAt, silenceMs, ask, giveUp }: Silence): NodeJS.Timeout {
  let askedAt: number | undefined
  return setInterval(() => {
    if (!isAsked() || (askedAt !== undefined && heardAt() >= askedAt)) askedAt = undefined
    if (!isAsked()) return
    if (askedAt === undefined) {
      askedAt = performance.now()
      return ask()
    }
    if (performance.now() - askedAt < silenceMs()) return
    const since = askedAt
    // This process itself may have been suspended: what has come meanwhile is read first.
    setImmediate(() => heardAt() < since && giveUp())
  }, silenceMs() / 4).unref()
}
