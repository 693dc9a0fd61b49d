// What a lease does to every operation that changes a file: whom it keeps waiting, whom it refuses, whom it lets pass.
import t, { type Test } from 'tap'
import type { PartialConfig } from '../../../src/config/config.ts'
import { lockKey } from '../../../src/engine/files/lock-key.ts'
import { connect, transports, type Answer, type TestClient } from '../../fixtures/clients.ts'
import { isFull } from '../../fixtures/length.ts'
import { holdLock, idle, lockSummary, untilWaiting } from '../../fixtures/locks.ts'
import { startServer, type TestServer } from '../../fixtures/server.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { changes as everyChange, contentsOf, files, type Change } from './fixtures/changes.ts'
import { outcomeOf } from './fixtures/doors.ts'

interface Scene {
  readonly tree: Tree
  readonly server: TestServer
  /** Each over another transport. */
  readonly ann: TestClient
  readonly bob: TestClient
}

for (const [index, transport] of transports.entries()) {
  // Every change over every transport is for the full form; in the short one each is made over one of them, an append over all.
  const changes = everyChange.filter(
    ({ operation }, at) => isFull || at % transports.length === index || operation === 'async_append'
  )
  const leased = changes.map(({ file }) => file)
  const tokenChanges = changes.filter(({ takesToken }) => takesToken)
  const append = changes.find(({ operation }) => operation === 'async_append')!

  async function scene(t: Test, locks: PartialConfig['locks'] = {}, crud: PartialConfig['crud'] = {}): Promise<Scene> {
    const tree = makeTree(t, files)
    const server = await startServer(t, tree.root, { locks, crud: { durability: 'rename', ...crud } })
    const ann = await connect(t, transport, server.url, 'ann')
    const bob = await connect(t, transports[(index + 1) % transports.length]!, server.url, 'bob')
    return { tree, server, ann, bob }
  }

  /** None of the changes is made, for this reason. */
  async function refused(t: Test, tree: Tree, client: TestClient, code: string, more?: (one: Change) => object) {
    const before = contentsOf(tree)
    const answers: Answer[] = []
    for (const one of more === undefined ? changes : tokenChanges) {
      const answer = await client.call(one.operation, one.input(more?.(one)))
      t.equal(outcomeOf(answer), code, `${one.title}: ${JSON.stringify(answer).slice(0, 300)}`)
      answers.push(answer)
    }
    t.strictSame(contentsOf(tree), before, 'not a byte is changed')
    return answers
  }

  t.test(`over ${transport}: every change by another waits for the end of the lease, while reads pass`, async (t) => {
    const { tree, server, ann, bob } = await scene(t)
    t.match(await bob.call('lock_try', { filepaths: leased }), { all_acquired: true })
    const before = contentsOf(tree)
    const pending = []
    for (const { operation, input } of changes) {
      pending.push(ann.call(operation, input()))
      await untilWaiting(server, pending.length)
    }
    for (const { file, content } of changes) {
      const read = await ann.call('async_read', { path: file })
      t.match(read, content === undefined ? { error_code: 'FILE_NOT_FOUND' } : { content }, `read ${file}`)
    }
    t.strictSame(contentsOf(tree), before)
    t.match(await bob.call('lock_release', { filepaths: leased }), { all_released: true })
    for (const [at, answer] of (await Promise.all(pending)).entries())
      t.equal(outcomeOf(answer), 'ok', `${changes[at]!.title}: ${JSON.stringify(answer)}`)
    const changed = changes.filter(({ operation }) => !['async_delete', 'async_rename'].includes(operation))
    t.equal(Object.values(contentsOf(tree)).filter((content) => content.endsWith('new\n')).length, changed.length)
    t.strictSame(lockSummary(server), idle)
  })

  t.test(
    `over ${transport}: a change that waits in vain is told who has the file, why, and for how long`,
    async (t) => {
      const { tree, ann, bob } = await scene(t, {}, { default_timeout: 0.05 })
      await bob.call('lock_try', { filepaths: leased, note: 'moving Foo', ttl_seconds: 100 })
      for (const [at, answer] of (await refused(t, tree, ann, 'LOCK_TIMEOUT')).entries()) {
        const failure = 'results' in answer ? (answer['results'] as Answer[])[0]! : answer
        const message = String(failure['message'] ?? failure['error'].message)
        t.match(message, /Agent bob has leased it .* until .*, (?:9\d|100)\S* s from now.*"moving Foo"/, message)
        t.match(message, /as agent ann/, 'and under which name it came')
        if (changes[at]!.operation === 'edit_file') continue
        const [holder] = failure['details'].holders as [Answer]
        t.match(holder, { operation: 'lease', agent_id: 'bob', note: 'moving Foo', expires_at: String })
        t.ok(holder['remaining_seconds'] > 90 && holder['remaining_seconds'] <= 100)
      }
    }
  )

  t.test(`over ${transport}: the changes of the holder pass, with the token of the lease and without`, async (t) => {
    for (const isNamed of [true, false]) {
      const { tree, server, ann } = await scene(t, {}, { default_timeout: 0 })
      const { results } = await ann.call('lock_try', { filepaths: leased })
      const tokens = new Map((results as Answer[]).map(({ filepath, fencing_token }) => [filepath, fencing_token]))
      const before = contentsOf(tree)
      for (const { file, operation, input, title, takesToken } of changes) {
        const more = isNamed && takesToken ? { fencing_token: tokens.get(file) } : {}
        t.equal(outcomeOf(await ann.call(operation, input(more))), 'ok', title)
      }
      t.strictNotSame(contentsOf(tree), before)
      t.equal(lockSummary(server).exclusive, leased.length, 'the leases stay')
    }
  })

  t.test(`over ${transport}: a change under a lease that is not the current one is refused`, async (t) => {
    const { tree, ann, bob, server } = await scene(t)
    const take = async (client: TestClient, more = {}): Promise<(one: Change) => { fencing_token: number }> => {
      const { results } = await client.call('lock_try', { filepaths: leased, ...more })
      const tokens = new Map((results as Answer[]).map(({ filepath, fencing_token }) => [filepath, fencing_token]))
      return ({ file }) => ({ fencing_token: tokens.get(file) as number })
    }
    await refused(t, tree, ann, 'LEASE_LOST', () => ({ fencing_token: 1 }))
    const first = await take(ann)
    await ann.call('lock_release_all')
    await refused(t, tree, ann, 'LEASE_LOST', first)
    const second = await take(ann)
    const [older] = await refused(t, tree, ann, 'LEASE_LOST', first)
    t.match(older, {
      message: /Nothing was written/,
      details: {
        fencing_token: first(tokenChanges[0]!).fencing_token,
        current_fencing_token: second(tokenChanges[0]!).fencing_token
      }
    })
    await refused(t, tree, ann, 'LEASE_LOST', () => ({ fencing_token: 999_999 }))
    await refused(t, tree, bob, 'LEASE_LOST', second)
    const nobody = await connect(t, 'rest', server.url)
    const [anonymous] = await refused(t, tree, nobody, 'LEASE_LOST', second)
    t.match(anonymous, { message: /agent_id/ })
    t.equal(outcomeOf(await ann.call('async_append', append.input(second(append)))), 'ok', 'the current passes')
  })

  t.test(`over ${transport}: a change under a lease that has expired or been broken is refused`, async (t) => {
    for (const cause of ['expired', 'broken']) {
      const { tree, server, ann, bob } = await scene(t)
      const short = cause === 'expired' ? { ttl_seconds: 0.1 } : {}
      const { results } = await ann.call('lock_try', { filepaths: leased, ...short })
      const tokens = new Map((results as Answer[]).map(({ filepath, fencing_token }) => [filepath, fencing_token]))
      const next = bob.call('lock_wait', { filepaths: leased })
      if (cause === 'broken') {
        const operator = await connect(t, 'rest', server.url, 'boss')
        const input = { filepaths: leased, reason: 'over time' }
        t.match(await operator.call('lock_break', input), { count: leased.length })
      }
      t.match(await next, { all_acquired: true })
      await bob.call('lock_release_all')
      const answers = await refused(t, tree, ann, 'LEASE_LOST', ({ file }) => ({ fencing_token: tokens.get(file) }))
      t.match(answers[0], { details: { cause }, message: cause === 'broken' ? /boss broke it.*over time/ : /expired/ })
      const { operation, input, file } = append
      t.equal(outcomeOf(await ann.call(operation, input())), 'LEASE_LOST', 'told, it must read the file')
      await ann.call('async_read', { path: file })
      t.equal(outcomeOf(await ann.call(operation, input())), 'ok', 'then it may go on without the lease')
    }
  })

  t.test(
    `over ${transport}: an agent that has lost a lease unawares is refused until it has read the file, naming the lease or not`,
    async (t) => {
      const { tree, ann, bob } = await scene(t)
      await ann.call('lock_try', { filepaths: leased, ttl_seconds: 0.1 })
      t.match(await bob.call('lock_wait', { filepaths: leased }), { all_acquired: true })
      await bob.call('lock_release_all')
      await refused(t, tree, ann, 'LEASE_LOST')
      await refused(t, tree, ann, 'LEASE_LOST')
      for (const { operation, input, title, file } of changes) {
        await ann.call('async_read', { path: file })
        t.equal(outcomeOf(await ann.call(operation, input())), 'ok', `${title}, after a read`)
      }
    }
  )

  t.test(`over ${transport}: where leases are required, a change without one is told which call to make`, async (t) => {
    const { tree, ann, bob, server } = await scene(t, { enforcement: 'required' })
    const [first] = await refused(t, tree, ann, 'LOCK_REQUIRED')
    t.match(first, { message: `Call lock_try with {"filepaths":["${leased[0]}"],"agent_id":"ann"}` })
    const nobody = await connect(t, 'rest', server.url)
    const [anonymous] = await refused(t, tree, nobody, 'LOCK_REQUIRED')
    t.match(anonymous, { message: /pass agent_id/ })
    await ann.call('lock_try', { filepaths: leased, mode: 'shared' })
    await refused(t, tree, ann, 'LOCK_REQUIRED')
    t.match(await ann.call('async_read', { path: 'source' }), { status: 'ok' }, 'reads need none')
    await ann.call('lock_try', { filepaths: leased })
    await refused(t, tree, bob, 'LOCK_REQUIRED')
    const onto = everyChange.find(({ takesToken }) => !takesToken)!
    await ann.call('lock_try', { filepaths: [onto.file] })
    const halfLeased = await ann.call(onto.operation, onto.input())
    t.match(halfLeased, { error_code: 'LOCK_REQUIRED', path: 'source' }, 'a rename needs both names')
    await ann.call('lock_try', { filepaths: ['source', ...leased.map((name) => `${name}.moved`)] })
    for (const { operation, input, title } of changes)
      t.equal(outcomeOf(await ann.call(operation, input())), 'ok', title)
  })

  t.test(
    `over ${transport}: where leases bind no operation, they keep other leases out and nothing else`,
    async (t) => {
      const { ann, bob } = await scene(t, { enforcement: 'off' }, { default_timeout: 0 })
      await bob.call('lock_try', { filepaths: leased })
      t.match(await ann.call('lock_try', { filepaths: leased }), { results: leased.map(() => ({ acquired: false })) })
      for (const { operation, input, title } of changes)
        t.equal(outcomeOf(await ann.call(operation, input())), 'ok', title)
      const stale = await ann.call('async_append', { path: 'source', content: 'x', fencing_token: 1 })
      t.equal(outcomeOf(stale), 'LEASE_LOST', 'who names a lease is held to it all the same')
    }
  )

  t.test(`over ${transport}: leases and operations stand in one queue and are served in its order`, async (t) => {
    const { tree, server, ann, bob } = await scene(t)
    tree.write('log', '')
    const path = 'log'
    const [cat, dan] = await Promise.all(['cat', 'dan'].map((name) => connect(t, 'rest', server.url, name)))
    const calls: Promise<unknown>[] = []
    const append = (client: TestClient, word: string) => client.call('async_append', { path, content: `${word} ` })
    const wait = async (call: Promise<unknown>) => {
      calls.push(call)
      await untilWaiting(server, calls.length)
    }
    const lease = async (client: TestClient, word: string) => {
      t.match(await client.call('lock_wait', { filepaths: [path] }), { all_acquired: true })
      await append(client, word)
      await client.call('lock_release', { filepaths: [path] })
    }
    await bob.call('lock_try', { filepaths: [path] })
    await wait(append(ann, 'first'))
    await wait(lease(cat!, 'second'))
    await wait(append(ann, 'third'))
    await wait(lease(ann, 'fourth'))
    await wait(append(dan!, 'fifth'))
    t.match(await ann.call('async_status', { path }), {
      holders: [{ type: 'lease', agent_id: 'bob' }],
      pending_requests: [
        { type: 'append', agent_id: 'ann' },
        { type: 'lease', agent_id: 'cat' },
        { type: 'append', agent_id: 'ann' },
        { type: 'lease', agent_id: 'ann' },
        { type: 'append', agent_id: 'dan' }
      ]
    })
    t.match(await append(bob, 'holder'), { status: 'ok' }, 'whoever holds the lease passes all of them')
    await bob.call('lock_release', { filepaths: [path] })
    await Promise.all(calls)
    t.equal(tree.read(path), 'holder first second third fourth fifth ')
    t.strictSame(lockSummary(server), idle)
  })

  t.test(
    `over ${transport}: a lease that ends while the change waits behind a reader takes the change with it`,
    async (t) => {
      const { tree, server, ann } = await scene(t)
      for (const { file, operation, input, title } of tokenChanges) {
        const { results } = await ann.call('lock_try', { filepaths: [file] })
        const reader = await holdLock(server, tree.path(file), { mode: 'shared' })
        const before = contentsOf(tree)
        const change = ann.call(operation, input({ fencing_token: results[0].fencing_token }))
        await untilWaiting(server, 1)
        server.app.locks.leases.break(lockKey(tree.path(file)), { cause: 'broken', reason: 'test', by: undefined })
        reader.release()
        t.equal(outcomeOf(await change), 'LEASE_LOST', title)
        t.strictSame(contentsOf(tree), before)
      }
    }
  )
}

t.test('a lease that ends while its change is being written stops it before the rename', async (t) => {
  for (const [enforcement, withToken] of [
    ['holder', true],
    ['required', false],
    ['required', true]
  ] as const) {
    const tree = makeTree(t, files)
    // Nothing is read, written or synced at once: the loop below has a turn before the rename, whenever the change begins.
    const server = await startServer(t, tree.root, { locks: { enforcement }, crud: { sync_io_max_bytes: 0 } })
    const ann = await connect(t, 'rest', server.url, 'ann')
    const { file, operation, input } = everyChange.find(({ operation }) => operation === 'async_append')!
    const { results } = await ann.call('lock_try', { filepaths: [file] })
    const key = lockKey(tree.path(file))
    const change = ann.call(operation, input(withToken ? { fencing_token: results[0].fencing_token } : {}))
    while (!server.app.locks.status(key).holders.some(({ isLease }) => !isLease)) await new Promise(setImmediate)
    server.app.locks.leases.break(key, { cause: 'broken', reason: 'test', by: undefined })
    const title = `${enforcement}, ${withToken ? 'with' : 'without'} fencing_token`
    t.match(await change, { error_code: 'LEASE_LOST', details: { cause: 'broken' } }, title)
    t.equal(tree.read(file), 'one\n', title)
    t.match(await ann.call('async_read', { path: file }), { status: 'ok', notices: undefined }, 'it has been told')
  }
})
