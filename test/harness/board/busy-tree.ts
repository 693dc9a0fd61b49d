// A tree at its largest for the board: 500 agents, 10,000 files in use, and events at a steady rate.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { startProgram } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'

interface Owner {
  teardown(fn: () => unknown): void
}

export interface BusyTreeOptions {
  readonly agents: number
  readonly files: number
  readonly eventsPerSecond: number
  readonly environment?: Record<string, string>
}

export type BusyTree = Awaited<ReturnType<typeof startBusyTree>>

export async function startBusyTree(owner: Owner, { agents, files, eventsPerSecond, environment }: BusyTreeOptions) {
  const names = Array.from({ length: files }, (_, index) => `src/part-${index % 100}/file-${index}.ts`)
  const tree = makeTree(owner, Object.fromEntries(names.map((name) => [name, 'one\ntwo\nthree\n'])))
  const program = await startProgram(owner, ['--dir', tree.root], {
    ASYNC_CRUD_MCP_LOCKS__LEASE_TTL_SECONDS: '3600',
    ASYNC_CRUD_MCP_CRUD__DURABILITY: 'rename',
    ...environment
  })
  const call = callerOf(program.url)
  const share = Math.ceil(files / agents)
  for (let agent = 0; agent < agents; agent += 1) {
    const filepaths = names.slice(agent * share, (agent + 1) * share)
    if (filepaths.length > 0) await call(`agent-${agent}`, 'lock_try', { filepaths, note: `part ${agent}` })
  }
  const load = startLoad(call, agents, eventsPerSecond)
  owner.teardown(() => load.stop())
  const pid = program.process.pid as number
  return {
    url: program.url,
    pid,
    load,
    /** Processor time of the server from now on, as a share of one core. */
    async cpuShareOf(seconds: number): Promise<number> {
      const before = cpuSecondsOf(pid)
      const start = performance.now()
      await sleep(seconds * 1000)
      return (cpuSecondsOf(pid) - before) / ((performance.now() - start) / 1000)
    }
  }
}

type Call = (agent: string, operation: string, input: object) => Promise<void>

function callerOf(url: string): Call {
  return async (agent, operation, input) => {
    const headers = { 'content-type': 'application/json', 'x-agent-id': agent }
    const response = await fetch(`${url}/${operation}`, { method: 'POST', headers, body: JSON.stringify(input) })
    await response.arrayBuffer()
  }
}

const eventsOfStep = 4
const maxOpenSteps = 50

/** Each step makes four events: a file is created, leased, released, and deleted. */
function startLoad(call: Call, agents: number, eventsPerSecond: number) {
  const stepMs = (eventsOfStep * 1000) / eventsPerSecond
  let steps = 0
  const end = new AbortController()
  const running = (async () => {
    const open = new Set<Promise<boolean>>()
    for (let due = performance.now(); !end.signal.aborted; due += stepMs) {
      await sleep(Math.max(0, due - performance.now()))
      const step: Promise<boolean> = makeStep(call, `agent-${steps % agents}`, `load/${steps % 500}.txt`).then(() => {
        steps += 1
        return open.delete(step)
      })
      open.add(step)
      if (open.size > maxOpenSteps) await Promise.race(open)
    }
    await Promise.allSettled(open)
  })()
  return {
    /** Events that were made so far. */
    made: () => steps * eventsOfStep,
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

/** Of all threads; Linux tells it in hundredths of a second. */
export function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}
