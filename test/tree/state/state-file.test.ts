// The state file: what it says, who believes it, and when it goes, with the real program.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync, symlinkSync } from 'node:fs'
import { basename } from 'node:path'
import t from 'tap'
import { startOf } from '../../../src/support/process-identity.ts'
import type { ServerState } from '../../../src/tree/state/server-state.ts'
import { createStateFile, findServer, thisProcess } from '../../../src/tree/state/state-file.ts'
import { connect, type Answer } from '../../fixtures/clients.ts'
import { runProgram, startProgram } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { lengthOf } from '../../fixtures/length.ts'

const file = '.async-crud-mcp/.mcp_server_state.json'
const isLinux = process.platform === 'linux'

async function stateOf(tree: Tree): Promise<ServerState> {
  // Written just after the program says that it listens.
  await until(() => existsSync(tree.path(file)))
  return JSON.parse(tree.read(file)) as ServerState
}

/** A state as this process would write it, with some fields changed. */
function plant(tree: Tree, changes: object): void {
  createStateFile(tree.root).write({ ...thisProcess, transport: 'http', host: '127.0.0.1', port: 8720 })
  tree.write(file, JSON.stringify({ ...(JSON.parse(tree.read(file)) as object), ...changes }))
}

for (const [transport, how] of [
  ['http', 'SIGTERM'],
  ['dual', undefined]
] as const) {
  t.test(
    `over ${transport} the program says where it is, and takes it back with ${how ?? 'the end of stdin'}`,
    async (t) => {
      const tree = makeTree(t, { 'src/deep/f': 'x' })
      const since = Date.now()
      // A program on stdin and stdout ends with its stdin.
      const program = startStdio(t, ['--dir', tree.root, '--transport', transport])
      const url = await program.url()
      const state = await stateOf(tree)
      t.match(state, {
        version: '1.0.0',
        transport,
        port: Number(new URL(url).port),
        host: '127.0.0.1',
        path: '/mcp',
        url: `${url}/mcp`,
        pid: program.process.pid,
        project: { name: basename(tree.root), root: tree.root }
      })
      const startedAt = Date.parse(state.started_at)
      t.ok(since - 1 <= startedAt && startedAt <= Date.now(), state.started_at)
      t.equal((await fetch(String(state.url).replace('/mcp', '/health'))).status, 200)
      if (process.platform !== 'win32') t.equal(statSync(tree.path(file)).mode & 0o777, 0o600)
      for (const folder of ['', 'src/deep', 'src/not/there/yet']) t.strictSame(findServer(tree.path(folder)), state)
      t.equal((await program.end(how)).code, 0)
      t.strictSame(tree.own(), ['.gitignore'])
      t.equal(findServer(tree.path('src')), undefined)
    }
  )
}

t.test(
  'three servers started at the same instant get three ports, and each answers from the moment its file is there',
  async (t) => {
    const trees = [1, 2, 3].map(() => makeTree(t, { f: 'one' }))
    const programs = trees.map((tree) => startStdio(t, ['--dir', tree.root, '--transport', 'http']))
    const answers = trees.map(async (tree, index) => {
      const { url, pid } = await stateOf(tree)
      t.equal(pid, programs[index]?.process.pid)
      const client = await connect(t, index === 0 ? 'mcp-2025' : 'mcp-2026', String(url).replace('/mcp', ''))
      t.match(await client.call('async_read', { path: 'f' }), { content: 'one' })
      return url
    })
    t.equal(new Set(await Promise.all(answers)).size, 3)
  }
)

t.test(
  'stdin and HTTP of one process share one engine: many calls over each, interleaved, are all answered',
  async (t) => {
    const count = lengthOf({ full: 200, short: 30 })
    const tree = makeTree(t, { f: '' })
    const program = startStdio(t, ['--dir', tree.root, '--transport', 'dual'])
    const http = await connect(t, 'mcp-2025', await program.url())
    const answers = await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const input = { path: 'f', content: `${index},`, agent_id: `agent ${index % 7}` }
        return index % 2 === 0
          ? http.call('async_append', input)
          : ((await program.call('async_append', input)).result as Answer)
      })
    )
    for (const answer of answers) t.match(answer, { status: 'ok' })
    const added = tree.read('f').split(',').slice(0, -1).map(Number)
    t.strictSame(
      added.toSorted((one, other) => one - other),
      Array.from({ length: count }, (_, index) => index)
    )
    const { messages } = await program.end()
    t.equal(messages.length, count / 2, 'standard output has the answers and nothing else')
    t.ok(messages.every(({ jsonrpc }) => jsonrpc === '2.0'))
  }
)

t.test('over stdio alone nothing is written before the first call, and then that there is no address', async (t) => {
  const tree = makeTree(t, { f: 'x' })
  const program = startStdio(t, ['--dir', tree.root, '--transport', 'stdio'])
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  t.match(await program.call('initialize', params), { result: { serverInfo: { name: 'async-crud-mcp' } } })
  t.strictSame(tree.own(), [])
  await program.call('list_files', {})
  t.match(await stateOf(tree), { transport: 'stdio', port: null, url: null, pid: program.process.pid })
  t.match(findServer(tree.root), { url: null })
  t.equal((await program.end()).code, 0)
  t.strictSame(tree.own(), ['.gitignore'])
})

t.test(
  'the file of a killed program is not believed, the next one replaces it, and takes it back with SIGINT',
  async (t) => {
    const tree = makeTree(t)
    const first = await startProgram(t, ['--dir', tree.root])
    await stateOf(tree)
    await first.stop('SIGKILL')
    t.ok(existsSync(tree.path(file)))
    t.equal(findServer(tree.root), undefined)
    const second = await startProgram(t, ['--dir', tree.root])
    await until(async () => (await stateOf(tree)).pid === second.process.pid)
    t.equal(findServer(tree.root)?.url, `${second.url}/mcp`)
    t.equal((await second.stop('SIGINT')).code, 0)
    t.strictSame(tree.own(), ['.gitignore'])
  }
)

t.test('a second program leaves the file of the first alone, and writes its own when it takes over', async (t) => {
  const tree = makeTree(t)
  const first = await startProgram(t, ['--dir', tree.root])
  t.equal((await stateOf(tree)).pid, first.process.pid)
  const second = await startProgram(t, ['--dir', tree.root])
  await fetch(`${second.url}/locks`)
  t.equal((await stateOf(tree)).pid, first.process.pid)
  await first.stop()
  await until(async () => (await stateOf(tree)).pid === second.process.pid)
  t.equal((await stateOf(tree)).url, `${second.url}/mcp`)
  await second.stop()
  t.notOk(existsSync(tree.path(file)))
})

t.test('where the folder is a link the program ends with one line and follows nothing', async (t) => {
  const elsewhere = makeTree(t)
  const tree = makeTree(t, { f: 'one' })
  symlinkSync(elsewhere.root, tree.path('.async-crud-mcp'), 'junction')
  const { code, stderr } = await runProgram(['--dir', tree.root, '--log-level', 'silent'])
  t.equal(code, 1)
  t.match(stderr, /^async-crud-mcp: .*is a symbolic link: remove it\n$/)
  t.strictSame(elsewhere.all(), [])
})

t.test('an address that stands for every interface is written as the one to connect to', (t) => {
  const tree = makeTree(t)
  const written = (host: string) => {
    const state = createStateFile(tree.root)
    state.write({ ...thisProcess, transport: 'http', host, port: 8720 })
    return state.read()
  }
  t.match(written('0.0.0.0'), { host: '127.0.0.1', url: 'http://127.0.0.1:8720/mcp' })
  t.match(written('::'), { host: '::1', url: 'http://[::1]:8720/mcp' })
  t.match(written('localhost'), { url: 'http://localhost:8720/mcp' })
  t.end()
})

t.test('only what a server on this machine would write is believed', (t) => {
  const tree = makeTree(t)
  plant(tree, {})
  t.match(findServer(tree.root), { pid: process.pid })
  const faults: object[] = [
    { version: '2.0.0' },
    { transport: 'stdio' },
    { port: 0 },
    { port: '8720' },
    { host: 'example.org', url: 'http://example.org:8720/mcp' },
    { host: '127.0.0.1.example.org', url: 'http://127.0.0.1.example.org:8720/mcp' },
    { host: '203.0.113.7', url: 'http://203.0.113.7:8720/mcp' },
    { url: 'http://example.org:8720/mcp' },
    { url: 'http://127.0.0.1:8720/other' },
    { path: '/other' },
    { pid: 0 },
    { pid: -1 },
    { pid: 2 ** 40 },
    { started_at: 'yesterday' },
    { process_start: 5 },
    { project: null },
    { project: { name: 'x' } }
  ]
  for (const fault of faults) {
    plant(tree, fault)
    t.equal(findServer(tree.root), undefined, JSON.stringify(fault))
  }
  for (const text of ['', 'null', '[]', '{"version":', 'x'.repeat(100_000)]) {
    tree.write(file, text)
    t.equal(findServer(tree.root), undefined)
  }
  t.end()
})

t.test('a pid that was given again is not the server', { skip: !isLinux && 'Linux tells starts' }, async (t) => {
  const tree = makeTree(t)
  const other = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] })
  t.teardown(() => other.kill('SIGKILL'))
  await once(other, 'spawn')
  const { pid } = other
  const start = startOf(Number(pid))
  t.type(start, 'string')
  plant(tree, { pid, process_start: start })
  t.match(findServer(tree.root), { pid })
  plant(tree, { pid, process_start: startOf(process.pid) })
  t.equal(findServer(tree.root), undefined)
  plant(tree, { pid, process_start: null })
  t.match(findServer(tree.root), { pid }, 'where the system did not tell, the pid must do')
})

t.test('a broken or stale file below does not hide a server above', (t) => {
  const tree = makeTree(t, { 'one/two/f': 'x' })
  plant(tree, {})
  tree.write(`one/${file}`, 'broken')
  t.match(findServer(tree.path('one/two')), { project: { root: tree.root } })
  const link = makeTree(t)
  symlinkSync(tree.path('one/two'), link.path('shortcut'), 'junction')
  t.match(findServer(link.path('shortcut')), { project: { root: tree.root } }, 'through a link to the folder')
  t.end()
})
