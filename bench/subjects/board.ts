// The board at its largest: 500 agents, 10,000 files in use, 200 events a second; what the page and the server pay for it.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { noBrowser, startBrowser } from '../../test/fixtures/browser.ts'
import { startProgram } from '../../test/fixtures/server.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import type { Options } from '../options.ts'
import { withOwner } from '../owner.ts'
import { figure, percent, printTable, whole } from '../table.ts'

const eventsPerSecond = 200
const views = ['Now', 'Changes', 'Where it burns']

export async function board({ seconds = 45, agents = 500, files = 10_000 }: Options): Promise<void> {
  console.log(`\n## board: ${agents} agents, ${files} files in use, ${eventsPerSecond} events a second`)
  if (noBrowser !== false) return console.log(`skipped: ${noBrowser}`)
  await withOwner(async (owner) => {
    const names = Array.from({ length: files }, (_, index) => `src/part-${index % 100}/file-${index}.ts`)
    const tree = makeTree(owner, Object.fromEntries(names.map((name) => [name, 'one\ntwo\nthree\n'])))
    const limits = { ASYNC_CRUD_MCP_LOCKS__LEASE_TTL_SECONDS: '3600', ASYNC_CRUD_MCP_CRUD__DURABILITY: 'rename' }
    const program = await startProgram(owner, ['--dir', tree.root], limits)
    const call = callerOf(program.url)
    const share = Math.ceil(files / agents)
    for (let agent = 0; agent < agents; agent += 1) {
      const filepaths = names.slice(agent * share, (agent + 1) * share)
      if (filepaths.length > 0) await call(`agent-${agent}`, 'lock_try', { filepaths, note: `part ${agent}` })
    }
    const load = startLoad(call, agents)
    owner.teardown(() => load.stop())
    const cpuSeconds = () => cpuOf(program.process.pid as number)
    // A stream that is read, as a script would: the events are made with a board and without.
    const stream = new AbortController()
    owner.teardown(() => stream.abort())
    void drain(`${program.url}/events`, stream.signal)
    const shareOf = async (length: number) => {
      const before = cpuSeconds()
      await sleep(length * 1000)
      return (cpuSeconds() - before) / length
    }
    await sleep(2000)
    const alone = await shareOf(Math.min(30, seconds))
    const browser = await startBrowser({ teardown: (end) => owner.teardown(end), fail: console.log })
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage()
    await page.goto(`${program.url}/board`)
    await page.locator('#files .row').first().waitFor({ timeout: 60_000 })
    const rows: string[][] = []
    let cost = 0
    for (const view of views) {
      await page.getByRole('link', { name: view }).click()
      await sleep(1500)
      await page.evaluate(watchFrames)
      await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] })
      const [heapBefore, before, madeBefore] = [await heapOf(page), cpuSeconds(), load.made()]
      await sleep((seconds * 1000) / views.length)
      const spent = (cpuSeconds() - before) / (seconds / views.length)
      const task = longestTask(await browser.stopTracing())
      const [frames, longest, heap] = [
        ...(await page.evaluate<number[]>('globalThis.frames_')),
        await heapOf(page)
      ] as [number, number, number]
      cost = Math.max(cost, spent - alone)
      const rate = (load.made() - madeBefore) / (seconds / views.length)
      rows.push([
        view,
        whole(rate),
        whole(frames / (seconds / views.length)),
        figure(longest),
        figure(task),
        figure(heapBefore),
        figure(heap),
        percent(spent - alone)
      ])
    }
    printTable(
      `${seconds} s; the server alone takes ${percent(alone)} of a core`,
      [
        'view',
        'events/s',
        'frames/s',
        'longest frame, ms',
        'its work, ms',
        'heap before, MB',
        'heap after, MB',
        'server, of a core'
      ],
      rows
    )
    console.log(`board: the server pays at most ${percent(cost)} of a core`)
  })
}

type Call = (agent: string, operation: string, input: object) => Promise<Record<string, unknown>>

function callerOf(url: string): Call {
  return async (agent, operation, input) => {
    const response = await fetch(`${url}/${operation}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-id': agent },
      body: JSON.stringify(input)
    })
    return (await response.json()) as Record<string, unknown>
  }
}

/** Each step makes four events: a file is created, leased, released, and deleted. */
function startLoad(call: Call, agents: number) {
  const stepMs = 4000 / eventsPerSecond
  let steps = 0
  const end = new AbortController()
  const start = performance.now()
  const running = (async () => {
    const open = new Set<Promise<boolean>>()
    for (let due = start; !end.signal.aborted; due += stepMs) {
      await sleep(Math.max(0, due - performance.now()))
      const step: Promise<boolean> = makeStep(call, `agent-${steps % agents}`, `load/${steps % 500}.txt`).then(() => {
        steps += 1
        return open.delete(step)
      })
      open.add(step)
      if (open.size > 50) await Promise.race(open)
    }
    await Promise.allSettled(open)
  })()
  return {
    made: () => steps * 4,
    async stop(): Promise<void> {
      end.abort()
      await running.catch(() => undefined)
    }
  }
}

async function makeStep(call: Call, agent: string, path: string): Promise<void> {
  await call(agent, 'async_write', { path, content: `${path}\n` })
  await call(agent, 'lock_try', { filepaths: [path] })
  await call(agent, 'lock_release', { filepaths: [path] })
  await call(agent, 'async_delete', { path })
}

async function drain(url: string, signal: AbortSignal): Promise<void> {
  try {
    const { body } = await fetch(url, { signal })
    for await (const chunk of body ?? []) void chunk
  } catch {
    // The end of the measurement.
  }
}

/** Frames so far, and the longest time between two of them, in milliseconds. */
const watchFrames = `
  globalThis.frames_ = [0, 0]
  globalThis.watch_ = (globalThis.watch_ ?? 0) + 1
  {
    const own = globalThis.watch_
    let last = performance.now()
    const step = () => {
      const now = performance.now()
      globalThis.frames_ = [globalThis.frames_[0] + 1, Math.max(globalThis.frames_[1], now - last)]
      last = now
      if (own === globalThis.watch_) requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
  }`

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  readonly args: { readonly name?: string }
  /** Processor time, in microseconds. */
  readonly tdur?: number
}

/** Processor time of the longest task of the page, in milliseconds: a busy machine makes frames longer, and this hardly. */
function longestTask(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: readonly TraceEvent[] }
  const isPage = ({ name, args }: TraceEvent) => name === 'thread_name' && args.name === 'CrRendererMain'
  const threads = new Set(traceEvents.filter(isPage).map(({ pid, tid }) => `${pid} ${tid}`))
  let longest = 0
  for (const { name, pid, tid, tdur = 0 } of traceEvents)
    if (name.endsWith('RunTask') && threads.has(`${pid} ${tid}`)) longest = Math.max(longest, tdur)
  return longest / 1000
}

/** After a collection, in MB. */
async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize / 1_048_576
}

/** In seconds, of all threads; Linux tells it in hundredths. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}
