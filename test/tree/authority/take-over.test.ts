// Clients that each start a process of their own, as an IDE does, work on one tree while its authority is killed again and again.
import { spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { withResolvers } from '../../../src/support/with-resolvers.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { lengthOf } from '../../fixtures/length.ts'
import { startCurl, startHttpClient, startStdioClient, type Call, type OwnProcess } from './fixtures/own-process.ts'

interface Worker {
  readonly name: string
  readonly start: () => Promise<OwnProcess>
  /** Each of its calls runs a process, so it is too slow to send a hash that is still current. */
  readonly isSlow?: boolean
  process: OwnProcess
  /** Made right before the harness kills the process; resolves with the next one. */
  successor?: ReturnType<typeof withResolvers<OwnProcess>> | undefined
  /** Lines that were answered to be in the files. */
  readonly acknowledged: string[]
  /** When the last call that the engine has answered was sent, and answered, by performance.now(). */
  answered: { readonly sentAt: number; readonly at: number }
}

const files = ['a.txt', 'b.txt', 'c.txt', 'd.txt']
const kills = lengthOf({ full: 5, short: 1 })
/** Each worker adds at least so many lines between two kills. */
const rounds = lengthOf({ full: 6, short: 2 })
/** How many clients of each era have a process over standard input. */
const stdioClients = lengthOf({ full: 3, short: 1 })
const hasCurl = spawnSync('curl', ['--version']).status === 0
const retryable = ['contention', 'OVERLOADED', 'LOCK_TIMEOUT', 'AUTHORITY_LOST']

function startWorkers(t: Test, tree: Tree): Promise<Worker[]> {
  const kinds = [
    ...Array.from({ length: stdioClients }, (_, n) => [
      { name: `modern-${n}`, start: () => startStdioClient(t, 'modern', tree) },
      { name: `legacy-${n}`, start: () => startStdioClient(t, 'legacy', tree) }
    ]).flat(),
    { name: 'http-2026', start: () => startHttpClient(t, 'mcp-2026', tree) },
    { name: 'http-2025', start: () => startHttpClient(t, 'mcp-2025', tree) },
    ...(hasCurl ? [{ name: 'curl', isSlow: true, start: () => startCurl(t, tree) }] : [])
  ]
  if (!hasCurl) t.comment('skipped: the client that is curl; install curl to see it')
  return Promise.all(
    kinds.map(async (kind) => ({
      ...kind,
      process: await kind.start(),
      acknowledged: [],
      answered: { sentAt: 0, at: 0 }
    }))
  )
}

/** The connection to the process is lost, or its client has failed. */
class CallFailure extends Error {}

/** Adds one line to a file, in as many attempts as it takes. @throws CallFailure where the process does not answer */
async function addLine(worker: Worker, file: string, line: string): Promise<void> {
  const call: Call = async (name, input) => {
    const sentAt = performance.now()
    const answer = await worker.process.call(name, { path: file, agent_id: worker.name, ...input }).catch((cause) => {
      throw new CallFailure(`${name} of ${worker.name} failed`, { cause })
    })
    if (answer['status'] !== 'error') worker.answered = { sentAt, at: performance.now() }
    return answer
  }
  for (;;) {
    // Whether a change was made by an authority that is gone, the file tells.
    const known = await call('async_read', {})
    if (known['status'] !== 'ok') throw new Error(`${worker.name} could not read: ${JSON.stringify(known)}`)
    if (String(known['content']).includes(`${line}\n`)) break
    const answer =
      worker.isSlow === true
        ? await call('async_append', { content: `${line}\n` })
        : await call('async_update', { expected_hash: known['hash'], content: `${known['content']}${line}\n` })
    if (answer['status'] === 'ok') break
    if (!retryable.includes((answer['error_code'] ?? answer['status']) as string))
      throw new Error(`${worker.name} could not write: ${JSON.stringify(answer)}`)
  }
  worker.acknowledged.push(`${file} ${line}`)
}

/** Where the harness has killed the process, waits for the next one. @throws Error with all that is known where it has not */
async function outlive(worker: Worker, failure: CallFailure): Promise<void> {
  const { process: lost, successor } = worker
  if (successor === undefined) {
    throw new Error(
      `${worker.name} lost process ${lost.pid}, which the harness has not killed and which ${isRunning(lost.pid) ? 'still runs' : 'has ended'}: ${inspect(failure.cause)}\nstderr:\n${lost.stderr()}`
    )
  }
  worker.process = await successor.promise
  worker.successor = undefined
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function authorityOf(workers: readonly Worker[]): Promise<number> {
  const url = workers.find(({ process }) => process.url !== undefined)?.process.url as string
  return ((await (await fetch(`${url}/health`)).json()) as { authority_pid: number }).authority_pid
}

/** All workers add lines until `act` is over. What fails for one ends it for all. */
async function whileWorking(workers: readonly Worker[], act: (until: Until) => Promise<void>): Promise<void> {
  const changes = new EventEmitter().setMaxListeners(0)
  const over = new AbortController()
  const work = async (worker: Worker) => {
    for (let count = 0; !over.signal.aborted; count += 1) {
      try {
        await addLine(worker, files[count % files.length] as string, `${worker.name} ${count}`)
      } catch (error) {
        if (!(error instanceof CallFailure)) throw error
        await outlive(worker, error)
      }
      changes.emit('change')
    }
  }
  const working = Promise.all(workers.map(work))
  const until: Until = async (condition) => {
    while (!condition()) await Promise.race([working, once(changes, 'change')])
  }
  try {
    await Promise.race([working, act(until)])
  } finally {
    over.abort()
  }
  await working
}

type Until = (condition: () => boolean) => Promise<void>

/** @returns milliseconds from the kill until each of the others had an answer to a call sent after it */
async function killAuthority(t: Test, workers: readonly Worker[], until: Until): Promise<number> {
  const authority = await authorityOf(workers)
  const victim = workers.find(({ process }) => process.pid === authority) as Worker
  t.ok(victim, `the authority is the process of one client, ${victim.name}`)
  const survivors = workers.filter((worker) => worker !== victim)
  victim.successor = withResolvers()
  const killedAt = performance.now()
  process.kill(authority, 'SIGKILL')
  await until(() => survivors.every(({ answered }) => answered.sentAt > killedAt))
  const times = survivors.map(({ answered }) => answered.at)
  victim.successor.resolve(await victim.start())
  await until(() => victim.successor === undefined)
  return Math.round(Math.max(...times) - killedAt)
}

t.test(
  `the authority is killed ${kills} times under ${2 * stdioClients + 3} clients: no line is lost, and all go on`,
  async (t) => {
    const tree = makeTree(t, Object.fromEntries(files.map((file) => [file, 'start\n'])))
    const workers = await startWorkers(t, tree)
    const delays: number[] = []
    await whileWorking(workers, async (until) => {
      for (let kill = 1; kill <= kills; kill += 1) {
        const counts = new Map(workers.map((worker) => [worker, worker.acknowledged.length]))
        await until(() => workers.every((worker) => worker.acknowledged.length >= counts.get(worker)! + rounds))
        delays.push(await killAuthority(t, workers, until))
      }
    })
    t.comment(`until a call of every other client was answered again, in ms: ${delays.join(', ')}`)
    const linesOf = (file: string) => tree.read(file).trimEnd().split('\n').slice(1)
    const lines = files.flatMap((file) => linesOf(file).map((line) => `${file} ${line}`))
    const missing = workers.flatMap(({ acknowledged }) => acknowledged).filter((line) => !lines.includes(line))
    t.strictSame(missing, [], 'what was acknowledged is there')
    t.equal(new Set(lines).size, lines.length, 'nothing is there twice')
    t.ok(lines.length >= workers.length * kills * rounds, `${lines.length} lines`)
  }
)
