// Progress of long work over MCP: growing, some times a second at most, up to the total, for those alone who ask.
import t, { type Test } from 'tap'
import { paceProgress, type Progress } from '../../src/support/progress.ts'
import { connect, type Answer, type Steps, type TestClient } from '../fixtures/clients.ts'
import { holdLock, untilWaiting } from '../fixtures/locks.ts'
import { memberOn } from '../fixtures/processes.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'

const everyStep = { mcp: { progress_seconds: 0 } }

interface Told extends Steps {
  readonly message: string | undefined
}

async function callWithProgress(client: TestClient, name: string, input: object) {
  const told: Told[] = []
  const answer = await client.call(name, input, { onProgress: (message, steps) => told.push({ message, ...steps }) })
  return { answer, told }
}

function checkWhole(t: Test, told: readonly Told[], what: string): void {
  t.ok(told.length > 1, `${what}: ${told.length} reports`)
  const numbers = told.map(({ progress }) => progress)
  t.strictSame(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
    `${what} grows`
  )
  t.equal(told.at(-1)?.progress, told.at(-1)?.total, `${what} ends at its total`)
}

const names = Array.from({ length: 40 }, (_, index) => `many/${index}.txt`)
const manyFiles = Object.fromEntries(names.map((name) => [name, `${name}\n`]))

for (const transport of ['mcp-2026', 'mcp-2025'] as const)
  t.test(`listings, batches, merges and restores say how far they are: ${transport}`, async (t) => {
    const tree = makeTree(t, { ...manyFiles, 'f.txt': 'one\ntwo\nthree\n' })
    const authority = await startServer(t, tree.root, everyStep)
    const client = await connect(t, transport, authority.url, 'ann')
    const listing = await callWithProgress(client, 'async_list', { path: 'many', include_hashes: true })
    t.equal(listing.answer['total_entries'], 40)
    checkWhole(t, listing.told, 'a listing')
    checkWhole(t, (await callWithProgress(client, 'list_files', {})).told, 'a listing of the folder')
    const batch = await callWithProgress(client, 'async_batch_read', { files: names.map((path) => ({ path })) })
    checkWhole(t, batch.told, 'a batch')
    t.match(batch.told.at(-1), { progress: 40, total: 40, message: '40 of 40 files' })

    const { hash } = await client.call('async_read', { path: 'f.txt' })
    const update = { path: 'f.txt', expected_hash: hash }
    await client.call('async_update', { ...update, content: 'one\ntwo\n3\n' })
    const merge = { ...update, content: '1\ntwo\nthree\n', on_contention: 'merge' }
    const merged = await callWithProgress(client, 'async_update', merge)
    t.match(merged.answer, { merged: true })
    checkWhole(t, merged.told, 'a merge')
    t.match(
      merged.told.map(({ message }) => message),
      ['reading f.txt', 'merging f.txt', 'writing f.txt', 'wrote f.txt']
    )
    const restored = await callWithProgress(client, 'async_restore', { path: 'f.txt', hash, expected_hash: null })
    t.match(restored.answer, { status: 'ok', changed: true })
    checkWhole(t, restored.told, 'a restore')

    const relay = await memberOn(t, tree)
    const afar = await connect(t, transport, relay.url, 'bob')
    const files = names.map((path) => ({ path }))
    checkWhole(t, (await callWithProgress(afar, 'async_batch_read', { files })).told, 'a batch through a relay')
  })

t.test('a batch whose file is held says where it is, and where its place in the queue', async (t) => {
  const tree = makeTree(t, manyFiles)
  const server = await startServer(t, tree.root)
  const client = await connect(t, 'mcp-2026', server.url, 'ann')
  const lock = await holdLock(server, tree.path('many/9.txt'))
  const told: Told[] = []
  const files = names
    .slice(0, 12)
    .map((path) => ({ path, expected_hash: `sha256:${'0'.repeat(64)}`, content: 'new\n' }))
  const call = client.call(
    'async_batch_update',
    { files },
    { onProgress: (message, steps) => told.push({ message, ...steps }) }
  )
  await untilWaiting(server, 1)
  await until(() => told.length > 0)
  t.match(told, [{ message: 'position 1 of 1' }])
  lock.release()
  t.match((await call)['summary'], { contention: 12 })
})

t.test('short work tells nothing, and nobody who has not asked is told', async (t) => {
  const tree = makeTree(t, manyFiles)
  const patient = await startServer(t, tree.root, { mcp: { progress_seconds: 60 } })
  const client = await connect(t, 'mcp-2025', patient.url, 'ann')
  t.strictSame((await callWithProgress(client, 'async_list', { path: 'many' })).told, [])
  const other = await startServer(t, makeTree(t, manyFiles).root, everyStep)
  const response = await fetch(`${other.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'async_list'
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'async_list', arguments: { path: 'many' }, _meta: modernMeta }
    })
  })
  const text = await response.text()
  t.match(text, '"total_entries":40')
  t.notMatch(text, 'notifications/progress')
})

t.test(
  'waits are told at once, work at intervals, its end at once, and nothing after the end of the call',
  async (t) => {
    const intervalMs = 40
    const told: Progress[] = []
    const { report, end } = paceProgress((step) => told.push(step), intervalMs)
    const places = ['position 9 of 9', 'position 8 of 9', 'position 7 of 9'].map((message) => ({ message }))
    for (const place of places) report(place)
    t.strictSame(told, places, 'each place')
    const start = performance.now()
    let done = 0
    while (told.length < 8) {
      await new Promise(setImmediate)
      report({ message: 'work', done: (done += 1), total: 1e9 })
    }
    const rate = 5 / ((performance.now() - start) / intervalMs)
    t.ok(rate <= 1.1, `${rate} reports an interval`)
    report({ message: 'done', done: 1e9, total: 1e9 })
    t.match(told.at(-1), { message: 'done' })
    report({ message: 'late', done: 1e9 - 1, total: 1e9 })
    end()
    const count = told.length
    const later = performance.now() + 2 * intervalMs
    await until(() => performance.now() > later)
    t.equal(told.length, count)
  }
)

const protocol = 'io.modelcontextprotocol'
const modernMeta: Answer = {
  [`${protocol}/protocolVersion`]: '2026-07-28',
  [`${protocol}/clientInfo`]: { name: 'raw', version: '1' },
  [`${protocol}/clientCapabilities`]: {}
}
