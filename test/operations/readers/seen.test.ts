// What an agent has seen by the operations: lines, never a version. The bug of this kind: what was shown in part counts as known as a whole.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { PartialConfig } from '../../../src/config/config.ts'
import { isBehindBalancer } from '../../fixtures/behind.ts'
import { connect, transports, type Answer, type TestClient } from '../../fixtures/clients.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'
import { LineWriter } from '../../../src/tree/persistence/records.ts'
import { makeKeptTree } from '../../tree/persistence/fixtures/kept.ts'

const lines = Array.from({ length: 60 }, (_, index) => `line ${index + 1}\n`)
const content = lines.join('')
const byBob = content.replace('line 50\n', 'by bob\n')
const first = hashOf(content)

async function scene(t: Test, config: PartialConfig = {}, transport: (typeof transports)[number] = 'rest') {
  const tree = makeTree(t, { f: 'old\n', g: 'old\n' })
  const { url } = await startServer(t, tree.root, { watcher: { enabled: false }, ...config })
  const ann = await connect(t, transport, url, 'ann')
  const bob = await connect(t, 'rest', url, 'bob')
  for (const path of ['f', 'g']) await replace(bob, path, 'old\n', content)
  const change = (path: string, from = 'line 50\n', to = 'by bob\n') => replace(bob, path, from, to)
  return { tree, url, ann, bob, change }
}

async function replace(client: TestClient, path: string, from: string, to: string): Promise<void> {
  const { content: now, hash } = await client.call('async_read', { path })
  const answer = await client.call('async_update', { path, expected_hash: hash, content: now.replace(from, to) })
  if (answer.status !== 'ok') throw new Error(JSON.stringify(answer))
}

/** Whether the agent may replace the file without naming a version. */
async function mayReplace(ann: TestClient, path = 'f'): Promise<boolean> {
  return (await ann.call('async_restore', { path, hash: hashOf('old\n') })).status === 'ok'
}

for (const transport of transports)
  t.test(`parts of a file are not the file, over ${transport}`, async (t) => {
    const { tree, ann, change } = await scene(t, {}, transport)
    await ann.call('async_read', { path: 'f', limit: 1 })
    await change('f')
    await change('f', 'by bob\n', 'line 50\nby bob\n')
    await ann.call('async_read', { path: 'f', offset: 1, limit: 1 })
    t.notOk(await mayReplace(ann))
    t.match(tree.read('f'), 'by bob')
    await ann.call('async_read', { path: 'f', offset: 0, limit: 40 })
    await ann.call('async_read', { path: 'f', offset: 41, limit: 100 })
    t.notOk(await mayReplace(ann), 'one line is missing')
    await ann.call('async_read', { path: 'f', offset: 40, limit: 1 })
    t.ok(await mayReplace(ann), 'page by page it has seen all')
  })

t.test('lines that were seen of an older version are seen, if they are unchanged since', async (t) => {
  const { ann, change } = await scene(t)
  await ann.call('async_read', { path: 'f' })
  await change('f')
  await ann.call('async_read', { path: 'f', offset: 10, limit: 5 })
  t.notOk(await mayReplace(ann), 'it has not seen what bob made')
  await change('g', 'line 50\n', '')
  await ann.call('async_read', { path: 'g' })
  await change('g', 'line 20\n', '')
  await ann.call('async_read', { path: 'g', offset: 40, limit: 5 })
  t.notOk(await mayReplace(ann, 'g'), 'nor what bob removed')
  await ann.call('async_read', { path: 'g', offset: 10, limit: 20 })
  t.ok(await mayReplace(ann, 'g'))
})

t.test('known_hash spares an agent only what it has', async (t) => {
  const { ann, bob, change } = await scene(t)
  await ann.call('async_read', { path: 'f', limit: 2 })
  await change('f')
  await ann.call('async_read', { path: 'f', offset: 4, limit: 1 })
  t.match(
    await ann.call('async_read', { path: 'f', known_hash: first }),
    { content: byBob },
    'two lines of that version'
  )
  const patches = [{ old_string: 'line 3\n', new_string: 'three\n' }]
  await ann.call('async_read', { path: 'g', limit: 2 })
  const { hash } = await ann.call('async_update', { path: 'g', expected_hash: first, patches })
  t.match(await ann.call('async_read', { path: 'g', known_hash: hash }), { content: /line 60/ }, 'what it made of it')
  t.match(await ann.call('async_read', { path: 'g', known_hash: hash, limit: 2 }), { not_modified: true })
  await bob.call('async_read', { path: 'g' })
  t.match(await bob.call('async_read', { path: 'g', known_hash: hash }), { not_modified: true })
})

t.test('what an agent says that it knows it has not seen', async (t) => {
  const { ann, bob, change } = await scene(t)
  t.match(await ann.call('async_read', { path: 'f', known_hash: first }), { not_modified: true }, 'it is believed')
  t.notOk(await mayReplace(ann))
  await bob.call('async_read', { path: 'f' })
  await change('f')
  t.match(await ann.call('async_read', { path: 'f', known_hash: first }), { diff: {} })
  t.notOk(await mayReplace(ann))
  const patches = [{ old_string: 'line 3\n', new_string: 'three\n' }]
  t.match(await ann.call('async_update', { path: 'f', expected_hash: hashOf(byBob), patches }), { status: 'ok' })
  t.notOk(await mayReplace(ann), 'nor the file of which it has changed a line')
})

t.test('a difference shows the lines that differ, and no others', async (t) => {
  const { ann, change } = await scene(t)
  await ann.call('async_read', { path: 'f', limit: 20 })
  await change('f')
  const late = { path: 'f', expected_hash: first, patches: [{ old_string: 'line 50', new_string: 'x' }] }
  t.match(await ann.call('async_update', late), { status: 'contention', diff: {} })
  await ann.call('async_read', { path: 'f', offset: 20, limit: 29 })
  t.notOk(await mayReplace(ann))
  await ann.call('async_read', { path: 'f', offset: 50, limit: 10 })
  t.ok(await mayReplace(ann), 'line 50 was in the difference')
})

t.test('a difference that the answer leaves out is not shown', async (t) => {
  for (const form of ['batch', 'atomic', 'transaction']) {
    const { ann, change } = await scene(t, { crud: { max_batch_answer_bytes: 600 } })
    for (const path of ['f', 'g']) {
      await ann.call('async_read', { path })
      await change(path)
    }
    const files = ['f', 'g'].map((path) => ({ path, expected_hash: first, content: 'x' }))
    const answer =
      form === 'transaction'
        ? await ann.call('async_transaction', { changes: files.map((file) => ({ operation: 'update', ...file })) })
        : await ann.call('async_batch_update', { files, atomic: form === 'atomic' })
    const results = (answer['results'] ?? answer['contentions']) as { diff: object | null }[]
    t.match(results, [{ diff: {} }, { diff: null }], form)
    const read = (path: string) => ann.call('async_read', { path, known_hash: hashOf(byBob) })
    t.match(await read('f'), { not_modified: true }, form)
    t.notMatch(await read('g'), { not_modified: true }, form)
    t.equal((await read('g')).content ?? byBob, byBob)
  }
})

t.test('what was seen in part is so after a restart', async (t) => {
  const tree = makeKeptTree(t, { f: content, g: content })
  const here = await tree.serveHere()
  await here.call('async_read', { path: 'f', limit: 2, agent_id: 'ann' })
  await here.call('async_read', { path: 'g', agent_id: 'ann' })
  await here.server.app.close()
  const next = await tree.serveHere()
  const restore = (path: string) => next.call('async_restore', { path, hash: first, agent_id: 'ann' })
  for (const path of ['f', 'g'])
    t.match(await next.call('async_update', { path, agent_id: 'bob', expected_hash: first, content: byBob }), {
      status: 'ok'
    })
  const agent_id = 'ann'
  const read = (path: string, offset: number, limit: number) =>
    next.call('async_read', { path, offset, limit, agent_id })
  for (const path of ['f', 'g']) await read(path, 40, 20)
  t.not((await restore('f')).status, 'ok')
  t.match(await restore('g'), { status: 'ok' }, 'the whole before, and what changed since')
})

type Saved = Answer & { readonly seen: readonly { readonly hash: string; readonly spans: 'all' | readonly Range[] }[] }
interface Range {
  readonly start: number
  readonly end: number
}

/** With the parts that notices went by, beside what was seen. */
function withSights({ learnedSeq: seq, seen, ...view }: Saved): object {
  const [{ hash, spans } = { hash: '', spans: [] }] = seen
  const [span] = spans === 'all' ? [] : spans
  const lines = span && { start: (span.start + 1) / 2, end: (span.end - 1) / 2 }
  return { ...view, seen: seen.filter((one) => one.spans.length > 0), sights: [{ seq, hash, lines }], learnedSeq: 0 }
}

/** Before what was seen was noted by versions. */
function withKnownHash(saved: Saved): object {
  const { seen, steps: _, ...view } = withSights(saved) as Saved
  const whole = seen.find(({ spans }) => spans === 'all')
  return { ...view, ...(whole && { knownHash: whole.hash }) }
}

const isElsewhere = isBehindBalancer && 'the state of several hosts is on their volume'
for (const [form, toEarlier] of Object.entries({ withSights, withKnownHash }))
  t.test(`what an earlier version of the program has kept is read: ${form}`, { skip: isElsewhere }, async (t) => {
    const tree = makeKeptTree(t, { f: content, g: content, h: content })
    const state = join(tree.dataFolder, 'own', 'state')
    const here = await tree.serveHere()
    const ann = { agent_id: 'ann' }
    await here.call('async_read', { path: 'f', limit: 2, ...ann })
    await here.call('async_read', { path: 'g', ...ann })
    const patches = [{ old_string: 'line 1\n', new_string: 'line one\n' }]
    await here.call('async_update', { path: 'h', expected_hash: first, patches, ...ann })
    await here.server.app.close()
    const writer = new LineWriter()
    let views = 0
    const toLine = (line: string) => {
      const json = line.slice(line.indexOf(' ') + 1)
      const [part, record] = JSON.parse(json) as [string, Saved]
      if (part !== 'view') return writer.line(json)
      views += 1
      return writer.line(JSON.stringify([part, toEarlier(record)]))
    }
    const [header = '', ...records] = readFileSync(state, 'utf8').trimEnd().split('\n')
    writeFileSync(state, [writer.line(header.slice(header.indexOf(' ') + 1)), ...records.map(toLine)].join(''))
    t.equal(views, 3)
    const next = await tree.serveHere()
    const bob = { agent_id: 'bob' }
    const change = async (path: string, line: number) => {
      const { hash: expected_hash } = await next.call('async_read', { path, ...bob })
      const edit = [{ start_line: line, end_line: line, new_content: 'by bob\n' }]
      await next.call('async_update', { path, expected_hash, patches: edit, ...bob })
      return (await next.call('lock_status', { filepaths: ['elsewhere'], ...ann }))['notices'] as unknown
    }
    const told = (path: string, start_line: number) => [{ path, lines: [{ start_line, end_line: start_line }] }]
    const known = { known_hash: first, ...ann }
    t.match(await next.call('async_read', { path: 'f', limit: 2, ...known }), { not_modified: true })
    t.notMatch(await next.call('async_read', { path: 'f', ...known, agent_id: 'carl', limit: 3 }), {
      not_modified: true
    })
    t.match(await next.call('async_read', { path: 'g', limit: 3, ...known }), { not_modified: true })
    t.equal(await change('f', 30), undefined)
    t.match(await change('f', 2), told('f', 2))
    t.match(await change('g', 30), told('g', 30))
    t.match(await change('h', 30), told('h', 30), 'it has named the version')
  })
