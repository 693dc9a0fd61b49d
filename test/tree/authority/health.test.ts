// What /health says while something is wrong that only a look can find, and how failures come through a relay.
import type { CalledOperation } from '../../../src/engine/call/context.ts'
import type { ChildProcess } from 'node:child_process'
import { renameSync, rmSync, symlinkSync } from 'node:fs'
import t, { type Test } from 'tap'
import { errorTable, type ErrorCode } from '../../../schemas/errors.ts'
import { meetAt } from '../../../src/tree/coordinator/meeting-point.ts'
import { openAddress } from '../../../src/tree/coordinator/address.ts'
import { createAuthorityServer } from '../../../src/tree/authority/authority-server.ts'
import { protocol } from '../../../src/tree/authority/messages.ts'
import { connectFirst } from '../../../src/tree/authority/relay.ts'
import { createByteBudget } from '../../../src/engine/budget/byte-budget.ts'
import { createStateDirectory } from '../../../src/tree/state/state-directory.ts'
import { thisProcess } from '../../../src/tree/state/state-file.ts'
import { OperationError, toOperationError } from '../../../src/errors.ts'
import { skipOnHosts } from '../../fixtures/behind.ts'
import { freePorts } from '../../fixtures/free-ports.ts'
import { copyProgram } from '../../fixtures/installation.ts'
import { call, cannotStop, healthOf, httpOn, memberOn, own, post, stdioOn } from '../../fixtures/processes.ts'
import { getHead, openUsed } from '../../fixtures/raw-http.ts'
import { runProgram, startProgram, startServer } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

const healthy = { status: 'healthy', degraded: { length: 0 } }
const degradedBy = (part: string, message: RegExp) => ({ status: 'degraded', degraded: [{ part, message }] })

/** Asks until the answer has this status: what is wrong has been there before. */
async function untilStatus(url: string, status: string): Promise<void> {
  await until(async () => (await healthOf(url))['status'] === status)
}

t.test('a root that is gone, or no folder any more, degrades /health until it is back', async (t) => {
  const tree = makeTree(t, { 'one/f': 'one', 'two/f': 'two', file: '' })
  const { url } = await startServer(t, [tree.path('one'), tree.path('two')])
  t.match(await healthOf(url), healthy)
  for (const root of ['one', 'two']) {
    renameSync(tree.path(root), tree.path('moved'))
    t.match(await healthOf(url), degradedBy('roots', new RegExp(`root .*/${root} is gone.*another --dir`)))
    symlinkSync(tree.path('moved'), tree.path(root))
    t.match(await healthOf(url), degradedBy('roots', /is gone/), 'a link is not followed')
    renameSync(tree.path(root), tree.path(`link-${root}`))
    renameSync(tree.path('moved'), tree.path(root))
    t.match(await healthOf(url), healthy)
  }
})

t.test('a root that is gone is told alike through a relay, by calls and by /health', async (t) => {
  const tree = makeTree(t, { 'root/f': 'one' })
  const root = { ...tree, root: tree.path('root') } as Tree
  const authority = await memberOn(t, root)
  const relay = await memberOn(t, root)
  const stdio = stdioOn(t, root)
  await call(stdio, 'async_read', { path: 'f' })
  renameSync(tree.path('root'), tree.path('moved'))
  for (const { url } of [authority, relay]) {
    t.match(await post(url, 'async_read', { path: 'f' }), { error_code: 'DIR_NOT_FOUND', message: /root .* is gone/ })
    t.match(await healthOf(url), { status: 'degraded' })
  }
  t.match(await call(stdio, 'async_append', { path: 'f', content: '' }), { error_code: 'DIR_NOT_FOUND' })
  renameSync(tree.path('moved'), tree.path('root'))
  for (const { url } of [authority, relay]) {
    t.match(await post(url, 'async_read', { path: 'f' }), { content: 'one' })
    await untilStatus(url, 'healthy')
  }
})

t.test('an authority that hangs degrades the /health of its relays', { skip: cannotStop }, async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const authority = await httpOn(t, tree)
  const relay = await memberOn(t, tree)
  t.match(await healthOf(relay.url), { ...healthy, role: 'relay' })
  authority.process.kill('SIGSTOP')
  const message = new RegExp(`Process ${authority.process.pid}, .* does not answer.*another one takes over`)
  t.match(await healthOf(relay.url), degradedBy('authority', message))
  authority.process.kill('SIGCONT')
  await untilStatus(relay.url, 'healthy')
  t.match(await post(relay.url, 'async_read', { path: 'f' }), { content: 'one' })
})

t.test(
  'a stream of events whose own request ends too late is closed, even while the authority hangs',
  { skip: cannotStop },
  async (t) => {
    const tree = makeTree(t, { f: 'one' })
    const authority = await httpOn(t, tree)
    const daemon = { header_timeout_seconds: 0.2, request_timeout_seconds: 0.3 }
    const { url } = await memberOn(t, tree, { daemon })
    t.match(await healthOf(url), { role: 'relay' })
    authority.process.kill('SIGSTOP')
    const connection = await openUsed(t, url)
    connection.write(getHead(url, '/events', 'content-length: 100'))
    await connection.closed
    t.match(await healthOf(url), { role: 'relay' }, 'before another process has taken over')
  }
)

t.test(
  'a state that the authority cannot write degrades its /health, and that of its relays',
  { skip: skipOnHosts.ownFiles },
  async (t) => {
    const tree = makeTree(t, { f: 'one' })
    const authority = await httpOn(t, tree)
    const relay = await memberOn(t, tree)
    const live = tree.path(`${own}/live`)
    renameSync(live, tree.path('moved'))
    // A file where the folder has to be: it cannot be made again.
    tree.write(`${own}/live`, '')
    t.match(await post(relay.url, 'lock_try', { filepaths: ['f'], agent_id: 'ann' }), { all_acquired: true })
    await untilStatus(authority.url, 'degraded')
    t.match(await healthOf(authority.url), degradedBy('persistence: journal', /live\/state cannot be written/))
    await untilStatus(relay.url, 'degraded')
    const message = new RegExp(`Process ${authority.process.pid}, .* cannot write the state of the tree`)
    t.match(await healthOf(relay.url), degradedBy('authority', message))
    rmSync(live)
    await untilStatus(authority.url, 'healthy')
    await untilStatus(relay.url, 'healthy')
  }
)

/** At the usual port another server of this machine may answer, of which doctor speaks, too. */
async function doctorOn(t: Test, { root }: Tree) {
  const [port] = await freePorts(1)
  return runProgram(['doctor', '--dir', root], { HOME: makeTree(t).root, ASYNC_CRUD_MCP_DAEMON__PORT: String(port) })
}

const starts: Readonly<Record<string, (t: Test, tree: Tree) => Promise<ChildProcess>>> = {
  http: async (t, tree) => (await httpOn(t, tree)).process,
  async stdio(t, tree) {
    const program = stdioOn(t, tree)
    await call(program, 'async_read', { path: 'f' })
    return program.process
  }
}

for (const [transport, start] of Object.entries(starts)) {
  t.test(
    `doctor fails while the process that serves the tree over ${transport} does not answer`,
    { skip: cannotStop || skipOnHosts.ownFiles },
    async (t) => {
      const tree = makeTree(t, { f: 'one' })
      const authority = await start(t, tree)
      t.notMatch((await doctorOn(t, tree)).stdout, /degraded|does not answer/)
      authority.kill('SIGSTOP')
      const said = new RegExp(`process ${authority.pid} runs on this tree.*does not answer`)
      t.match(await doctorOn(t, tree), { code: 1, stdout: said })
    }
  )
}

t.test(
  'doctor fails while a relay says that the authority hangs, or cannot write the state of the tree',
  { skip: cannotStop || skipOnHosts.ownFiles },
  async (t) => {
    const tree = makeTree(t, { f: 'one' })
    const authority = stdioOn(t, tree)
    await call(authority, 'async_read', { path: 'f' })
    const relay = await memberOn(t, tree)
    const { pid } = authority.process
    const isNamed = (what: RegExp) => ({ code: 1, stdout: new RegExp(`is degraded: authority: ${what.source}`) })
    await until(() => tree.read(`${own}/.mcp_server_state.json`).includes(relay.url))
    t.notMatch((await doctorOn(t, tree)).stdout, /degraded/)
    authority.process.kill('SIGSTOP')
    t.match(await doctorOn(t, tree), isNamed(new RegExp(`Process ${pid}, .* does not answer`)))
    authority.process.kill('SIGCONT')
    await untilStatus(relay.url, 'healthy')
    renameSync(tree.path(`${own}/live`), tree.path('moved'))
    tree.write(`${own}/live`, '')
    t.match(await post(relay.url, 'lock_try', { filepaths: ['f'], agent_id: 'ann' }), { all_acquired: true })
    await untilStatus(relay.url, 'degraded')
    t.match(await doctorOn(t, tree), isNamed(new RegExp(`Process ${pid}, .* cannot write the state of the tree`)))
  }
)

t.test('every failure goes through a relay unchanged', async (t) => {
  const tree = makeTree(t)
  const notices = { notices: [{ type: 'file_changed' }], further_notices: 3 } as never
  const failureOf = (code: ErrorCode) =>
    new OperationError(code, `about ${code}`, {
      path: 'a/b',
      details: { n: 1, list: ['x'] },
      jsonRpcCode: -32099
    }).withNotices(notices)
  const operationOf = (name: string): CalledOperation => ({ name, repeats: 'always', call: async () => ({}) })
  const fail = async ({ name }: CalledOperation) => {
    throw failureOf(name as ErrorCode)
  }
  const server = createAuthorityServer({
    engine: { call: fail } as never,
    findOperation: operationOf,
    budget: createByteBudget({ maxBytes: 1_000_000, maxWorkWaitMs: 0 }),
    names: () => [tree.root],
    knownAs: [],
    roots: [],
    settings: () => ({ crud: {}, locks: {} }),
    state: () => undefined,
    receipts: { lineage: undefined, onLineage() {} },
    onRelayLost: () => {},
    onMembersChange: () => {},
    onError: () => {}
  })
  const address = openAddress(tree.root, createStateDirectory(tree.root))
  const point = meetAt(address)
  await server.listen(point)
  const relay = await connectFirst(point.targets, {
    hello: {
      type: 'hello',
      protocol,
      roots: [tree.root],
      known_as: [],
      member: { ...thisProcess, transport: 'http', host: '', port: null },
      connections: []
    },
    signal: new AbortController().signal,
    silenceMs: () => 60_000
  })
  t.teardown(() => (relay.close(), server.stopListening(), server.close(), address.close()))
  for (const code of Object.keys(errorTable) as ErrorCode[]) {
    const expected = failureOf(code)
    const context = { caller: { transport: 'rest' }, signal: new AbortController().signal } as const
    const failure = await relay.call(operationOf(code), {}, context).catch((error: unknown) => error as OperationError)
    t.strictSame((failure as OperationError).toEnvelope(), expected.toEnvelope(), code)
    t.strictSame((failure as OperationError).jsonRpcCode, expected.jsonRpcCode)
    t.equal((failure as OperationError).httpStatus, errorTable[code].httpStatus)
  }
  const named = toOperationError(new OperationError('OVERLOADED', 'm', { jsonRpcCode: -1 }).withNotices(notices), 'p')
  t.match(named.toWire(), { path: 'p', jsonRpcCode: -1, notices }, 'nothing is lost where the path is added')
})

t.test('a part of the program that is away for a moment is told of, and used once it is back', async (t) => {
  const program = copyProgram(t)
  const lines = Array.from({ length: 60_000 }, (_, index) => `line ${index}\n`)
  const text = lines.join('')
  const tree = makeTree(t, { f: text })
  const { url } = await startProgram(t, ['--dir', tree.root], {}, [program.main])
  const late = { path: 'f', expected_hash: hashOf(text), content: '' }
  await post(url, 'async_read', { path: 'f' })
  tree.write('f', lines.map((line, index) => (index % 500 === 0 ? `changed ${line}` : line)).join(''))
  const pool = program.find('piscina')
  program.take(pool)
  t.match(await post(url, 'async_update', late), {
    status: 'contention',
    diff: { format: 'lines', coarse: true }
  })
  t.match(await healthOf(url), degradedBy('comparisons', /could not be loaded \(MODULE_NOT_FOUND\).*Install it again/))
  program.putBack(pool)
  t.match(await post(url, 'async_update', late), {
    status: 'contention',
    diff: { summary: { regions_changed: 120 } }
  })
  t.match(await healthOf(url), healthy)
})

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
}

t.test('MCP whose file is away at the start is told of, and served once it is back', async (t) => {
  const program = copyProgram(t)
  const tree = makeTree(t)
  const file = program.find('@modelcontextprotocol/server')
  program.take(file)
  const stdio = startStdio(t, ['--transport', 'dual', '--dir', tree.root], {
    through: ['sh', '-c', `node="$1"; shift 2; exec "$node" '${program.main}' "$@"`, 'sh']
  })
  const url = await stdio.url()
  const post = () =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify(initialize)
    })
  const refused = await post()
  t.equal(refused.status, 500)
  t.match(await refused.json(), { error: { message: /MCP could not be loaded.*Install it again/ } })
  t.match(await healthOf(url), degradedBy('mcp', /MCP could not be loaded/))
  stdio.send(initialize)
  t.match(await stdio.answer(1), { error: { code: -32603, message: /MCP could not be loaded/ } })
  program.putBack(file)
  t.equal((await post()).status, 200)
  t.match(await healthOf(url), healthy)
  const from = stdio.stdout.length
  stdio.send(initialize)
  t.match(await stdio.answer(1, from), { result: { serverInfo: { name: 'async-crud-mcp' } } })
})
