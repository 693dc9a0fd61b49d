// Many callers at once: queues, races between operations, and callers that go away. Over every transport.
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import t from 'tap'
import { lockKey } from '../../src/engine/files/lock-key.ts'
import { skipOnHosts } from '../fixtures/behind.ts'
import { connect, transports, type Answer, type TestClient } from '../fixtures/clients.ts'
import { holdLock, idle, lockSummary, untilWaiting } from '../fixtures/locks.ts'
import { startServer, type TestServer } from '../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'
import { inTurn, lengthOf } from '../fixtures/length.ts'

interface Scene {
  readonly tree: Tree
  readonly server: TestServer
  readonly client: TestClient
}

for (const [transport, test] of inTurn(t, transports)) {
  const scene = async (
    t: { teardown(fn: () => unknown): void },
    files: Record<string, string> = {}
  ): Promise<Scene> => {
    const tree = makeTree(t, files)
    const server = await startServer(t, tree.root)
    return { tree, server, client: await connect(t, transport, server.url, 'tester') }
  }

  test(`over ${transport}: renames of a to b and of b to a at once neither deadlock nor lose a file`, async (t) => {
    const { tree, server, client } = await scene(t, { a: 'content of a', b: 'content of b' })
    for (let round = 0; round < lengthOf({ full: 20, short: 3 }); round += 1) {
      const answers = await Promise.all([
        client.call('async_rename', { old_path: 'a', new_path: 'b', overwrite: false }),
        client.call('async_rename', { old_path: 'b', new_path: 'a', overwrite: false }),
        client.call('async_rename', { old_path: 'a', new_path: 'c' }),
        client.call('async_rename', { old_path: 'c', new_path: 'a' })
      ])
      for (const answer of answers) t.match(JSON.stringify(answer), /"ok"|FILE_EXISTS|FILE_NOT_FOUND/)
      const contents = tree.all().map((name) => tree.read(name))
      t.strictSame(contents.sort(), ['content of a', 'content of b'])
      if (tree.all().includes('c'))
        await client.call('async_rename', { old_path: 'c', new_path: tree.all().includes('a') ? 'b' : 'a' })
    }
    t.strictSame(lockSummary(server), idle)
  })

  test(`over ${transport}: of two renames to one new name one wins and both contents survive`, async (t) => {
    const { tree, client } = await scene(t, { x: 'content of x', y: 'content of y' })
    const answers = await Promise.all([
      client.call('async_rename', { old_path: 'x', new_path: 'new' }),
      client.call('async_rename', { old_path: 'y', new_path: 'new' })
    ])
    t.strictSame(answers.map(outcome).sort(), ['FILE_EXISTS', 'ok'])
    t.strictSame(
      tree
        .all()
        .map((name) => tree.read(name))
        .sort(),
      ['content of x', 'content of y']
    )
  })

  test(`over ${transport}: operations queued behind a delete find no file`, async (t) => {
    const { tree, server, client } = await scene(t, { f: 'one' })
    const held = await holdLock(server, tree.path('f'))
    const calls = [client.call('async_delete', { path: 'f' })]
    await untilWaiting(server, 1)
    for (const [name, input] of [
      ['async_read', { path: 'f' }],
      ['async_update', { path: 'f', expected_hash: hashOf('one'), content: 'two' }],
      ['async_append', { path: 'f', content: 'x' }],
      ['async_rename', { old_path: 'f', new_path: 'g' }],
      ['async_delete', { path: 'f' }]
    ] as const) {
      calls.push(client.call(name, input))
      await untilWaiting(server, calls.length)
    }
    held.release()
    t.strictSame((await Promise.all(calls)).map(outcome), ['ok', ...Array<string>(5).fill('FILE_NOT_FOUND')])
    t.strictSame(lockSummary(server), idle)
  })

  test(`over ${transport}: of many appends at once every one is in the file, once`, async (t) => {
    const { tree, client } = await scene(t, { log: '' })
    const lines = Array.from({ length: lengthOf({ full: 50, short: 12 }) }, (_, index) => `line ${index}`)
    const answers = await Promise.all(
      lines.map((line) => client.call('async_append', { path: 'log', content: `${line}\n` }))
    )
    t.ok(answers.every(({ status }) => status === 'ok'))
    t.strictSame(tree.read('log').trimEnd().split('\n').sort(), lines.sort())
  })

  test(`over ${transport}: of 5 creates at once one wins, and the file is the winner's`, async (t) => {
    const { tree, client } = await scene(t)
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd', 'e'].map((content) => client.call('async_write', { path: 'deep/new', content }))
    )
    t.strictSame(answers.map(outcome).sort(), ['FILE_EXISTS', 'FILE_EXISTS', 'FILE_EXISTS', 'FILE_EXISTS', 'ok'])
    t.equal(answers.find(({ status }) => status === 'ok')?.['hash'], hashOf(tree.read('deep/new')))
  })

  test(`over ${transport}: of 10 updates of one version one is applied, the others learn exactly what changed`, async (t) => {
    const base = Array.from({ length: 100 }, (_, index) => `line ${index}\n`).join('')
    const { tree, client } = await scene(t, { f: base })
    await client.call('async_read', { path: 'f' })
    const patchOf = (index: number) => [{ old_string: `line ${index * 10}\n`, new_string: `changed ${index}\n` }]
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        client.call('async_update', { path: 'f', expected_hash: hashOf(base), patches: patchOf(index) })
      )
    )
    const winner = answers.findIndex(({ status }) => status === 'ok')
    t.equal(answers.filter(({ status }) => status === 'ok').length, 1)
    for (const answer of answers.filter(({ status }) => status === 'contention')) {
      t.match(answer, {
        base_known: true,
        current_hash: hashOf(tree.read('f')),
        patches_applicable: true,
        diff: {
          changes: [{ type: 'modified', start_line: winner * 10 + 1, new_content: `changed ${winner}` }],
          summary: { regions_changed: 1 }
        },
        modified_by: [{ agent_id: 'tester' }]
      })
    }
  })

  test(`over ${transport}: a wait that times out says who holds the file, and leaves nothing behind`, async (t) => {
    const { tree, server, client } = await scene(t, { f: 'one' })
    const held = await holdLock(server, tree.path('f'), { agentId: 'slow-agent' })
    t.match(await client.call('async_append', { path: 'f', content: 'x', timeout: 0 }), {
      error_code: 'LOCK_TIMEOUT',
      message: /slow-agent/
    })
    t.match(await client.call('async_append', { path: 'f', content: 'x', timeout: 0.05 }), {
      error_code: 'LOCK_TIMEOUT'
    })
    const missing = await holdLock(server, tree.path('g'))
    const create = { path: 'g', content: 'x', create_if_missing: true, timeout: 0.05 }
    t.match(await client.call('async_append', create), { error_code: 'LOCK_TIMEOUT' })
    t.strictSame(tree.all(), ['f'], 'no stray file')
    missing.release()
    held.release()
    t.strictSame(lockSummary(server), idle)
  })

  test(`over ${transport}: a caller that cancels leaves the queue, and the next one goes on under the same lock`, async (t) => {
    const { tree, server, client } = await scene(t, { f: 'one' })
    const held = await holdLock(server, tree.path('f'), { mode: 'shared' })
    const controller = new AbortController()
    // It leaves because it was cancelled, and not at its timeout.
    const append = { path: 'f', content: 'x', timeout: 300 }
    const cancelled = client.call('async_append', append, { signal: controller.signal })
    cancelled.catch(() => {})
    await untilWaiting(server, 1)
    const behind = client.call('async_read', { path: 'f' })
    await untilWaiting(server, 2)
    controller.abort()
    t.match(await behind, { content: 'one' }, 'the reader behind the writer runs while the lock is still shared')
    await t.rejects(cancelled)
    held.release()
    t.strictSame(lockSummary(server), idle)
    t.equal(tree.read('f'), 'one')
  })

  test(
    `over ${transport}: a client whose connection is closed has left the queue`,
    { skip: skipOnHosts.looksIntoOne },
    async (t) => {
      const { tree, server } = await scene(t, { f: 'one' })
      const held = await holdLock(server, tree.path('f'))
      const leaving = await connect(t, transport, server.url)
      const controller = new AbortController()
      const call = leaving.call('async_append', { path: 'f', content: 'x' }, { signal: controller.signal })
      call.catch(() => {})
      await untilWaiting(server, 1)
      server.app.server.closeAllConnections()
      await untilWaiting(server, 0)
      controller.abort()
      held.release()
      t.equal(tree.read('f'), 'one')
      t.strictSame(lockSummary(server), idle)
    }
  )

  test(`over ${transport}: status shows who holds and who waits, in order, with both times`, async (t) => {
    const { tree, server, client } = await scene(t, { f: 'one' })
    const held = await holdLock(server, tree.path('f'), { agentId: 'slow-agent' })
    const append = client.call('async_append', { path: 'f', content: 'x', timeout: 20 })
    await untilWaiting(server, 1)
    const read = client.call('async_read', { path: 'f' })
    await untilWaiting(server, 2)
    const status = await client.call('async_status', { path: 'f' })
    t.match(status, {
      lock_state: 'write_locked',
      queue_depth: 2,
      holders: [{ type: 'update', mode: 'exclusive', agent_id: 'slow-agent' }],
      pending_requests: [
        { type: 'append', mode: 'exclusive', agent_id: 'tester', queued_at: String, timeout_at: String },
        { type: 'read', mode: 'shared', agent_id: 'tester' }
      ]
    })
    const [first] = status['pending_requests'] as { queued_at: string; timeout_at: string }[]
    t.equal(Date.parse(first!.timeout_at) - Date.parse(first!.queued_at), 20_000)
    t.match(await client.call('async_status'), { queue_depth: 2, active_locks: { read: 0, write: 1 } })
    held.release()
    await Promise.all([append, read])
  })

  if (transport !== 'rest') {
    t.test(`over ${transport}: progress tells the position in the queue, where it was asked for`, async (t) => {
      const { tree, server, client } = await scene(t, { f: 'one' })
      const held = await holdLock(server, tree.path('f'))
      const first = client.call('async_append', { path: 'f', content: '1' })
      await untilWaiting(server, 1)
      const messages: (string | undefined)[] = []
      const second = client.call(
        'async_append',
        { path: 'f', content: '2' },
        { onProgress: (message) => messages.push(message) }
      )
      await untilWaiting(server, 2)
      held.release()
      await Promise.all([first, second])
      t.equal(messages[0], 'position 2 of 2')
      t.ok(
        messages.every((message) => /^position \d+ of \d+$/.test(message ?? '')),
        messages.join(', ')
      )
      t.equal(tree.read('f'), 'one12')
    })
  }
}

t.test('over MCP without a progress token a wait is cut where clients would give up, and says so', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const server = await startServer(t, tree.root, { daemon: { mcp_wait_seconds: 0.05 } })
  const held = await holdLock(server, tree.path('f'))
  for (const transport of ['mcp-2025', 'mcp-2026'] as const) {
    const client = await connect(t, transport, server.url)
    t.match(
      await client.call('async_append', { path: 'f', content: 'x' }),
      { error_code: 'LOCK_TIMEOUT', message: /progress/ },
      transport
    )
  }
  held.release()
})

t.test('a link that is turned elsewhere while a call waits is followed to where it leads at the grant', async (t) => {
  const tree = makeTree(t, { a: 'a', b: 'b' })
  symlinkSync('a', tree.path('link'))
  const server = await startServer(t, tree.root)
  const client = await connect(t, 'rest', server.url)
  const held = await holdLock(server, tree.path('a'))
  const append = client.call('async_append', { path: 'link', content: '!' })
  await untilWaiting(server, 1)
  const heldToo = await holdLock(server, tree.path('b'))
  symlinkSync('b', tree.path('new-link'))
  renameSync(tree.path('new-link'), tree.path('link'))
  held.release()
  // It must not write to b under the lock of a: it waits for b's own.
  while (server.app.locks.status(lockKey(tree.path('b'))).depth === 0) await new Promise(setImmediate)
  t.equal(tree.read('b'), 'b')
  heldToo.release()
  t.match(await append, { status: 'ok', hash: hashOf('b!') })
  t.strictSame([tree.read('a'), tree.read('b')], ['a', 'b!'])
  t.strictSame(lockSummary(server), idle)
})

t.test('an operation that outlives its lock writes nothing', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const pipe = makeTree(t).path('pipe')
  execFileSync('mkfifo', [pipe])
  // Whose a connection is would be looked up in the pool, too.
  const daemon = { same_user_only: false }
  const server = await startServer(t, tree.root, { daemon, locks: { operation_ttl_seconds: 0.05 } })
  const client = await connect(t, 'rest', server.url)
  // The tree is joined.
  await client.call('async_read', { path: 'f' })
  // A file system that does not answer: each thread of the pool waits for the other end of the pipe.
  const threads = Array.from({ length: 8 }, () => open(pipe, 'r'))
  const slow = client.call('async_append', { path: 'f', content: 'late' })
  await until(() => lockSummary(server).exclusive === 1)
  await until(() => lockSummary(server).exclusive === 0)
  const otherEnd = openSync(pipe, 'r+')
  for (const end of await Promise.all(threads)) await end.close()
  closeSync(otherEnd)
  t.match(await slow, { status: 'error', error_code: 'LEASE_LOST' })
  t.equal(readFileSync(tree.path('f'), 'utf8'), 'one')
  t.strictSame(tree.all(), ['f'])
  t.strictSame(lockSummary(server), idle)
})

function outcome(answer: Answer): string {
  return (answer['error_code'] ?? answer['status']) as string
}
