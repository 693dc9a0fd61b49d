// Admission in arrival order: so many at once, so many waiting behind them, the rest refused.

/** No thread was free in time. */
export class PoolBusy extends Error {}

export function createAdmissionQueue(maxRunning: number, maxWaiting: number) {
  const waiting = new Set<() => void>()
  let running = 0

  /** Resolves once the caller is admitted; it must then `end` it. Rejects at once if too many wait, and on abort. */
  async function begin(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (running < maxRunning) {
      running++
      return
    }
    if (waiting.size >= maxWaiting) throw new PoolBusy(`More than ${maxWaiting} comparisons are waiting.`)
    await new Promise<void>((resolve, reject) => {
      const grant = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = () => {
        waiting.delete(grant)
        reject(signal.reason as Error)
      }
      signal.addEventListener('abort', leave, { once: true })
      waiting.add(grant)
    })
  }

  /** The freed room goes to the longest waiter, so that `running` stays as it is. */
  function end(): void {
    const [next] = waiting
    if (next === undefined) {
      running--
      return
    }
    waiting.delete(next)
    next()
  }

  return { begin, end }
}
