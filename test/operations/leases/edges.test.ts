// Where leases meet links, short times, tickets of the past and answers that nobody reads.
import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { PartialConfig } from '../../../src/config/config.ts'
import { connect } from '../../fixtures/clients.ts'
import { lasts, now } from '../../fixtures/lasts.ts'
import { untilWaiting } from '../../fixtures/locks.ts'
import { startServer } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

async function scene(t: Test, config: PartialConfig = {}) {
  const tree = makeTree(t, { a: 'a', b: 'b', c: 'c' })
  const server = await startServer(t, tree.root, config)
  const [ann, bob] = await Promise.all(['ann', 'bob'].map((name) => connect(t, 'rest', server.url, name)))
  return { tree, server, ann: ann!, bob: bob! }
}

t.test('a lease taken by the name of a link lets its agent delete and rename the link', async (t) => {
  const { tree, ann, bob } = await scene(t, { locks: { enforcement: 'required' } })
  for (const name of ['l', 'm']) symlinkSync('a', tree.path(name))
  t.match(await ann.call('async_delete', { path: 'l' }), { error_code: 'LOCK_REQUIRED' })
  const { results } = await ann.call('lock_try', { filepaths: ['l', 'n'] })
  const { fencing_token } = results.find(({ filepath }: { filepath: string }) => filepath === 'l')
  t.match(await bob.call('async_delete', { path: 'l' }), { error_code: 'LOCK_REQUIRED' })
  t.match(await ann.call('async_delete', { path: 'l', fencing_token }), { status: 'ok' })
  t.match(await ann.call('async_rename', { old_path: 'm', new_path: 'n', fencing_token }), { status: 'ok' })
  t.strictSame(tree.read('a'), 'a')
})

t.test('a link that leads to no file can be deleted and renamed although each change needs a lease', async (t) => {
  const { tree, ann, bob } = await scene(t, { locks: { enforcement: 'required' } })
  mkdirSync(tree.path('folder'))
  const targets = { folded: 'folder', outer: makeTree(t).root, round: 'circle', guarded: '.git/config' }
  tree.write('.git/config', '')
  symlinkSync('circle', tree.path('circle'))
  for (const [name, target] of Object.entries(targets)) {
    symlinkSync(target, tree.path(name))
    const refused = await ann.call('lock_try', { filepaths: [name] })
    t.equal(refused['status'], 'error', `${name} cannot be leased`)
    await bob.call('lock_try', { filepaths: [`${name}.old`] })
    const rename = { old_path: name, new_path: `${name}.old` }
    t.match(
      await ann.call('async_rename', rename),
      { error_code: 'LOCK_REQUIRED' },
      'the new name needs one all the same'
    )
    await bob.call('lock_release_all')
    await ann.call('lock_try', { filepaths: [`${name}.old`] })
    t.match(await ann.call('async_rename', rename), { status: 'ok' })
    t.match(await bob.call('async_delete', { path: `${name}.old`, timeout: 0 }), { error_code: 'LOCK_TIMEOUT' })
    await ann.call('lock_release_all')
    t.match(await bob.call('async_delete', { path: `${name}.old` }), { status: 'ok' })
  }
  t.ok(tree.all().includes('folder'))
})

t.test('a link that became a file while its deletion waited needs the lease of a file', async (t) => {
  const { tree, server, ann, bob } = await scene(t, { locks: { enforcement: 'required' } })
  await bob.call('lock_try', { filepaths: ['l'] })
  symlinkSync(makeTree(t).root, tree.path('l'))
  const deletion = ann.call('async_delete', { path: 'l' })
  await untilWaiting(server, 1)
  rmSync(tree.path('l'))
  tree.write('l', 'kept')
  await bob.call('lock_release', { filepaths: ['l'] })
  t.match(await deletion, { error_code: 'LOCK_REQUIRED' })
  t.equal(tree.read('l'), 'kept')
})

t.test(
  'a lease begins when its agent is told of it: what a wait has got first is there when the last comes',
  async (t) => {
    const { server, ann, bob } = await scene(t)
    await bob.call('lock_try', { filepaths: ['b'] })
    const wait = ann.call('lock_wait', { filepaths: ['a', 'b'], ttl_seconds: 0.4 })
    await untilWaiting(server, 1)
    const cat = await connect(t, 'rest', server.url, 'cat')
    t.match(await cat.call('lock_wait', { filepaths: ['a'], timeout_seconds: 0.8 }), { all_acquired: false })
    const since = now()
    await bob.call('lock_release', { filepaths: ['b'] })
    const { all_acquired, results } = await wait
    t.ok(all_acquired)
    for (const { filepath, expires_at } of results) lasts(t, since, expires_at, 0.4, filepath)
  }
)

t.test('a ticket asks for nothing that its agent has given back since', async (t) => {
  const { ann, bob } = await scene(t, { crud: { max_timeout: 0.05 } })
  await bob.call('lock_try', { filepaths: ['b'] })
  const { ticket } = await ann.call('lock_wait', { filepaths: ['a', 'b'] })
  await ann.call('lock_release', { filepaths: ['a'] })
  await bob.call('lock_release', { filepaths: ['b'] })
  const { results } = await ann.call('lock_wait', { ticket })
  t.match(results, [{ filepath: 'b', acquired: true }])
  t.equal(results.length, 1)
  t.match(await bob.call('lock_try', { filepaths: ['a'] }), { all_acquired: true })
})

t.test('a refused wait leaves the leases of before as they were, with their notes and times', async (t) => {
  const { server, ann, bob } = await scene(t)
  await ann.call('lock_try', { filepaths: ['a'], note: 'mine', ttl_seconds: 500 })
  await bob.call('lock_try', { filepaths: ['b'] })
  const wait = bob.call('lock_wait', { filepaths: ['a'] })
  await untilWaiting(server, 1)
  const refused = await ann.call('lock_wait', { filepaths: ['a', 'b'], note: 'other', ttl_seconds: 0.2 })
  t.match(refused, { error_code: 'DEADLOCK', path: 'b' })
  const since = now()
  const { results } = await ann.call('lock_renew', { filepaths: ['a'] })
  lasts(t, since, results[0].expires_at, 500)
  t.match(await ann.call('lock_status', { filepaths: ['a'] }), { results: [{ holders: [{ note: 'mine' }] }] })
  await ann.call('lock_release_all')
  t.match(await wait, { all_acquired: true })
})

t.test('a burst of changes under a lost lease is refused whole', async (t) => {
  const { tree, server, ann } = await scene(t)
  await ann.call('lock_try', { filepaths: ['a'] })
  const operator = await connect(t, 'rest', server.url, 'boss')
  await operator.call('lock_break', { filepaths: ['a'], reason: 'over' })
  const burst = [1, 2, 3].map(() => ann.call('async_append', { path: 'a', content: 'x' }))
  for (const answer of await Promise.all(burst)) t.match(answer, { error_code: 'LEASE_LOST' })
  t.equal(tree.read('a'), 'a')
  await ann.call('lock_release', { filepaths: ['a'] })
  t.match(await ann.call('async_append', { path: 'a', content: 'x' }), { status: 'ok' }, 'it wants the lease no more')
})

t.test('a read that gets no lock shows nothing, and lets nobody write on', async (t) => {
  const { server, ann, bob } = await scene(t, { crud: { max_timeout: 0.05 } })
  await ann.call('lock_try', { filepaths: ['a', 'gone'] })
  await bob.call('lock_break', { filepaths: ['a', 'gone'], reason: 'over' })
  t.match(await ann.call('async_status'), { notices: { length: 2 } })
  const key = server.app.files.resolve('a', 'target')
  const held = await server.app.locks.acquire([{ ...key, mode: 'exclusive' }], {
    operation: 'async_update',
    timeoutMs: 0,
    ttlMs: 60_000
  })
  t.match(await ann.call('async_read', { path: 'a' }), { error_code: 'LOCK_TIMEOUT' })
  held.release()
  t.match(await ann.call('async_append', { path: 'a', content: 'x' }), { error_code: 'LEASE_LOST' })
  t.match(await ann.call('async_read', { path: 'gone' }), { error_code: 'FILE_NOT_FOUND' })
  t.match(await ann.call('async_write', { path: 'gone', content: 'x' }), { status: 'ok' }, 'that it is gone is seen')
})

t.test('when stdin ends, a wait for a lease is answered at once, and the program ends', async (t) => {
  const tree = makeTree(t, { f: '' })
  const program = startStdio(t, ['--dir', tree.root, '--transport', 'dual'])
  const bob = await connect(t, 'rest', await program.url(), 'bob')
  await bob.call('lock_try', { filepaths: ['f'] })
  const wait = program.call('lock_wait', { filepaths: ['f'], timeout_seconds: 60 })
  await until(async () => (await bob.call('async_status', { path: 'f' }))['queue_depth'] !== 0)
  const ended = program.end()
  t.match(await wait, { error: { data: { error_code: 'CANCELLED' } } })
  t.match(await ended, { code: 0 })
})
