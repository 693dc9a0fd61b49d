// Reads /metrics every few seconds while the page is looked at, and keeps the last of the measures.
import { measure, readMetrics, type Measure, type Reading } from './measures.ts'
import { ask, serverNow } from './server.ts'

const everyMs = 3000
/** An hour. */
const maxKept = 1200

export type Meter = ReturnType<typeof createMeter>

export function createMeter() {
  const listeners = new Set<() => void>()
  let measures: readonly Measure[] = []
  let last: Reading | undefined
  let timer: ReturnType<typeof setInterval> | undefined

  async function read(): Promise<void> {
    if (document.hidden) return
    const text = await (await ask('/metrics')).text()
    const now = readMetrics(text, serverNow())
    const made = last === undefined ? undefined : measure(last, now)
    last = now
    if (made !== undefined) measures = [...measures.slice(-maxKept), made]
    for (const listener of listeners) listener()
  }

  return {
    get: () => measures,
    start(): void {
      if (timer !== undefined) return
      const tick = () => void read().catch(() => (last = undefined))
      timer = setInterval(tick, everyMs)
      tick()
    },
    subscribe(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    }
  }
}
