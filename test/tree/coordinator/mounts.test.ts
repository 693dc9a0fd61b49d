// Hosts that mount one volume at different paths: each caller hears of files as it named them, and state outlives the host that wrote it.
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import type { LockList } from '../../../schemas/lock-list.ts'
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
    const address = pathToFileURL(relay.path('folder/a.txt')).href
    t.match(await relay.call('async_read', { path: address }), { path: address, content: 'one\ntwo\n' })
    t.match(await relay.call('async_read', { path: authority.path('folder/none.txt') }), {
      error_code: 'FILE_NOT_FOUND',
      message: new RegExp(relay.path('folder/none.txt'))
    })
    const outside = `/outside${authority.path('b.txt')}`
    const { message } = await relay.call('async_read', { path: outside })
    const roots = [`every root: ${outside}.`, `Roots: ${relay.path('')}.`]
    t.strictSame(
      roots.filter((text) => !String(message).includes(text)),
      [],
      String(message)
    )
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

t.test('the list of locks has the paths of the host that is asked, and goes on behind one', { skip }, async (t) => {
  const tree = makeTree(t, { 'a.txt': '', 'b.txt': '', 'c.txt': '' })
  const authority = await mount(t, await etcd, tree)
  const relay = await mount(t, await etcd, tree, makeTree(t))
  await authority.call('lock_try', { filepaths: ['b.txt', 'a.txt'].map(authority.path) })
  await relay.call('lock_try', { agent_id: 'two', filepaths: [relay.path('c.txt')] })
  for (const { program, path } of [authority, relay]) {
    const list = async (query: string) => {
      const { files } = (await (await fetch(`${program.url}/locks?${query}`)).json()) as LockList
      return files.map((file) => file.path)
    }
    t.strictSame(await list(''), ['a.txt', 'b.txt', 'c.txt'].map(path))
    t.strictSame(await list(`limit=1&after=${encodeURIComponent(path('a.txt'))}`), [path('b.txt')])
    t.strictSame(await list(`after=${encodeURIComponent(path('b.txt'))}`), [path('c.txt')])
  }
})

t.test('hooks of native tools name files by the paths of their own host', { skip }, async (t) => {
  const tree = makeTree(t, { 'folder/a.txt': 'one\n', 'b.txt': 'one\n', 'c.txt': 'one\n' })
  const authority = await mount(t, await etcd, tree)
  const relay = await mount(t, await etcd, tree, makeTree(t))
  for (const [own, other] of [
    [relay, authority],
    [authority, relay]
  ] as const) {
    const at = own === relay ? 'relay' : 'authority'
    const hook = async (harness: string, event: object) => {
      const response = await fetch(`${own.program.url}/hooks/${harness}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ cwd: own.path('folder'), ...event })
      })
      return response.json()
    }
    const versionsOf = async (path: string) =>
      (await other.call('async_history', { path: other.path(path) }))['versions'] as object[]

    const claude = { session_id: `anna at ${at}`, tool_use_id: `1 at ${at}`, tool_name: 'Edit' }
    const before = tree.read('folder/a.txt')
    const ownText = `${own.path('named')} at ${at}\n`
    const tool_input = { file_path: own.path('folder/a.txt'), old_string: before, new_string: ownText }
    const totalLines = before.split('\n').length - 1
    const read = { type: 'text', file: { content: before.trimEnd(), startLine: 1, totalLines } }
    const shown = { tool_name: 'Read', tool_input, tool_response: read }
    t.match(await hook('claude-code', { ...claude, hook_event_name: 'PostToolUse', ...shown }), {
      hookSpecificOutput: { additionalContext: `knows you as "claude-code/anna at ${at}"` }
    })
    t.strictSame(await hook('claude-code', { ...claude, hook_event_name: 'PreToolUse', tool_input }), {})
    tree.write('folder/a.txt', ownText)
    const done = { hook_event_name: 'PostToolUse', tool_input, tool_response: {} }
    t.strictSame(await hook('claude-code', { ...claude, ...done }), {})
    t.match(await versionsOf('folder/a.txt'), [{ agent_id: `claude-code/anna at ${at}`, operation: 'native_edit' }])
    await other.call('async_append', { path: other.path('folder/a.txt'), content: `two at ${at}\n` })
    const again = { ...tool_input, old_string: own.path('named'), new_string: own.path('other') }
    t.match(
      await hook('claude-code', {
        ...claude,
        hook_event_name: 'PreToolUse',
        tool_name: 'Write',
        tool_input: { ...again, content: '' }
      }),
      { hookSpecificOutput: { permissionDecisionReason: new RegExp(`one changed ${own.path('folder/a.txt')} since`) } },
      `refused at ${at}`
    )
    t.strictSame(
      await hook('claude-code', { ...claude, hook_event_name: 'PreToolUse', tool_input: again }),
      {},
      'the text to find is in the file, as it is'
    )

    const patch = `*** Begin Patch\n*** Update File: ${own.path('b.txt')}\n@@\n-one\n+two\n*** End Patch\n`
    const codex = {
      session_id: 'carl',
      tool_use_id: `2 at ${at}`,
      tool_name: 'apply_patch',
      tool_input: { command: patch }
    }
    await hook('codex', { ...codex, hook_event_name: 'PreToolUse' })
    t.match(await other.call('lock_status', { filepaths: [other.path('b.txt')] }), {
      results: [{ holders: [{ agent_id: 'codex/carl' }] }]
    })
    tree.write('b.txt', `two at ${at}\n`)
    await hook('codex', { ...codex, hook_event_name: 'PostToolUse', tool_response: {} })
    t.match(await versionsOf('b.txt'), [{ agent_id: 'codex/carl' }])

    const cursor = { conversation_id: 'cora', tool_use_id: `3 at ${at}`, tool_name: 'Write' }
    const write = { hook_event_name: 'preToolUse', tool_input: { path: own.path('c.txt'), content: 'two\n' } }
    // What it replaces, it has read.
    const readBefore = { hook_event_name: 'beforeReadFile', file_path: own.path('c.txt'), content: 'one\n' }
    await hook('cursor', { ...cursor, ...readBefore })
    await hook('cursor', { ...cursor, ...write })
    t.match(await other.call('lock_status', { filepaths: [other.path('c.txt')] }), {
      results: [{ holders: [{ agent_id: 'cursor/cora' }] }]
    })
    await hook('cursor', { conversation_id: 'cora', hook_event_name: 'sessionEnd' })
  }
})
