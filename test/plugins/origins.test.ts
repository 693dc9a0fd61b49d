// Pages of other origins that the operator lets in: what browsers ask, what they are told, and what stays closed.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { noBrowser, openPage, startBrowser } from '../fixtures/browser.ts'
import { getHead, openRaw } from '../fixtures/raw-http.ts'
import { startServer } from '../fixtures/server.ts'
import { hashOf, makeTree } from '../fixtures/tree.ts'

const page = 'http://localhost:6274'
const both = 'application/json, text/event-stream'
const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'page', version: '1' } }
})

async function start(t: Test, daemon: { token?: string; allowed_origins?: string[] } = {}) {
  const tree = makeTree(t, { f: 'one\n' })
  const { url } = await startServer(t, tree.root, { daemon: { allowed_origins: [page], ...daemon } })
  const send = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
    fetch(url + path, { method, headers: { origin: page, ...headers }, ...(body !== undefined && { body }) })
  return { tree, url, send }
}

const preflight = { 'access-control-request-method': 'PUT', 'access-control-request-headers': 'if-match,x-agent-id' }

t.test('without the setting no page of another origin is answered, whatever it asks', async (t) => {
  const { send } = await start(t, { allowed_origins: [] })
  for (const answer of [await send('OPTIONS', '/files/f', preflight), await send('GET', '/files/f')]) {
    t.equal(answer.status, 403)
    t.strictSame(
      [...answer.headers.keys()].filter((name) => name.startsWith('access-control')),
      []
    )
  }
})

t.test('a page that was let in is told what it may, on every kind of route', async (t) => {
  const { tree, send } = await start(t)
  const asked = await send('OPTIONS', '/files/f', preflight)
  t.equal(asked.status, 204)
  t.equal(asked.headers.get('access-control-allow-origin'), page)
  t.match(asked.headers.get('access-control-allow-methods'), /GET, HEAD, POST, PUT, PATCH, DELETE/)
  t.equal(asked.headers.get('access-control-allow-headers'), 'if-match,x-agent-id')
  t.equal(asked.headers.get('access-control-allow-credentials'), null)
  t.equal(asked.headers.get('access-control-allow-private-network'), null)
  const local = await send('OPTIONS', '/mcp', { ...preflight, 'access-control-request-private-network': 'true' })
  t.equal(local.headers.get('access-control-allow-private-network'), 'true')
  const json = {
    'content-type': 'application/json',
    accept: both,
    'sec-fetch-site': 'same-site',
    'sec-fetch-mode': 'cors'
  }
  const answers = [
    await send('GET', '/files/f'),
    await send('HEAD', '/files/f'),
    await send('PUT', '/files/f', { 'if-match': `"${hashOf('one\n')}"` }, 'two\n'),
    await send('GET', '/files/f', { 'if-match': '"x"' }),
    await send('POST', '/async_read', json, '{"path":"f"}'),
    await send('POST', '/async_read', json, '{'),
    await send('GET', '/nothing'),
    await send('GET', '/health'),
    await send('POST', '/mcp', json, initialize),
    await send('POST', '/mcp', { 'content-type': 'application/json', accept: both }, '{'),
    await send('GET', '/events')
  ]
  t.strictSame(
    answers.map(({ status }) => status),
    [200, 200, 200, 412, 200, 400, 404, 200, 200, 400, 200]
  )
  for (const { url, headers } of answers) {
    t.equal(headers.get('access-control-allow-origin'), page, url)
    t.match(headers.get('access-control-expose-headers'), /ETag.*Mcp-Protocol-Version, Mcp-Session-Id/, url)
    t.match(headers.get('vary'), /origin/i, url)
  }
  t.equal(tree.read('f'), 'two\n')
  for (const { body } of answers) await body?.cancel()
})

t.test('all other origins stay out, and the Host is checked as ever', async (t) => {
  const { url, send } = await start(t)
  const { port } = new URL(url)
  for (const origin of [
    'http://localhost:6275',
    'https://localhost:6274',
    'http://LOCALHOST:6274',
    `${page}.evil`,
    'null'
  ]) {
    for (const answer of [
      await send('OPTIONS', '/files/f', { ...preflight, origin }),
      await send('GET', '/files/f', { origin })
    ]) {
      t.equal(answer.status, 403, origin)
      t.equal(answer.headers.get('access-control-allow-origin'), null, origin)
    }
  }
  for (const line of [`origin: ${page}`, `origin: ${page}\r\naccess-control-request-method: GET`]) {
    const raw = await openRaw(t, url)
    raw.write(`OPTIONS /health HTTP/1.1\r\nhost: evil.example:${port}\r\n${line}\r\n\r\n`)
    t.equal((await raw.answer()).status, 403, 'another Host')
  }
  const embedded = await openRaw(t, url)
  embedded.write(getHead(url, '/files/f', 'sec-fetch-site: same-site', 'sec-fetch-mode: no-cors'))
  t.equal((await embedded.answer()).status, 403, 'what a page embeds has no Origin')
  t.equal((await send('OPTIONS', '/health')).status, 405, 'no question')
})

t.test('a token is asked for in requests, not in the question before', async (t) => {
  const { send } = await start(t, { token: 'sesame' })
  t.equal((await send('OPTIONS', '/files/f', preflight)).status, 204)
  const refused = await send('GET', '/files/f')
  t.match(
    [refused.status, refused.headers.get('access-control-allow-origin')],
    [401, page],
    'and the page can read why'
  )
  t.equal((await send('GET', '/files/f', { authorization: 'Bearer sesame' })).status, 200)
  t.equal((await send('OPTIONS', '/files/f', { ...preflight, origin: 'http://localhost:1' })).status, 403)
  const question = { origin: 'http://127.0.0.1:1', 'access-control-request-method': 'GET' }
  t.equal((await send('OPTIONS', '/files/f', question)).status, 403, 'no way around the check')
})

t.test(
  'a real page on another port reads, changes and follows files, over REST and MCP',
  { skip: noBrowser },
  async (t) => {
    const other = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end('<!doctype html>')
    )
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    t.teardown(() => other.close())
    const origin = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    const { tree, url } = await start(t, { allowed_origins: [origin] })
    const closed = await startServer(t, tree.root)
    const tab = await openPage(t, await startBrowser(t), { mayFail: /CORS|Failed to load/ })
    await tab.goto(origin)
    const done = await tab.evaluate(
      async ({ url, initialize, both }) => {
        const read = await fetch(`${url}/files/f`)
        const etag = read.headers.get('etag') ?? ''
        const put = await fetch(`${url}/files/f`, {
          method: 'PUT',
          headers: { 'if-match': etag, 'x-agent-id': 'page' },
          body: 'two\n'
        })
        const opened = await fetch(`${url}/mcp`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: both, 'mcp-protocol-version': '2025-06-18' },
          body: initialize
        })
        const session = opened.headers.get('mcp-session-id') ?? ''
        await opened.text()
        const stream = await fetch(`${url}/mcp`, {
          headers: {
            accept: 'text/event-stream',
            'mcp-session-id': session,
            'mcp-protocol-version': '2025-06-18',
            'last-event-id': '1'
          }
        })
        await stream.body?.cancel()
        const ready = await new Promise<string>((resolve, reject) => {
          const source = new EventSource(`${url}/events`)
          source.addEventListener('ready', (event) => {
            source.close()
            resolve(event.type)
          })
          source.addEventListener('error', () => reject(new Error('no events')))
        })
        return { text: await read.text(), etag, put: put.status, session, stream: stream.status, ready }
      },
      { url, initialize, both }
    )
    t.match(done, {
      text: 'one\n',
      etag: `"${hashOf('one\n')}"`,
      put: 200,
      session: /.+/,
      stream: 200,
      ready: 'ready'
    })
    t.equal(tree.read('f'), 'two\n')
    const failed = await tab.evaluate(
      async (url) =>
        fetch(`${url}/files/f`).then(
          () => 'read',
          () => 'refused'
        ),
      closed.url
    )
    t.equal(failed, 'refused', 'a server without the setting is as closed as before')
  }
)
