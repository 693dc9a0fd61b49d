// The agents' processes: always as many as wanted, whoever is killed.
import { fork, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { installed } from '../../../src/support/installation.ts'
import { transports, type TransportName } from '../../fixtures/clients.ts'
import type { Random } from '../../fixtures/random.ts'
import { now, type AgentHistory } from './history.ts'
import { readJournal } from './journal.ts'
import type { Command, ContenderMessage, ContenderTask } from './protocol.ts'

interface Owner {
  teardown(fn: () => unknown): void
}

/** Agents that share a process, and its end. */
interface Crew {
  readonly tasks: readonly ContenderTask[]
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
  /** Agents in one process. */
  readonly crewSize: number
  /** When a wait is cut: of REST calls, and of MCP calls. */
  readonly cutMs: { readonly rest: number; readonly mcp: number }
}

const agentPath = installed('dist/suites/harness/contenders/agent-program.js')
const ttlSeconds = [1, 1.5, 2, 3, 6]

export function createCrowd(owner: Owner, { url, files, folder, seed, random, crewSize, cutMs }: CrowdOptions) {
  const all: Crew[] = []
  const alive: Crew[] = []

  /** Connected, and doing nothing yet. */
  async function prepare(): Promise<Crew> {
    const first = all.length * crewSize
    const transport = transports[all.length % transports.length] ?? 'rest'
    const crew = startCrew(
      owner,
      Array.from({ length: crewSize }, (_, index) => taskOf(first + index, transport))
    )
    all.push(crew)
    await crew.ready
    return crew
  }

  function taskOf(number: number, transport: TransportName): ContenderTask {
    const id = `agent-${number}`
    return {
      id,
      transport,
      identity: random() < 0.5 ? 'input' : 'header',
      url,
      files,
      ttlSeconds: ttlSeconds[Math.floor(random() * ttlSeconds.length)] as number,
      journal: join(folder, `${id}.jsonl`),
      seed: seed * 1000 + number
    }
  }

  function admit(crew: Crew): void {
    alive.push(crew)
    crew.process.send('go' satisfies Command)
  }

  return {
    alive,
    prepare,
    admit,
    /** Kills any crew; the one prepared takes the place in the same moment. */
    replaceOne(crew: Crew): void {
      const [victim] = alive.splice(Math.floor(random() * alive.length), 1) as [Crew]
      victim.killedAt = now()
      victim.process.once('exit', () => (victim.goneAt = now()))
      victim.process.kill('SIGKILL')
      admit(crew)
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
        .filter((crew) => crew.killedAt !== undefined || alive.includes(crew))
        .flatMap(({ tasks, killedAt, goneAt }) =>
          tasks.map(({ id, transport, ttlSeconds, journal }) => ({
            id,
            transport,
            ttlMs: ttlSeconds * 1000,
            cutMs: transport === 'rest' ? cutMs.rest : cutMs.mcp,
            killedAt,
            goneAt,
            calls: readJournal(journal)
          }))
        )
    }
  }
}

function startCrew(owner: Owner, tasks: readonly ContenderTask[]): Crew {
  const child = fork(agentPath, [JSON.stringify(tasks)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  owner.teardown(() => child.kill('SIGKILL'))
  const crew: Crew = {
    tasks,
    process: child,
    ready: received('ready'),
    done: received('done'),
    killedAt: undefined,
    goneAt: undefined
  }
  // Nobody waits for the end of one that is killed.
  crew.done.catch(() => {})
  return crew

  function received(expected: ContenderMessage): Promise<unknown> {
    return new Promise((resolve, reject) => {
      child.on('message', (message: ContenderMessage) => {
        if (message === expected) resolve(message)
      })
      child.once('close', (code, signal) => reject(new Error(`${tasks[0]?.id} ended early with ${signal ?? code}`)))
    })
  }
}
