// The calls under way, for a stop that waits for them.
import { setTimeout as delay } from 'node:timers/promises'

export function createRunningCalls() {
  const running = new Set<Promise<unknown>>()

  return {
    track<Result>(call: Promise<Result>): Promise<Result> {
      const settled = call.catch(() => {})
      running.add(settled)
      void settled.finally(() => running.delete(settled))
      return call
    },
    /** Resolves when all have ended, or after this time. */
    async ended(limitMs: number): Promise<void> {
      await Promise.race([Promise.all(running), delay(limitMs, undefined, { ref: false })])
    }
  }
}
