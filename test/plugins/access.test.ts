// The Host and Origin check, byte by byte as a request can come, on every kind of route.
import { once } from 'node:events'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { getHead, openRaw, openUsed, postHead } from '../fixtures/raw-http.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'

/** Sends these lines as a request with this body, and gives what comes back until the connection is closed. */
async function send(url: string, lines: readonly string[], body = ''): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const length = body === '' ? [] : ['content-type: application/json', `content-length: ${body.length}`]
  socket.write(`${[...lines, 'connection: close', ...length].join('\r\n')}\r\n\r\n${body}`)
  const answer = await text(socket)
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]), text: answer }
}

t.test('a request that is not for this server, or comes from another origin, is refused on every route', async (t) => {
  const tree = makeTree(t, { f: 'one\n' })
  const { url } = await startServer(t, tree.root)
  const { host, port } = new URL(url)
  const refused: [string, string, string[]][] = [
    ['a foreign name', '/health', ['host: evil.example']],
    ['a foreign name with the own port', '/health', [`host: evil.example:${port}`]],
    ['the own name with another port', '/health', ['host: 127.0.0.1:1']],
    ['the own name without the port', '/health', ['host: 127.0.0.1']],
    ['a name that begins with the own', '/health', [`host: localhost.evil.example:${port}`]],
    ['a user before the name', '/health', [`host: evil@${host}`]],
    ['two Host headers', '/health', [`host: ${host}`, `host: ${host}`]],
    ['two Host headers, one foreign', '/health', [`host: ${host}`, 'Host: evil.example']],
    ['an empty Host', '/health', ['host:']],
    ['a foreign Origin', '/health', [`host: ${host}`, 'origin: https://evil.example']],
    ['no origin', '/health', [`host: ${host}`, 'origin: null']],
    ['an Origin on another port', '/health', [`host: ${host}`, 'origin: http://127.0.0.1:1']],
    ['an Origin without a scheme', '/health', [`host: ${host}`, `origin: ${host}`]],
    ['an Origin of another scheme', '/health', [`host: ${host}`, `origin: chrome-extension://${host}`]],
    ['two Origins', '/health', [`host: ${host}`, `origin: http://${host}`, 'origin: https://evil.example']],
    ['a page that embeds it', '/health', [`host: ${host}`, 'sec-fetch-site: cross-site', 'sec-fetch-mode: no-cors']],
    ...[
      '/locks',
      '/events',
      '/docs',
      '/openapi.json',
      '/files/f',
      '/files/',
      '/metrics',
      '/activity',
      '/board',
      '/',
      '/nothing',
      '/mcp'
    ].flatMap((path) =>
      ['iframe', 'frame', 'embed', 'object', 'fencedframe'].map((dest): [string, string, string[]] => [
        `${path} in a page of another site, as ${dest}`,
        path,
        [`host: ${host}`, 'sec-fetch-site: cross-site', 'sec-fetch-mode: navigate', `sec-fetch-dest: ${dest}`]
      ])
    ),
    ['a page of another port', '/locks', [`host: ${host}`, 'sec-fetch-site: same-site', 'sec-fetch-mode: no-cors']],
    ['an upgrade', '/mcp', ['host: evil.example', 'upgrade: websocket', 'sec-websocket-version: 13']],
    ['another server in the request line', 'http://evil.example/health', [`host: ${host}`]],
    ['another server, with the own as user', `http://${host}@evil.example/health`, [`host: ${host}`]],
    ...['/', '/nothing', '/docs', '/openapi.json', '/mcp', '/locks', '/async_read', '/%zz'].map(
      (path): [string, string, string[]] => [path, path, ['host: evil.example']]
    )
  ]
  for (const [title, target, headers] of refused) {
    const { status, text } = await send(url, [`GET ${target} HTTP/1.1`, ...headers])
    t.equal(status, 403, title)
    t.match(text, /"error_code":"FORBIDDEN_ORIGIN"/, title)
  }
  for (const method of ['HEAD', 'PUT', 'OPTIONS', 'DELETE'])
    t.equal((await send(url, [`${method} /mcp HTTP/1.1`, 'host: evil.example'])).status, 403, method)
  t.equal((await send(url, ['OPTIONS * HTTP/1.1', 'host: evil.example'])).status, 403, 'the server as a whole')
  t.match(await send(url, ['GET /health HTTP/1.0']), { status: 403 }, 'HTTP/1.0 without Host')
  t.match(await send(url, ['GET /health HTTP/1.1']), { status: 400 }, 'HTTP/1.1 without Host')
  t.equal((await send(url, ['CONNECT evil.example:443 HTTP/1.1', 'host: evil.example'])).text, '', 'CONNECT')
  const preflight = ['access-control-request-method: POST', 'access-control-request-headers: content-type']
  for (const origin of ['https://evil.example', 'null']) {
    const asked = ['OPTIONS /async_write HTTP/1.1', `host: ${host}`, `origin: ${origin}`, ...preflight]
    const { status, text } = await send(url, asked)
    t.equal(status, 403, `a page at ${origin} that asks whether it may`)
    t.notMatch(text, /access-control-allow/i)
  }
  const change = '{"path":"g","content":"x"}'
  await send(url, ['POST /async_write HTTP/1.1', `host: ${host}`, 'origin: null'], change)
  t.strictSame(tree.all(), ['f'])
})

t.test('the own names and the own pages are let in', async (t) => {
  const { url } = await startServer(t, makeTree(t).root, {
    daemon: { host: '::', allowed_hosts: ['files.example:8720'] }
  })
  const { host, port } = new URL(url)
  const link = ['sec-fetch-site: cross-site', 'sec-fetch-mode: navigate', 'sec-fetch-dest: document']
  const accepted: [string, string, string[]][] = [
    ['IPv6', '/health', [`host: [::1]:${port}`]],
    ['a name', '/health', [`host: LocalHost:${port}`]],
    ['a name that was added', '/health', ['host: files.example:8720', 'origin: https://files.example:8720']],
    ['the own page', '/health', [`host: ${host}`, `origin: http://${host}`, 'sec-fetch-site: same-origin']],
    ['a link from elsewhere', '/docs', [`host: ${host}`, ...link]],
    ['a link to the board', '/board', [`host: ${host}`, ...link]],
    ['an address typed by hand', '/docs', [`host: ${host}`, 'sec-fetch-site: none', 'sec-fetch-mode: navigate']],
    ['itself in the request line', `http://${host}/health`, [`host: ${host}`]]
  ]
  for (const [title, target, headers] of accepted)
    t.equal((await send(url, [`GET ${target} HTTP/1.1`, ...headers])).status, 200, title)
})

t.test('every answer, of whatever kind, may be shown in no frame and is what its type says', async (t) => {
  const { url } = await startServer(t, makeTree(t, { f: 'one\n' }).root, {
    daemon: { header_timeout_seconds: 0.5, request_timeout_seconds: 0.6 }
  })
  const get = (path: string, ...headers: string[]) => getHead(url, path, ...headers)
  const post = (path: string, body: string, ...headers: string[]) =>
    postHead(url, path, `content-length: ${body.length}`, ...headers) + body
  const both = 'accept: application/json, text/event-stream'
  const initialize = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  })
  const requests: [string, string, number][] = [
    ['health', get('/health'), 200],
    ['locks', get('/locks'), 200],
    ['events', get('/events'), 200],
    ['the contract', get('/openapi.json'), 200],
    ['the page', get('/docs'), 200],
    ['its script', get('/docs/docs.js'), 200],
    ['an operation', post('/async_read', '{"path":"f"}'), 200],
    ['an operation that fails', post('/async_read', '{"path":"g"}'), 404],
    ['an operation of FES', post('/read_file', '{"name":"f"}'), 200],
    ['an unknown address', get('/nothing'), 404],
    ['a wrong method', get('/async_read'), 405],
    ['a bad address', get('/%zz'), 400],
    ['another host', 'GET /health HTTP/1.1\r\nhost: evil.example\r\n\r\n', 403],
    ['a session of MCP', post('/mcp', initialize, both), 200],
    ['MCP without a session', get('/mcp', both), 400],
    ['broken MCP', post('/mcp', '{', both), 400],
    ['an expectation', get('/health', 'expect: miracles'), 417],
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['headers that are too large', get('/health', `x: ${'x'.repeat(100_000)}`), 431],
    ['headers that never end', 'GET /health HTTP/1.1\r\nhost:', 408],
    ['a body that never ends', `${postHead(url, '/async_read', 'content-length: 100')}{`, 408]
  ]
  for (const [title, bytes, wanted] of requests) {
    const connection = await openUsed(t, url)
    connection.write(bytes)
    const { status, headers } = await connection.answer()
    t.equal(status, wanted, title)
    t.match(
      headers,
      {
        'content-security-policy': /^default-src 'none';.* ?frame-ancestors 'none'$/,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer'
      },
      title
    )
    connection.destroy()
  }
})

t.test('no query of an address is logged: it may hold a secret', async (t) => {
  const { url, log } = await startServer(t, makeTree(t).root, { daemon: { log_level: 'trace', token: 'sesame' } })
  const host = `host: ${new URL(url).host}`
  for (const authorization of [[], ['authorization: Bearer sesame']])
    for (const path of [
      '/health',
      '/locks',
      '/events',
      '/docs',
      '/nothing',
      '/mcp',
      '/async_read',
      '/%zz',
      'http://evil.example/'
    ])
      await send(url, [`GET ${path}?token=hunter2&x HTTP/1.1`, host, 'last-event-id: x', ...authorization])
  await send(url, [`POST /mcp?token=hunter2 HTTP/1.1`, host, 'authorization: Bearer sesame'], '{}')
  t.match(log.join(''), /access refused/)
  t.notMatch(log.join(''), /hunter2/)
})

t.test('the scheme of a token may be written in any case, and its letters are UTF-8', async (t) => {
  const { url } = await startServer(t, makeTree(t).root, { daemon: { token: 'Sésame' } })
  const { host } = new URL(url)
  const ask = async (authorization: string) => {
    const connection = await openRaw(t, url)
    connection.write(`GET /health HTTP/1.1\r\nhost: ${host}\r\nauthorization: ${authorization}\r\n\r\n`)
    return (await connection.answer()).status
  }
  for (const authorization of ['Bearer Sésame', 'bearer Sésame', 'BEARER   Sésame'])
    t.equal(await ask(authorization), 200)
  for (const authorization of [
    'Bearer sésame',
    'Bearer',
    'Bearer ',
    'Sésame',
    'BearerSésame',
    'Basic Sésame',
    'Bearer Sésame Sésame'
  ])
    t.equal(await ask(authorization), 401, authorization)
})

const external = Object.values(networkInterfaces())
  .flat()
  .find((found) => found?.family === 'IPv4' && !found.internal)?.address

t.test(
  'what can be reached from elsewhere asks for a token',
  { skip: external === undefined && 'no network' },
  async (t) => {
    for (const token of ['', 'sesame']) {
      const { url } = await startServer(t, makeTree(t).root, { daemon: { host: '0.0.0.0', token } })
      const { port } = new URL(url)
      const ask = (...headers: string[]) =>
        send(`http://${external}:${port}`, ['GET /health HTTP/1.1', `host: 0.0.0.0:${port}`, ...headers])
      t.match(await ask(), { status: 401, text: /UNAUTHORIZED/ }, `token "${token}"`)
      t.equal((await ask('authorization: Bearer sesame')).status, token === '' ? 401 : 200)
    }
  }
)
