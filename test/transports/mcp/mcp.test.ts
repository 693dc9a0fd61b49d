// What MCP clients rely on: the tools as listed, identity, sessions of the 2025 era, and calls that are cancelled.
import { Ajv, type ValidateFunction } from 'ajv'
import t from 'tap'
import { instructionsFor } from '../../../src/transports/mcp/instructions.ts'
import { agentOperations } from '../../../src/operations/index.ts'
import { skipOnHosts } from '../../fixtures/behind.ts'
import { connect, connectLegacy, connectModern, type Answer } from '../../fixtures/clients.ts'
import { holdLock, idle, lockSummary, untilWaiting } from '../../fixtures/locks.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

/** Those that answer in the envelope of FES. */
const folderTools = new Set(['list_files', 'read_file', 'edit_file'])

const ajv = new Ajv({ strict: false, formats: { 'date-time': true } })
const checks = new Map<string, ValidateFunction>()

/** Clients of both eras are shown the same schemas, which take long to compile. */
function compile(schema: object = {}): ValidateFunction {
  const text = JSON.stringify(schema)
  const check = checks.get(text) ?? ajv.compile(schema)
  checks.set(text, check)
  return check
}

const eras = [
  ['2026', connectModern],
  ['2025', connectLegacy]
] as const

for (const [era, connect] of eras) {
  const { url } = await startServer(t, makeTree(t, { f: 'one\n' }).root, { mcp: { output_schemas: true } })
  const client = await connect(url)
  t.teardown(() => client.close())
  // A client compiles the schema of every tool that it is shown.
  const { tools } = await client.listTools()

  t.test(
    `a ${era} client sees the tools in a fixed order, with closed inputs, all hints, and a plain object as output`,
    async (t) => {
      t.strictSame(
        tools.map(({ name }) => name),
        agentOperations.map(({ name }) => name)
      )
      for (const { name, inputSchema, outputSchema, annotations, description } of tools) {
        t.match(inputSchema, { type: 'object', additionalProperties: false }, name)
        t.notOk(Object.hasOwn(inputSchema, 'oneOf'))
        t.match(
          outputSchema,
          folderTools.has(name)
            ? { type: 'object', required: undefined, properties: { error: { type: 'object' } } }
            : {
                type: 'object',
                required: ['status'],
                properties: { status: { enum: ['ok'] }, error_code: {}, message: {}, notices: { type: 'array' } }
              },
          name
        )
        // Hosts turn schemas into those of their model's interface, which have no such keyword.
        t.notMatch(JSON.stringify({ inputSchema, outputSchema }), /patternProperties/, name)
        for (const combinator of ['oneOf', 'anyOf', 'allOf', 'not'])
          t.notOk(Object.hasOwn(outputSchema ?? {}, combinator))
        for (const hint of ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const)
          t.type(annotations?.[hint], 'boolean', hint)
        t.ok((description ?? '').length > 25)
      }
      t.equal(client.getInstructions(), instructionsFor(new Set(tools.map(({ name }) => name))))
      t.match(client.getServerVersion(), { name: 'async-crud-mcp' })
    }
  )

  t.test(`every outcome satisfies the output schema for a ${era} client, and the text is the same JSON`, async (t) => {
    const calls: [string, Record<string, unknown>, boolean][] = [
      ['async_read', { path: 'f' }, false],
      ['async_read', { path: 'nothing' }, true],
      ['async_read', { path: 5 }, true],
      ['async_update', { path: 'f', expected_hash: hashOf('one\n'), content: 'two\n' }, false],
      [
        'async_update',
        { path: 'f', expected_hash: hashOf('one\n'), patches: [{ old_string: 'one', new_string: '1' }] },
        false
      ],
      ['async_update', { path: 'f', expected_hash: hashOf('one\n'), content: '', diff_format: 'unified' }, false],
      ['async_update', { path: 'f', expected_hash: hashOf('never'), content: '' }, false],
      ['async_write', { path: 'g', content: '' }, false],
      ['async_append', { path: 'g', content: 'x' }, false],
      ['async_rename', { old_path: 'g', new_path: 'h' }, false],
      ['async_list', { path: '.', include_hashes: true }, false],
      ['async_status', {}, false],
      ['async_status', { path: 'f' }, false],
      ['async_batch_read', { files: [{ path: 'f' }, { path: 'nothing' }] }, false],
      [
        'async_batch_write',
        {
          files: [
            { path: 'f', content: '' },
            { path: 'i', content: '' }
          ]
        },
        false
      ],
      ['async_batch_update', { files: [{ path: 'f', expected_hash: hashOf('one\n'), content: '' }] }, false],
      ['lock_try', { filepaths: ['f', 'h', 'new'], agent_id: 'ann', note: 'three files' }, false],
      ['lock_try', { filepaths: ['f'], agent_id: 'bob', ttl_seconds: 1e6 }, false],
      ['lock_try', { filepaths: [], agent_id: 'bob' }, false],
      ['lock_try', { filepaths: [''], agent_id: 'bob' }, true],
      ['lock_wait', { filepaths: ['h'], agent_id: 'bob', timeout_seconds: 0 }, false],
      ['lock_wait', { ticket: 'never given', agent_id: 'bob' }, true],
      ['lock_renew', { filepaths: ['f', 'other'], agent_id: 'ann' }, false],
      ['lock_status', { filepaths: ['f', 'other'], agent_id: 'bob' }, false],
      ['lock_release', { filepaths: ['f'], agent_id: 'bob' }, false],
      ['async_append', { path: 'f', content: 'x', agent_id: 'bob', timeout: 0 }, true],
      ['async_append', { path: 'f', content: 'x', agent_id: 'ann', fencing_token: 0 }, true],
      ['lock_release_all', { agent_id: 'ann' }, false],
      ['async_delete', { path: 'h' }, false]
    ]
    for (const [name, input, isError] of calls) {
      const result = (await client.callTool({ name, arguments: input })) as {
        structuredContent?: Answer
        content: { text: string }[]
        isError?: boolean
      }
      const title = `${name} ${JSON.stringify(input).slice(0, 60)}`
      const check = compile(tools.find((tool) => tool.name === name)?.outputSchema)
      t.ok(check(result.structuredContent), `${title}: ${ajv.errorsText(check.errors)}`)
      t.strictSame(JSON.parse(result.content[0]?.text ?? ''), result.structuredContent, title)
      t.equal(result.isError === true, isError, title)
    }
    await t.rejects(
      async () => client.callTool({ name: 'async_raed', arguments: {} }),
      { code: -32602, message: /Unknown tool: async_raed; did you mean "async_read"/ },
      'an unknown tool is an error of the protocol'
    )
  })

  t.test(`lock_break is no tool for a ${era} client: a lease stays`, async (t) => {
    const tree = makeTree(t, { f: '' })
    const { url } = await startServer(t, tree.root)
    const client = await connect(url, 'ann')
    t.teardown(() => client.close())
    await client.callTool({ name: 'lock_try', arguments: { filepaths: ['f'] } })
    await t.rejects(
      async () => client.callTool({ name: 'lock_break', arguments: { filepaths: ['f'], reason: 'why not' } }),
      { code: -32602, message: /Unknown tool: lock_break; (?!.*lock_break)/ }
    )
    t.match(await client.callTool({ name: 'lock_status', arguments: { filepaths: ['f'] } }), {
      structuredContent: { results: [{ held_by_me: true }] }
    })
  })

  t.test(`who calls is, for a ${era} client, agent_id before header before _meta`, async (t) => {
    const tree = makeTree(t, { f: '' })
    const { url } = await startServer(t, tree.root)
    const plain = await connect(url)
    const named = await connect(url, 'by-header')
    t.teardown(() => Promise.all([plain.close(), named.close()]))
    const _meta = { 'async-crud-mcp/agent_id': 'by-meta' }
    const append = (input: object) => ({ name: 'async_append', arguments: { path: 'f', content: 'x', ...input } })
    await plain.callTool({ ...append({}), _meta })
    await named.callTool({ ...append({}), _meta })
    await named.callTool({ ...append({ agent_id: 'by-input' }), _meta })
    await plain.callTool(append({}))
    await plain.callTool({ name: 'async_read', arguments: { path: 'f' } })
    const late = (await plain.callTool({
      name: 'async_update',
      arguments: { path: 'f', expected_hash: hashOf(''), content: '' }
    })) as { structuredContent: Answer }
    const names = (late.structuredContent['modified_by'] as { agent_id: string }[]).map(({ agent_id }) => agent_id)
    t.strictSame(names.slice(0, 3), ['by-meta', 'by-header', 'by-input'])
    t.match(
      names[3],
      era === '2025' ? /^session-[0-9a-f]{8}$/ : 'anonymous',
      'a session has a name that does not give its id away'
    )
  })
}

const skip = skipOnHosts.looksIntoOne

t.test('a session of the 2025 era ends by DELETE, by idling, and when there are too many', { skip }, async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root, { daemon: { max_mcp_sessions: 1 } })
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  }
  const post = (body: object, session?: string, server = url) =>
    fetch(`${server}/mcp`, {
      method: 'POST',
      headers: { ...headers, ...(session !== undefined && { 'mcp-session-id': session }) },
      body: JSON.stringify(body)
    })
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }

  const opened = await post(initialize)
  const session = opened.headers.get('mcp-session-id') ?? ''
  t.equal(opened.status, 200)
  await opened.text()
  const listed = await post(list, session)
  t.equal(listed.status, 200)
  t.match(await listed.text(), /async_read/)
  t.equal((await post(list)).status, 400, 'no session named')
  t.equal((await post(list, 'unknown')).status, 404)

  const leaving = new AbortController()
  await fetch(`${url}/mcp`, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': session },
    signal: leaving.signal
  })
  t.equal((await post(initialize)).status, 503, 'the only session is in use: its stream is open')
  leaving.abort()
  let second = await post(initialize)
  while (second.status === 503) {
    await second.text()
    second = await post(initialize)
  }
  t.equal(second.status, 200, 'once it is not, it makes room for a newcomer')
  await second.text()
  t.equal((await post(list, session)).status, 404)

  const next = second.headers.get('mcp-session-id') ?? ''
  t.equal((await fetch(`${url}/mcp`, { method: 'DELETE', headers: { 'mcp-session-id': next } })).status, 200)
  t.equal((await post(list, next)).status, 404, 'ended by its client')

  const hasty = await startServer(t, makeTree(t).root, { daemon: { mcp_session_idle_seconds: 1 } })
  const third = await post(initialize, undefined, hasty.url)
  await third.text()
  const last = third.headers.get('mcp-session-id') ?? ''
  await until(() => hasty.app.mcpSessions() === 0)
  t.equal((await post(list, last, hasty.url)).status, 404, 'ended by itself, without use')
})

for (const keeps of [true, false]) {
  t.test(
    `a newcomer ends no idle session ${keeps ? 'that holds leases' : 'with leases unless they outlive it'}`,
    { skip },
    async (t) => {
      const tree = makeTree(t, { f: '' })
      const { url } = await startServer(t, tree.root, {
        daemon: { max_mcp_sessions: 2 },
        locks: { release_on_disconnect: keeps }
      })
      const post = (body: object, session?: string) =>
        fetch(`${url}/mcp`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            ...(session !== undefined && { 'mcp-session-id': session })
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body })
        })
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
      const open = async () => {
        const response = await post({ method: 'initialize', params })
        const text = await response.text()
        return { status: response.status, text, id: response.headers.get('mcp-session-id') ?? '' }
      }
      const lock = async (name: string, session: string) => {
        const arguments_ = { filepaths: ['f'], agent_id: 'ann' }
        const response = await post({ method: 'tools/call', params: { name, arguments: arguments_ } }, session)
        await response.text()
        return response.status
      }
      const oldest = await open()
      t.equal(await lock('lock_try', oldest.id), 200)
      const second = await open()
      t.equal((await open()).status, 200)
      t.equal(await lock('lock_status', keeps ? second.id : oldest.id), 404, 'this one has made room')
      if (!keeps) return
      const holder = await connect(t, 'rest', url, 'ann')
      t.match(await holder.call('lock_status', { filepaths: ['f'] }), { results: [{ held_by_me: true }] })
      const third = await open()
      const arguments_ = { filepaths: ['g'], agent_id: 'bob' }
      await (await post({ method: 'tools/call', params: { name: 'lock_try', arguments: arguments_ } }, third.id)).text()
      t.match(await open(), { status: 503, text: /in use or hold leases/ }, 'all of them hold leases')
      t.equal(await lock('lock_release', oldest.id), 200)
      t.equal((await open()).status, 200, 'whoever has released makes room again')
    }
  )
}

t.test(
  'a cancelled call of a 2025 session leaves neither a waiting stream nor anything else in the session',
  async (t) => {
    const tree = makeTree(t, { f: 'one' })
    const server = await startServer(t, tree.root)
    const client = await connectLegacy(server.url)
    t.teardown(() => client.close())
    const open = new Set<object>()
    server.app.server.on('request', (request, response) => {
      // The client keeps a GET stream of its own open.
      if (request.method !== 'POST') return
      open.add(response)
      response.once('close', () => open.delete(response))
    })
    const held = await holdLock(server, tree.path('f'))
    const controllers = Array.from({ length: 5 }, () => new AbortController())
    const calls = controllers.map(({ signal }) =>
      client.callTool({ name: 'async_append', arguments: { path: 'f', content: 'x' } }, undefined, { signal })
    )
    for (const call of calls) call.catch(() => {})
    await untilWaiting(server, 5)
    for (const controller of controllers) controller.abort('test')
    await untilWaiting(server, 0)
    held.release()
    t.match(await client.callTool({ name: 'async_read', arguments: { path: 'f' } }), {
      structuredContent: { content: 'one' }
    })
    t.strictSame(lockSummary(server), idle)
    // Without an end to their streams the five answers would stay open for as long as the session.
    await until(() => open.size === 0)
  }
)
