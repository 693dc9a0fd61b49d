// The agents' processes: always as many as wanted, whoever is killed.
import { fork, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { installed } from '../../src/installation.ts'
import { transports } from '../fixtures/clients.ts'
import type { Random } from '../fixtures/random.ts'
import { now, type AgentHistory } from './history.ts'
import { readJournal } from './journal.ts'
import type { Command, ContenderMessage, ContenderTask } from './protocol.ts'

interface Owner {
  teardown(fn: () => unknown): void
}

interface Agent {
  readonly task: ContenderTask
  readonly process: ChildProcess
  readonly ready: Promise<unknown>
  readonly done: Promise<unknown>
  killedAt: number | undefined
  goneAt: number | undefined
}

export interface CrowdOptions {
  readonly url: string
  readonly files: readonly string[]
  /** Where the journals go. */
  readonly folder: string
  readonly seed: number
  readonly random: Random
  /** When a wait is cut: of REST calls, and of MCP calls. */
  readonly cutMs: { readonly rest: number; readonly mcp: number }
}

const agentPath = installed('dist/suites/contenders/agent-program.js')
const ttlSeconds = [1, 1.5, 2, 3, 6]

export function createCrowd(owner: Owner, { url, files, folder, seed, random, cutMs }: CrowdOptions) {
  const all: Agent[] = []
  const alive: Agent[] = []

  /** Connected, and doing nothing yet. */
  async function prepare(): Promise<Agent> {
    const number = all.length
    const id = `agent-${number}`
    const task: ContenderTask = {
      id,
      transport: transports[number % transports.length] ?? 'rest',
      identity: random() < 0.5 ? 'input' : 'header',
      url,
      files,
      ttlSeconds: ttlSeconds[Math.floor(random() * ttlSeconds.length)] as number,
      journal: join(folder, `${id}.jsonl`),
      seed: seed * 1000 + number
    }
    const agent = startAgent(owner, task)
    all.push(agent)
    await agent.ready
    return agent
  }

  function admit(agent: Agent): void {
    alive.push(agent)
    agent.process.send('go' satisfies Command)
  }

  return {
    alive,
    prepare,
    admit,
    /** Kills anyone; the one prepared takes the place in the same moment. */
    replaceOne(agent: Agent): void {
      const [victim] = alive.splice(Math.floor(random() * alive.length), 1) as [Agent]
      victim.killedAt = now()
      victim.process.once('exit', () => (victim.goneAt = now()))
      victim.process.kill('SIGKILL')
      admit(agent)
    },
    /** Resolves when all have given everything back, or the time is over. */
    async finish(limitMs: number): Promise<void> {
      for (const { process } of alive) process.send('finish' satisfies Command)
      let timer: NodeJS.Timeout | undefined
      const limit = new Promise((resolve) => (timer = setTimeout(resolve, limitMs)))
      await Promise.race([Promise.all(alive.map(({ done }) => done)), limit])
      clearTimeout(timer)
    },
    histories(): AgentHistory[] {
      return all
        .filter(({ killedAt, process }) => killedAt !== undefined || alive.some((agent) => agent.process === process))
        .map(({ task, killedAt, goneAt }) => ({
          id: task.id,
          transport: task.transport,
          ttlMs: task.ttlSeconds * 1000,
          cutMs: task.transport === 'rest' ? cutMs.rest : cutMs.mcp,
          killedAt,
          goneAt,
          calls: readJournal(task.journal)
        }))
    }
  }
}

function startAgent(owner: Owner, task: ContenderTask): Agent {
  const child = fork(agentPath, [JSON.stringify(task)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  owner.teardown(() => child.kill('SIGKILL'))
  const agent: Agent = {
    task,
    process: child,
    ready: told('ready'),
    done: told('done'),
    killedAt: undefined,
    goneAt: undefined
  }
  // Nobody waits for the end of one that is killed.
  agent.done.catch(() => {})
  return agent

  function told(expected: ContenderMessage): Promise<unknown> {
    return new Promise((resolve, reject) => {
      child.on('message', (message: ContenderMessage) => {
        if (message === expected) resolve(message)
      })
      child.once('exit', (code, signal) => reject(new Error(`${task.id} ended early with ${signal ?? code}`)))
    })
  }
}
