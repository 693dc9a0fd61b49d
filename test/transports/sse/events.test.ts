// GET /events on one server: what is told, to whom, in which order, and what bad questions get.
import { rmSync, symlinkSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { Ajv } from 'ajv'
import t, { type Test } from 'tap'
import { Event, Gap, Ready } from '../../../schemas/events.ts'
import { document } from '../../fixtures/document.ts'
import { connect, type Answer, type TestClient } from '../../fixtures/clients.ts'
import { follow, get, type EventClient } from '../../fixtures/event-stream.ts'
import { holdLock, untilWaiting } from '../../fixtures/locks.ts'
import { startServer, type TestServer } from '../../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'

const ajv = new Ajv({ formats: { 'date-time': true }, strict: false })
const isEvent = ajv.compile({ anyOf: [Event, Gap, Ready] })

interface World {
  readonly tree: Tree
  readonly server: TestServer
  readonly ann: TestClient
  readonly bob: TestClient
  /** What has happened is what comes before this. */
  readonly mark: () => Promise<void>
}

async function makeWorld(t: Test, overrides: Parameters<typeof startServer>[2] = {}): Promise<World> {
  const tree = makeTree(t, { 'a.txt': 'one\n', 'src/b.ts': 'two\n', 'src/deep/c.ts': 'three\n' })
  const server = await startServer(t, tree.root, overrides)
  const ann = await connect(t, 'rest', server.url, 'ann')
  const bob = await connect(t, 'rest', server.url, 'bob')
  let marks = 0
  async function mark(): Promise<void> {
    marks += 1
    await ann.call('async_write', { path: `mark-${marks}`, content: '' })
  }
  return { tree, server, ann, bob, mark }
}

/** The next events up to that of a file of this name, without it. */
async function eventsUntil(client: EventClient, name: string): Promise<Answer[]> {
  const events: Answer[] = []
  for (;;) {
    const event = await client.next()
    if (String(event['path']).endsWith(name)) return events
    events.push(event)
  }
}

function sound(t: Test, events: readonly Answer[]): void {
  for (const event of events) t.ok(isEvent(event), `${JSON.stringify(event)} is as the schema says`)
}

t.test('each change of a file is told in its order, with who, how and both hashes, and without content', async (t) => {
  const { server, ann, bob, tree } = await makeWorld(t)
  const stream = await follow(t, server.url, 'types=file_changed')
  const secret = 'a word that no event has'
  await ann.call('async_write', { path: 'new.txt', content: secret })
  await bob.call('async_update', { path: 'new.txt', expected_hash: hashOf(secret), content: 'next\n' })
  await ann.call('async_rename', { old_path: 'new.txt', new_path: 'other.txt' })
  await bob.call('async_delete', { path: 'other.txt' })
  const [path, other] = [tree.path('new.txt'), tree.path('other.txt')]
  const hash = hashOf('next\n')
  const events: Answer[] = []
  for (let count = 0; count < 5; count += 1) events.push(await stream.next())
  t.match(events[0], { path, agent_id: 'ann', operation: 'async_write', hash: hashOf(secret) })
  t.match(events[1], { path, agent_id: 'bob', operation: 'async_update', hash, previous_hash: hashOf(secret) })
  const renamed = events.slice(2, 4)
  t.match(
    renamed.find((event) => event['path'] === other),
    { agent_id: 'ann', operation: 'async_rename', hash, renamed_from: path }
  )
  t.match(
    renamed.find((event) => event['path'] === path),
    { agent_id: 'ann', hash: null, previous_hash: hash }
  )
  t.match(events[4], { path: other, agent_id: 'bob', operation: 'async_delete', hash: null })
  sound(t, stream.events)
  t.notOk(JSON.stringify(stream.events).includes(secret))
})

t.test("a person's edit is told as external when it is noticed", async (t) => {
  const { server, ann, tree } = await makeWorld(t)
  await ann.call('async_read', { path: 'a.txt' })
  const stream = await follow(t, server.url, 'agent_id=external')
  tree.write('a.txt', 'by hand\n')
  await ann.call('async_read', { path: 'a.txt' })
  t.match(await stream.next(), {
    type: 'file_changed',
    path: tree.path('a.txt'),
    agent_id: 'external',
    operation: 'external',
    hash: hashOf('by hand\n'),
    previous_hash: hashOf('one\n')
  })
})

t.test('who comes too late is told to those who follow contention', async (t) => {
  const { server, ann, tree } = await makeWorld(t)
  const stream = await follow(t, server.url, 'types=contention,lease_expired')
  await ann.call('async_update', { path: 'a.txt', expected_hash: hashOf('older'), content: 'x' })
  t.match(await stream.next(), {
    type: 'contention',
    path: tree.path('a.txt'),
    agent_id: 'ann',
    expected_hash: hashOf('older'),
    current_hash: hashOf('one\n'),
    merged: false
  })
  sound(t, stream.events)
})

t.test('a late change that was merged is told as such', async (t) => {
  const { server, ann, bob, tree } = await makeWorld(t)
  const written = await ann.call('async_write', { path: 'lines.txt', content: 'one\ntwo\nthree\n' })
  const theirs = { path: 'lines.txt', expected_hash: written['hash'], content: 'ONE\ntwo\nthree\n' }
  const { hash } = await bob.call('async_update', theirs)
  const stream = await follow(t, server.url, 'types=contention')
  const patches = [{ old_string: 'three', new_string: 'THREE' }]
  await ann.call('async_update', { ...theirs, content: undefined, patches, on_contention: 'merge' })
  t.match(await stream.next(), {
    type: 'contention',
    path: tree.path('lines.txt'),
    agent_id: 'ann',
    expected_hash: written['hash'],
    current_hash: hash,
    merged: true
  })
  sound(t, stream.events)
})

t.test('leases that end are told with their cause, and an operation only where somebody waited for it', async (t) => {
  const { server, ann, bob, tree, mark } = await makeWorld(t)
  const stream = await follow(t, server.url, 'types=lock_released,lease_expired,file_changed')
  const path = tree.path('a.txt')
  await ann.call('lock_try', { filepaths: ['a.txt'] })
  await ann.call('lock_release', { filepaths: ['a.txt'] })
  await mark()
  t.match(await eventsUntil(stream, 'mark-1'), [
    { type: 'lock_released', path, agent_id: 'ann', held_as: 'lease', mode: 'exclusive', cause: 'released', waiting: 0 }
  ])
  const taken = await ann.call('lock_try', { filepaths: ['a.txt'] })
  await bob.call('lock_break', { filepaths: ['a.txt'], reason: 'test' })
  await mark()
  const fencing_token = taken['results'][0]['fencing_token'] as number
  t.match(await eventsUntil(stream, 'mark-2'), [
    { type: 'lock_released', path, agent_id: 'ann', cause: 'broken' },
    { type: 'lease_expired', path, agent_id: 'ann', cause: 'broken', fencing_token }
  ])
  await ann.call('lock_try', { filepaths: ['a.txt'], ttl_seconds: 0.05 })
  t.match(await stream.next(), { type: 'lock_released', path, agent_id: 'ann', cause: 'expired' })
  t.match(await stream.next(), { type: 'lease_expired', path, agent_id: 'ann', cause: 'expired' })
  const held = await holdLock(server, path)
  const waiting = bob.call('async_read', { path: 'a.txt' })
  await untilWaiting(server, 1)
  held.release()
  await waiting
  await mark()
  const released = { type: 'lock_released', path, agent_id: 'holder', held_as: 'operation', cause: 'released' }
  t.match(await eventsUntil(stream, 'mark-3'), [{ ...released, waiting: 1 }])
  sound(t, stream.events)
})

t.test('whoever waits is told of as he comes nearer', async (t) => {
  const { server, tree } = await makeWorld(t)
  const path = tree.path('a.txt')
  const stream = await follow(t, server.url, 'types=queue_position&path=a.txt')
  const held = await holdLock(server, path)
  const calls: Promise<unknown>[] = []
  for (const name of ['first', 'second']) {
    const client = await connect(t, 'rest', server.url, name)
    calls.push(client.call('async_append', { path: 'a.txt', content: name }))
    await untilWaiting(server, calls.length)
  }
  const operation = 'async_append'
  t.match(await stream.next(), { agent_id: 'first', path, operation, position: 1, queue_depth: 1 })
  t.match(await stream.next(), { agent_id: 'second', path, operation, position: 2, queue_depth: 2 })
  held.release()
  await Promise.all(calls)
  t.match(await stream.next(), { agent_id: 'second', position: 1, queue_depth: 1 })
  sound(t, stream.events)
})

t.test('nothing is told of files, types and agents that are not followed', async (t) => {
  const { server, ann, bob, tree, mark } = await makeWorld(t)
  symlinkSync(tree.path('src/b.ts'), tree.path('link'))
  tree.write('odd[name', '')
  const follows: Record<string, string[]> = {
    'path=a.txt': ['a.txt'],
    'path=src': ['src/b.ts', 'src/deep/c.ts'],
    'path=link': ['src/b.ts'],
    [`path=${encodeURIComponent(tree.path('src/b.ts'))}`]: ['src/b.ts'],
    'path=src/*.ts': ['src/b.ts'],
    'path=./src/*.ts': ['src/b.ts'],
    'path=s*c/': ['src/b.ts', 'src/deep/c.ts'],
    'path=odd[name': [],
    'path=*.ts': ['src/b.ts', 'src/deep/c.ts'],
    'path=**/c.ts&path=a.txt': ['a.txt', 'src/deep/c.ts'],
    [`path=${encodeURIComponent(tree.path('*'))}`]: ['a.txt'],
    'path=nothing-here/**': [],
    'path=src&agent_id=bob': ['src/deep/c.ts'],
    'types=contention&path=a.txt': []
  }
  const streams = new Map<string, EventClient>()
  for (const query of Object.keys(follows)) {
    const marked = query.includes('agent_id') || query.includes('types=') ? query : `${query}&path=mark-1`
    streams.set(query, await follow(t, server.url, marked))
  }
  await ann.call('async_append', { path: 'a.txt', content: 'x' })
  await ann.call('async_append', { path: 'src/b.ts', content: 'x' })
  await bob.call('async_append', { path: 'src/deep/c.ts', content: 'x' })
  await mark()
  const all = await follow(t, server.url, 'types=file_changed')
  await ann.call('async_append', { path: 'a.txt', content: 'x', agent_id: 'last' })
  await all.next()
  for (const [query, wanted] of Object.entries(follows)) {
    if (wanted.length === 0 || query.includes('agent_id')) await setImmediate()
    else if (query !== `path=${encodeURIComponent(tree.path('*'))}`) await eventsUntil(streams.get(query)!, 'mark-1')
    const received = streams.get(query)!.events.filter((event) => event['type'] === 'file_changed')
    const paths = new Set(received.map((event) => String(event['path'])).filter((path) => !path.endsWith('mark-1')))
    t.strictSame(
      [...paths].map((path) => path.slice(tree.root.length + 1)).sort(),
      wanted,
      `${query} is told of those alone`
    )
  }
})

t.test('a stream says first what it follows', async (t) => {
  const { server } = await makeWorld(t)
  const stream = await follow(t, server.url, 'types=contention,file_changed&path=src/**&agent_id=bob')
  t.match(stream.events[0], {
    type: 'ready',
    types: ['contention', 'file_changed'],
    paths: ['src/**'],
    agent_id: 'bob'
  })
  t.equal(stream.response.headers['content-type'], 'text/event-stream; charset=utf-8')
  t.equal(stream.response.headers['cache-control'], 'no-store')
  t.match((await follow(t, server.url)).events[0], { types: { length: 7 }, paths: null, agent_id: null })
})

t.test('bad questions get a clear answer, as the OpenAPI document says', async (t) => {
  const { server } = await makeWorld(t)
  const wrong: Record<string, [number, string, RegExp]> = {
    'types=file_change': [400, 'INVALID_REQUEST', /did you mean "file_changed"/],
    'types=': [400, 'INVALID_REQUEST', /file_changed/],
    'path=': [400, 'INVALID_REQUEST', /leave it out/],
    'path=a%00b': [400, 'INVALID_REQUEST', /NUL/],
    'path=%2B(a|b)*': [400, 'INVALID_PATTERN', /extended glob/],
    [`path=${'*'.repeat(300)}`]: [400, 'INVALID_PATTERN', /longer than 256/],
    [Array(51).fill('path=a').join('&')]: [400, 'INVALID_REQUEST', /more than 50/],
    [Array(3)
      .fill(`path=${'a'.repeat(3000)}`)
      .join('&')]: [400, 'INVALID_REQUEST', /8192 characters/],
    [Array(3)
      .fill(`path=**/${'*a'.repeat(126)}`)
      .join('&')]: [400, 'INVALID_PATTERN', /too many or too long/],
    [Array(20).fill('path=src/**/*.ts').join('&')]: [400, 'INVALID_PATTERN', /Use fewer/],
    'path=/etc/passwd': [403, 'PATH_OUTSIDE_BASE', /outside every root/],
    'path=/etc/*': [403, 'PATH_OUTSIDE_BASE', /relative to the roots/],
    'path=../*': [403, 'PATH_OUTSIDE_BASE', /relative to the roots/],
    'agent_id=a&agent_id=b': [400, 'INVALID_REQUEST', /more than once/],
    'agent_id=%07': [400, 'INVALID_REQUEST', /control characters/],
    'paths=a': [400, 'INVALID_REQUEST', /did you mean "path"/]
  }
  for (const [query, [status, code, message]] of Object.entries(wrong)) {
    const response = await get(server.url, query)
    const body = JSON.parse((await response.toArray()).join('')) as Answer
    t.match(
      { status: response.statusCode, body },
      { status, body: { status: 'error', error_code: code, message } },
      query
    )
    t.match(JSON.stringify(document.paths['/events']?.['get']?.responses[String(status)]), code, 'is documented')
  }
  const headers = { 'last-event-id': 'x'.repeat(101) }
  t.equal((await get(server.url, '', { headers })).statusCode, 400, 'an id that nobody gave')
  const head = await fetch(`${server.url}/events`, { method: 'HEAD' })
  t.equal(head.status, 405, 'HEAD would never end')
})

t.test('whoever may not call may not follow', async (t) => {
  const { server } = await makeWorld(t, { daemon: { token: 'secret' } })
  t.equal((await get(server.url)).statusCode, 401)
  t.equal((await get(server.url, '', { headers: { host: 'evil.example' } })).statusCode, 403)
  t.equal((await get(server.url, '', { headers: { origin: 'http://evil.example' } })).statusCode, 403)
  await follow(t, server.url, '', { headers: { authorization: 'Bearer secret' } })
})

t.test('the file is still told when its folder is gone', async (t) => {
  const { server, ann, tree } = await makeWorld(t)
  const stream = await follow(t, server.url, 'path=src')
  await ann.call('async_read', { path: 'src/b.ts' })
  rmSync(tree.path('src'), { recursive: true })
  await ann.call('async_read', { path: 'src/b.ts' })
  t.match(await stream.next(), { path: tree.path('src/b.ts'), agent_id: 'external', hash: null })
})
