// Many real clients, each a process of its own, change a few shared files through the real program, and everything is checked.
import { fork, type ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { installed } from '../../../src/support/installation.ts'
import { connect, transports, type Answer, type TransportName } from '../../fixtures/clients.ts'
import { programAsOverRest, startProgram } from '../../fixtures/server.ts'
import { makeTree, withSlashes, type Tree } from '../../fixtures/tree.ts'
import { checkClients, checkFiles } from './checks.ts'
import { go, type WorkerMessage, type WorkerReport, type WorkerTask } from './protocol.ts'

export interface SwarmOptions {
  /** Processes of each kind of client. */
  readonly clients: Readonly<Record<TransportName, number>>
  /** Acknowledged updates, over all clients together. */
  readonly rounds: number
  readonly files?: number
  readonly seed?: number
  /** A swarm that takes longer has a client that waits for ever. */
  readonly limitMs?: number
  /** Serves the tree. Default: one program. */
  readonly serve?: (tree: Tree) => Promise<{ readonly url: string; stop(): Promise<unknown> }>
}

export interface SwarmResult {
  readonly clients: number
  readonly reports: readonly WorkerReport[]
  /** From the first round to the last, without the start of the processes. */
  readonly wallMs: number
  /** Processor time of all clients together over the rounds. */
  readonly clientCpuMs: number
  /** Sentences about what must not be; empty after a good run. */
  readonly violations: readonly string[]
}

interface Owner {
  teardown(fn: () => unknown): void
}

interface Client {
  readonly process: ChildProcess
  readonly ready: Promise<unknown>
  readonly done: Promise<{ readonly report: WorkerReport; readonly cpuMs: number }>
}

const workerPath = installed('dist/suites/harness/swarm/worker-program.js')

export async function runSwarm(owner: Owner, options: SwarmOptions): Promise<SwarmResult> {
  const { clients: counts, rounds, files: fileCount = 5, seed = 1, limitMs = 300_000 } = options
  const { serve = ({ root }) => startProgram(owner, ['--dir', root], programAsOverRest) } = options
  const sources = largestSources(fileCount)
  const tree = makeTree(owner, sources)
  const names = Object.keys(sources)
  const server = await serve(tree)
  const kinds = transports.flatMap((transport) => Array<TransportName>(counts[transport]).fill(transport))
  const clients = kinds.map((transport, index) =>
    startClient(owner, {
      id: `${transport}-${index}`,
      transport,
      url: server.url,
      files: names,
      rounds: Math.floor(rounds / kinds.length) + (index < rounds % kinds.length ? 1 : 0),
      // Of each kind every other client.
      diffFormat: index % 2 === 0 ? 'json' : 'unified',
      seed: seed * 1000 + index
    })
  )
  const limit = setTimeout(() => clients.forEach(({ process }) => process.kill('SIGKILL')), limitMs)
  try {
    await Promise.all(clients.map(({ ready }) => ready))
    const start = performance.now()
    for (const { process } of clients) process.send(go)
    const results = await Promise.all(clients.map(({ done }) => done))
    const wallMs = performance.now() - start
    const reports = results.map(({ report }) => report)
    const shared = names.map((name) => ({ name, before: Buffer.from(sources[name] ?? ''), after: tree.bytes(name) }))
    const violations = [
      ...checkClients(reports, rounds, names.length),
      ...checkFiles(shared, reports),
      ...(await checkServer(owner, server.url, tree, names))
    ]
    const clientCpuMs = results.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
    return { clients: clients.length, reports, wallMs, clientCpuMs, violations }
  } finally {
    clearTimeout(limit)
    await server.stop()
  }
}

function startClient(owner: Owner, task: WorkerTask): Client {
  const child = fork(workerPath, [JSON.stringify(task)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  owner.teardown(() => child.kill('SIGKILL'))
  const reply = <Type extends WorkerMessage['type']>(type: Type) =>
    new Promise<Extract<WorkerMessage, { type: Type }>>((resolve, reject) => {
      child.on('message', (message: WorkerMessage) => {
        if (message.type === type) resolve(message as Extract<WorkerMessage, { type: Type }>)
      })
      child.once('close', (code, signal) => reject(new Error(`client ${task.id} ended early with ${signal ?? code}`)))
    })
  const [ready, done] = [reply('ready'), reply('done')]
  // Whoever does not wait for one of the two yet learns of a failure by the other.
  done.catch(() => {})
  return { process: child, ready, done }
}

/** No lock, no waiter, no temporary file is left. */
async function checkServer(owner: Owner, url: string, tree: Tree, names: readonly string[]): Promise<string[]> {
  const client = await connect(owner, 'rest', url)
  const status = await client.call('async_status')
  const ofFiles = await Promise.all(names.map((name) => client.call('async_status', { path: name })))
  const violations = ofFiles.filter((file) => !isIdle(file)).map((file) => `not idle: ${JSON.stringify(file)}`)
  const { active_locks: locks, queue_depth: waiting } = status
  if (locks.read + locks.write + waiting !== 0) violations.push(`locks or waiters are left: ${JSON.stringify(status)}`)
  const isOwn = (entry: string) => /^\.async-crud-mcp(\/|$)/.test(entry) && !entry.endsWith('.tmp')
  const isMade = (entry: string) => names.some((name) => name === entry || name.startsWith(`${entry}/`))
  const strangers = tree.all().filter((entry) => !isOwn(entry) && !isMade(entry))
  if (strangers.length > 0) violations.push(`files are left that nobody made: ${strangers.join(', ')}`)
  return violations
}

function isIdle(file: Answer): boolean {
  return file['lock_state'] === 'unlocked' && file['holders'].length === 0 && file['queue_depth'] === 0
}

/** The largest of this repository's own sources, by name. */
export function largestSources(count: number): Record<string, string> {
  const folder = installed('src')
  const names = (readdirSync(folder, { recursive: true }) as string[]).filter((name) => name.endsWith('.ts'))
  const sizes = new Map(names.map((name) => [name, statSync(join(folder, name)).size]))
  const largest = names.sort((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0)).slice(0, count)
  return Object.fromEntries(largest.map((name) => [withSlashes(name), readFileSync(join(folder, name), 'utf8')]))
}
