// GET /metrics: what happened is counted, under names that Prometheus' own checker accepts, and no file or agent is named.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { installed } from '../../../src/support/installation.ts'
import { connect } from '../../fixtures/clients.ts'
import { holdLock, untilWaiting } from '../../fixtures/locks.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
const skip =
  !hasPromtool &&
  "Prometheus' promtool is missing, so that its check of /metrics is NOT made: apt-get install prometheus"

async function scrape(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/metrics`, { headers })
  const body = await response.text()
  /** The value behind a name and its labels, as they are written. */
  const value = (sample: string) => {
    const line = body.split('\n').find((each) => each.startsWith(`${sample} `))
    return line === undefined ? undefined : Number(line.slice(sample.length + 1))
  }
  return { status: response.status, type: response.headers.get('content-type'), body, value }
}

/** Two agents read, contend, merge and wait. */
async function busy(t: Test) {
  const base = '1\n2\n3\n4\n5\n'
  const tree = makeTree(t, { 'secret-plan.txt': base })
  const server = await startServer(t, tree.root)
  const path = 'secret-plan.txt'
  const expected_hash = hashOf(base)
  const ann = await connect(t, 'rest', server.url, 'agent-ann')
  const bob = await connect(t, 'mcp-2026', server.url, 'agent-bob')
  await bob.call('async_read', { path })
  await ann.call('async_read', { path: 'none' })
  await ann.call('async_update', { path, expected_hash, content: base.replace('1', 'one') })
  await bob.call('async_update', { path, expected_hash, content: 'other' })
  const on_contention = 'merge'
  await bob.call('async_update', { path, expected_hash, content: base.replace('5', 'five'), on_contention })
  await bob.call('async_update', { path, expected_hash, content: base.replace('1', 'eins'), on_contention })
  const lock = await holdLock(server, tree.path(path))
  const waiting = ann.call('async_append', { path, content: '6\n' })
  await untilWaiting(server, 1)
  const during = await scrape(server.url)
  lock.release()
  await waiting
  for (let reading = 1; reading <= 2; reading += 1) await ann.call('async_read', { path })
  await ann.call('lock_try', { filepaths: [path], ttl_seconds: 60 })
  return { server, during, after: await scrape(server.url) }
}

t.test('calls, contentions, merges, waits and leases are counted where they happen', async (t) => {
  const { during, after } = await busy(t)
  t.equal(after.type, 'text/plain; version=0.0.4; charset=utf-8')
  const calls = (operation: string, transport: string, result: string) =>
    after.value(`async_crud_calls_total{operation="${operation}",transport="${transport}",result="${result}"}`)
  for (const cause of ['expired', 'disconnected', 'broken'])
    t.equal(after.value(`async_crud_leases_lost_total{cause="${cause}"}`), 0, 'there before the first loss')
  t.equal(calls('async_read', 'mcp', 'ok'), 1)
  t.equal(calls('async_read', 'rest', 'FILE_NOT_FOUND'), 1)
  t.equal(calls('async_update', 'rest', 'ok'), 1)
  t.equal(calls('async_update', 'mcp', 'contention'), 2)
  t.equal(calls('async_update', 'mcp', 'ok'), 1)
  t.equal(after.value('async_crud_call_duration_seconds_count{operation="async_update"}'), 4)
  t.equal(after.value('async_crud_call_duration_seconds_bucket{operation="async_update",le="+Inf"}'), 4)
  t.equal(after.value('async_crud_contentions_total'), 2)
  t.equal(after.value('async_crud_merges_total{result="clean"}'), 1)
  t.equal(after.value('async_crud_merges_total{result="refused"}'), 1)
  t.ok((after.value('async_crud_notices_total') ?? 0) >= 1)
  t.equal(during.value('async_crud_queue_depth'), 1)
  t.equal(after.value('async_crud_queue_depth'), 0)
  t.equal(during.value('async_crud_lock_wait_seconds_count'), 0)
  t.equal(after.value('async_crud_lock_wait_seconds_count'), 1)
  t.equal(after.value('async_crud_leases'), 1)
  t.equal(after.value('async_crud_is_authority'), 1)
  t.equal(after.value('async_crud_authority_changes_total'), 1)
  t.equal(after.value('async_crud_tracked_files'), 1)
  for (const cache of ['versions', 'texts', 'history', 'reads'])
    t.ok((after.value(`async_crud_cache_bytes{cache="${cache}"}`) ?? 0) > 0, cache)
  t.notMatch(after.body, /secret|agent-/, 'no path and no agent is named')
})

t.test(
  'the text of a version is kept once it is read again soon, and those of many files read in turn are not',
  async (t) => {
    const names = Array.from({ length: 10 }, (_, index) => `f${index}`)
    const tree = makeTree(t, Object.fromEntries(names.map((name) => [name, name.padEnd(1000, '.')])))
    // Room for three texts.
    const { url } = await startServer(t, tree.root, { crud: { base_cache_bytes: 16 * 20_000 } })
    const client = await connect(t, 'rest', url, 'ann')
    const textBytes = async () => (await scrape(url)).value('async_crud_cache_bytes{cache="texts"}')
    for (const path of [...names, ...names, ...names]) await client.call('async_read', { path })
    t.equal(await textBytes(), 0)
    await client.call('async_read', { path: 'f9' })
    t.equal(await textBytes(), 5200)
    for (const path of names)
      for (const _ of [1, 2, 3]) t.match(await client.call('async_read', { path }), { content: path })
    t.equal(await textBytes(), 15_600, 'within its bound')
  }
)

t.test('OpenMetrics comes where it is asked for, and a token where one is set', async (t) => {
  const { url } = await startServer(t, makeTree(t).root, { daemon: { token: 'sesame' } })
  t.equal((await scrape(url)).status, 401)
  const authorization = 'Bearer sesame'
  const accept = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3'
  const { type, body } = await scrape(url, { authorization, accept })
  t.equal(type, 'application/openmetrics-text; version=1.0.0; charset=utf-8')
  t.match(body, /^# TYPE async_crud_contentions counter\nasync_crud_contentions_total 0$/m)
  t.match(body, /\n# EOF\n$/)
})

t.test('promtool finds nothing to say about the metrics', { skip }, async (t) => {
  const { after } = await busy(t)
  const promtool = spawn('promtool', ['check', 'metrics'])
  promtool.stdin.end(after.body)
  const [out, err] = await Promise.all([text(promtool.stdout), text(promtool.stderr)])
  t.equal(out + err, '')
})

t.test('the dashboard shows metrics that there are, with labels that they have', async (t) => {
  const { after } = await busy(t)
  const { panels } = JSON.parse(readFileSync(installed('docs/grafana-dashboard.json'), 'utf8')) as {
    panels: { title: string; targets: { expr: string; legendFormat: string }[] }[]
  }
  for (const { title, targets } of panels)
    for (const { expr, legendFormat } of targets) {
      const [name = ''] = /(async_crud|process)_\w+/.exec(expr) ?? []
      const known = after.body.includes(`# TYPE ${name.replace(/_(bucket|count)$/, '')} `)
      t.ok(known, `${title}: ${name}`)
      const [, label = ''] = /\{\{(\w+)\}\}/.exec(legendFormat) ?? []
      const isFromScrape = label === '' || label === 'instance' || name === 'async_crud_leases_lost_total'
      t.ok(isFromScrape || after.body.includes(`${label}="`), `${title}: ${label}`)
    }
})

t.test('every metric is in the page on observability', async (t) => {
  const { after } = await busy(t)
  const page = readFileSync(installed('docs/observability.md'), 'utf8')
  for (const [, name = ''] of after.body.matchAll(/^# TYPE (\w+)/gm)) t.match(page, `\`${name}\``)
})
