// Clients that each start a process of their own, as an IDE does, work on one tree while its authority is killed again and again.
import { spawn, spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import t, { type Test } from 'tap'
import { connect, type Answer } from '../fixtures/clients.ts'
import { programPath, startProgram } from '../fixtures/server.ts'
import { makeTree, type Tree } from '../fixtures/tree.ts'

type Call = (name: string, input: object) => Promise<Answer>

/** A process that a client has started, and the client. */
interface Started {
  readonly pid: number
  /** Where it listens, if it does. */
  readonly url?: string
  readonly call: Call
}

interface Worker {
  readonly name: string
  readonly start: () => Promise<Started>
  /** Each of its calls is a process: it would come too late for every version. */
  readonly isSlow?: boolean
  started: Started | undefined
  /** What it was told is in the files. */
  readonly acknowledged: string[]
  /** When the last call that the engine has answered was sent, and answered, by performance.now(). */
  answered: { readonly sentAt: number; readonly at: number }
}

const files = ['a.txt', 'b.txt', 'c.txt', 'd.txt']
const kills = 5
/** Each worker is told so often between two kills, at least. */
const rounds = 6
const hasCurl = spawnSync('curl', ['--version']).status === 0
const retryable = ['OVERLOADED', 'LOCK_TIMEOUT']

async function startStdioClient(t: Test, era: 'modern' | 'legacy', tree: Tree): Promise<Started> {
  const parameters = {
    command: process.execPath,
    args: [programPath, '--transport', 'stdio', '--dir', tree.root],
    env: { ASYNC_CRUD_MCP_CONFIG: '' },
    stderr: 'ignore' as const
  }
  if (era === 'modern') {
    const client = new ModernClient({ name: 'modern', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    const transport = new ModernStdio(parameters)
    await client.connect(transport)
    t.teardown(() => client.close())
    const call: Call = async (name, input) =>
      (await client.callTool({ name, arguments: { ...input } }, { timeout: 60_000 })).structuredContent as Answer
    return { pid: transport.pid as number, call }
  }
  const client = new LegacyClient({ name: 'legacy', version: '1' })
  const transport = new LegacyStdio(parameters)
  await client.connect(transport)
  t.teardown(() => client.close())
  const call: Call = async (name, input) =>
    (await client.callTool({ name, arguments: { ...input } }, undefined, { timeout: 60_000 }))
      .structuredContent as Answer
  return { pid: transport.pid as number, call }
}

async function startHttpClient(t: Test, era: 'mcp-2026' | 'mcp-2025', tree: Tree): Promise<Started> {
  const program = await startProgram(t, ['--dir', tree.root])
  const client = await connect(t, era, program.url)
  return { pid: program.process.pid as number, url: program.url, call: (name, input) => client.call(name, input) }
}

/** Every call is a curl of its own. */
async function startCurl(t: Test, tree: Tree): Promise<Started> {
  const program = await startProgram(t, ['--dir', tree.root])
  const call: Call = async (name, input) => {
    const args = ['-s', '--fail-with-body', '-X', 'POST', '-H', 'Content-Type: application/json', '-d', '@-']
    const curl = spawn('curl', [...args, `${program.url}/${name}`], { stdio: ['pipe', 'pipe', 'ignore'] })
    let output = ''
    curl.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    curl.stdin.end(JSON.stringify(input))
    await once(curl, 'close')
    if (output === '') throw new Error('curl got no answer')
    return JSON.parse(output) as Answer
  }
  return { pid: program.process.pid as number, url: program.url, call }
}

/** Adds one line to a file, as often as it takes. @returns false where the process has gone under it */
async function addLine(worker: Worker, started: Started, file: string, line: string): Promise<boolean> {
  const call: Call = async (name, input) => {
    const sentAt = performance.now()
    const answer = await started.call(name, input)
    if (answer['status'] !== 'error') worker.answered = { sentAt, at: performance.now() }
    return answer
  }
  try {
    let known = await call('async_read', { path: file, agent_id: worker.name })
    for (;;) {
      if (known['status'] !== 'ok') throw new Error(JSON.stringify(known))
      if (String(known['content']).includes(`${line}\n`)) break
      const common = { path: file, agent_id: worker.name }
      const answer =
        worker.isSlow === true
          ? await call('async_append', { ...common, content: `${line}\n` })
          : await call('async_update', {
              ...common,
              expected_hash: known['hash'],
              content: `${known['content']}${line}\n`
            })
      if (answer['status'] === 'ok') break
      const isKnown =
        answer['status'] === 'contention' || [...retryable, 'AUTHORITY_LOST'].includes(answer['error_code'] as string)
      if (!isKnown) throw new Error(JSON.stringify(answer))
      // Whether a change was made by an authority that is gone, the file tells.
      known = await call('async_read', { path: file, agent_id: worker.name })
    }
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('{')) throw error
    return false
  }
  worker.acknowledged.push(`${file} ${line}`)
  return true
}

async function authorityOf(workers: readonly Worker[]): Promise<number> {
  const url = workers.find(({ started }) => started?.url !== undefined)?.started?.url as string
  return ((await (await fetch(`${url}/health`)).json()) as { authority_pid: number }).authority_pid
}

t.test(
  'the authority is killed five times under nine clients: no line is lost, and all go on within a second',
  async (t) => {
    const tree = makeTree(t, Object.fromEntries(files.map((file) => [file, 'start\n'])))
    const workers: Worker[] = [
      ...[1, 2, 3].map((n) => ({ name: `modern-${n}`, start: () => startStdioClient(t, 'modern', tree) })),
      ...[1, 2, 3].map((n) => ({ name: `legacy-${n}`, start: () => startStdioClient(t, 'legacy', tree) })),
      { name: 'http-2026', start: () => startHttpClient(t, 'mcp-2026', tree) },
      { name: 'http-2025', start: () => startHttpClient(t, 'mcp-2025', tree) },
      ...(hasCurl ? [{ name: 'curl', isSlow: true, start: () => startCurl(t, tree) }] : [])
    ].map((worker) => ({ ...worker, started: undefined, acknowledged: [], answered: { sentAt: 0, at: 0 } }))
    if (!hasCurl) t.comment('skipped: the client that is curl; install curl to see it')
    await Promise.all(workers.map(async (worker) => (worker.started = await worker.start())))

    const changes = new EventEmitter().setMaxListeners(0)
    const over = new AbortController()
    const work = workers.map(async (worker) => {
      for (let count = 0; !over.signal.aborted; count += 1) {
        const { started } = worker
        // Its process was killed: the harness starts another once the others have shown that they go on.
        if (started === undefined) await once(changes, 'change')
        else if (!(await addLine(worker, started, files[count % files.length] as string, `${worker.name} ${count}`)))
          worker.started = undefined
        changes.emit('change')
      }
    })
    const worked = Promise.all(work)
    async function until(condition: () => boolean): Promise<void> {
      while (!condition()) await Promise.race([worked, once(changes, 'change')])
    }

    const delays: number[] = []
    for (let kill = 1; kill <= kills; kill += 1) {
      const counts = new Map(workers.map((worker) => [worker, worker.acknowledged.length]))
      await until(() =>
        workers.every((worker) => worker.acknowledged.length >= (counts.get(worker) as number) + rounds)
      )
      const authority = await authorityOf(workers)
      const victim = workers.find(({ started }) => started?.pid === authority) as Worker
      t.ok(victim, `kill ${kill}: the authority is the process of one client, ${victim.name}`)
      const survivors = workers.filter((worker) => worker !== victim)
      const killedAt = performance.now()
      process.kill(authority, 'SIGKILL')
      await until(() => survivors.every(({ answered }) => answered.sentAt > killedAt))
      const times = survivors.map(({ answered }) => answered.at)
      delays.push(Math.round(Math.max(...times) - killedAt))
      await until(() => victim.started === undefined)
      victim.started = await victim.start()
      changes.emit('change')
    }
    over.abort()
    changes.emit('change')
    await worked

    t.comment(`until a call of every other client was answered again, in ms: ${delays.join(', ')}`)
    t.ok(Math.max(...delays) < 1000, `${delays.join(', ')} ms`)
    const lines = files.flatMap((file) =>
      tree
        .read(file)
        .trimEnd()
        .split('\n')
        .slice(1)
        .map((line) => `${file} ${line}`)
    )
    t.strictSame(
      workers.flatMap(({ acknowledged }) => acknowledged).filter((line) => !lines.includes(line)),
      [],
      'what was acknowledged is there'
    )
    t.equal(new Set(lines).size, lines.length, 'nothing is there twice')
    t.ok(lines.length >= workers.length * kills * rounds, `${lines.length} lines`)
  }
)
