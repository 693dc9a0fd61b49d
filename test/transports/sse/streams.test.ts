// Streams of GET /events: coming back, reading slowly, coming in thousands, and processes that come and go.
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { createFeed } from '../../../src/tree/authority/feed.ts'
import type { AuthorityMessage } from '../../../src/tree/authority/messages.ts'
import { connect, type Answer } from '../../fixtures/clients.ts'
import { follow, get, type EventClient } from '../../fixtures/event-stream.ts'
import { startProgram, startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { createEvents, type NewEvent } from '../../../src/engine/events/event-hub.ts'
import { withResolvers } from '../../../src/support/with-resolvers.ts'
import type { TreeEvent } from '../../../src/engine/events/tree-event.ts'

type Overrides = Parameters<typeof startServer>[2]

async function makeWorld(t: Test, overrides: Overrides = {}) {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const server = await startServer(t, tree.root, overrides)
  const client = await connect(t, 'rest', server.url, 'ann')
  const change = (path = 'a.txt') => client.call('async_append', { path, content: 'x', create_if_missing: true })
  return { tree, server, change }
}

const changed = (path: string): NewEvent => ({
  type: 'file_changed',
  path,
  agent_id: 'ann',
  operation: 'async_write',
  hash: null
})

async function take(client: EventClient, count: number): Promise<Answer[]> {
  const events: Answer[] = []
  while (events.length < count) events.push(await client.next())
  return events
}

t.test('who comes back gets what was missed, in order, once', async (t) => {
  const { server, change } = await makeWorld(t)
  const first = await follow(t, server.url, 'types=file_changed')
  await change()
  const [seen] = await take(first, 1)
  first.close()
  await change('b.txt')
  await change('c.txt')
  const again = await follow(t, server.url, 'types=file_changed&path=*.txt', {
    headers: { 'last-event-id': String(seen?.['id']) }
  })
  await change('d.txt')
  const missed = await take(again, 3)
  t.match(
    missed.map(({ path }) => String(path).slice(-5)),
    ['b.txt', 'c.txt', 'd.txt']
  )
  t.equal(again.lastId(), missed[2]?.['id'])
})

t.test('who had not been told of anything yet misses nothing either', async (t) => {
  const { server, change } = await makeWorld(t)
  const first = await follow(t, server.url)
  first.close()
  await change()
  const again = await follow(t, server.url, 'types=file_changed', { headers: { 'last-event-id': first.lastId() } })
  t.match(await again.next(), { type: 'file_changed' })
})

t.test('where not all is kept that was missed, a gap says so first', async (t) => {
  const { server, change } = await makeWorld(t, { events: { buffer_events: 2 } })
  const first = await follow(t, server.url)
  for (let count = 0; count < 5; count += 1) await change(`${count}.txt`)
  const [seen] = await take(first, 1)
  const again = await follow(t, server.url, '', { headers: { 'last-event-id': String(seen?.['id']) } })
  const received = await take(again, 3)
  t.match(received, [{ type: 'gap', reason: 'not_kept' }, { path: /3.txt/ }, { path: /4.txt/ }])
  const foreign = await follow(t, server.url, '', { headers: { 'last-event-id': 'of-another-life' } })
  t.match(await foreign.next(), { type: 'gap', reason: 'not_kept' })
  const fromGap = await follow(t, server.url, '', { headers: { 'last-event-id': String(received[0]?.['id']) } })
  t.match(await take(fromGap, 2), [{ path: /3.txt/ }, { path: /4.txt/ }], 'a gap is a place to come back to')
})

t.test('one who follows little has a place to come back to all the same', async (t) => {
  const { server, change } = await makeWorld(t, { events: { buffer_events: 1, heartbeat_seconds: 0.05 } })
  const first = await follow(t, server.url, 'path=never.txt')
  const opened = first.lastId()
  for (let count = 0; count < 40; count += 1) await change(`${count}.txt`)
  while (first.lastId() !== server.app.events.position) await once(first.response, 'data')
  t.not(first.lastId(), opened)
  t.ok(first.beats() > 0, 'an idle stream is kept alive')
  const again = await follow(t, server.url, 'path=never.txt', { headers: { 'last-event-id': first.lastId() } })
  await change('never.txt')
  t.match(await again.next(), { type: 'file_changed', path: /never.txt/ }, 'and no gap')
})

t.test('who does not read is cut off with a gap, and can come back to where it was', async (t) => {
  const { server, change } = await makeWorld(t, { events: { buffer_bytes: 20_000, buffer_events: 100_000 } })
  const slow = await get(server.url, 'types=file_changed')
  const quick = await follow(t, server.url, 'types=file_changed')
  await once(slow, 'readable')
  const { events } = server.app
  // More than all the buffers of the connection take.
  for (let count = 0; events.followers === 2; count += 1) {
    events.publish(changed(`${server.url}/${count}/${'x'.repeat(500)}`))
    // The quick one has got them, and the one that opened its stream.
    if (count % 20 === 0) while (quick.events.length < count + 2) await new Promise(setImmediate)
  }
  const text = (await slow.toArray()).join('')
  const blocks = text.trim().split('\n\n')
  t.match(blocks.at(-1), /^event: gap\nid: \S+\ndata: .*"reason":"too_slow"/, 'the last thing it is told')
  const last = /^id: (\S+)/m.exec(blocks.at(-2) ?? '')?.[1]
  t.equal(/^id: (\S+)/m.exec(blocks.at(-1) ?? '')?.[1], last, 'the gap stands where the last event stood')
  const again = await follow(t, server.url, 'types=file_changed', { headers: { 'last-event-id': last ?? '' } })
  const next = await again.next()
  t.equal(next['type'], 'file_changed', 'what it did not get is still kept')
  const number = (event: Answer | undefined) => Number(/\/(\d+)\/x/.exec(String(event?.['path']))?.[1])
  t.equal(number(next), number(JSON.parse(/data: (.*)/.exec(blocks.at(-2) ?? '')?.[1] ?? '') as Answer) + 1)
  await change()
  for (let event = await quick.next(); !/a.txt/.test(String(event['path'])); event = await quick.next());
  t.pass('nobody else is kept waiting')
})

t.test('hundreds of streams are served, one more is refused, and slow ones cost little memory', async (t) => {
  // Looking up whose so many connections are takes most of the time otherwise.
  const { server, change } = await makeWorld(t, {
    daemon: { same_user_only: false },
    events: { max_subscribers: 500 }
  })
  const streams: EventClient[] = []
  for (let count = 0; count < 500; count += 50) {
    streams.push(...(await Promise.all(Array.from({ length: 50 }, () => follow(t, server.url, 'types=file_changed')))))
  }
  const refused = await get(server.url)
  t.equal(refused.statusCode, 503)
  t.ok(Number(refused.headers['retry-after']) > 0)
  t.match(JSON.parse((await refused.toArray()).join('')), {
    error_code: 'OVERLOADED',
    message: /events.max_subscribers/
  })
  await change()
  const received = await Promise.all(streams.map(async (stream) => stream.next()))
  t.equal(new Set(received.map(({ id }) => String(id))).size, 1, 'all are told of the one change')
  for (const { response } of streams) response.pause()
  const before = process.memoryUsage().rss
  const { events } = server.app
  const heard: unknown[] = []
  // Told after all the others.
  const last = events.follow({}, (event) => heard.push(event))
  // 20 events of 60 KB are 600 MB if each stream kept its own; few large ones take less time than many small ones.
  for (let count = 0; count < 20; count += 1) events.publish(changed(`/${count}/${'x'.repeat(60_000)}`))
  await until(() => heard.length >= 20)
  last.end()
  const grown = (process.memoryUsage().rss - before) / 1_048_576
  t.ok(grown < 250, `${Math.round(grown)} MB more`)
  for (const stream of streams) stream.close()
  await until(() => events.followers === 0)
  await follow(t, server.url)
})

t.test('who comes back gets all that was missed, however much more it is than a stream may leave unread', async (t) => {
  const { server } = await makeWorld(t, { events: { buffer_bytes: 1024, buffer_events: 10_000 } })
  const first = await follow(t, server.url)
  const { events } = server.app
  // Of the ready alone: it is cut off while it is told of so much.
  const headers = { 'last-event-id': first.lastId() }
  // More than all the buffers of the connection take.
  for (let count = 0; count < 5000; count += 1) events.publish(changed(`/${count}/${'x'.repeat(2000)}`))
  const again = await follow(t, server.url, 'types=file_changed&path=**', { headers })
  t.equal(again.events.length, 1, 'a filter is held against what was missed, too')
  const all = await follow(t, server.url, 'types=file_changed', { headers })
  const received = await take(all, 5000)
  t.ok(
    received.every(({ path }, index) => String(path).startsWith(`/${index}/`)),
    'in order, each once'
  )
  events.publish(changed('/live'))
  t.match(await all.next(), { path: '/live' }, 'and then goes on')
})

t.test('making an event waits for nobody, and telling it leaves room for others', async (t) => {
  const events = createEvents()
  t.teardown(() => events.close())
  let looked = 0
  const slow = () => {
    const end = performance.now() + 10
    while (performance.now() < end);
    looked += 1
    return true
  }
  const heard: string[][] = [[], [], []]
  for (const received of heard)
    events.follow({ matchesPath: slow }, (event) => received.push('path' in event ? event.path : ''))
  events.publish(changed('/1'))
  events.publish(changed('/2'))
  t.equal(looked, 0)
  const late: unknown[] = []
  const following = events.follow({}, (event) => late.push(event))
  t.equal(following.position(), events.position)
  let turns = 0
  for (; heard.some(({ length }) => length < 2); turns += 1) await new Promise(setImmediate)
  t.ok(turns > 4, `${turns} turns for six looks that take long`)
  t.strictSame(heard, [
    ['/1', '/2'],
    ['/1', '/2'],
    ['/1', '/2']
  ])
  t.strictSame(late, [], 'nothing from before it followed')
})

t.test('of many filters with the same paths one is asked', async (t) => {
  const events = createEvents()
  t.teardown(() => events.close())
  let asked = 0
  const received: unknown[] = []
  const filter = { matchesPath: () => (asked += 1) > 0, pathKey: 'same' }
  for (let count = 0; count < 50; count += 1) events.follow(filter, (event) => received.push(event))
  events.publish(changed('/a'))
  events.publish(changed('/b'))
  await until(() => received.length >= 100)
  t.equal(asked, 2, 'once an event')
})

t.test('more events at once than can wait leave a gap, from which one can come back', async (t) => {
  const events = createEvents({ maxKept: () => 20_000 })
  t.teardown(() => events.close())
  const received: TreeEvent[] = []
  const following = events.follow({}, (event) => received.push(event))
  const before = events.position
  for (let count = 0; count < 10_005; count += 1) events.publish(changed(`/${count}`))
  await until(() => following.position() === events.position)
  t.match(received, [
    { type: 'gap', reason: 'too_slow', id: before },
    ...[1, 2, 3, 4].map((n) => ({ path: `/1000${n}` }))
  ])
  t.equal(events.follow({}, () => {}, { after: received[0]?.id }).missed.length, 10_005)
})

t.test('nothing is made while nobody follows, and what was kept is forgotten after a while', async (t) => {
  const events = createEvents({ keepMs: 0 })
  let isAsked = false
  events.addSource(() => {
    isAsked = true
    return () => (isAsked = false)
  })
  events.publish(changed('/unheard'))
  t.equal(isAsked, false)
  const heard: unknown[] = []
  const following = events.follow({}, (event) => heard.push(event))
  const position = events.position
  t.equal(isAsked, true, 'the sources are asked for as long as somebody follows')
  events.publish(changed('/heard'))
  t.equal(heard.length, 0, 'not within the making of the event')
  await until(() => heard.length !== 0)
  t.match(heard, [{ path: '/heard' }])
  following.end()
  await until(() => !events.isFollowed)
  t.equal(isAsked, false, 'and not longer')
  const later = events.follow({}, () => {}, { after: position })
  t.match(later.missed, [{ type: 'gap', reason: 'not_kept' }])
  events.close()
  t.throws(() => events.follow({}, () => {}), { code: 'OVERLOADED' }, 'nobody begins to follow a server that stops')
})

t.test('very many changes are one event, told whatever paths are followed', async (t) => {
  const { server } = await makeWorld(t)
  const stream = await follow(t, server.url, 'path=a.txt')
  const { history, events } = server.app
  for (let count = 0; count < 3; count += 1) {
    const identity = { mtimeNs: 0n } as never
    history.observe(`/bulk/${count}`, { kind: 'file', hash: 'sha256:1', identity })
    history.observe(`/bulk/${count}`, { kind: 'file', hash: 'sha256:2', identity }, true)
  }
  const bulk = { bulk: true as const, agent_id: 'external', operation: 'external', count: 3, paths: ['/bulk/0'] }
  events.publish({ type: 'file_changed', ...bulk })
  t.match(await stream.next(), bulk)
  t.equal(stream.events.length, 2, 'none of them is told singly')
})

t.test('a relay that does not read is told where events are missing, and memory stays bounded', async (t) => {
  const sent: AuthorityMessage[] = []
  let unread = 0
  const feed = createFeed({
    send: (message) => sent.push(message),
    unread: () => unread
  })
  const report = (id: string) => feed({ ...changed('/a'), id, at: '' })
  report('1')
  unread = 20_000_000
  for (const id of ['2', '3', '4']) report(id)
  unread = 12_000_000
  report('5')
  unread = 1000
  report('6')
  t.match(sent, [
    { type: 'event', event: { id: '1' } },
    { type: 'event', event: { type: 'gap', reason: 'too_slow' } },
    { type: 'event', event: { type: 'gap', reason: 'too_slow' } },
    { type: 'event', event: { id: '6' } }
  ])
  t.equal(sent.length, 4)
})

t.test('the changes of files that were missed over a restart come from the log', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n', 'b.txt': 'one\n', 'c.txt': 'one\n' })
  const persistence = { enabled: true, state_file: makeTree(t).path('kept/state') }
  const first = await startServer(t, tree.root, { persistence })
  const ann = await connect(t, 'rest', first.url, 'ann')
  for (const path of ['a.txt', 'c.txt']) await ann.call('async_read', { path })
  const stream = await follow(t, first.url, 'types=file_changed')
  await ann.call('async_append', { path: 'a.txt', content: 'x' })
  const seen = await stream.next()
  const opened = { headers: { 'last-event-id': String(seen['id']) } }
  const moves = {
    changes: ['a', 'b'].map((name) => ({ operation: 'rename', path: `${name}.txt`, new_path: `${name}2.txt` }))
  }
  t.match(await ann.call('async_transaction', moves), { status: 'ok' })
  await first.app.close()
  tree.write('c.txt', 'two\n')

  const { url, app } = await startServer(t, tree.root, { persistence })
  const bob = await connect(t, 'rest', url, 'bob')
  await bob.call('async_status')
  await until(() => app.history.last(tree.path('c.txt'))?.operation === 'external')
  const missed = [/[\\/]a\.txt$/, /[\\/]a2\.txt$/, /[\\/]b\.txt$/, /[\\/]b2\.txt$/, /[\\/]c\.txt$/]
  const names = async (client: EventClient, count: number) =>
    (await take(client, count)).map(({ path }) => String(path)).sort()
  t.match(await names(await follow(t, url, 'types=file_changed', opened), 5), missed, 'each once, and no gap')
  const again = await follow(t, url, 'types=file_changed', opened)
  const [one] = await take(again, 1)
  const rest = await follow(t, url, 'types=file_changed', { headers: { 'last-event-id': String(one?.['id']) } })
  t.equal((await take(rest, 4)).length, 4, 'a change that was read from the log is a place to come back to')
  const all = await follow(t, url, '', opened)
  t.match(await all.next(), { type: 'gap', reason: 'not_kept' }, 'what happened to locks is not in the log')
  t.match(await names(all, 5), missed)
  await bob.call('async_append', { path: 'd.txt', content: 'x', create_if_missing: true })
  for (const client of [rest, all])
    t.match(await client.next(), { path: /d.txt/, agent_id: 'bob' }, 'then what happens')

  const relay = await startProgram(t, ['--dir', tree.root])
  const through = await follow(t, relay.url, 'types=file_changed', opened)
  t.match(await names(through, 6), [...missed, /[\\/]d\.txt$/])
})

t.test('a server that stops ends its streams at once', async (t) => {
  const { server } = await makeWorld(t)
  const stream = await follow(t, server.url)
  const { engine } = server.app
  const { promise: stopped, resolve: stop } = withResolvers<void>()
  const stopEngine = engine.stop.bind(engine)
  // As long as an operation that is under way may take.
  engine.stop = async (limitMs) => stopped.then(() => stopEngine(limitMs))
  const closed = server.app.close()
  await stream.ended
  t.pass('before those who have a lock have finished')
  stop()
  await closed
})

t.test('every process of a tree tells of what happens in it, and of the change of the authority', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const authority = await startProgram(t, ['--dir', tree.root])
  const others = [await startServer(t, tree.root), await startServer(t, tree.root)]
  const clients = [authority, ...others]
  for (const { url } of clients) await (await connect(t, 'rest', url)).call('async_read', { path: 'a.txt' })
  const streams = await Promise.all(clients.map(async ({ url }) => follow(t, url, 'types=file_changed')))
  const roles = await Promise.all(
    clients.map(async ({ url }) => ((await (await fetch(`${url}/health`)).json()) as Answer)['role'] as string)
  )
  t.strictSame(roles, ['authority', 'relay', 'relay'])
  for (const [index, { url }] of clients.entries()) {
    const rest = await connect(t, 'rest', url, `agent-${index}`)
    await rest.call('async_append', { path: 'a.txt', content: 'x' })
    const received = await Promise.all(streams.map(async (stream) => stream.next()))
    for (const event of received) t.match(event, { type: 'file_changed', agent_id: `agent-${index}` })
    t.equal(new Set(received.map(({ id }) => String(id))).size, 1, 'under one id')
  }
  authority.process.kill('SIGKILL')
  for (const stream of streams.slice(1)) t.match(await stream.next(), { type: 'gap', reason: 'authority_changed' })
  const rest = await connect(t, 'rest', others[0]!.url, 'after')
  await rest.call('async_append', { path: 'a.txt', content: 'x' })
  for (const stream of streams.slice(1)) t.match(await stream.next(), { type: 'file_changed', agent_id: 'after' })
})
