// Hosts that mount one volume at different paths: each caller hears of files as it named them, and state outlives the host that wrote it.
import t, { type Test } from 'tap'
import { follow } from '../../fixtures/event-stream.ts'
import { healthOf, post } from '../../fixtures/processes.ts'
import type { RunningProgram } from '../../fixtures/server.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { lacksEtcd, startEtcd, type Etcd } from './fixtures/etcd.ts'
import { cannotMount, startHost } from './fixtures/hosts.ts'

const skip = lacksEtcd || cannotMount
const etcd = skip === false ? startEtcd(t) : new Promise<never>(() => {})

interface Mounted {
  readonly program: RunningProgram
  readonly path: (name: string) => string
  readonly call: (operation: string, input: object) => ReturnType<typeof post>
}

/** @param own undefined for the path of the tree itself */
async function mount(t: Test, etcd: Etcd, tree: Tree, own?: Tree): Promise<Mounted> {
  const program = await startHost(t, { etcd, tree, mountedAt: own?.root })
  await fetch(`${program.url}/locks`)
  return {
    program,
    path: (name) => (own ?? tree).path(name),
    call: (operation, input) => post(program.url, operation, { agent_id: 'one', ...input })
  }
}

t.test(
  'files, leases, receipts and histories are the same on both hosts, and go on with either',
  { skip },
  async (t) => {
    const tree = makeTree(t, { 'folder/a.txt': 'one\n', 'b.txt': 'b\n' })
    const authority = await mount(t, await etcd, tree)
    const relay = await mount(t, await etcd, tree, makeTree(t))
    t.equal((await healthOf(relay.program.url))['role'], 'relay')

    const append = { content: 'two\n', request_id: 'the second line' }
    t.match(await authority.call('async_append', { ...append, path: authority.path('folder/a.txt') }), {
      status: 'ok',
      path: authority.path('folder/a.txt')
    })
    t.match(await relay.call('async_append', { ...append, path: relay.path('folder/a.txt') }), {
      status: 'ok',
      path: relay.path('folder/a.txt'),
      replayed: true
    })
    const read = await relay.call('async_read', { path: relay.path('folder/a.txt') })
    t.match(read, { path: relay.path('folder/a.txt'), content: 'one\ntwo\n' })
    t.match(await relay.call('async_read', { path: authority.path('folder/none.txt') }), {
      error_code: 'FILE_NOT_FOUND',
      message: new RegExp(relay.path('folder/none.txt'))
    })
    t.match(await relay.call('async_batch_read', { files: [{ path: relay.path('b.txt') }, { path: 'b.txt' }] }), {
      results: [{ path: relay.path('b.txt') }, { path: 'b.txt' }]
    })
    t.match(await relay.call('lock_try', { filepaths: [relay.path('b.txt')] }), {
      results: [{ filepath: relay.path('b.txt'), acquired: true }]
    })
    t.match(await authority.call('lock_try', { agent_id: 'two', filepaths: [authority.path('b.txt')] }), {
      results: [{ filepath: authority.path('b.txt'), acquired: false }]
    })
    const events = await follow(t, relay.program.url, `path=${encodeURIComponent(relay.path('folder/a.txt'))}`)
    await authority.call('async_append', { path: 'folder/a.txt', content: 'three\n' })
    let event = await events.next()
    while (event['type'] !== 'file_changed') event = await events.next()
    t.equal(event['path'], relay.path('folder/a.txt'))
    events.close()

    authority.program.process.kill('SIGKILL')
    await until(async () => (await relay.call('async_status', { path: 'b.txt' }))['status'] === 'ok')
    t.equal((await healthOf(relay.program.url))['role'], 'authority')
    t.match(
      await relay.call('async_write', { agent_id: 'two', path: relay.path('b.txt'), content: 'x', timeout_seconds: 0 }),
      { status: 'error' },
      'the lease goes on'
    )
    t.match(await relay.call('async_append', { ...append, path: relay.path('folder/a.txt') }), { replayed: true })
    t.equal(tree.read('folder/a.txt'), 'one\ntwo\nthree\n')
    const { versions } = await relay.call('async_history', { path: relay.path('folder/a.txt') })
    t.equal((versions as object[]).length, 3)
    t.match(await relay.call('lock_release', { filepaths: [relay.path('b.txt')] }), { results: [{ released: true }] })

    const back = await mount(t, await etcd, tree)
    await relay.program.stop()
    t.match(await back.call('async_append', { ...append, path: back.path('folder/a.txt') }), { replayed: true })
    t.equal((await healthOf(back.program.url))['role'], 'authority')
  }
)
