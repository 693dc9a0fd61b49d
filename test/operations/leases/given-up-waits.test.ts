// An agent that gives back what it holds is granted nothing afterwards that it asked for before.
import t, { type Test } from 'tap'
import { connect, transports, type TestClient } from '../../fixtures/clients.ts'
import { untilWaiting } from '../../fixtures/locks.ts'
import { call, httpOn, post, stdioOn, untilQueued } from '../../fixtures/processes.ts'
import { startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

const server = await startServer(t, makeTree(t).root)
/** Cuts the waits of MCP clients. */
const cutServer = await startServer(t, makeTree(t).root, { daemon: { mcp_wait_seconds: 0.05 } })
const keyOf = (name: string) => cutServer.app.files.resolve(name, 'target').key
const { locks } = server.app
let lastScene = 0

interface Scene {
  readonly ann: TestClient
  /** Ann over a connection of her own. */
  readonly other: TestClient
  readonly bob: TestClient
  readonly at: (name: string) => string
}

async function scene(t: Test, transport: (typeof transports)[number] = 'rest'): Promise<Scene> {
  lastScene += 1
  const number = lastScene
  const [ann, other, bob] = await Promise.all([
    connect(t, transport, server.url, `ann${number}`),
    connect(t, 'rest', server.url, `ann${number}`),
    connect(t, 'rest', server.url, `bob${number}`)
  ])
  return { ann, other, bob, at: (name) => `${name}${number}` }
}

const givenUp = { acquired: false, holder: /^bob/ }

for (const transport of transports) {
  t.test(`over ${transport}: lock_release_all ends the wait of its agent, from any connection`, async (t) => {
    const { ann, other, bob, at } = await scene(t, transport)
    await bob.call('lock_try', { filepaths: [at('b'), at('c')] })
    const wait = ann.call('lock_wait', { filepaths: [at('a'), at('b'), at('c')], timeout_seconds: 60 })
    await untilWaiting(server, 2)
    t.match(await other.call('lock_release_all'), { count: 1 })
    t.match(await wait, {
      status: 'ok',
      all_acquired: false,
      results: [{ acquired: false, holder: null }, givenUp, givenUp],
      ticket: undefined,
      message: /gave up .*meanwhile.*lock_release/
    })
    t.equal(locks.summary().waiting, 0)
    await bob.call('lock_release_all')
    t.equal(locks.summary().leases, 0, 'nothing is granted afterwards')
  })
}

t.test('lock_release ends the wait for the files that it names, and the wait for the others goes on', async (t) => {
  const { ann, other, bob, at } = await scene(t)
  await bob.call('lock_try', { filepaths: [at('b'), at('c')] })
  const wait = ann.call('lock_wait', { filepaths: [at('a'), at('b'), at('c')] })
  await untilWaiting(server, 2)
  t.match(await other.call('lock_release', { filepaths: [at('a'), at('b')] }), {
    results: [{ released: true }, { released: false }]
  })
  await bob.call('lock_release_all')
  t.match(await wait, {
    all_acquired: false,
    results: [{ acquired: false }, { acquired: false }, { acquired: true }],
    message: new RegExp(`${at('a')}, ${at('b')}`)
  })
  t.match(await ann.call('lock_release_all'), { count: 1 })
})

t.test('giving up one file of an all_or_nothing wait ends it, and takes none', async (t) => {
  const { ann, other, bob, at } = await scene(t)
  await bob.call('lock_try', { filepaths: [at('b'), at('c')] })
  const wait = ann.call('lock_wait', { filepaths: [at('a'), at('b'), at('c')], all_or_nothing: true })
  await untilWaiting(server, 2)
  await other.call('lock_release', { filepaths: [at('b')] })
  t.match(await wait, { all_acquired: false, message: /gave up .*meanwhile.*none was kept/ })
  t.match(locks.summary(), { waiting: 0, leases: 2 })
  await bob.call('lock_release_all')
})

t.test('who gives back a shared lease is not made its exclusive holder afterwards', async (t) => {
  const { ann, other, bob, at } = await scene(t)
  const filepaths = [at('f')]
  for (const agent of [ann, bob]) await agent.call('lock_try', { filepaths, mode: 'shared' })
  const wait = ann.call('lock_wait', { filepaths })
  await untilWaiting(server, 1)
  t.match(await other.call('lock_release', { filepaths }), { all_released: true })
  await bob.call('lock_release', { filepaths })
  t.match(await wait, { all_acquired: false })
  t.equal(locks.summary().leases, 0)
})

t.test('a wait that goes on with a ticket is ended too, and the ticket is void', async (t) => {
  for (const [operation, input] of [
    ['lock_release_all', {}],
    ['lock_release', { filepaths: ['a', 'b'] }]
  ] as const) {
    const bob = await connect(t, 'rest', cutServer.url, 'bob')
    const [cut, ann, other] = await Promise.all(
      (['mcp-2026', 'rest', 'rest'] as const).map((transport) => connect(t, transport, cutServer.url, 'ann'))
    )
    await bob.call('lock_try', { filepaths: ['b'] })
    const { ticket } = await cut!.call('lock_wait', { filepaths: ['a', 'b'] })
    const wait = ann!.call('lock_wait', { ticket })
    await until(() => !cutServer.app.locks.status(keyOf('b')).waiters.some(({ isParked }) => isParked))
    await other!.call(operation, input)
    t.match(await wait, { all_acquired: false, ticket: undefined }, operation)
    t.match(await ann!.call('lock_wait', { ticket }), { error_code: 'INVALID_REQUEST' })
    await bob.call('lock_release_all')
    t.match(cutServer.app.locks.summary(), { leases: 0, waiting: 0 })
  }
})

t.test('what another agent, or another request of the same agent after it, waits for goes on', async (t) => {
  const { ann, other, bob, at } = await scene(t)
  const filepaths = [at('f')]
  await bob.call('lock_try', { filepaths })
  const cat = await connect(t, 'rest', server.url, at('cat'))
  const waits = [ann.call('lock_wait', { filepaths }), cat.call('lock_wait', { filepaths })]
  await untilWaiting(server, 2)
  await other.call('lock_release_all')
  t.match(await waits[0], { all_acquired: false })
  const later = other.call('lock_wait', { filepaths })
  await untilWaiting(server, 2)
  await bob.call('lock_release', { filepaths })
  t.match(await waits[1], { all_acquired: true })
  await cat.call('lock_release_all')
  t.match(await later, { all_acquired: true })
  await other.call('lock_release_all')
})

t.test('a change that waits in the queue is not given up with the leases', async (t) => {
  const { ann, other, bob, at } = await scene(t)
  await bob.call('lock_try', { filepaths: [at('f')] })
  const write = ann.call('async_write', { path: at('f'), content: 'x' })
  await untilWaiting(server, 1)
  await other.call('lock_release_all')
  await bob.call('lock_release_all')
  t.match(await write, { status: 'ok' })
})

t.test('the wait of an agent in one process ends with its lock_release_all in another', async (t) => {
  const tree = makeTree(t, { f: '' })
  const authority = await httpOn(t, tree)
  const relay = stdioOn(t, tree)
  await post(authority.url, 'lock_try', { filepaths: ['f'], agent_id: 'bob' })
  const wait = call(relay, 'lock_wait', { filepaths: ['f'], agent_id: 'ann' })
  await untilQueued(authority.url, 'f', 1)
  await post(authority.url, 'lock_release_all', { agent_id: 'ann' })
  t.match(await wait, { all_acquired: false, message: /gave up .*meanwhile/ })
  await post(authority.url, 'lock_release_all', { agent_id: 'bob' })
  t.match(await post(authority.url, 'lock_status', { filepaths: ['f'], agent_id: 'ann' }), {
    results: [{ holder: null, queue_depth: 0 }]
  })
})
