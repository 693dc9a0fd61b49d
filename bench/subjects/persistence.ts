// Persistence: what it costs per call, beside the same server without it in the same rounds; and what a start with much to restore takes.
import { readdirSync } from 'node:fs'
import { copyProgram } from '../../test/fixtures/installation.ts'
import { makeTree } from '../../test/fixtures/tree.ts'
import { programPath, startProgram, type RunningProgram } from '../../test/fixtures/server.ts'
import { startStdio, type StdioProgram } from '../../test/fixtures/stdio.ts'
import { runLoad, warmUp, type Send } from '../load/load.ts'
import { withOwner, type Owner } from '../owner.ts'
import { RawConnection } from '../load/raw-connection.ts'
import { profileShare } from '../profile-share.ts'
import { median } from '../statistics.ts'
import { figure, percent, printTable, whole, type Row } from '../table.ts'

const rounds = 7
const journalRounds = 61
const profileMs = 15_000
const roundMs = 300
const connections = 10
const fileBytes = 10_000
/** Tracked files, and leases. */
const restored = 10_000
const filesPerCall = 1000

type Sides = Readonly<Record<'off' | 'on', readonly Send[]>>

export async function persistence(): Promise<void> {
  console.log('\n## persistence: the same calls with it and without it; files of 10 KB, 10 connections')
  await withOwner(measureJournal)
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
      const sides = { off: await senders(servers.off.url), on: await senders(servers.on.url) }
      rows.push(await compare(`${name}${name === 'async_update' ? `, durability ${durability}` : ''}`, sides))
    }
  }
  printTable('calls, over REST', ['call', 'off per s', 'p50 ms', 'on per s', 'p50 ms', 'on of off'], rows)
}

/**
 * What it costs a durable update that the state of the tree is in a journal while it is served, without any persistence: as a rate, for
 * which nothing else may run, and as a share of the time in which the engine is busy.
 */
async function measureJournal(owner: Owner): Promise<void> {
  const rows: Row[] = []
  const main = programWithoutJournal(owner)
  for (const durability of ['full', 'rename']) {
    const open = async (...program: string[]) => {
      const { url } = await serve(owner, 'false', durability, ...program)
      const opened = Array.from({ length: connections }, (_, index) => openUpdates(owner, url, index, false))
      const senders = await Promise.all(opened)
      await warmUp(senders)
      return senders
    }
    const loads = await inTurn(await open(main), await open())
    const rates = loads.map(({ off, on }) => on.perSecond / off.perSecond)
    rows.push([
      `async_update, durability ${durability}`,
      percent(median(rates)),
      percent(await journalShare(durability))
    ])
  }
  const columns = ['call', 'rate with of without', 'the journal, of the busy time']
  printTable('updates with the journal of the tree and without it, no persistence', columns, rows)
}

/** Many rounds, since a difference of a few percent shows no sooner; the side that goes first changes with each. */
async function inTurn(off: readonly Send[], on: readonly Send[]) {
  const loads = []
  for (let round = 0; round < journalRounds; round += 1) {
    const early = round % 2 === 0 ? undefined : await runLoad(on, roundMs)
    const without = await runLoad(off, roundMs)
    loads.push({ off: without, on: early ?? (await runLoad(on, roundMs)) })
  }
  return loads
}

async function journalShare(durability: string): Promise<number> {
  return withOwner(async (owner) => {
    const folder = makeTree(owner).root
    const program = ['--cpu-prof', `--cpu-prof-dir=${folder}`, programPath]
    const server = await serve(owner, 'false', durability, ...program)
    const opened = Array.from({ length: connections }, (_, index) => openUpdates(owner, server.url, index, false))
    await runLoad(await Promise.all(opened), profileMs)
    // The profile is written at the end.
    await server.stop()
    return profileShare(folder, 'src/tree/persistence/')
  })
}

/** @returns what Node runs: the program as it is, but for the journal, which is never opened */
function programWithoutJournal(owner: Owner): string {
  const copy = copyProgram(owner)
  const opening = 'await persistence.open(isContinued, epoch);'
  const chunks = readdirSync(copy.path('dist/chunks')).map((name) => `dist/chunks/${name}`)
  const part = chunks.find((name) => name.endsWith('.cjs') && copy.read(name).includes(opening))
  if (part === undefined) throw new Error(`no part of the program has ${opening}`)
  copy.write(part, copy.read(part).replace(opening, ''))
  return copy.main
}

/** What a receipt costs: the same calls on one server, with a request_id and without. */
async function measureNames(owner: Owner): Promise<void> {
  const { url } = await serve(owner, 'true', 'full')
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

/** @param program what Node runs, and its options before that */
async function serve(owner: Owner, enabled: string, durability: string, ...program: string[]): Promise<RunningProgram> {
  const { root } = makeTree(owner)
  const environment = {
    XDG_DATA_HOME: makeTree(owner).root,
    ASYNC_CRUD_MCP_PERSISTENCE__ENABLED: enabled,
    ASYNC_CRUD_MCP_CRUD__DURABILITY: durability
  }
  return startProgram(owner, ['--dir', root], environment, program.length === 0 ? [programPath] : program)
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
  const connection = await RawConnection.open(url, owner)
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
