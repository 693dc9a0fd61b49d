// Messages of MCP whose optional members are null, or whose arguments are a string, over HTTP and on stdio, in both eras.
import t, { type Test } from 'tap'
import { request } from '../../fixtures/rpc.ts'
import { startServer } from '../../fixtures/server.ts'
import { startStdio, type Message } from '../../fixtures/stdio.ts'
import { makeTree } from '../../fixtures/tree.ts'

type Ask = (method: string, params: unknown) => Promise<Message>

const own = 'io.modelcontextprotocol/'
const envelope = {
  [`${own}protocolVersion`]: '2026-07-28',
  [`${own}clientInfo`]: { name: 'raw', version: '1', title: null },
  [`${own}clientCapabilities`]: { sampling: null }
}
const initialize = { protocolVersion: '2025-06-18', capabilities: null, clientInfo: null }

/** Of the revision of 2026-07-28 every request has an envelope, which is no parameter. */
type Wrap = (params: object) => object

const asIs: Wrap = (params) => params
const inEnvelope: Wrap = (params) => ({ ...params, _meta: { ...envelope, progressToken: null } })

async function checkCalls(t: Test, ask: Ask, wrap: Wrap): Promise<void> {
  const call = (params: object) => ask('tools/call', wrap(params))
  const status = { result: { structuredContent: { status: 'ok' } } }
  const name = 'async_status'
  // The first of each form is answered by the SDK, the second without it.
  for (const time of ['first', 'second']) {
    t.match(await call({ name, arguments: null }), status, time)
    t.match(await call({ name, arguments: { path: null } }), status, `${time}: a null that has a meaning is left`)
    const found = { result: { structuredContent: { exists: true } } }
    t.match(await call({ name, arguments: '{"path": "f"}' }), found, time)
  }
  const large = JSON.stringify({ path: 'made', content: 'x'.repeat(400_000) })
  t.match(await call({ name: 'async_write', arguments: large }), status, 'a large string')
  const faults: readonly [method: string, params: object, message: string][] = [
    ['tools/call', { name, arguments: 'f' }, 'params.arguments must be object, not string'],
    ['tools/call', { name, arguments: ['f'] }, 'params.arguments must be object, not array'],
    ['tools/call', { name: null, arguments: {} }, 'params.name must be string, and is missing'],
    ['resources/read', { uri: null }, 'params.uri must be string, and is missing'],
    ['resources/read', { uri: 5 }, 'params.uri must be string, not number']
  ]
  for (const [method, params, message] of faults)
    t.strictSame((await ask(method, wrap(params))).error, {
      code: -32602,
      message: `Invalid ${method} request: ${message}`
    })
}

async function checkLegacy(t: Test, ask: Ask): Promise<void> {
  for (const params of [null, { cursor: null, _meta: null }])
    t.match(await ask('tools/list', params), { result: { tools: Array } }, JSON.stringify(params))
  t.match(await ask('ping', null), { result: {} })
  t.match(await ask('tools/call', { name: 'async_status', arguments: {}, _meta: null }), {
    result: { isError: undefined }
  })
  t.match((await ask('tools/call', null)).error, { code: -32602, message: /params\.name must be string/ })
}

async function httpAsk(url: string, method: string, params: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(request(1, method, params))
  })
  const text = await response.text()
  const message = JSON.parse(text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? 'null')) as Message
  return { message, session: response.headers.get('mcp-session-id') }
}

t.test('over HTTP', async (t) => {
  const { url } = await startServer(t, makeTree(t, { f: 'one' }).root)
  await t.test('in a session', async (t) => {
    const { message, session } = await httpAsk(url, 'initialize', initialize)
    t.match(message, { result: { protocolVersion: '2025-06-18' } })
    const headers = { 'mcp-session-id': String(session) }
    const ask: Ask = async (method, params) => (await httpAsk(url, method, params, headers)).message
    await checkCalls(t, ask, asIs)
    await checkLegacy(t, ask)
    const unnamed = { ...initialize, clientInfo: { name: null, version: null, title: null } }
    t.match((await httpAsk(url, 'initialize', unnamed)).message, { result: { protocolVersion: '2025-06-18' } })
    const faulty = { protocolVersion: null, capabilities: 'all', clientInfo: { name: 'raw', version: '1' } }
    t.equal(
      (await httpAsk(url, 'initialize', faulty)).message['error'].message,
      'Invalid initialize request: params.protocolVersion must be string, and is missing; params.capabilities must be object, not string'
    )
  })
  await t.test('in the revision of 2026-07-28', async (t) => {
    const { url: another } = await startServer(t, makeTree(t, { f: 'one' }).root)
    const ask: Ask = async (method, params) => {
      const { name, uri } = params as { name?: unknown; uri?: unknown }
      const shown = name ?? uri
      const headers = {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(typeof shown === 'string' && { 'mcp-name': shown })
      }
      return (await httpAsk(another, method, params, headers)).message
    }
    await checkCalls(t, ask, inEnvelope)
    const without = { ...envelope, [`${own}clientInfo`]: null, [`${own}clientCapabilities`]: null }
    t.match(await ask('tools/list', { _meta: without }), { result: { tools: Array } })
  })
})

for (const [era, wrap] of [
  ['2025', asIs],
  ['2026', inEnvelope]
] as const) {
  t.test(`on stdio, ${era}`, async (t) => {
    const tree = makeTree(t, { f: 'one' })
    const program = startStdio(t, ['--transport', 'stdio', '--dir', tree.root])
    const ask: Ask = (method, params) => program.call(method, params)
    if (era === '2025') {
      t.match(await ask('initialize', initialize), { result: { protocolVersion: '2025-06-18' } })
      program.send({ jsonrpc: '2.0', method: 'notifications/initialized', params: null })
    }
    await checkCalls(t, ask, wrap)
    if (era === '2025') await checkLegacy(t, ask)
    await program.end()
  })
}
