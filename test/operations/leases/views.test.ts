// GET /locks, async_status and lock_status are views of one table: they agree amid leases, operations and waiters.
import t from 'tap'
import { connect, transports, type Answer, type TestClient } from '../../fixtures/clients.ts'
import { holdLock, untilWaiting } from '../../fixtures/locks.ts'
import { startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'

for (const [index, transport] of transports.entries()) {
  t.test(
    `over ${transport}: what is held and waited for is the same in every view, amid a mix of all kinds`,
    async (t) => {
      const tree = makeTree(t, { a: '', a0: '', b: '', c: '', d: '' })
      const server = await startServer(t, tree.root, { crud: { max_timeout: 20 } })
      const enter = (name: string, offset = 0) =>
        connect(t, transports[(index + offset) % transports.length]!, server.url, name)
      const [ann, bob, cat] = await Promise.all([enter('ann'), enter('bob', 1), enter('cat', 2)])
      const nobody = await connect(t, 'rest', server.url)
      let waiting = 0
      const calls: Promise<Answer>[] = []
      const wait = async (client: TestClient, operation: string, input: object, requests = 1) => {
        calls.push(client.call(operation, input))
        waiting += requests
        await untilWaiting(server, waiting)
      }
      await ann.call('lock_try', { filepaths: ['a', 'b'], note: 'both' })
      await ann.call('lock_try', { filepaths: ['c'], mode: 'shared' })
      await bob.call('lock_try', { filepaths: ['c'], mode: 'shared' })
      const held = await holdLock(server, tree.path('d'), { agentId: 'dan' })
      await wait(bob, 'async_append', { path: 'a', content: '1' })
      await wait(nobody, 'async_append', { path: 'a', content: '2' })
      await wait(cat, 'lock_wait', { filepaths: ['a', 'c', 'new'], note: 'three' }, 2)
      await wait(cat, 'async_read', { path: 'd' })
      await wait(nobody, 'async_rename', { old_path: 'a0', new_path: 'b' })

      const list = (await (await fetch(`${server.url}/locks`)).json()) as Answer
      const counts = { files: 6, read: 2, write: 5, leases: 5, waiting: 6 }
      t.match(list, { counts, truncated: false, timestamp: String })
      const paths = (list['files'] as Answer[]).map(({ path }) => String(path))
      t.strictSame(
        paths,
        ['a', 'a0', 'b', 'c', 'd', 'new'].map((name) => tree.path(name)),
        'sorted by path'
      )
      t.match(await ann.call('async_status'), {
        active_locks: { read: counts.read, write: counts.write, leases: counts.leases },
        queue_depth: counts.waiting
      })
      t.match(list['files'], [
        {
          holders: [{ type: 'lease', agent_id: 'ann', note: 'both', mode: 'exclusive' }],
          pending_requests: [
            { type: 'append', agent_id: 'bob' },
            { type: 'append', agent_id: null },
            { type: 'lease', agent_id: 'cat', note: 'three' }
          ]
        },
        { holders: [{ type: 'rename', agent_id: null, expires_at: null, waits_for: tree.path('b') }] },
        { holders: [{ agent_id: 'ann' }], pending_requests: [{ type: 'rename', mode: 'exclusive' }] },
        {
          holders: [{ agent_id: 'ann', mode: 'shared' }, { agent_id: 'bob' }],
          pending_requests: [{ agent_id: 'cat' }]
        },
        { holders: [{ type: 'update', agent_id: 'dan' }], pending_requests: [{ type: 'read', mode: 'shared' }] },
        { holders: [{ type: 'lease', agent_id: 'cat' }], pending_requests: { length: 0 } }
      ])
      for (const client of [ann, bob, cat]) {
        const { results } = await client.call('lock_status', { filepaths: paths })
        for (const [at, { path, holders, pending_requests }] of (list['files'] as Answer[]).entries()) {
          const status = await client.call('async_status', { path })
          const shown = (holders as Answer[]).map((holder) => asSeenBy(nameOf(client), holder))
          t.strictSame(status['holders'], shown, path)
          t.strictSame(status['pending_requests'], pending_requests, path)
          t.strictSame(results[at].holders, shown, path)
          t.equal(results[at].queue_depth, pending_requests.length, path)
          t.equal(status['queue_depth'], pending_requests.length, path)
          const mine = (holders as Answer[]).some(
            ({ agent_id, type }) => agent_id === nameOf(client) && type === 'lease'
          )
          t.equal(results[at].held_by_me, mine, `${nameOf(client)} and ${path}`)
        }
      }
      held.release()
      for (const client of [ann, bob]) await client.call('lock_release_all')
      await Promise.all(calls)
      await cat.call('lock_release_all')
      t.match(await (await fetch(`${server.url}/locks`)).json(), {
        files: { length: 0 },
        counts: { files: 0, read: 0, write: 0, leases: 0, waiting: 0 },
        truncated: false
      })

      function nameOf(client: TestClient): string {
        return client === ann ? 'ann' : client === bob ? 'bob' : 'cat'
      }
    }
  )
}

t.test('GET /locks lists as many files as asked for, and counts all of them', async (t) => {
  const server = await startServer(t, makeTree(t).root)
  const ann = await connect(t, 'rest', server.url, 'ann')
  await ann.call('lock_try', { filepaths: ['c', 'a', 'b'] })
  const list = async (query: string) => {
    const response = await fetch(`${server.url}/locks${query}`)
    return { status: response.status, body: (await response.json()) as Answer }
  }
  for (const [limit, listed, truncated] of [
    [0, 0, true],
    [2, 2, true],
    [3, 3, false],
    [100_000, 3, false]
  ] as const) {
    const { status, body } = await list(`?limit=${limit}`)
    t.match({ status, body }, { status: 200, body: { truncated, counts: { files: 3, leases: 3 } } })
    t.strictSame(
      (body['files'] as Answer[]).map(({ path }) => String(path).slice(-1)),
      ['a', 'b', 'c'].slice(0, listed)
    )
  }
  for (const query of [
    '?limit=',
    '?limit=-1',
    '?limit=1.5',
    '?limit=all',
    '?limit=100001',
    '?limit=9999999999',
    '?limit=1&limit=2'
  ])
    t.match(await list(query), { status: 400, body: { error_code: 'INVALID_REQUEST', message: /limit/ } }, query)
  t.equal((await fetch(`${server.url}/locks`, { method: 'POST' })).status, 405)
})

t.test('GET /locks describes no more files than it lists, the first by path', async (t) => {
  const server = await startServer(t, makeTree(t).root)
  const ann = await connect(t, 'rest', server.url, 'ann')
  const filepaths = Array.from({ length: 1000 }, (_, index) => `f${999 - index}`)
  t.match(await ann.call('lock_try', { filepaths }), { all_acquired: true })
  const { locks } = server.app
  const status = locks.status.bind(locks)
  let described = 0
  locks.status = (key) => {
    described += 1
    return status(key)
  }
  const { files, counts } = (await (await fetch(`${server.url}/locks?limit=1`)).json()) as Answer
  t.match(files, [{ path: /f0$/, holders: [{ agent_id: 'ann' }] }])
  t.match([counts, described], [{ files: 1000 }, 1])
})

t.test('GET /locks goes on behind a path, and says when there is no more', async (t) => {
  const server = await startServer(t, makeTree(t).root)
  const ann = await connect(t, 'rest', server.url, 'ann')
  const names = ['A b', 'a', 'c/d', 'é', 'z']
  await ann.call('lock_try', { filepaths: names })
  const whole = (await (await fetch(`${server.url}/locks`)).json()) as Answer
  const found: string[] = []
  for (let after = '', isMore = true; isMore; after = `&after=${encodeURIComponent(found.at(-1) ?? '')}`) {
    const part = (await (await fetch(`${server.url}/locks?limit=2${after}`)).json()) as Answer
    found.push(...(part['files'] as Answer[]).map(({ path }) => String(path)))
    t.equal(part['counts'].files, names.length, 'counts all of them')
    isMore = part['truncated']
  }
  t.strictSame(
    found,
    (whole['files'] as Answer[]).map(({ path }) => path)
  )
  t.equal(new Set(found).size, names.length)
})

/** Operators see every token, an agent its own. */
function asSeenBy(agent: string, { fencing_token, ...holder }: Answer): Answer {
  return holder['agent_id'] === agent && fencing_token !== undefined ? { ...holder, fencing_token } : holder
}
