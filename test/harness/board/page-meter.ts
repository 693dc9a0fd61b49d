// What a page of the browser pays: the time between its frames, the work of its longest task, the memory that it keeps.
import type { Browser, Page } from 'playwright-core'

export interface Frames {
  readonly count: number
  /** The longest time between two frames, in milliseconds. */
  readonly longest: number
}

/** Counts the frames from now on. @returns what there was until it is asked */
export async function watchFrames(page: Page): Promise<() => Promise<Frames>> {
  await page.evaluate(watch)
  return () => page.evaluate<Frames>('globalThis.frames_')
}

const watch = `
  globalThis.watch_ = (globalThis.watch_ ?? 0) + 1
  globalThis.frames_ = { count: 0, longest: 0 }
  {
    const own = globalThis.watch_
    let last = performance.now()
    const step = () => {
      const now = performance.now()
      const { count, longest } = globalThis.frames_
      if (own !== globalThis.watch_) return
      globalThis.frames_ = { count: count + 1, longest: Math.max(longest, now - last) }
      last = now
      requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
  }`

/** After a collection, in MB. */
export async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize / 1_048_576
}

/** Records the tasks of the page from now on. @returns the processor time of the longest, in milliseconds: a busy machine hardly makes it longer */
export async function watchTasks(browser: Browser, page: Page): Promise<() => Promise<number>> {
  await browser.startTracing(page, { categories: ['toplevel'] })
  return async () => longestTask(await browser.stopTracing())
}

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  readonly args: { readonly name?: string }
  /** Processor time, in microseconds. */
  readonly tdur?: number
}

function longestTask(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: readonly TraceEvent[] }
  const isPage = ({ name, args }: TraceEvent) => name === 'thread_name' && args.name === 'CrRendererMain'
  const threads = new Set(traceEvents.filter(isPage).map(({ pid, tid }) => `${pid} ${tid}`))
  let longest = 0
  for (const { name, pid, tid, tdur = 0 } of traceEvents)
    if (name.endsWith('RunTask') && threads.has(`${pid} ${tid}`)) longest = Math.max(longest, tdur)
  return longest / 1000
}
