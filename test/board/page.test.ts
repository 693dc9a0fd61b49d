// GET /board: served by the server itself, small, closed to other sites, and where browsers are led.
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { connect, type Answer } from '../fixtures/clients.ts'
import { follow } from '../fixtures/event-stream.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'

/** The status of a GET with headers that fetch does not let a caller choose. */
function statusFor(address: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(address, { headers }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })
}

const files = ['/board', '/board/board.js', '/board/board.css', '/board/icon.svg']
const { url } = await startServer(t, makeTree(t, { f: 'one\n', g: 'g\n' }).root)

t.test('the page comes from the server alone, and is small', async (t) => {
  let bytes = 0
  for (const path of [...files, '/board/']) {
    const response = await fetch(url + path)
    t.equal(response.status, 200, path)
    const policy = response.headers.get('content-security-policy') ?? ''
    t.match(policy, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'")
    t.match(policy, "frame-ancestors 'none'")
    t.notMatch(policy, /unsafe|https?:|\*/)
    const text = Buffer.from(await response.arrayBuffer())
    if (path !== '/board/') bytes += gzipSync(text).length
    if (path === '/board') {
      const named = [...text.toString().matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address)
      t.strictSame(new Set(named), new Set(files.slice(1)), 'it names its own files only')
      t.notMatch(text.toString(), /<script>|style=|onload=/)
    }
  }
  t.ok(bytes < 150_000, `${bytes} bytes, compressed`)
})

t.test('a browser at / is led to the board, and other clients get JSON', async (t) => {
  const at = (accept?: string) => fetch(url, { redirect: 'manual', headers: accept === undefined ? {} : { accept } })
  const browser = await at('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8')
  t.match([browser.status, browser.headers.get('location'), browser.headers.get('vary')], [302, '/board', 'accept'])
  for (const accept of [undefined, '*/*', 'application/json', 'text/html;q=0.1, application/json']) {
    const response = await at(accept)
    t.equal(response.status, 404, accept ?? 'no Accept')
    t.match(await response.json(), { error_code: 'ROUTE_NOT_FOUND', message: /\/board/ })
  }
  t.equal(
    (await fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })).status,
    405
  )
})

t.test('an address without a route says what is there, and which address was meant', async (t) => {
  const headers = { 'content-type': 'application/json' }
  for (const [path, method, words] of [
    [
      '/nothing',
      'GET',
      /^Nothing answers GET \/nothing; known by POST: \/async_read, .*\. GET \/docs shows .*GET \/board what happens\.$/
    ],
    ['/async_raed', 'POST', /^Nothing answers POST \/async_raed; did you mean "\/async_read"\? GET \/docs/],
    ['/nothing?token=sesame', 'GET', /^(?!.*sesame)Nothing answers GET \/nothing;/],
    [`/${'x'.repeat(400)}`, 'GET', /^Nothing answers GET \/x{199}[^x]/],
    ['/board/other', 'GET', /GET \/board what happens/],
    ['/sse', 'GET', /^Nothing answers GET \/sse\. MCP is served over streamable HTTP at \/mcp/],
    ['/messages', 'POST', /streamable HTTP at \/mcp/],
    ['/v1/mcp', 'POST', /MCP is served at \/mcp\.$/],
    ['/rpc', 'POST', /JSON-RPC is served on standard input and output/],
    ['/swagger', 'GET', /shown at \/docs, and described for programs at \/openapi\.json\.$/],
    ['/.well-known/oauth-authorization-server', 'GET', /has no OAuth: send its token as Authorization: Bearer/],
    ['/hooks/other', 'GET', /Hooks are taken at POST \/hooks\/claude-code/]
  ] as const) {
    const response = await fetch(url + path, { method, headers, ...(method === 'POST' && { body: '{}' }) })
    t.equal(response.status, 404, path)
    t.match(await response.json(), { error_code: 'ROUTE_NOT_FOUND', message: words }, path)
  }
})

t.test('the page needs no token, and shows nothing without one', async (t) => {
  const { url } = await startServer(t, makeTree(t).root, { daemon: { token: 'sesame' } })
  for (const path of files) t.equal((await fetch(url + path)).status, 200, path)
  for (const path of ['/locks', '/activity', '/events', '/metrics', '/board/other'])
    t.equal((await fetch(url + path)).status, 401, path)
})

t.test('another site can neither embed nor read anything that the board reads', async (t) => {
  const foreign = [
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' },
    {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'cors',
      'sec-fetch-dest': 'empty',
      origin: 'https://elsewhere.example'
    }
  ]
  for (const path of [...files, '/', '/locks', '/activity', '/events', '/metrics', '/files/f', '/health'])
    for (const headers of foreign) t.equal(await statusFor(url + path, headers), 403, path)
})

t.test('GET /activity says who was there, where agents met, and what would have waited for ever', async (t) => {
  const [ann, bob] = [await connect(t, 'rest', url, 'ann'), await connect(t, 'rest', url, 'bob')]
  const stream = await follow(t, url, 'types=lease_granted,deadlock')
  const { hash } = await ann.call('async_read', { path: 'f' })
  await bob.call('async_update', { path: 'f', expected_hash: hash, content: 'two\n' })
  await ann.call('async_update', { path: 'f', expected_hash: hash, content: 'three\n' })
  await ann.call('lock_try', { filepaths: ['f'], note: 'mine' })
  t.match(await stream.next(), {
    type: 'lease_granted',
    agent_id: 'ann',
    mode: 'exclusive',
    note: 'mine',
    expires_at: /Z$/
  })
  await bob.call('lock_try', { filepaths: ['g'] })
  t.match(await stream.next(), { type: 'lease_granted', agent_id: 'bob' })
  const waiting = bob.call('lock_wait', { filepaths: ['f'], timeout_seconds: 60 })
  await until(async () => (await ann.call('async_status', { path: 'f' }))['queue_depth'] === 1)
  t.match(await ann.call('lock_wait', { filepaths: ['g'] }), { error_code: 'DEADLOCK' })
  const waits = [
    { agent_id: 'ann', waits_for: /g$/ },
    { agent_id: 'bob', waits_for: /f$/ }
  ]
  t.match(await stream.next(), { type: 'deadlock', path: /g$/, agent_id: 'ann', operation: 'lock_wait', waits })
  await ann.call('lock_release_all')
  await waiting
  t.match(await stream.next(), { type: 'lease_granted', agent_id: 'bob', path: /f$/ })
  const activity = (await (await fetch(`${url}/activity`)).json()) as Answer
  t.match(activity['agents'][0], { agent_id: 'ann', operation: 'lock_release_all' }, 'the latest call first')
  t.match(activity['agents'][1], { agent_id: 'bob', operation: 'lock_wait', path: 'f' })
  const [hot = {}] = activity['files'] as Answer[]
  t.match(hot, { path: /f$/, contentions: 1, merges: 0, waits: 1 })
  t.ok(hot['waited_seconds'] > 0)
  t.equal(
    (hot['strip'] as number[]).reduce((sum, count) => sum + count, 0),
    2
  )
  t.match(activity['refused_circles'], [{ waits }])
  t.equal(activity['late_changes'], undefined)
  const { late_changes } = (await (await fetch(`${url}/activity?with=late_changes`)).json()) as Answer
  const [late] = late_changes as Answer[]
  t.match(late, {
    at: /Z$/,
    path: /f$/,
    agent_id: 'ann',
    operation: 'async_update',
    expected_hash: hash,
    merged: false
  })
  const tried = { path: 'f', from_hash: hash, to_hash: late!['tried_hash'], diff_format: 'unified' }
  t.match(await bob.call('async_diff', tried), { diff: { content: /-one\n\+three\n/ } }, 'what it tried is kept')

  t.equal(activity['agent'], undefined)
  const { agent } = (await (await fetch(`${url}/activity?agent_id=ann`)).json()) as Answer
  t.match(agent, { agent_id: 'ann', first_seen: /Z$/, transport: 'rest', client: /./ })
  t.match(agent['counts'], { changes: 0, contentions: 1, merges: 0, refusals: 1 })
  t.ok(agent['counts']['reads'] >= 2 && agent['counts']['calls'] > agent['counts']['reads'])
  t.match(agent['calls'][0], { at: /Z$/, operation: 'lock_release_all', outcome: 'ok' })
  const calls = (agent['calls'] as Answer[]).map(({ operation, outcome }) => `${operation} ${outcome}`)
  t.ok(calls.includes('lock_wait DEADLOCK'))
  t.match(await (await fetch(`${url}/activity?agent_id=bob`)).json(), { agent: { counts: { changes: 1 } } })
  const cy = await connect(t, 'mcp-2026', url, 'cy')
  await cy.call('async_read', { path: 'f' })
  t.match(await (await fetch(`${url}/activity?agent_id=cy`)).json(), {
    agent: { transport: 'mcp', client: /^\S.* \S+$/, counts: { reads: 1 }, calls: [{ path: 'f', outcome: 'ok' }] }
  })

  await bob.call('async_write', { path: 'src/one/a', content: 'a\n', create_dirs: true })
  await bob.call('async_rename', { old_path: 'src/one/a', new_path: 'src/two/a', create_dirs: true })
  t.strictSame(
    await ratesBy('agent'),
    {
      ann: { changes: 0, contentions: 1, merges: 0, waits: 0 },
      bob: { changes: 3, contentions: 0, merges: 0, waits: 1 }
    },
    'a rename is one change'
  )
  t.strictSame(await ratesBy('folder'), {
    '': { changes: 1, contentions: 1, merges: 0, waits: 1 },
    'src/one': { changes: 1, contentions: 0, merges: 0, waits: 0 },
    'src/two': { changes: 1, contentions: 0, merges: 0, waits: 0 }
  })
  for (const name of ['three', 'four', 'five', 'six', 'seven'])
    await bob.call('async_write', { path: `src/${name}/a/a`, content: 'a\n', create_dirs: true })
  t.match(await ratesBy('folder'), { '': { changes: 1 }, src: { changes: 7 } }, 'no deeper than can be told apart')
})

/** The counts of each group in the last 15 minutes, each in slices that fill just that time. */
async function ratesBy(by: string): Promise<Answer> {
  const { rates, strip_seconds } = (await (await fetch(`${url}/activity?minutes=15&by=${by}`)).json()) as Answer
  t.equal(Date.parse(rates.to) - Date.parse(rates.from), 15 * 60_000)
  const groups = rates.groups as Answer[]
  const sum = (counts: number[]) => {
    t.equal(counts.length * strip_seconds, 15 * 60)
    return counts.reduce((all, count) => all + count, 0)
  }
  return Object.fromEntries(
    groups.map(({ name, ...counts }) => [
      name,
      Object.fromEntries(Object.entries(counts).map(([kind, list]) => [kind, sum(list)]))
    ])
  )
}
