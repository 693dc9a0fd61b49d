// GET /docs shows the contract of its own server and needs nobody else.
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { document } from '../fixtures/document.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.png': 'image/png',
  '.json': 'application/json; charset=utf-8'
}

const chromium = '/usr/bin/chromium'

/** The status of a GET with a Host header of one's own, which fetch does not let a caller choose. */
function statusFor(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { headers: { host } }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })
}

const { url } = await startServer(t, makeTree(t).root)

t.test('the page and all that it names come from the server itself', async (t) => {
  for (const path of ['/docs', '/docs/']) {
    const response = await fetch(url + path)
    t.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
    t.equal(response.headers.get('cache-control'), 'no-cache', 'after an update of the server it is the new one')
    const html = await response.text()
    t.match(html, '<title>async-crud-mcp</title>')
    const named = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address)
    t.ok(named.length >= 4, named.join(' '))
    for (const address of named) {
      t.match(address, /^\/[a-z]/, `${address} has no host`)
      const asset = await fetch(url + address)
      t.equal(asset.status, 200, address)
      t.equal(asset.headers.get('content-type'), types[extname(address)], address)
      t.ok((await asset.arrayBuffer()).byteLength > 0, address)
    }
  }
})

t.test('neither the page nor its script nor its style sheet points to another host', async (t) => {
  for (const path of ['/docs', '/docs/docs.js']) {
    const text = await (await fetch(url + path)).text()
    t.notMatch(text, /(?:[a-z]+:)?\/\/[a-z0-9]/i, path)
  }
  t.match(await (await fetch(`${url}/docs/docs.js`)).text(), 'validatorUrl: null')
  const css = await (await fetch(`${url}/docs/swagger-ui.css`)).text()
  const named = css.match(/@import|url\(["']?[^)]{0,30}/g) ?? []
  t.ok(named.length > 0)
  t.strictSame(
    named.filter((address) => !/^url\(["']?data:/.test(address)),
    []
  )
})

t.test('the browser is told to run, load and ask nothing from elsewhere', async (t) => {
  for (const path of ['/docs', '/docs/docs.js', '/docs/swagger-ui-bundle.js']) {
    const { headers } = await fetch(url + path)
    const policy = headers.get('content-security-policy') ?? ''
    t.match(policy, "default-src 'none'")
    t.match(policy, "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'")
    t.match(policy, "frame-ancestors 'none'")
    t.notMatch(policy, /unsafe|https?:|\*/)
    t.equal(headers.get('x-content-type-options'), 'nosniff')
  }
})

t.test('the contract is shown without a token, and nothing else is', async (t) => {
  const { url } = await startServer(t, makeTree(t).root, { daemon: { token: 'secret' } })
  const shown = ['/docs', '/docs/', '/docs/docs.js', '/docs/swagger-ui.css', '/docs?x=1', '/openapi.json']
  for (const path of shown) t.equal((await fetch(url + path)).status, 200, path)
  const asked = ['/health', '/mcp', '/docs/nothing', '/openapi.json/', '/nothing']
  for (const path of asked) t.equal((await fetch(url + path)).status, 401, path)
  const post = (path: string, headers: Record<string, string> = {}) =>
    fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '{}' })
  t.equal((await post('/async_status')).status, 401)
  t.equal((await post('/docs')).status, 401)
  t.equal((await post('/async_status', { authorization: 'Bearer secret' })).status, 200)
})

t.test('the page can call its own server, and pages of other origins cannot read it', async (t) => {
  const from = (origin: string, path: string, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { origin, 'content-type': 'application/json' } })
  t.equal((await from(url, '/async_status', { method: 'POST', body: '{}' })).status, 200)
  for (const path of ['/docs', '/docs/docs.js', '/openapi.json']) {
    t.equal((await from('https://elsewhere.example', path)).status, 403, path)
    t.equal(await statusFor(url + path, 'elsewhere.example'), 403, path)
  }
})

const skip = existsSync(chromium) ? false : `no ${chromium}: install the Debian package chromium`

t.test('a browser renders every operation', { skip }, async (t) => {
  const profile = mkdtempSync(join(tmpdir(), 'async-crud-mcp-browser-'))
  t.teardown(() => rmSync(profile, { recursive: true, force: true, maxRetries: 5 }))
  const quiet = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
  const plain = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', `--user-data-dir=${profile}`]
  const { stdout: dom } = await promisify(execFile)(
    chromium,
    [...plain, ...quiet, '--virtual-time-budget=10000', '--dump-dom', `${url}/docs`],
    { timeout: 90_000, killSignal: 'SIGKILL', maxBuffer: 16 * 1_048_576 }
  )
  const paths = Object.keys(document.paths)
  for (const path of paths) t.match(dom, `data-path="${path}"`, path)
  const operations = Object.values(document.paths).flatMap((path) =>
    Object.keys(path).filter((key) => key !== 'parameters')
  )
  t.equal(dom.match(/class="opblock-summary-path"/g)?.length, operations.length)
  t.match(dom, `<option value="${url}">`, 'calls go to this server')
})
