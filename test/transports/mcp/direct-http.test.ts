// Calls of tools over HTTP: what the SDK answers at first, the operation itself answers from then on, in the same words.
import t, { type Test } from 'tap'
import { holdLock, idle, lockSummary, untilWaiting } from '../../fixtures/locks.ts'
import { startServer } from '../../fixtures/server.ts'
import type { Message } from '../../fixtures/stdio.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

const protocol = 'io.modelcontextprotocol'
const modernMeta = {
  [`${protocol}/protocolVersion`]: '2026-07-28',
  [`${protocol}/clientInfo`]: { name: 'raw', version: '1' },
  [`${protocol}/clientCapabilities`]: {}
}
const plainHeaders = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly result?: Message
  readonly error?: unknown
  /** True if it did not come from the SDK, which begins its answers with the result. */
  readonly isDirect: boolean
}

type Headers = Readonly<Record<string, string>>

const eras = ['2025', '2026'] as const

async function connect(t: Test, era: (typeof eras)[number]) {
  const tree = makeTree(t, { f: 'one\n"two"\\\u2028\u{1F600}\n', g: 'x\n' })
  const server = await startServer(t, tree.root)
  const url = `${server.url}/mcp`
  const post = (message: object, headers: Headers, signal: AbortSignal | null = null) =>
    fetch(url, { method: 'POST', headers: { ...plainHeaders, ...headers }, body: JSON.stringify(message), signal })
  const session = era === '2026' ? undefined : (await drained(await post(initialize, {}))).headers.get('mcp-session-id')
  const common: Headers =
    session === undefined
      ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' }
      : { 'mcp-protocol-version': '2025-06-18', 'mcp-session-id': session ?? '' }

  async function tool(
    name: string,
    input: object | undefined,
    { headers, meta, id = 1, signal }: { headers?: Headers; meta?: object; id?: number; signal?: AbortSignal } = {}
  ): Promise<Answer> {
    const params = {
      name,
      ...(input !== undefined && { arguments: input }),
      ...((era === '2026' || meta !== undefined) && { _meta: { ...(era === '2026' && modernMeta), ...meta } })
    }
    const named = era === '2026' ? { 'mcp-name': name } : {}
    const message = { jsonrpc: '2.0', id, method: 'tools/call', params }
    const response = await post(message, { ...common, ...named, ...headers }, signal)
    const text = await response.text()
    const json = /^data: ([^\n]*)/m.exec(text)?.[1] ?? text
    return {
      ...(JSON.parse(json) as object),
      status: response.status,
      headers: Object.fromEntries(response.headers),
      isDirect: json.startsWith('{"jsonrpc"')
    }
  }

  return { tree, server, url, tool, common, post }
}

async function drained(response: Response): Promise<Response> {
  await response.text()
  return response
}

/** With the same time in each. */
function comparable({ status, result, error }: Answer): unknown {
  return JSON.parse(JSON.stringify({ status, result, error }).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'now'))
}

for (const era of eras) {
  t.test(`${era}: the first answer and the later ones are alike`, async (t) => {
    const shared = await connect(t, era)
    const calls: [string, object | undefined][] = [
      ['async_read', { path: 'f' }],
      ['async_read', { path: 'f', offset: 1, limit: 1 }],
      ['read_file', { name: 'f' }],
      ['async_list', undefined],
      ['async_read', { path: 'missing' }],
      ['async_read', { path: 3, other: true }],
      ['async_update', { path: 'f', expected_hash: `sha256:${'0'.repeat(64)}`, content: 'x' }]
    ]
    for (const [index, [name, input]] of calls.entries()) {
      // In a new session, or with a parameter of the protocol that the server has not seen, the SDK answers.
      const { tool } = era === '2025' ? await connect(t, era) : shared
      const meta = era === '2025' ? {} : { [`${protocol}/unseen`]: index }
      const first = await tool(name, input, { meta })
      t.notOk(first.isDirect)
      await until(async () => (await tool(name, input, { meta })).isDirect)
      const later = await tool(name, input, { meta })
      t.strictSame(comparable(later), comparable(first), `${name} ${JSON.stringify(input)}`)
      t.strictSame(Object.keys(later.result ?? {}), Object.keys(first.result ?? {}), 'in the same order')
      for (const header of ['content-security-policy', 'mcp-session-id'])
        t.equal(later.headers[header], first.headers[header], header)
    }
  })

  t.test(`${era}: what the SDK refuses, it refuses afterwards`, async (t) => {
    const { tool, common, post } = await connect(t, era)
    await until(async () => (await tool('async_read', { path: 'f' })).isDirect)
    for (const headers of [
      { 'mcp-protocol-version': '1999-01-01' },
      ...(era === '2026'
        ? [{ 'mcp-name': 'async_list' }, { 'mcp-method': 'tools/list' }]
        : [{ 'mcp-session-id': 'x' }, { accept: 'text/html' }])
    ]) {
      const refused = await tool('async_read', { path: 'f' }, { headers })
      t.ok(refused.status >= 400, JSON.stringify(headers))
      t.match(refused.error, { code: Number, message: String })
    }
    const odd = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'async_raed', arguments: {} } }
    t.match(await (await post(odd, { ...common, 'mcp-name': 'async_raed' })).text(), /"error"/)
    t.ok((await tool('async_read', { path: 'f' })).isDirect, 'and goes on')
    t.notOk((await tool('async_read', { path: 'f' }, { meta: { progressToken: 'p' } })).isDirect)
    t.notOk((await tool('async_read', { path: 'f' }, { headers: { 'mcp-param-x': '1' } })).isDirect)
    const long = { [`${protocol}/unseen`]: 'x'.repeat(5000) }
    for (let index = 0; index < 3; index += 1)
      t.notOk((await tool('async_read', { path: 'f' }, { meta: long })).isDirect, 'nothing long is remembered')
  })

  t.test(`${era}: the caller is named by header before _meta`, async (t) => {
    const { tool } = await connect(t, era)
    await until(async () => (await tool('async_read', { path: 'g' })).isDirect)
    const meta = { 'async-crud-mcp/agent_id': 'ann' }
    t.match(await tool('lock_try', { filepaths: ['g'] }, { meta }), { isDirect: true, result: { content: Array } })
    const held = async (options: object) => {
      const { isDirect, result } = await tool('lock_status', { filepaths: ['g'] }, options)
      t.ok(isDirect)
      return result?.['structuredContent'].results[0].held_by_me
    }
    t.equal(await held({ meta }), true)
    t.equal(await held({ headers: { 'x-agent-id': 'ann' } }), true)
    t.equal(await held({ meta, headers: { 'x-agent-id': 'bob' } }), false)
    t.equal(await held({ meta: { 'async-crud-mcp/agent_id': 'bob' } }), false)
  })

  t.test(`${era}: a call whose connection closes leaves the queue`, async (t) => {
    const { tool, tree, server } = await connect(t, era)
    await until(async () => (await tool('async_read', { path: 'f' })).isDirect)
    const held = await holdLock(server, tree.path('f'))
    const controller = new AbortController()
    const call = tool('async_append', { path: 'f', content: 'x' }, { signal: controller.signal })
    await untilWaiting(server, 1)
    controller.abort()
    await t.rejects(call)
    await untilWaiting(server, 0)
    held.release()
    t.strictSame(lockSummary(server), idle)
    t.match(await tool('async_read', { path: 'f' }), {
      isDirect: true,
      result: { structuredContent: { total_lines: 2 } }
    })
  })
}

t.test('2025: a call can be cancelled in its own session alone, and ends with the session', async (t) => {
  const { tool, tree, server, post, common, url } = await connect(t, '2025')
  await until(async () => (await tool('async_read', { path: 'f' })).isDirect)
  const held = await holdLock(server, tree.path('f'))
  t.teardown(() => held.release())
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } }

  const first = tool('async_append', { path: 'f', content: 'x' }, { id: 7 })
  await untilWaiting(server, 1)
  const other = await drained(await post(initialize, {}))
  const otherSession = { 'mcp-session-id': other.headers.get('mcp-session-id') ?? '' }
  t.equal((await drained(await post(cancel, otherSession))).status, 202)
  t.equal(lockSummary(server).waiting, 1, 'another session has a request of this id, or none')
  t.equal((await drained(await post(cancel, common))).status, 202)
  t.match(await first, { isDirect: true, error: { code: -32800 } })
  await untilWaiting(server, 0)

  const second = tool('async_append', { path: 'f', content: 'x' }, { id: 8 })
  await untilWaiting(server, 1)
  await drained(await fetch(url, { method: 'DELETE', headers: common }))
  await second.catch(() => {})
  await untilWaiting(server, 0)
  t.equal((await tool('async_read', { path: 'f' })).status, 404, 'the session is over')
})

t.test('2026: requests of several clients may have one id', async (t) => {
  const { tool, tree, server, post, common } = await connect(t, '2026')
  await until(async () => (await tool('async_read', { path: 'f' })).isDirect)
  const held = await holdLock(server, tree.path('f'))
  const calls = [1, 2, 3].map((n) => tool('async_append', { path: 'f', content: `${n}\n` }, { id: 7 }))
  await untilWaiting(server, 3)
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7, _meta: modernMeta } }
  await drained(await post(cancel, { ...common, 'mcp-method': 'notifications/cancelled' }))
  t.equal(lockSummary(server).waiting, 3)
  held.release()
  for (const answer of await Promise.all(calls)) t.match(answer, { isDirect: true, result: { isError: undefined } })
  for (const n of [1, 2, 3]) t.match(tree.read('f'), new RegExp(`^${n}$`, 'm'))
})
