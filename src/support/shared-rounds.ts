// Work that serves all who ask for it at the same time: who asks before a round begins has its result, who asks while it goes on has that of the
// next. So a result is never older than the question, and a hundred questions at once cost two rounds.
import { setImmediate } from 'node:timers/promises'
import { LazyAbort } from './lazy-signal.ts'

interface Round<Result> {
  readonly result: Promise<Result>
  readonly abandoned: LazyAbort
  askers: number
  hasEnded: boolean
}

export function createSharedRounds<Result>() {
  /** Those that have not begun, by key. */
  const next = new Map<string, Round<Result>>()
  /** Each resolves at the end of the round, whatever that is. */
  const running = new Map<string, Promise<void>>()

  /**
   * @param key equal for equal work
   * @param work gets a signal that is aborted once its last asker has given up
   * @throws what `work` throws; the reason of `signal` once that is aborted
   */
  async function ask(
    key: string,
    work: (signal: AbortSignal) => Promise<Result>,
    signal?: AbortSignal
  ): Promise<Result> {
    const round = next.get(key) ?? plan(key, work)
    round.askers += 1
    try {
      return await (signal === undefined ? round.result : orAborted(round.result, signal))
    } finally {
      round.askers -= 1
      if (round.askers === 0) abandon(key, round)
    }
  }

  function plan(key: string, work: (signal: AbortSignal) => Promise<Result>): Round<Result> {
    const abandoned = new LazyAbort()
    // What comes in one turn of the event loop shares its first round.
    const result = (running.get(key) ?? setImmediate()).then(() => {
      abandoned.signal.throwIfAborted()
      next.delete(key)
      const made = work(abandoned.signal)
      const end = () => {
        round.hasEnded = true
        running.delete(key)
      }
      running.set(key, made.then(end, end))
      return made
    })
    const round: Round<Result> = { result, abandoned, askers: 0, hasEnded: false }
    next.set(key, round)
    return round
  }

  /** Each round ends here; only one that goes on still has what to abandon. */
  function abandon(key: string, round: Round<Result>): void {
    if (round.hasEnded) return
    round.abandoned.abort()
    if (next.get(key) === round) next.delete(key)
  }

  return { ask }
}

/** Ends the wait, and not what is waited for. @throws the reason of the signal once it is aborted */
export function orAborted<Result>(awaited: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    awaited.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
