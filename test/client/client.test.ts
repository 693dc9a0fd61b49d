// The typed client against a real server: every kind of outcome. That this file compiles is a test of its types, too.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { contract } from '../../schemas/contract.ts'
import { CallError, createClient, type Client, type ClientOptions } from '../../src/client/client.ts'
import type { PartialConfig } from '../../src/config/config.ts'
import { operations } from '../../src/operations/index.ts'
import { holdLock, untilWaiting } from '../fixtures/locks.ts'
import { startServer, type TestServer } from '../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../fixtures/tree.ts'

async function scene(
  t: Test,
  files: Record<string, string>,
  { config = {}, ...options }: { config?: PartialConfig } & Omit<ClientOptions, 'url'> = {}
): Promise<{ tree: Tree; server: TestServer; client: Client }> {
  const tree = makeTree(t, files)
  const server = await startServer(t, tree.root, config)
  return { tree, server, client: createClient({ url: server.url, ...options }) }
}

/** A server of another kind. */
async function startStranger(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function failureOf(call: Promise<unknown>): Promise<CallError> {
  const error: unknown = await call.then(
    () => new Error('the call succeeded'),
    (reason: unknown) => reason
  )
  if (error instanceof CallError) return error
  throw error
}

t.test('the client knows every operation of the server, in the order of its list', async (t) => {
  t.strictSame(
    Object.keys(contract),
    operations.map(({ name }) => name)
  )
})

t.test('an answer is returned as it came, and the server fills in what was left out', async (t) => {
  const { tree, client } = await scene(t, { 'flat.txt': 'x\n' })
  const written = await client.call('async_write', { path: 'deep/a.txt', content: 'one\ntwo\n' })
  t.match(written, { status: 'ok', hash: hashOf('one\ntwo\n'), bytes_written: 8 })
  const read = await client.call('async_read', { path: 'deep/a.txt' })
  t.match(read, { content: 'one\ntwo\n', offset: 0, limit: null, total_lines: 2 })
  const patches = [{ old_string: 'two', new_string: '2' }]
  const updated = await client.call('async_update', { path: 'deep/a.txt', expected_hash: read.hash, patches })
  t.match(updated, { status: 'ok', previous_hash: read.hash, changed: true })
  t.equal(tree.read('deep/a.txt'), 'one\n2\n')
  t.match(await client.call('list_files', {}), { total_count: 1, files: [{ name: 'flat.txt', lines: 1 }] })
})

t.test('a part of a file is read by bytes, and of a file that is too large without a hash', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\ntwo\n', 'large.txt': 'x'.repeat(3000) })
  const { url } = await startServer(t, tree.root, { crud: { max_file_size_bytes: 2048 } })
  const client = createClient({ url })
  t.match(await client.readPart({ path: 'a.txt', byte_offset: 4, byte_limit: 4 }), {
    content: 'two\n',
    hash: hashOf('one\ntwo\n')
  })
  const part = await client.readPart({ path: 'large.txt', byte_offset: 2990 })
  t.match(part, { content: 'x'.repeat(10), total_bytes: 3000 })
  t.equal(part.hash, undefined)
})

t.test('contention is an answer that carries the difference, and its hash leads on', async (t) => {
  const { tree, server, client } = await scene(t, { 'a.txt': 'one\ntwo\n' }, { agentId: 'ann' })
  const bob = createClient({ url: server.url, agentId: 'bob' })
  const { hash } = await client.call('async_read', { path: 'a.txt' })
  await bob.call('async_update', { path: 'a.txt', expected_hash: hash, content: 'one\nTWO\n' })
  const patches = [{ old_string: 'one', new_string: '1' }]
  const late = await client.call('async_update', { path: 'a.txt', expected_hash: hash, patches })
  if (late.status !== 'contention') return t.fail('there was no contention')
  t.match(late.diff?.changes, [{ type: 'modified', old_content: 'two', new_content: 'TWO' }])
  t.match(late.modified_by, [{ agent_id: 'bob' }], 'agentId names the caller')
  await client.call('async_update', { path: 'a.txt', expected_hash: late.current_hash, patches })
  return t.equal(tree.read('a.txt'), '1\nTWO\n')
})

t.test('leases are taken, met by others, and given back', async (t) => {
  const { server, client } = await scene(t, { 'a.txt': '', 'b.txt': '' }, { agentId: 'ann' })
  const bob = createClient({ url: server.url, agentId: 'bob' })
  const taken = await client.call('lock_try', { filepaths: ['a.txt', 'b.txt'], note: 'two files' })
  t.match(taken, { status: 'ok', all_acquired: true })
  const [lease] = taken.results
  const missed = await bob.call('lock_wait', { filepaths: ['a.txt'], timeout_seconds: 0 })
  t.match(missed.results, [{ acquired: false, holder: 'ann', holder_note: 'two files', position: 1 }])
  const input = { path: 'a.txt', content: 'x', timeout: 0 }
  t.match(await failureOf(bob.call('async_append', input)), { httpStatus: 408, code: 'LOCK_TIMEOUT' })
  await client.call('async_append', { ...input, fencing_token: lease?.fencing_token ?? 0 })
  t.match(await client.call('lock_release_all', {}), { count: 2 })
  t.match(await bob.call('async_append', input), { status: 'ok' })
})

t.test('each result of a batch is told apart by its status', async (t) => {
  const { client } = await scene(t, { 'a.txt': 'a', 'b.txt': 'b' })
  const { results, summary } = await client.call('async_batch_update', {
    files: [
      { path: 'a.txt', expected_hash: hashOf('a'), patches: [{ old_string: 'a', new_string: 'A' }] },
      { path: 'b.txt', expected_hash: hashOf('older'), content: 'B' },
      { path: 'c.txt', expected_hash: hashOf('c'), content: 'C' }
    ]
  })
  t.strictSame(summary, { total: 3, succeeded: 1, contention: 1, failed: 1 })
  const outcomes = results.map((result) => {
    if (result.status === 'ok') return result.hash
    return result.status === 'contention' ? result.current_hash : result.error_code
  })
  t.strictSame(outcomes, [hashOf('A'), hashOf('b'), 'FILE_NOT_FOUND'])
})

t.test('a failure throws a CallError with the code, the path and the details of the envelope', async (t) => {
  const { client } = await scene(t, {})
  const missing = await failureOf(client.call('async_read', { path: 'missing.txt' }))
  t.match(missing, { name: 'CallError', operation: 'async_read', httpStatus: 404, code: 'FILE_NOT_FOUND' })
  t.match(missing, { path: 'missing.txt', message: /missing\.txt/, retryAfterSeconds: undefined })
  t.match(missing.body, { status: 'error', error_code: 'FILE_NOT_FOUND', message: missing.message })
  const invalid = await failureOf(client.call('async_read', { path: '', offset: -1 }))
  t.match(invalid, { httpStatus: 400, code: 'INVALID_REQUEST', details: { faults: [{}, {}] } })
})

t.test('a failure in the bare envelope has its JSON-RPC code, and its data as details', async (t) => {
  const { client } = await scene(t, {})
  const error = await failureOf(client.call('read_file', { name: 'missing.txt' }))
  t.match(error, { operation: 'read_file', httpStatus: 404, code: -32001, path: 'missing.txt' })
  t.match(error.details, { filename: 'missing.txt', operation: 'read_file', details: /^FILE_NOT_FOUND: / })
  t.match(error.body, { error: { code: -32001, message: error.message } })
})

t.test('a server with a token refuses a client without it, and answers one that has it', async (t) => {
  const { server, client } = await scene(t, {}, { config: { daemon: { token: 'secret' } } })
  t.match(await failureOf(client.call('async_status', {})), { httpStatus: 401, code: 'UNAUTHORIZED' })
  t.match(await failureOf(client.call('list_files', {})), { httpStatus: 401, code: -32603 })
  const known = createClient({ url: server.url, token: 'secret' })
  t.match(await known.call('async_status', {}), { status: 'ok' })
})

t.test('a server that is full says when to come again', async (t) => {
  const { tree, server, client } = await scene(t, { 'a.txt': '' }, { config: { locks: { max_waiters_per_path: 1 } } })
  const held = await holdLock(server, tree.path('a.txt'))
  const waiting = client.call('async_read', { path: 'a.txt' })
  await untilWaiting(server, 1)
  const error = await failureOf(client.call('async_read', { path: 'a.txt' }))
  t.match(error, { httpStatus: 503, code: 'OVERLOADED', retryAfterSeconds: 1 })
  held.release()
  t.match(await waiting, { status: 'ok' })
})

t.test('a call that is aborted rejects with the reason and leaves the queue', async (t) => {
  const { tree, server, client } = await scene(t, { 'a.txt': 'old' })
  const held = await holdLock(server, tree.path('a.txt'))
  const controller = new AbortController()
  const input = { path: 'a.txt', expected_hash: hashOf('old'), content: 'new' }
  const call = client.call('async_update', input, { signal: controller.signal })
  await untilWaiting(server, 1)
  const reason = new Error('enough')
  controller.abort(reason)
  t.equal(await call.catch((error: unknown) => error), reason)
  await untilWaiting(server, 0)
  held.release()
  t.equal(tree.read('a.txt'), 'old')
  await t.rejects(client.call('async_read', { path: 'a.txt' }, { signal: controller.signal }), reason)
})

t.test('without a server the failure of fetch is passed on as it is', async (t) => {
  const { server, client } = await scene(t, {})
  await server.app.close()
  await t.rejects(client.call('async_status', {}), { name: 'TypeError', cause: { code: 'ECONNREFUSED' } })
})

t.test('an answer that is not from such a server is a CallError that says so', async (t) => {
  const answers: [status: number, type: string, body: string][] = [
    [502, 'text/html', '<h1>Bad gateway</h1>'],
    [200, 'text/html', '<h1>Welcome</h1>'],
    [200, 'application/json', '['],
    [200, 'application/json', 'null'],
    [500, 'application/json', '{"message":"oh"}'],
    [500, 'application/json', '{"error":{"code":1}}'],
    [500, 'application/json', '{"error":{"code":1,"message":"oh"}}'],
    [409, 'application/json', '{"status":"ok"}']
  ]
  for (const [status, type, body] of answers) {
    const url = await startStranger(t, (_request, response) => {
      response.writeHead(status, { 'content-type': type, 'retry-after': 'soon' }).end(body)
    })
    const error = await failureOf(createClient({ url }).call('async_status', {}))
    t.match(error, { httpStatus: status, code: undefined, path: undefined, retryAfterSeconds: undefined })
    t.match(
      error.message,
      `(HTTP ${status}, ${type}) is ${body.endsWith('}') || body === 'null' ? 'JSON' : 'not JSON'}`
    )
    t.strictSame(error.body, error.message.includes('not JSON') ? body : JSON.parse(body))
  }
})

t.test('a redirect is not followed', async (t) => {
  const asked: string[] = []
  const url = await startStranger(t, ({ url = '' }, response) => {
    asked.push(url)
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  await t.rejects(createClient({ url }).call('async_status', {}), { name: 'TypeError' })
  t.strictSame(asked, ['/async_status'])
})

t.test('the url may end with a slash or not, and may have a path', async (t) => {
  const asked: string[] = []
  const url = await startStranger(t, ({ url = '' }, response) => {
    asked.push(url)
    response.end('{"status":"ok"}')
  })
  for (const end of ['', '/', '/files', '/files/']) await createClient({ url: url + end }).call('async_status', {})
  t.strictSame(asked, ['/async_status', '/async_status', '/files/async_status', '/files/async_status'])
})

t.test('an option that cannot be used is refused when the client is made', async (t) => {
  for (const url of ['', '127.0.0.1:8720', 'ftp://127.0.0.1', 'http://127.0.0.1/?a=1', 'http://127.0.0.1/#a'])
    t.throws(() => createClient({ url }), { name: 'TypeError', message: `such as http://127.0.0.1:8720, not ${url}` })
  for (const url of ['http://secret@127.0.0.1', 'http://:secret@127.0.0.1'])
    t.throws(() => createClient({ url }), { name: 'TypeError', message: /^(?!.*secret).*pass a token/ })
  const url = 'http://127.0.0.1:8720'
  for (const text of ['', ' x', 'x\n', '\u{1f600}']) {
    t.throws(() => createClient({ url, token: text }), { name: 'TypeError', message: /^token must be printable ASCII/ })
    t.throws(() => createClient({ url, agentId: text }), { name: 'TypeError', message: /^agentId must be/ })
  }
})

t.test("a fetch of one's own is used in place of the global one", async (t) => {
  const asked: string[] = []
  const { client, server } = await scene(t, {}, { fetch: (url, init) => (asked.push(url), fetch(url, init)) })
  t.match(await client.call('async_status', {}), { status: 'ok' })
  t.strictSame(asked, [`${server.url}/async_status`])
})
