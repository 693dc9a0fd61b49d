// Files as MCP resources, and being told of their changes: both eras, over HTTP and stdio, at the authority and at a relay.
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { EventEmitter, once } from 'node:events'
import { request, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { createEventFeed } from '../../../src/tree/authority/event-feed.ts'
import type { EngineLink } from '../../../src/engine/call/engine-link.ts'
import { createEvents } from '../../../src/engine/events/event-hub.ts'
import { createSubscriptions } from '../../../src/transports/mcp/subscriptions.ts'
import type { PartialConfig } from '../../../src/config/config.ts'
import { connect, connectLegacy, connectModern, type Answer, type TestClient } from '../../fixtures/clients.ts'
import { programAsOverRest, programPath, startServer, type TestServer } from '../../fixtures/server.ts'
import { withResolvers } from '../../../src/support/with-resolvers.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

type Era = '2025' | '2026'

interface ResourceClient {
  list(cursor?: string): Promise<Answer>
  templates(): Promise<Answer>
  read(uri: string): Promise<Answer>
  /** @returns ends it */
  subscribe(...uris: string[]): Promise<() => Promise<unknown>>
  /** The address of each notice of a change. */
  readonly updated: string[]
  /** Resolves after a notice for this address, now or earlier; forgets the notices before. */
  untilUpdated(uri: string): Promise<void>
}

function modernFace(client: ModernClient): ResourceClient {
  const updated = listenTo((onUpdated) =>
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => onUpdated(params.uri))
  )
  return {
    ...updated,
    list: async (cursor) => client.listResources({ ...(cursor !== undefined && { cursor }) }),
    templates: async () => client.listResourceTemplates(),
    read: async (uri) => client.readResource({ uri }),
    async subscribe(...uris) {
      const listening = await client.listen({ resourceSubscriptions: uris })
      return async () => listening.close()
    }
  }
}

function legacyFace(client: LegacyClient): ResourceClient {
  const updated = listenTo((onUpdated) =>
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => onUpdated(params.uri))
  )
  return {
    ...updated,
    list: async (cursor) => client.listResources({ ...(cursor !== undefined && { cursor }) }),
    templates: async () => client.listResourceTemplates(),
    read: async (uri) => client.readResource({ uri }),
    async subscribe(...uris) {
      for (const uri of uris) await client.subscribeResource({ uri })
      return async () => Promise.all(uris.map(async (uri) => client.unsubscribeResource({ uri })))
    }
  }
}

function listenTo(register: (onUpdated: (uri: string) => void) => void) {
  const updated: string[] = []
  const emitter = new EventEmitter()
  register((uri) => {
    updated.push(uri)
    emitter.emit('updated')
  })
  return {
    updated,
    async untilUpdated(uri: string): Promise<void> {
      while (!updated.includes(uri)) await once(emitter, 'updated')
      updated.splice(0)
    }
  }
}

async function connectHttp(t: Test, era: Era, url: string): Promise<ResourceClient> {
  if (era === '2026') {
    const client = await connectModern(url, 'reader')
    t.teardown(() => client.close())
    return modernFace(client)
  }
  const client = await connectLegacy(url, 'reader')
  t.teardown(() => client.close())
  return legacyFace(client)
}

async function connectStdio(t: Test, era: Era, root: string): Promise<ResourceClient> {
  const parameters = {
    command: process.execPath,
    args: [programPath, '--transport', 'stdio', '--dir', root],
    env: { ASYNC_CRUD_MCP_CONFIG: '', ...programAsOverRest },
    stderr: 'ignore' as const
  }
  if (era === '2026') {
    const client = new ModernClient({ name: 'modern', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    await client.connect(new ModernStdio(parameters))
    t.teardown(() => client.close())
    return modernFace(client)
  }
  const client = new LegacyClient({ name: 'legacy', version: '1' })
  await client.connect(new LegacyStdio(parameters))
  t.teardown(() => client.close())
  return legacyFace(client)
}

interface World {
  readonly tree: Tree
  readonly server: TestServer
  readonly writer: TestClient
  readonly uri: (name: string) => string
}

/** The authority of the tree is in this process. */
async function makeWorld(t: Test, config: PartialConfig = {}): Promise<World> {
  const tree = makeTree(t, { 'a.txt': 'one\n', 'sp ace/ü#.txt': 'two\n', 'never.txt': 'three\n' })
  const server = await startServer(t, tree.root, config)
  const writer = await connect(t, 'rest', server.url, 'writer')
  await writer.call('async_read', { path: 'a.txt' })
  return { tree, server, writer, uri: (name) => pathToFileURL(tree.path(name)).href }
}

const doors: Record<string, (t: Test, era: Era, world: World) => Promise<ResourceClient>> = {
  'over HTTP': async (t, era, { server }) => connectHttp(t, era, server.url),
  'over HTTP at a relay': async (t, era, { tree }) => connectHttp(t, era, (await startServer(t, tree.root)).url),
  'over stdio at a relay': async (t, era, { tree }) => connectStdio(t, era, tree.root)
}

for (const [door, open] of Object.entries(doors)) {
  for (const era of ['2025', '2026'] as const) {
    t.test(`a client of ${era} reads files as resources and is told of their changes, ${door}`, async (t) => {
      const world = await makeWorld(t)
      const { tree, writer, uri } = world
      const client = await open(t, era, world)
      await checkReading(t, client, world)
      const stop = await client.subscribe(uri('a.txt'), uri('sp ace/ü#.txt'), uri('not-yet.txt'))
      await writer.call('async_append', { path: 'never.txt', content: 'x' })
      await writer.call('async_append', { path: 'a.txt', content: 'x' })
      await client.untilUpdated(uri('a.txt'))
      await writer.call('async_write', { path: 'not-yet.txt', content: 'x' })
      await client.untilUpdated(uri('not-yet.txt'))
      tree.write('sp ace/ü#.txt', 'by hand\n')
      await writer.call('async_read', { path: 'sp ace/ü#.txt' })
      await client.untilUpdated(uri('sp ace/ü#.txt'))
      await writer.call('async_delete', { path: 'a.txt' })
      await client.untilUpdated(uri('a.txt'))
      await stop()
      const other = await client.subscribe(uri('never.txt'))
      await writer.call('async_append', { path: 'not-yet.txt', content: 'x' })
      await writer.call('async_append', { path: 'never.txt', content: 'x' })
      await until(() => client.updated.length !== 0)
      t.strictSame(client.updated, [uri('never.txt')], 'of nothing else, before and after')
      await other()
    })
  }
}

const outside = pathToFileURL(join(tmpdir(), 'outside.txt')).href

async function checkReading(t: Test, client: ResourceClient, { uri }: World): Promise<void> {
  t.match(await client.templates(), { resourceTemplates: [{ uriTemplate: 'file:///{+path}' }] })
  t.match(await client.list(), {
    resources: [{ uri: uri('a.txt'), name: 'a.txt', _meta: { 'async-crud-mcp/hash': hashOf('one\n') } }]
  })
  const content = { uri: uri('sp ace/ü#.txt'), text: 'two\n', _meta: { 'async-crud-mcp/hash': hashOf('two\n') } }
  t.match(await client.read(uri('sp ace/ü#.txt')), { contents: [content] })
  t.match(await client.list(), { resources: { length: 2 } }, 'what was read is listed')
  await t.rejects(client.read(uri('nothing')), { code: -32602, message: /nothing/ })
  await t.rejects(client.read(outside), { message: /outside every root/ })
  await t.rejects(client.read('https://example.org/'), { message: /file:\/\/\// })
  await t.rejects(client.subscribe(outside), { message: /outside every root/ })
  await t.rejects(client.list('never given'), { message: /cursor/ })
}

t.test('resources are listed page by page, each once, gone files not', async (t) => {
  // The files are none: a watcher would say that they are gone.
  const { server, tree } = await makeWorld(t, { watcher: { enabled: false } })
  const identity = { mtimeNs: 0n } as never
  for (let count = 0; count < 1200; count += 1)
    server.app.history.observe(tree.path(`f${count}`), { kind: 'file', hash: 'sha256:1', identity })
  server.app.history.observe(tree.path('f7'), { kind: 'none' })
  const client = await connectHttp(t, '2025', server.url)
  const uris: string[] = []
  let cursor: string | undefined
  do {
    const page: Answer = await client.list(cursor)
    const resources = page['resources'] as { uri: string }[]
    t.ok(resources.length <= 500)
    uris.push(...resources.map(({ uri }) => uri))
    cursor = page['nextCursor'] as string | undefined
  } while (cursor !== undefined)
  t.equal(new Set(uris).size, 1200, 'a.txt and all but one of the others')
  t.equal(uris.length, 1200)
})

for (const era of ['2025', '2026'] as const) {
  t.test(`a client of ${era} can be subscribed to so many files and no more`, async (t) => {
    const tree = makeTree(t, { 'a.txt': 'one\n' })
    const server = await startServer(t, tree.root, { events: { max_resources_per_session: 2 } })
    const client = await connectHttp(t, era, server.url)
    const uri = (name: string) => pathToFileURL(tree.path(name)).href
    const refusal = { message: /events.max_resources_per_session/ }
    await t.rejects(client.subscribe(uri('1'), uri('2'), uri('3')), refusal)
    const { events } = server.app
    if (era === '2026') t.equal(events.followers, 0, 'a refused request follows nothing')
    const other = await connectHttp(t, era, server.url)
    const stop = await other.subscribe(uri('1'), uri('2'), uri('2'))
    await stop()
    await other.subscribe(uri('3'))
  })
}

t.test('clients that go leave nothing behind', async (t) => {
  const { server, uri } = await makeWorld(t)
  const { events } = server.app
  const modern = await connectModern(server.url)
  await modern.listen({ resourceSubscriptions: [uri('a.txt')] })
  t.equal(events.followers, 1)
  await modern.close()
  await until(() => events.followers === 0)
  const legacy = await connectLegacy(server.url)
  await legacy.subscribeResource({ uri: uri('a.txt') })
  t.equal(events.followers, 1)
  const { transport } = legacy
  if (transport !== undefined && 'terminateSession' in transport)
    await (transport.terminateSession as () => Promise<void>)()
  await until(() => events.followers === 0)
  await legacy.close()
})

t.test('a refused subscription at a relay asks the authority for nothing', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const authority = await startServer(t, tree.root)
  await (await connect(t, 'rest', authority.url)).call('async_read', { path: 'a.txt' })
  const relay = await startServer(t, tree.root)
  for (const era of ['2025', '2026'] as const) {
    const client = await connectHttp(t, era, relay.url)
    await t.rejects(client.subscribe(outside), { message: /outside every root/ })
    t.equal(authority.app.events.followers, 0)
    t.notOk(authority.app.events.isFollowed)
    t.notOk(relay.app.events.isFollowed)
  }
  const client = await connectHttp(t, '2025', relay.url)
  await client.subscribe(pathToFileURL(tree.path('a.txt')).href)
  t.equal(authority.app.events.followers, 1, 'one that is not does')
})

t.test('events that were asked for are ended where nobody follows them after all', async (t) => {
  // The timer of the events keeps no process alive, and nothing else may be under way.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const events = createEvents({ keepMs: 0 })
  const { promise: ended, resolve } = withResolvers<void>()
  const feed = async () => resolve
  await createEventFeed(events, () => {}).begin({ feed } as unknown as EngineLink)
  await t.resolves(ended)
})

t.test('a session without a stream is told when it opens one, and costs nothing until then', async (t) => {
  const { server, uri, writer } = await makeWorld(t)
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream'
  }
  const post = async (message: object): Promise<Response> => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    const response = await fetch(`${server.url}/mcp`, { method: 'POST', headers, body })
    await response.clone().text()
    return response
  }
  const clientInfo = { name: 'raw', version: '1' }
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  const opened = await post({ id: 1, method: 'initialize', params })
  headers['mcp-session-id'] = opened.headers.get('mcp-session-id') ?? ''
  await post({ method: 'notifications/initialized' })
  await post({ id: 2, method: 'resources/subscribe', params: { uri: uri('a.txt') } })
  const { promise: updated, resolve } = withResolvers<unknown>()
  // After the session, which followed first.
  server.app.events.follow({ types: new Set(['file_changed']) }, resolve)
  await writer.call('async_append', { path: 'a.txt', content: 'x' })
  await updated
  const stop = new AbortController()
  const stream = await fetch(`${server.url}/mcp`, { headers, signal: stop.signal })
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of stream.body ?? []) {
    text += decoder.decode(bytes as Uint8Array)
    if (text.includes('\n\n') && text.includes('data: ')) break
  }
  stop.abort()
  t.match(text, /notifications\/resources\/updated.*a\.txt/)
})

t.test('a new stream of a session takes over from a dead one, with what that may not have delivered', async (t) => {
  const { server, writer, uri } = await makeWorld(t)
  const streams: ServerResponse[] = []
  server.app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'GET') streams.push(response)
  })
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  const clientInfo = { name: 'raw', version: '1' }
  const post = async (message: object, own: object = {}) =>
    fetch(`${server.url}/mcp`, {
      method: 'POST',
      headers: { ...headers, ...own },
      body: JSON.stringify({ jsonrpc: '2.0', ...message })
    })
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  const opened = await post({ id: 1, method: 'initialize', params })
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-06-18' }
  await (await post({ method: 'notifications/initialized' }, session)).text()
  for (const name of ['a.txt', 'never.txt'])
    await (await post({ id: 2, method: 'resources/subscribe', params: { uri: uri(name) } }, session)).text()

  // The client does not read it: what is sent stays on its way, as on a connection whose other end has lost its network.
  const dead = request(`${server.url}/mcp`, { headers: { ...headers, ...session } })
  t.teardown(() => dead.destroy())
  dead.on('error', () => {}).end()
  const [silent] = (await once(dead, 'response')) as [IncomingMessage]
  t.equal(silent.statusCode, 200)
  const before = streams[0]?.socket?.bytesWritten ?? 0
  await writer.call('async_append', { path: 'a.txt', content: 'x' })
  await until(() => (streams[0]?.socket?.bytesWritten ?? 0) > before)

  const bad = await fetch(`${server.url}/mcp`, { headers: { ...session, accept: 'text/plain' } })
  t.equal(bad.status, 406, 'a request that is refused ends no stream')
  t.notOk(streams[0]?.writableEnded)
  const next = await fetch(`${server.url}/mcp`, { headers: { ...headers, ...session } })
  t.equal(next.status, 200, 'it is not refused')
  const reader = readText(next)
  t.match(await reader.until(/a\.txt/), /resources\/updated/, 'what the dead one was given comes again')
  await writer.call('async_append', { path: 'never.txt', content: 'x' })
  t.notMatch(await reader.until(/never\.txt/), /a\.txt.*a\.txt/s, 'once')
  await until(() => streams[0]?.destroyed === true)
  const third = await fetch(`${server.url}/mcp`, { headers: { ...headers, ...session } })
  t.equal(third.status, 200)
  t.match(await readText(third).until(/never\.txt/), /updated/)
  await reader.end()
})

function readText({ body }: Response) {
  const decoder = new TextDecoder()
  const chunks = (body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  return {
    /** What has come so far, as soon as it has this. */
    async until(pattern: RegExp): Promise<string> {
      while (!pattern.test(text)) {
        const { done, value } = await chunks.read()
        if (done) throw new Error(`the stream ended: ${text}`)
        text += decoder.decode(value)
      }
      return text
    },
    /** Resolves when the server has ended it. */
    async end(): Promise<void> {
      while (!(await chunks.read()).done);
    }
  }
}

t.test('who has no stream is not looked at again until he has', async (t) => {
  const sent: string[] = []
  let isAway = true
  let looks = 0
  const away = watched()
  const subscriptions = createSubscriptions({
    updates: away.updates,
    maxResources: 10,
    send: (uri) => sent.push(uri),
    isBehind: () => isAway,
    isAway: () => {
      looks += 1
      return isAway
    }
  })
  await subscriptions.subscribe(['one'])
  away.change('one')
  t.equal(looks, 1)
  await untilLookedAgain()
  t.equal(looks, 1)
  isAway = false
  subscriptions.renew()
  t.strictSame(sent, ['one'])
  subscriptions.close()
})

/** Files that change when the test says so. */
function watched() {
  const listeners = new Map<string, () => void>()
  return {
    listeners,
    change: (uri: string) => listeners.get(uri)?.(),
    updates: {
      check: () => {},
      ready: async () => {},
      watch: (uri: string, onUpdated: () => void) => (listeners.set(uri, onUpdated), () => listeners.delete(uri))
    }
  }
}

/** Resolves when a client that does not read, and is told of a change now, has been looked at again after the pause, twice. */
async function untilLookedAgain(): Promise<void> {
  const behind = watched()
  const seen = { looks: 0 }
  const isBehind = () => (seen.looks += 1) > 0
  const subscriptions = createSubscriptions({ updates: behind.updates, maxResources: 1, send: () => {}, isBehind })
  await subscriptions.subscribe(['file'])
  behind.change('file')
  await until(() => seen.looks >= 3)
  subscriptions.close()
}

t.test('a client that does not read is told of each file once, when it reads again', async (t) => {
  const sent: string[] = []
  const files = watched()
  let isBehind = true
  const seen = { looks: 0 }
  const subscriptions = createSubscriptions({
    updates: files.updates,
    maxResources: 10,
    send: (uri) => sent.push(uri),
    isBehind: () => (seen.looks += 1) > 0 && isBehind
  })
  await subscriptions.subscribe(['one', 'two', 'three'])
  for (let count = 0; count < 1000; count += 1) for (const uri of files.listeners.keys()) files.change(uri)
  t.equal(seen.looks, 1)
  subscriptions.remove('three')
  await until(() => seen.looks >= 3)
  t.strictSame(sent, [])
  isBehind = false
  while (sent.length === 0) await delay(10)
  t.strictSame(sent, ['one', 'two'])
  subscriptions.close()
  t.equal(files.listeners.size, 0)
})

t.test('a file that changes all the time is told of now and then, the last change included', async (t) => {
  const { server, writer, uri, tree } = await makeWorld(t)
  const client = await connectHttp(t, '2026', server.url)
  await client.subscribe(uri('a.txt'))
  for (let count = 0; count < 50; count += 1) await writer.call('async_append', { path: 'a.txt', content: 'x' })
  await client.untilUpdated(uri('a.txt'))
  let text = ''
  // Whoever reads each time he is told ends with the last version.
  while (text !== tree.read('a.txt'))
    text = String(((await client.read(uri('a.txt')))['contents'] as Answer[])[0]?.['text'])
  t.ok(client.updated.length < 25, `told ${client.updated.length} times of 50 changes`)
})
