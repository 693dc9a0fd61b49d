// Persistence: what it costs per call, beside the same server without it in the same rounds; and what a start with much to restore takes.
import { makeTree } from '../../test/fixtures/tree.ts'
import { startProgram } from '../../test/fixtures/server.ts'
import { startStdio, type StdioProgram } from '../../test/fixtures/stdio.ts'
import { runLoad, warmUp, type Send } from '../load/load.ts'
import { withOwner, type Owner } from '../owner.ts'
import { RawConnection } from '../load/raw-connection.ts'
import { median } from '../statistics.ts'
import { figure, percent, printTable, whole, type Row } from '../table.ts'

const rounds = 7
const roundMs = 300
const connections = 10
const fileBytes = 10_000
/** Tracked files, and leases. */
const restored = 10_000
const filesPerCall = 1000

type Sides = Readonly<Record<'off' | 'on', readonly Send[]>>

export async function persistence(): Promise<void> {
  console.log('\n## persistence: the same calls with it and without it; files of 10 KB, 10 connections')
  await withOwner(measureCalls)
  await withOwner(measureNames)
  await withOwner(measureStart)
}

async function measureCalls(owner: Owner): Promise<void> {
  const rows: Row[] = []
  for (const durability of ['full', 'rename']) {
    const servers = { off: await serve(owner, 'false', durability), on: await serve(owner, 'true', durability) }
    for (const [name, open] of Object.entries(kinds)) {
      if (durability === 'rename' && name !== 'async_update') continue
      const senders = async (url: string) =>
        Promise.all(Array.from({ length: connections }, (_, index) => open(owner, url, index)))
      const sides = { off: await senders(servers.off), on: await senders(servers.on) }
      rows.push(await compare(`${name}${name === 'async_update' ? `, durability ${durability}` : ''}`, sides))
    }
  }
  printTable('calls, over REST', ['call', 'off per s', 'p50 ms', 'on per s', 'p50 ms', 'on of off'], rows)
}

/** What a receipt costs: the same calls on one server, with a request_id and without. */
async function measureNames(owner: Owner): Promise<void> {
  const url = await serve(owner, 'true', 'full')
  const senders = (isNamed: boolean) =>
    Promise.all(Array.from({ length: connections }, (_, index) => openUpdates(owner, url, index, isNamed)))
  const row = await compare('async_update, durability full', { off: await senders(false), on: await senders(true) })
  const columns = ['call', 'unnamed per s', 'p50 ms', 'named per s', 'p50 ms', 'named of unnamed']
  printTable('calls with a request_id, with persistence', columns, [row])
}

async function compare(name: string, { off, on }: Sides): Promise<Row> {
  await warmUp(off)
  await warmUp(on)
  const loads: { off: number; on: number }[] = []
  const latencies = { off: [] as number[], on: [] as number[] }
  for (let round = 0; round < rounds; round += 1) {
    const without = await runLoad(off, roundMs)
    const with_ = await runLoad(on, roundMs)
    loads.push({ off: without.perSecond, on: with_.perSecond })
    latencies.off.push(...without.latenciesMs)
    latencies.on.push(...with_.latenciesMs)
  }
  return [
    name,
    whole(median(loads.map((load) => load.off))),
    figure(median(latencies.off)),
    whole(median(loads.map((load) => load.on))),
    figure(median(latencies.on)),
    percent(median(loads.map((load) => load.on / load.off)))
  ]
}

async function serve(owner: Owner, enabled: string, durability: string): Promise<string> {
  const { root } = makeTree(owner)
  const { url } = await startProgram(owner, ['--dir', root], {
    XDG_DATA_HOME: makeTree(owner).root,
    ASYNC_CRUD_MCP_PERSISTENCE__ENABLED: enabled,
    ASYNC_CRUD_MCP_CRUD__DURABILITY: durability
  })
  return url
}

type Open = (owner: Owner, url: string, index: number) => Promise<Send>

/** Of each kind of call, one sender of its own. */
const kinds: Readonly<Record<string, Open>> = {
  async async_read(owner, url, index) {
    const call = await connect(owner, url)
    await call('async_write', { path: `read-${index}.txt`, content: textOf(0) })
    return () => call('async_read', { path: `read-${index}.txt` })
  },
  async_update: (owner, url, index) => openUpdates(owner, url, index, false),
  async 'lock_try, lock_release'(owner, url, index) {
    const call = await connect(owner, url)
    const input = { filepaths: [`lock-${index}.txt`], agent_id: `agent-${index}` }
    return async () => {
      await call('lock_try', input)
      await call('lock_release', input)
    }
  }
}

async function openUpdates(owner: Owner, url: string, index: number, isNamed: boolean): Promise<Send> {
  const call = await connect(owner, url)
  const path = `update-${isNamed}-${index}.txt`
  let { hash } = await call('async_write', { path, content: textOf(index) })
  let version = 0
  return async () => {
    version += 1
    const content = textOf(version * connections + index)
    const named = isNamed && { request_id: `update ${version}` }
    const input = { path, expected_hash: hash, content, agent_id: `agent-${index}`, ...named }
    ;({ hash } = await call('async_update', input))
  }
}

/** Every version is another one. */
function textOf(version: number): string {
  return `${version}\n`.padEnd(fileBytes, 'some words of a line of text, and a number to it\n')
}

async function connect(owner: Owner, url: string) {
  const connection = await RawConnection.open(url)
  owner.teardown(() => connection.close())
  const { host } = new URL(url)
  return async (name: string, input: object): Promise<{ hash?: string }> => {
    const body = JSON.stringify(input)
    const head = `POST /${name} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n`
    const { status, body: answer } = await connection.send(
      Buffer.from(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    )
    if (status !== 200) throw new Error(`${status} ${answer.toString()}`)
    return JSON.parse(answer.toString()) as { hash?: string }
  }
}

async function measureStart(owner: Owner): Promise<void> {
  const names = Array.from({ length: restored }, (_, index) => `f${index}.txt`)
  const tree = makeTree(owner, Object.fromEntries(names.map((name) => [name, `${name}\n`])))
  const environment = { XDG_DATA_HOME: makeTree(owner).root, ASYNC_CRUD_MCP_PERSISTENCE__ENABLED: 'true' }
  const start = () => startStdio(owner, ['--transport', 'stdio', '--dir', tree.root], { environment })
  const empty = await firstCallMs(start())
  const filler = start()
  for (let first = 0; first < restored; first += filesPerCall) {
    const some = names.slice(first, first + filesPerCall)
    await filler.call('async_batch_read', { files: some.map((path) => ({ path })) })
    await filler.call('lock_try', { filepaths: some, agent_id: 'agent', ttl_seconds: 3600 })
  }
  await filler.end('SIGTERM')
  const full = await firstCallMs(start())
  const rows = [
    ['nothing', figure(empty)],
    [`${whole(restored)} tracked files and as many leases`, figure(full)]
  ]
  printTable('the first call of a new authority, after it is loaded', ['what is restored', 'ms'], rows)
}

/** From the first call that needs the tree to its answer: the program is loaded by then. */
async function firstCallMs(program: StdioProgram): Promise<number> {
  // Answered without joining the tree.
  await program.call('get_server_info', {})
  const start = performance.now()
  await program.call('async_status', {})
  const ms = performance.now() - start
  await program.end('SIGKILL')
  return ms
}
