// What a model is shown of the tools: which are listed, at what price, and in which form answers come.
import t, { type Test } from 'tap'
import { toolSets, toolsNamed } from '../../../schemas/tool-sets.ts'
import { countTokens, o200kPerToken } from '../../../bench/tokens.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { agentOperations } from '../../../src/operations/index.ts'
import { connectLegacy, connectModern, type Answer } from '../../fixtures/clients.ts'
import { inTurn } from '../../fixtures/length.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'

const eras = { '2026': connectModern, '2025': connectLegacy }
type Era = keyof typeof eras

const sets = [...Object.keys(toolSets).map((name) => [name]), ['core', 'locks'], ['all', 'files']]
const files = ['list_files', 'read_file', 'edit_file']

async function connect(t: Test, era: Era, mcp: object, content = 'one "two"\n\tthree\n') {
  const { url } = await startServer(t, makeTree(t, { f: content }).root, { mcp })
  const client = await eras[era](url, 'ann')
  t.teardown(() => client.close())
  return {
    url,
    instructions: client.getInstructions() ?? '',
    list: async (asks = false) =>
      (await client.listTools(asks ? { _meta: { 'async-crud-mcp/output_schemas': true } } : {})).tools,
    call: async (name: string, input: object) =>
      (await client.callTool({ name, arguments: { ...input } })) as {
        structuredContent?: Answer
        content: { type: string; text: string }[]
        isError?: boolean
      }
  }
}

for (const [era, test] of inTurn(t, ['2026', '2025'] as const)) {
  test(`the list of tools takes a ${era} client at most 5,000 tokens, the core 2,000, and those beside hooks 1,900`, async (t) => {
    for (const [tools, most] of [
      [['all', 'files'], 5000],
      [['core'], 2000],
      [['beside'], 1900]
    ] as const) {
      const listed = await (await connect(t, era, { tools })).list()
      // Clients keep `_meta` for themselves.
      const shown = listed.map(({ _meta, ...tool }) => tool)
      const tokens = countTokens(JSON.stringify({ tools: shown })) * o200kPerToken
      t.ok(tokens <= most, `${tools.join(',')}: ${Math.round(tokens)} tokens`)
      t.notMatch(JSON.stringify(listed), /"(pattern|minLength|maxLength|minItems|maxItems)":[^{]/)
    }
  })

  test(`a ${era} client is shown how long a batch waits, and in which form it is told what differs`, async (t) => {
    const { list } = await connect(t, era, {})
    const properties = async (name: string) => (await list()).find((tool) => tool.name === name)?.inputSchema.properties
    t.match(await properties('async_batch_write'), { timeout: {} })
    t.match(await properties('async_batch_update'), { timeout: {}, diff_format: {} })
  })

  test(`a ${era} client is offered the tools that mcp.tools names, and can call no others`, async (t) => {
    const { url, list, call } = await connect(t, era, { tools: ['all'] })
    const known = agentOperations.map(({ name }) => name)
    t.strictSame(
      (await list()).map(({ name }) => name),
      known.filter((name) => !files.includes(name) && name !== 'land')
    )
    // The second call of a form goes straight to the operation.
    for (const title of ['first', 'second'])
      await t.rejects(
        call('read_file', { name: 'f' }),
        { code: -32602, message: /read_file is not among the tools .* mcp\.tools .* --tools/ },
        title
      )
    t.match(await call('async_read', { path: 'f' }), { structuredContent: { status: 'ok' } })
    const response = await fetch(`${url}/read_file`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"name":"f"}'
    })
    t.match(await response.json(), { total_lines: 2 }, 'REST has it all the same')
    const few = await connect(t, era, { tools: ['core', 'async_diff', 'read_file'] })
    t.strictSame(
      (await few.list()).map(({ name }) => name),
      [...known.filter((name) => toolsNamed(['core']).has(name)), 'async_diff', 'read_file']
    )
  })

  test(`a ${era} client gets schemas of answers if it or the operator asks, structured content always`, async (t) => {
    const plain = await connect(t, era, {})
    const has = (tools: { outputSchema?: unknown }[]) => tools.map(({ outputSchema }) => outputSchema !== undefined)
    t.notOk(has(await plain.list()).includes(true))
    t.match(await plain.call('async_read', { path: 'f' }), { structuredContent: { hash: /^sha256:/ } })
    t.notOk(has(await plain.list(true)).includes(false), 'the client asks')
    t.match(await plain.call('async_read', { path: 'f' }), { structuredContent: { hash: /^sha256:/ } })
    t.notOk(has(await (await connect(t, era, { output_schemas: true })).list()).includes(false))
  })

  test(`a ${era} client whose model is shown a text as it is gets the text of a file so`, async (t) => {
    const content = 'one "two"\n\tthree\n'
    const { url } = await startServer(t, makeTree(t, { f: content }).root)
    const schemas = await startServer(t, makeTree(t, { f: content }).root, { mcp: { output_schemas: true } })
    const isPlain = async (name: string, at = url) => {
      const client = await eras[era](at, 'ann', '', name)
      t.teardown(() => client.close())
      const forms: boolean[] = []
      // The SDK answers the first call, the others go straight to the operation.
      for (let calls = 0; calls < 3; calls += 1) {
        const answer = await client.callTool({ name: 'async_read', arguments: { path: 'f' } })
        const [{ text }] = answer['content'] as [{ text: string }]
        forms.push(answer['structuredContent'] === undefined && text.endsWith(`}\n${content}`))
      }
      return forms
    }
    for (const name of ['claude-code', 'codex-mcp-client', 'gemini-cli-mcp-client', 'opencode'])
      t.strictSame(await isPlain(name), [true, true, true], name)
    t.strictSame(await isPlain('a script'), [false, false, false], 'another gets structured content')
    t.strictSame(await isPlain('claude-code', schemas.url), [false, false, false], 'a schema demands it')
  })

  test(`with mcp.text plain, a ${era} client gets the text of a file as it is, behind its hash`, async (t) => {
    const content = 'one "two"\n\tthree\n'
    const { list, call } = await connect(t, era, { text: 'plain', output_schemas: true }, content)
    const schemas = new Map((await list()).map(({ name, outputSchema }) => [name, outputSchema]))
    t.equal(schemas.get('async_read'), undefined, 'a schema would demand structured content')
    t.type(schemas.get('async_status'), 'object')
    for (const input of [{ path: 'f' }, { path: 'f' }, { path: 'f', offset: 1 }]) {
      const answer = await call('async_read', input)
      t.equal(answer.structuredContent, undefined, 'or else a client shows its model only that')
      const [head = '', ...rest] = (answer.content[0]?.text ?? '').split('\n')
      t.match(JSON.parse(head), { status: 'ok', path: 'f', hash: hashOf(content), total_lines: 2 })
      t.equal(rest.join('\n'), 'offset' in input ? '\tthree\n' : content)
    }
    t.match(await call('read_file', { name: 'f' }), { content: [{ text: '{"total_lines":2}\none "two"\n\tthree' }] })
    const same = await call('async_read', { path: 'f', known_hash: hashOf(content) })
    t.match(same.structuredContent, { not_modified: true })
    // Gemini CLI shows its model both parts of an error.
    const failed = await call('async_read', { path: 'g' })
    t.strictSame([failed.isError, failed.structuredContent], [true, undefined])
    t.match(JSON.parse(failed.content[0]?.text ?? ''), { status: 'error', error_code: 'FILE_NOT_FOUND' })
    t.match(await call('async_status', { path: 'f' }), { structuredContent: { hash: hashOf(content) } })
  })
}

t.test('what a model reads of a set of tools names only tools of that set, and is not cut by clients', async (t) => {
  const known = agentOperations.map(({ name }) => name)
  for (const tools of sets) {
    const { instructions, list } = await connect(t, '2026', { tools })
    const listed = await list()
    const names = new Set(listed.map(({ name }) => name))
    t.ok(instructions.length < 2000, `${tools.join(',')}: ${instructions.length} characters`)
    t.match(instructions, 'agent_id')
    t.equal(instructions.includes('fencing_token'), names.has('lock_try') && names.has('async_update'))
    const hasFileTools = ['async_read', 'async_update', 'read_file'].some((name) => names.has(name))
    t.equal(/instead of your native file tools/.test(instructions), hasFileTools)
    t.equal(/Your own read and edit tools are fine/.test(instructions), !hasFileTools)
    t.equal(instructions.includes('contention'), names.has('async_update') || names.has('edit_file'))
    const words = `${instructions} ${JSON.stringify(listed)}`
    for (const name of known)
      t.equal(new RegExp(`\\b${name}\\b`).test(words), names.has(name), `${tools.join(',')}: ${name}`)
  }
})

for (const [era, test] of inTurn(t, ['2026', '2025'] as const)) {
  test(`a ${era} client over HTTP chooses its tools by the address, and no other client's`, async (t) => {
    const { url } = await startServer(t, makeTree(t, { f: 'one\n' }).root, { mcp: { tools: ['core'] } })
    const open = async (query: string) => {
      const client = await eras[era](url, 'ann', query)
      t.teardown(() => client.close())
      const names = (await client.listTools()).tools.map(({ name }) => name)
      const call = async (name: string, input: object) =>
        (await client.callTool({ name, arguments: { ...input } })) as { structuredContent?: Answer }
      return { names: new Set(names), instructions: client.getInstructions(), call }
    }
    const beside = await open('?tools=beside')
    t.strictSame(beside.names, toolsNamed(['beside']))
    t.match(beside.instructions, /Your own read and edit tools are fine/)
    const [plain, mixed, other] = [
      await open(''),
      await open('?tools=locks,async_read&tools=async_diff'),
      await open('?a=b')
    ]
    t.strictSame([plain.names, other.names], [toolsNamed(['core']), toolsNamed(['core'])])
    t.strictSame(mixed.names, toolsNamed(['locks', 'async_read', 'async_diff']))
    // The second call of a form goes straight to the operation.
    for (const title of ['first', 'second']) {
      t.match(await beside.call('lock_try', { filepaths: ['f'] }), { structuredContent: { all_acquired: true } }, title)
      await t.rejects(
        beside.call('async_read', { path: 'f' }),
        { message: /not among the tools.*\/mcp\?tools=/ },
        title
      )
      t.match(await plain.call('async_read', { path: 'f' }), { structuredContent: { status: 'ok' } }, title)
      await t.rejects(plain.call('lock_try', { filepaths: ['f'] }), { message: /not among the tools/ }, title)
    }
  })
}

t.test('an address that chooses a tool that does not exist is refused, with the one that was meant', async (t) => {
  const { url } = await startServer(t, makeTree(t).root)
  const ask = async (query: string) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list' })
    const response = await fetch(`${url}/mcp?${query}`, { method: 'POST', headers, body })
    return { status: response.status, answer: (await response.json()) as Answer }
  }
  const wrong = {
    jsonrpc: '2.0',
    id: 7,
    error: { message: /tools in the address of \/mcp cannot be "besides": .*"beside"/ }
  }
  t.match(await ask('tools=locks,besides'), { status: 400, answer: wrong })
  t.match(await ask('tools='), { status: 400, answer: { error: { message: /cannot be "": there is no such tool/ } } })
  t.match(await ask('tools=lock_break'), { status: 400, answer: { error: { message: /no such tool/ } } })
  t.match(await ask(`tools=${'core,'.repeat(2000)}core`), {
    status: 400,
    answer: { error: { message: /more than 100/ } }
  })
})

t.test('a parameter without effect is not listed, and is accepted', async (t) => {
  const { list, call } = await connect(t, '2026', {})
  const wait = (await list()).find(({ name }) => name === 'lock_wait')
  t.notOk(Object.hasOwn(wait?.inputSchema.properties ?? {}, 'poll_interval_ms'))
  t.match(await call('lock_wait', { filepaths: ['f'], poll_interval_ms: 5 }), {
    structuredContent: { all_acquired: true }
  })
})

t.test('a tool that does not exist is refused at the start, with the one that was meant', (t) => {
  t.throws(() => loadConfig({ mcp: { tools: ['core', 'async_dif'] } }), {
    message: /mcp\.tools cannot be "async_dif": there is no such tool or set of tools; did you mean "async_diff"\?/
  })
  t.throws(() => loadConfig({ mcp: { tools: ['lock'] } }), { message: /did you mean "locks"\?/ })
  t.throws(() => loadConfig({ mcp: { tools: [] } }), { message: /mcp\.tools must be a list/ })
  t.throws(() => loadConfig({ mcp: { tools: ['lock_break'] } }), { message: /no such tool/ })
  t.end()
})
