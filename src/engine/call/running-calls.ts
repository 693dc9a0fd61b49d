// The calls under way, for a stop that waits for them.
import { atMost } from '../../support/at-most.ts'

export function createRunningCalls() {
  let underWay = 0
  let steps = 0
  const waiting = new Set<() => void>()

  function end(): void {
    underWay -= 1
    steps += 1
    if (underWay > 0) return
    for (const resolve of waiting) resolve()
    waiting.clear()
  }

  return {
    track<Result>(call: Promise<Result>): Promise<Result> {
      underWay += 1
      steps += 1
      call.then(end, end)
      return call
    },
    /** Calls begun and ended so far: it stands still while nothing happens. */
    steps: (): number => steps,
    /** Resolves when none is under way, or after this time. */
    async ended(limitMs: number): Promise<void> {
      if (underWay === 0) return
      const none = new Promise<void>((resolve) => waiting.add(resolve))
      await atMost(limitMs, none)
    }
  }
}
