// A file that is not there: each answer says who has moved or deleted it, and its name now, so that no agent creates it anew by mistake.
import { renameSync, rmSync } from 'node:fs'
import t from 'tap'
import { connect, transports, type Answer } from '../fixtures/clients.ts'
import { startServer } from '../fixtures/server.ts'
import { startStdio } from '../fixtures/stdio.ts'
import { hashOf, makeTree } from '../fixtures/tree.ts'

const hash = `sha256:${'0'.repeat(64)}`

/** Calls that need the file, of all operations. */
const calls: readonly (readonly [name: string, input: (path: string) => object])[] = [
  ['async_read', (path) => ({ path })],
  ['async_read', (path) => ({ path, known_hash: hash })],
  ['async_update', (path) => ({ path, expected_hash: hash, content: 'x' })],
  ['async_update', (path) => ({ path, expected_hash: hash, patches: [{ old_string: 'a', new_string: 'b' }] })],
  ['async_append', (path) => ({ path, content: 'x', create_if_missing: false })],
  ['async_append', (path) => ({ path, content: 'x', expected_hash: hash })],
  ['async_delete', (path) => ({ path })],
  ['async_delete', (path) => ({ path, expected_hash: hash })],
  ['async_rename', (path) => ({ old_path: path, new_path: 'other.txt' })],
  ['async_diff', (path) => ({ path, from_hash: hashOf('a\n') })],
  ['async_blame', (path) => ({ path })]
]

interface Owner {
  teardown(fn: () => unknown): void
}

interface Setting {
  readonly url: string
  readonly call: (agent: string, name: string, input: object) => Promise<Answer>
}

async function start(t: Owner, files: Record<string, string>): Promise<Setting & { readonly root: string }> {
  const tree = makeTree(t, files)
  const { url } = await startServer(t, tree.root)
  const agents = new Map<string, Awaited<ReturnType<typeof connect>>>()
  for (const agent of ['ann', 'bob', 'eve']) agents.set(agent, await connect(t, 'rest', url, agent))
  return { root: tree.root, url, call: (agent, name, input) => agents.get(agent)!.call(name, input) }
}

t.test('every operation, at every call, says who has renamed the file and how it is called now', async (t) => {
  const { url, call } = await start(t, { 'a.txt': 'a\n' })
  await call('bob', 'async_rename', { old_path: 'a.txt', new_path: 'b.txt' })
  await call('eve', 'async_rename', { old_path: 'b.txt', new_path: 'sub/c.txt', create_dirs: true })
  for (const transport of transports) {
    const ann = await connect(t, transport, url, 'ann')
    for (const [name, input] of calls)
      for (const time of ['first', 'second']) {
        const answer = await ann.call(name, input('a.txt'))
        const what = `${transport} ${name} ${JSON.stringify(input('a.txt'))}, ${time}`
        t.match(
          answer,
          {
            error_code: 'FILE_NOT_FOUND',
            path: 'a.txt',
            message: /^File does not exist: a\.txt\. bob renamed it at 20.*; it is sub\/c\.txt now\./,
            details: { gone: { agent_id: 'bob', operation: 'async_rename', renamed_to: 'sub/c.txt' } }
          },
          what
        )
        t.notMatch(answer['message'], /create/, what)
      }
  }
  const middle = await call('ann', 'async_read', { path: 'b.txt' })
  t.match(middle.message, /eve renamed it at .*; it is sub\/c\.txt now/)
  const batch = await call('ann', 'async_batch_read', { files: [{ path: 'a.txt' }], consistent: true })
  t.match(batch.results, [{ message: /bob renamed it/, details: { gone: { renamed_to: 'sub/c.txt' } } }])
  const single = await call('ann', 'async_batch_read', { files: [{ path: 'a.txt' }] })
  t.match(single.results, [{ message: /bob renamed it/ }])
  for (const atomic of [true, false]) {
    const files = [{ path: 'a.txt', expected_hash: hash, content: 'x' }]
    t.match(JSON.stringify(await call('ann', 'async_batch_update', { files, atomic })), /bob renamed it/)
  }
  const changes = [{ operation: 'delete', path: 'a.txt' }]
  t.match(JSON.stringify(await call('ann', 'async_transaction', { changes })), /bob renamed it/)
  const response = await fetch(`${url}/files/a.txt`)
  t.equal(response.status, 404)
  t.match(await response.json(), { message: /bob renamed it/, details: { gone: { renamed_to: 'sub/c.txt' } } })
  const removal = await fetch(`${url}/files/a.txt`, { method: 'DELETE' })
  t.match(await removal.json(), { error_code: 'FILE_NOT_FOUND', message: /bob renamed it/ })
})

t.test('read_file and edit_file say so in their own shapes', async (t) => {
  const { url, call } = await start(t, { 'a.txt': 'a\n', 'd.txt': 'd\n' })
  await call('bob', 'async_rename', { old_path: 'a.txt', new_path: 'async_b.txt' })
  await call('bob', 'async_delete', { path: 'd.txt' })
  const read = (await (
    await fetch(`${url}/read_file`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"name":"a.txt"}'
    })
  ).json()) as Answer
  t.strictSame(Object.keys(read['error']), ['code', 'message', 'data'])
  t.strictSame(Object.keys(read['error'].data), ['filename', 'operation', 'timestamp', 'details'])
  t.match(read, { error: { code: -32001, message: /bob renamed it at .*; it is async_b\.txt now/ } })
  const edits = [{ line: 1, content: 'x', operation: 'replace' }]
  for (const name of ['a.txt', 'd.txt']) {
    const { error } = await call('ann', 'edit_file', { name, edits })
    t.match(error, { code: -32001, message: name === 'a.txt' ? /bob renamed it/ : /bob deleted it/ })
    t.notMatch(error.message, /async_(?!b)/, 'no operation that these agents do not have')
  }
})

t.test('a file that was deleted, by an agent or outside of the server', async (t) => {
  const { root, call } = await start(t, { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n', 'd.txt': 'd\n' })
  await call('bob', 'async_delete', { path: 'a.txt' })
  t.match(await call('ann', 'async_read', { path: 'a.txt' }), {
    message: /^File does not exist: a\.txt\. bob deleted it at 20.*async_restore/,
    details: { gone: { agent_id: 'bob', operation: 'async_delete', at: /^20/ } }
  })
  await call('ann', 'async_read', { path: 'b.txt' })
  rmSync(`${root}/b.txt`)
  t.match(await call('ann', 'async_read', { path: 'b.txt' }), {
    message: /Someone outside the server removed it/,
    details: { gone: { agent_id: 'external' } }
  })
  await call('bob', 'async_rename', { old_path: 'c.txt', new_path: 'e.txt' })
  await call('eve', 'async_delete', { path: 'e.txt' })
  const both = await call('ann', 'async_update', { path: 'c.txt', expected_hash: hash, content: 'x' })
  t.match(both.message, /bob renamed it to e\.txt at .*, and eve deleted that at/)
  t.notOk('renamed_to' in both.details.gone)
  // Another file under the new name is not the one that was renamed.
  await call('ann', 'async_write', { path: 'e.txt', content: 'other' })
  t.match((await call('ann', 'async_read', { path: 'c.txt' })).message, /and eve deleted that at/)
  await call('bob', 'async_rename', { old_path: 'd.txt', new_path: 'f.txt' })
  renameSync(`${root}/f.txt`, `${root}/g.txt`)
  const unsure = await call('ann', 'async_read', { path: 'd.txt' })
  t.match(unsure.message, /bob renamed it/)
  t.notMatch(unsure.message, /it is f\.txt now/, 'which is not there')
})

t.test('back and forth, and what is not known, is not invented', async (t) => {
  const { call } = await start(t, { 'a.txt': 'a\n' })
  const rename = (from: string, to: string) => call('bob', 'async_rename', { old_path: from, new_path: to })
  for (const [from, to] of [
    ['a.txt', 'b.txt'],
    ['b.txt', 'a.txt'],
    ['a.txt', 'b.txt'],
    ['b.txt', 'c.txt']
  ] as const)
    await rename(from, to)
  t.match((await call('ann', 'async_read', { path: 'a.txt' })).message, /it is c\.txt now/)
  await rename('c.txt', 'a.txt')
  t.match(await call('ann', 'async_read', { path: 'a.txt' }), { status: 'ok' })
  t.match((await call('ann', 'async_read', { path: 'b.txt' })).message, /it is a\.txt now/)
  const never = await call('ann', 'async_read', { path: 'never.txt' })
  t.match(never.message, /^File does not exist: never\.txt\. Look for it with async_list/)
  t.notOk('details' in never && 'gone' in (never.details ?? {}))
  for (const [name, input] of calls.filter(([each]) => /delete|rename/.test(each)))
    t.notMatch((await call('ann', name, input('never.txt'))).message, /create/, `${name} does not advise to create it`)
})

t.test('after a restart it is known, as far as the history is kept', async (t) => {
  const tree = makeTree(t, { 'root/a.txt': 'a\n' })
  const args = ['--stdio', '--dir', tree.path('root')]
  const environment = { HOME: tree.root, XDG_DATA_HOME: tree.path('data'), ASYNC_CRUD_MCP_PERSISTENCE__ENABLED: 'true' }
  const first = startStdio(t, args, { environment })
  await first.call('async_rename', { old_path: 'a.txt', new_path: 'b.txt', agent_id: 'bob' })
  await first.end()
  const second = startStdio(t, args, { environment })
  const { error } = await second.call('async_read', { path: 'a.txt' })
  t.match(error, { data: { message: /bob renamed it at .*; it is b\.txt now/ } })
  await second.end()
})
