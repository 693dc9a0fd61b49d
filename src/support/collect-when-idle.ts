// Gives memory back while nothing happens. V8 collects only when it needs room: after a start, or a time of much work, the heap would stay at twice what is used.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Collects once after each time of work, when for `idleMs` nothing was done.
 * @param workDone grows with each piece of work
 * @returns a function that ends it
 */
export function collectWhenIdle(workDone: () => number, idleMs: number): () => void {
  let collectedAt = -1
  let lastSeen = workDone()
  const timer = setInterval(() => {
    const now = workDone()
    if (now === lastSeen && now !== collectedAt) {
      collectedAt = now
      collect()
    }
    lastSeen = now
  }, idleMs)
  timer.unref()
  return () => clearInterval(timer)
}

let collector: (() => void) | undefined

function collect(): void {
  collector ??= findCollector()
  collector()
}

function findCollector(): () => void {
  // Compiled code is kept for the same flags only: this one is taken back at once.
  setFlagsFromString('--expose-gc')
  const found = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  return found
}
