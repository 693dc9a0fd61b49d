// Requests that never end, that no parser can follow, and more of them at once than memory should hold: over raw sockets.
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { getHead, openRaw, openUsed, postHead, type RawAnswer } from '../fixtures/raw-http.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'

const chunked = 'transfer-encoding: chunked'
const impatient = { header_timeout_seconds: 0.5, request_timeout_seconds: 0.6 }

t.test('a request body that never ends is answered with 408, and its connection is closed', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root, { daemon: impatient })
  const host = `host: ${new URL(url).host}`
  const unfinished: [string, string][] = [
    ['a length that is not reached', `${postHead(url, '/async_write', 'content-length: 100')}{"path":"f",`],
    ['a length, and nothing of it', postHead(url, '/async_write', 'content-length: 100')],
    ['chunks without a last one', `${postHead(url, '/async_write', chunked)}a\r\n{"path":"f\r\n`],
    ['half a chunk', `${postHead(url, '/async_write', chunked)}ff\r\n{"path":`],
    ['an operation of FES', `${postHead(url, '/read_file', 'content-length: 100')}{`],
    ['MCP', `${postHead(url, '/mcp', 'content-length: 100')}{"jsonrpc":"2.0",`],
    [
      'an end of a session',
      `DELETE /mcp HTTP/1.1\r\n${host}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{`
    ]
  ]
  await Promise.all(
    unfinished.map(async ([title, bytes]) => {
      const connection = await openRaw(t, url)
      connection.write(bytes)
      const { status, body } = await connection.answer()
      t.equal(status, 408, title)
      t.match(body, /did not arrive whole .* send it again/s, title)
      await connection.closed
    })
  )
  t.strictSame(tree.all(), [])
})

t.test('what is broken behind whole requests waits for their answers', async (t) => {
  const { url } = await startServer(t, makeTree(t).root, { daemon: impatient })
  const health = getHead(url, '/health')
  const broken: [string, string, number][] = [
    ['a body that never ends', `${postHead(url, '/async_write', 'content-length: 100')}{`, 408],
    ['a chunk without a size', `${postHead(url, '/async_write', chunked)}no size\r\n`, 400],
    ['headers that never end', 'GET /health HTTP/1.1\r\nhost:', 408],
    ['no HTTP', 'hello\r\n\r\n', 400]
  ]
  await Promise.all(
    broken.map(async ([title, bytes, wanted]) => {
      const connection = await openUsed(t, url)
      connection.write(health + health + bytes)
      for (const status of [200, 200, wanted]) t.equal((await connection.answer()).status, status, title)
      await connection.closed
    })
  )
})

t.test('a chunk whose size is no number of bytes ends its request and its connection', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root, { daemon: { request_timeout_seconds: 0.3 } })
  for (const path of ['/async_write', '/mcp', '/nothing']) {
    for (const [size, ...wanted] of [
      ['-1', 400],
      ['1ffffffffffffffff', 400],
      // A size that the parser still takes never comes to its end.
      ['20000000000001', 408, 400]
    ] as [string, ...number[]][]) {
      const connection = await openUsed(t, url)
      connection.write(`${postHead(url, path, chunked)}${size}\r\n{`)
      const { status } = await connection.answer()
      t.ok(
        path === '/nothing' ? [400, 404, 408].includes(status) : wanted.includes(status),
        `${path} ${size}: ${status}`
      )
      await connection.closed
    }
  }
  t.strictSame(tree.all(), [])
})

t.test('a body that is not wanted, and never ends, does not keep its connection', async (t) => {
  const { url } = await startServer(t, makeTree(t).root, { daemon: { ...impatient, token: 'sesame' } })
  const connection = await openUsed(t, url)
  connection.write(`${postHead(url, '/async_write', 'content-length: 100')}{`)
  t.equal((await connection.answer()).status, 401)
  await connection.closed
})

t.test('a stream of events is closed where its own request never ends', async (t) => {
  const { url } = await startServer(t, makeTree(t).root, { daemon: impatient })
  const connection = await openUsed(t, url)
  connection.write(getHead(url, '/events', 'content-length: 100'))
  await connection.closed
})

t.test('a compressed body is refused with what to do, and its connection goes on', async (t) => {
  const { url } = await startServer(t, makeTree(t, { f: 'one\n' }).root)
  const connection = await openRaw(t, url)
  const ask = async (path: string, bytes: string | Buffer, encoding: string) => {
    connection.write(postHead(url, path, `content-encoding: ${encoding}`, `content-length: ${bytes.length}`))
    connection.write(bytes)
    return connection.answer()
  }
  const input = '{"path":"f"}'
  for (const encoding of ['gzip', 'br', 'deflate, gzip', 'x-unknown'])
    t.match(await ask('/async_read', gzipSync(input), encoding), {
      status: 415,
      body: /uncompressed, without this header/
    })
  t.match(await ask('/mcp', gzipSync('{}'), 'gzip'), { status: 415, body: /"jsonrpc":"2.0".*uncompressed/ })
  for (const encoding of ['identity', 'Identity', ''])
    t.match(await ask('/async_read', input, encoding), { status: 200 })
})

/** The budget is then as small as it can be: two of the largest requests, of 1,050,576 bytes each, and 7/8 of it for large ones. */
const frugal = { crud: { max_file_size_bytes: 1000 }, daemon: { max_pending_request_bytes: 1_048_576 } }
const bodyBytes = 1_000_000
const body = (path: string) => `{"path":"${path}","content":"${'x'.repeat(bodyBytes)}"}`

t.test('bodies that do not end make room for those that do, and for small calls', async (t) => {
  const tree = makeTree(t, { f: 'one\n' })
  const { url } = await startServer(t, tree.root, frugal)
  const slow = await Promise.all(Array.from({ length: 8 }, () => openRaw(t, url)))
  const begun = slow.map(async (connection, index) => {
    const head = postHead(url, '/async_write', index % 2 === 0 ? chunked : `content-length: ${bodyBytes}`)
    connection.write(
      head + (index % 2 === 0 ? `${bodyBytes.toString(16)}\r\n` : '') + body('g').slice(0, bodyBytes - 1)
    )
    return connection.answer()
  })
  // At most one of them has room: all others are told, and one is left that has no answer.
  const refused: RawAnswer[] = []
  for (const answer of begun) void answer.then((found) => refused.push(found))
  await until(() => refused.length >= slow.length - 1)
  for (const answer of refused) {
    t.match(answer, { status: 503, headers: { 'retry-after': '1' }, body: /max_pending_request_bytes/ })
    t.match(JSON.parse(answer.body), { error_code: 'OVERLOADED', details: { retry_after_seconds: 1 } })
  }
  const small = '{"path":"f"}'
  const client = await openRaw(t, url)
  client.write(`${postHead(url, '/async_read', `content-length: ${small.length}`)}${small}`)
  t.match(await client.answer(), { status: 200, body: /one/ })
  for (let round = 0; round < 5; round += 1) {
    const large = body('h')
    client.write(`${postHead(url, '/async_write', `content-length: ${large.length}`)}${large}`)
    t.match(await client.answer(), { status: 413, body: /max_file_size/ }, 'has been read, and given back')
  }
  t.match(await begun.at(-1), { status: 503 })
})

t.test('a body in pieces of one byte counts as the memory it takes', async (t) => {
  const { url } = await startServer(t, makeTree(t).root, frugal)
  const connection = await openRaw(t, url)
  connection.write(postHead(url, '/async_write', chunked))
  for (let sent = 0; sent < 10; sent += 1) connection.write('1\r\n \r\n'.repeat(1000))
  t.match(await connection.answer(), { status: 503, body: /max_pending_request_bytes/ })
})

t.test(
  'a request that waits counts until its answer, and one that was pipelined until its connection closes',
  async (t) => {
    const tree = makeTree(t, { f: 'one\n' })
    const { url } = await startServer(t, tree.root, frugal)
    const post = async (name: string, input: object) =>
      (await (
        await fetch(`${url}/${name}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(input)
        })
      ).json()) as { status?: string; error_code?: string; pending_requests?: unknown[] }
    await post('lock_try', { filepaths: ['f'], agent_id: 'ann' })
    const waiting = await openRaw(t, url)
    const append = (length: number) =>
      JSON.stringify({ path: 'f', content: 'x', timeout: 60, agent_id: 'ben' }).padEnd(length)
    // Two that wait behind the lease of ann: blanks after the JSON count like any other bytes.
    for (const length of [1_000_000, 700_000])
      waiting.write(`${postHead(url, '/async_append', `content-length: ${length}`)}${append(length)}`)
    await until(async () => (await post('async_status', { path: 'f' })).pending_requests?.length === 2)
    t.match(await post('async_write', { path: 'g', content: 'x'.repeat(200_000) }), { error_code: 'OVERLOADED' })
    waiting.destroy()
    await until(async () => (await post('async_status', { path: 'f' })).pending_requests?.length === 0)
    t.match(await post('async_write', { path: 'g', content: 'x'.repeat(200_000) }), { error_code: 'FILE_TOO_LARGE' })
  }
)

t.test('a client that asks at an address of other servers is told the right one', async (t) => {
  const { url } = await startServer(t, makeTree(t).root)
  for (const [method, path, words, status = 404] of [
    ['GET', '/', /MCP is served at \/mcp/],
    ['POST', '/', /^\/ answers GET, HEAD, not POST\. MCP is served at \/mcp/, 405],
    ['GET', '/mcp', /initialize.*for MCP clients/, 400],
    ['PUT', '/mcp', /answers GET, HEAD, POST, DELETE, not PUT/, 405],
    ['GET', '/sse', /streamable HTTP at \/mcp/],
    ['POST', '/message', /streamable HTTP at \/mcp/],
    ['POST', '/messages?session_id=1', /streamable HTTP at \/mcp/],
    ['POST', '/mcp/', /at \/mcp/],
    ['POST', '/MCP', /at \/mcp/],
    ['POST', '/jsonrpc', /--stdio/],
    ['GET', '/swagger', /\/docs/],
    ['GET', '/.well-known/oauth-authorization-server', /Bearer/],
    ['GET', '/.well-known/openid-configuration/mcp', /Bearer/],
    ['POST', '/register', /no OAuth/],
    ['GET', '/healthz', /GET \/health says/],
    ['POST', '/hooks/other', /\/hooks\/claude-code/]
  ] as const) {
    const response = await fetch(`${url}${path}`, { method })
    t.equal(response.status, status, path)
    const { message, error } = (await response.json()) as { message?: string; error?: { message: string } }
    t.match(message ?? error?.message, words, path)
  }
})
