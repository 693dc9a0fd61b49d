// The state belongs to the tree: leases, tokens and places outlive the process that happens to serve it.
import { existsSync, rmSync } from 'node:fs'
import t, { type Test } from 'tap'
import { skipOnHosts } from '../../fixtures/behind.ts'
import { connect, type Answer } from '../../fixtures/clients.ts'
import {
  call,
  cannotStop,
  httpOn,
  memberOn,
  own,
  post,
  stdioOn,
  stopProcess,
  untilDepthOf,
  untilQueued
} from '../../fixtures/processes.ts'
import { someOf } from '../../fixtures/length.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

t.setTimeout(300_000)

const ends = [undefined, 'SIGTERM', 'SIGKILL'] as const
const wait = (agent: string) => ({ filepaths: ['a.txt'], agent_id: agent, timeout_seconds: 20 })
const take = (agent: string, path = 'a.txt') => ({ filepaths: [path], agent_id: agent })
const nameOf = (how: (typeof ends)[number]) => how ?? 'the end of its standard input'

/** @param graceSeconds how long a lease waits for its connection after a take-over */
function windowOn(t: Test, tree: Tree, graceSeconds: number, environment: Record<string, string> = {}) {
  return startStdio(t, ['--transport', 'stdio', '--dir', tree.root], {
    environment: {
      ASYNC_CRUD_MCP_LOCKS__RECONNECT_GRACE_SECONDS: String(graceSeconds),
      ASYNC_CRUD_MCP_CRUD__MAX_TIMEOUT: '250',
      ...environment
    }
  })
}

/** What the agent itself is told, since the tokens of others are not shown. */
async function leaseOf(program: ReturnType<typeof stdioOn>, agent: string, path = 'a.txt'): Promise<Answer> {
  return (await call(program, 'lock_status', { filepaths: [path], agent_id: agent }))['results'][0] as Answer
}

for (const how of someOf([undefined, 'SIGTERM'] as const, 1)) {
  t.test(
    `the holder's window serves the tree and ends by ${nameOf(how)}: one waiter is granted, and the other waits on`,
    async (t) => {
      const tree = makeTree(t, { 'a.txt': 'one\n' })
      // Longer than the test: the end of a connection is told, not found out.
      const window = () => windowOn(t, tree, 600)
      const [first, second, third] = [window(), window(), window()]
      t.match(await call(first, 'lock_try', take('ann')), { all_acquired: true })
      await call(second, 'async_read', { path: 'a.txt' })
      // Only looks: its process must not become the authority, and be asked after it has gone.
      const bob = call(second, 'lock_wait', wait('bob'))
      await untilDepthOf(third, 'a.txt', 1)
      const carl = call(third, 'lock_wait', wait('carl'))
      await untilDepthOf(third, 'a.txt', 2)
      await first.end(how)
      const granted = await bob
      t.match(granted, { all_acquired: true })
      const { fencing_token } = granted['results'][0]
      const looks = Array.from({ length: 20 }, () => leaseOf(second, 'bob'))
      for (const holder of await Promise.all(looks)) t.match(holder, { held_by_me: true, fencing_token })
      t.match(await call(third, 'async_status', { path: 'a.txt' }), { queue_depth: 1 })
      t.match(await call(third, 'async_append', { path: 'a.txt', content: '?', agent_id: 'carl', timeout: 0 }), {
        error_code: 'LOCK_TIMEOUT'
      })
      t.match(await call(second, 'lock_release', take('bob')), { all_released: true })
      const next = await carl
      t.match(next, { all_acquired: true })
      t.ok(next['results'][0].fencing_token > fencing_token, 'tokens grow')
    }
  )
}

for (const how of someOf(ends, 2)) {
  t.test(`a window that serves the tree ends by ${nameOf(how)}: the leases of the other windows stay`, async (t) => {
    const tree = makeTree(t, { 'a.txt': 'one\n' })
    const [first, second, third] = [stdioOn(t, tree), stdioOn(t, tree), stdioOn(t, tree)]
    await call(first, 'async_read', { path: 'a.txt' })
    const { results } = await call(second, 'lock_try', take('ann'))
    const { fencing_token } = results[0]
    await call(third, 'async_read', { path: 'a.txt' })
    await first.end(how)
    t.match(await call(third, 'lock_try', take('bob')), { results: [{ acquired: false, holder: 'ann' }] })
    const change = { path: 'a.txt', content: '?', timeout: 0 }
    t.match(await call(third, 'async_append', { ...change, agent_id: 'bob' }), { error_code: 'LOCK_TIMEOUT' })
    t.match(await call(second, 'async_append', { ...change, agent_id: 'ann', fencing_token }), { status: 'ok' })
    t.match(await call(second, 'lock_release', take('ann')), { all_released: true })
    const [next] = (await call(third, 'lock_try', take('bob')))['results'] as Answer[]
    t.match(next, { acquired: true })
    t.ok(next?.['fencing_token'] > fencing_token, 'tokens grow')
  })
}

for (const enabled of someOf(['true', 'false'], 1)) {
  t.test(
    `a killed window's leases end as disconnected, those of live windows stay; persistence.enabled ${enabled}`,
    async (t) => {
      const tree = makeTree(t, { 'a.txt': 'one\n', 'b.txt': 'one\n', 'c.txt': 'one\n', 'd.txt': 'one\n' })
      const environment = { XDG_DATA_HOME: makeTree(t).root, ASYNC_CRUD_MCP_PERSISTENCE__ENABLED: enabled }
      const window = () => windowOn(t, tree, 2, environment)
      const [first, second, third, fourth] = [window(), window(), window(), window()]
      await call(first, 'lock_try', take('ann'))
      // Whichever of the two takes over, the other is a relay.
      const [ben] = (await call(second, 'lock_try', take('ben', 'b.txt')))['results'] as Answer[]
      const [cid] = (await call(third, 'lock_try', take('cid', 'c.txt')))['results'] as Answer[]
      // An agent that is known by its connection alone.
      const unnamed = { filepaths: ['d.txt'] }
      await call(second, 'lock_try', unnamed)
      await call(fourth, 'async_read', { path: 'a.txt' })
      await first.end('SIGKILL')
      // The holders of the others make no call meanwhile: their windows vouch for them.
      t.match(await call(fourth, 'lock_wait', wait('bob')), { all_acquired: true })
      t.match(await leaseOf(fourth, 'ben', 'b.txt'), { held_by_me: true, fencing_token: ben?.['fencing_token'] })
      t.match(await leaseOf(fourth, 'cid', 'c.txt'), { held_by_me: true, fencing_token: cid?.['fencing_token'] })
      t.match(await call(second, 'lock_status', unnamed), { results: [{ held_by_me: true }] })
      const { notices } = await call(fourth, 'async_read', { path: 'a.txt', agent_id: 'ann' })
      t.match(notices, [{ type: 'lease_lost', cause: 'disconnected' }])
      // Bound to its connection again: it ends with the window, whichever of the two serves the tree by now.
      await second.end('SIGKILL')
      t.match(await call(fourth, 'lock_wait', { ...wait('bob'), filepaths: ['b.txt', 'd.txt'] }), {
        all_acquired: true
      })
    }
  )
}

t.test('a loss that its holder has dealt with is over, although the process that knew so is killed', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const [first, second, third] = [stdioOn(t, tree), stdioOn(t, tree), stdioOn(t, tree)]
  await call(first, 'async_read', { path: 'a.txt' })
  await call(second, 'lock_try', take('ann'))
  await call(third, 'async_read', { path: 'a.txt' })
  await second.end('SIGKILL')
  t.match(await call(third, 'lock_wait', wait('bob')), { all_acquired: true })
  await call(third, 'lock_release', take('bob'))
  await call(third, 'lock_release', take('ann'))
  await first.end('SIGKILL')
  t.match(await call(third, 'async_append', { path: 'a.txt', content: '+', agent_id: 'ann' }), { status: 'ok' })
})

t.test('a relay that stops does not take over: its engine would restore no lease', { skip: cannotStop }, async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const window = () => windowOn(t, tree, 600)
  const [first, second, third] = [window(), window(), window()]
  await call(first, 'async_read', { path: 'a.txt' })
  await call(second, 'async_read', { path: 'a.txt' })
  await call(third, 'lock_try', take('ann'))
  for (const program of [first, third]) await stopProcess(program.process)
  // The stop waits for the answer to this.
  second.send({ jsonrpc: '2.0', id: 'open', method: 'async_read', params: { path: 'a.txt' } })
  const ended = second.end('SIGTERM')
  await until(() => second.stderr.some((line) => line.includes('"stopping"')))
  await first.end('SIGKILL')
  await ended
  third.process.kill('SIGCONT')
  t.match(await leaseOf(third, 'ann'), { held_by_me: true })
  t.notOk(
    second.stderr.some((line) => line.includes('authority of the tree"') && !line.includes('relaying')),
    'it has never served the tree'
  )
})

t.test(
  'a relay that stops says that nothing was done only if the authority has said so',
  { skip: cannotStop },
  async (t) => {
    const tree = makeTree(t, { 'a.txt': 'one\n' })
    const first = stdioOn(t, tree)
    await call(first, 'lock_try', take('ann'))
    // It gives up sooner than the authority, which stands still, can answer.
    const second = windowOn(t, tree, 600, { ASYNC_CRUD_MCP_DAEMON__STOP_TIMEOUT_SECONDS: '0.2' })
    const append = { path: 'a.txt', content: 'two\n', agent_id: 'bob', timeout: 20, request_id: 'two' }
    const answer = call(second, 'async_append', append)
    const read = () => call(second, 'async_read', { path: 'a.txt' })
    await untilDepthOf(first, 'a.txt', 1)
    await stopProcess(first.process)
    // The authority finds it before the word of the relay that stops: then the append has its turn.
    first.send({ jsonrpc: '2.0', method: 'lock_release', params: take('ann') })
    const reading = read()
    await second.end('SIGTERM')
    t.match(await answer, { error_code: 'AUTHORITY_LOST', message: /the same request_id/ })
    t.match(await reading, { error_code: 'OVERLOADED' }, 'a read has changed nothing')
    first.process.kill('SIGCONT')
    t.match(await call(first, 'async_append', append), { status: 'ok', replayed: true })
    t.equal(tree.read('a.txt'), 'one\ntwo\n')
  }
)

t.test(
  'what an agent was told of a change outlives the process that made it',
  { skip: skipOnHosts.keptState },
  async (t) => {
    const tree = makeTree(t, { 'a.txt': 'one\n' })
    const [first, second] = [stdioOn(t, tree), stdioOn(t, tree)]
    await call(first, 'async_read', { path: 'a.txt' })
    const { hash } = await call(second, 'async_read', { path: 'a.txt', agent_id: 'ann' })
    await call(second, 'async_append', { path: 'a.txt', content: 'two\n', agent_id: 'bob' })
    await first.end('SIGKILL')
    const stale = { path: 'a.txt', agent_id: 'ann', expected_hash: hash, content: 'three\n' }
    t.match(await call(second, 'async_update', stale), {
      status: 'contention',
      modified_by: [{ agent_id: 'bob', operation: 'async_append' }]
    })
    t.match(await call(second, 'async_status', {}), { server: { persistence: 'disabled' } })
  }
)

for (const how of someOf(['SIGKILL', 'SIGTERM'] as const, 2)) {
  t.test(`the window that serves the tree ends by ${how}: waits go on, in their order, with progress`, async (t) => {
    const tree = makeTree(t, { 'a.txt': 'one\n' })
    const [first, second] = [stdioOn(t, tree), stdioOn(t, tree)]
    await call(first, 'async_read', { path: 'a.txt' })
    const { url } = await memberOn(t, tree)
    await call(second, 'lock_try', take('ann'))
    const modern = await connect(t, 'mcp-2026', url)
    const messages: (string | undefined)[] = []
    const bob = modern.call('lock_wait', wait('bob'), { onProgress: (message) => messages.push(message) })
    await untilQueued(url, 'a.txt', 1)
    const carl = call(second, 'lock_wait', wait('carl'))
    await untilQueued(url, 'a.txt', 2)
    const before = messages.length
    await first.end(how)
    await untilQueued(url, 'a.txt', 2)
    await until(() => messages.length > before)
    await call(second, 'lock_release', take('ann'))
    const granted = await bob
    t.match(granted, { all_acquired: true })
    await modern.call('lock_release', take('bob'))
    t.match(await carl, { all_acquired: true })
    t.ok((await carl)['results'][0].fencing_token > granted['results'][0].fencing_token, 'tokens grow')
  })
}

t.test(
  'a wait is not asked again where the journal of the lost process is gone',
  { skip: skipOnHosts.ownFiles },
  async (t) => {
    const tree = makeTree(t, { 'a.txt': 'one\n' })
    const first = stdioOn(t, tree)
    await call(first, 'async_read', { path: 'a.txt' })
    const { url } = await memberOn(t, tree)
    await post(url, 'lock_try', take('ann'))
    const bob = post(url, 'lock_wait', wait('bob'))
    await untilQueued(url, 'a.txt', 1)
    rmSync(tree.path(`${own}/live/state`))
    await first.end('SIGKILL')
    const { error_code, message } = await bob
    t.match({ error_code, message }, { error_code: 'AUTHORITY_LOST', message: /leases.*lock_status/ })
    t.notMatch(message, /read the file/, 'who waits for a lease has changed no file')
  }
)

const damages: Readonly<Record<string, (state: string) => string>> = {
  torn: (state) => state.slice(0, -7),
  foreign: () => 'not a journal\n',
  'from the future': () => 'x {"format":"async-crud-mcp state","version":2,"tree":"?"}\nwhatever\n',
  empty: () => ''
}

for (const [damage, apply] of someOf(Object.entries(damages), 2)) {
  const skip = cannotStop || skipOnHosts.ownFiles
  t.test(`a relay takes over although the journal is ${damage} by then`, { skip }, async (t) => {
    const tree = makeTree(t, { 'a.txt': 'one\n' })
    const [first, second] = [stdioOn(t, tree), stdioOn(t, tree)]
    await call(first, 'async_read', { path: 'a.txt' })
    await call(second, 'lock_try', take('ann'))
    await stopProcess(second.process)
    await first.end('SIGKILL')
    tree.write(`${own}/live/state`, apply(tree.read(`${own}/live/state`)))
    second.process.kill('SIGCONT')
    const append = { path: 'a.txt', content: 'two\n', agent_id: 'ann' }
    t.match(await call(second, 'async_append', append), { status: 'ok' })
    t.match(await call(second, 'lock_try', take('ann')), { all_acquired: true })
    const third = stdioOn(t, tree)
    t.match(await call(third, 'lock_try', take('bob')), { results: [{ holder: 'ann' }] })
    t.equal(tree.read('a.txt'), 'one\ntwo\n')
  })
}

t.test('a change that waits through a relay is made by the next process that serves the tree', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const first = stdioOn(t, tree)
  await call(first, 'async_read', { path: 'a.txt' })
  const { url } = await memberOn(t, tree)
  await post(url, 'lock_try', take('ann'))
  const append = post(url, 'async_append', { path: 'a.txt', content: 'two\n', agent_id: 'bob', timeout: 250 })
  await untilQueued(url, 'a.txt', 1)
  await first.end()
  // The lease, and the change that waits for it.
  await untilQueued(url, 'a.txt', 1)
  await post(url, 'lock_release', take('ann'))
  t.match(await append, { status: 'ok' })
  t.equal(tree.read('a.txt'), 'one\ntwo\n')
})

t.test(
  'once the last process has gone nothing is kept: a new one begins anew',
  { skip: skipOnHosts.keptState },
  async (t) => {
    for (const how of ['SIGTERM', 'SIGKILL'] as const) {
      const tree = makeTree(t, { 'a.txt': 'one\n' })
      const first = await httpOn(t, tree)
      const relay = await httpOn(t, tree)
      await post(first.url, 'lock_try', take('ann'))
      t.ok(existsSync(tree.path(`${own}/live`)), 'kept while it serves')
      await relay.stop(how)
      await first.stop(how)
      if (how === 'SIGTERM') t.notOk(existsSync(tree.path(`${own}/live`)), 'an orderly end removes it')
      const next = await memberOn(t, tree)
      t.match(await post(next.url, 'lock_try', take('bob')), { all_acquired: true }, how)
    }
  }
)
