// Calls of tools on standard input and output: what the SDK answers at first, the operation itself answers from then on, in the same words.
import t, { type Test } from 'tap'
import { inTurn } from '../../fixtures/length.ts'
import { argsFor, legacyHandshake, request } from '../../fixtures/rpc.ts'
import { startStdio, type Message, type RpcAnswer, type StdioProgram } from '../../fixtures/stdio.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'

const protocol = 'io.modelcontextprotocol'
const modernMeta = {
  [`${protocol}/protocolVersion`]: '2026-07-28',
  [`${protocol}/clientInfo`]: { name: 'raw', version: '1' },
  [`${protocol}/clientCapabilities`]: {}
}

interface Connection {
  readonly tree: Tree
  readonly program: StdioProgram
  readonly tool: (name: string, input: object | undefined, meta?: object) => Promise<RpcAnswer>
}

const eras: Record<string, { handshake: readonly object[]; meta: object | undefined }> = {
  '2025': { handshake: legacyHandshake, meta: undefined },
  '2026': { handshake: [], meta: modernMeta }
}

function connect(t: Test, era: string, environment: Record<string, string> = {}): Connection {
  const { handshake, meta: common } = eras[era]!
  const tree = makeTree(t, { f: 'one\n"two"\\\u2028\u{1F600}\n', g: 'x\n' })
  const program = startStdio(t, argsFor(tree, '--tools', 'all,files'), { environment })
  for (const message of handshake) program.send(message)
  return {
    tree,
    program,
    tool: (name, input, meta) =>
      program.call('tools/call', {
        name,
        ...(input !== undefined && { arguments: input }),
        ...((common ?? meta) !== undefined && { _meta: { ...common, ...meta } })
      })
  }
}

/** With the same time in each. */
function comparable({ result, error }: RpcAnswer): unknown {
  return JSON.parse(JSON.stringify({ result, error }).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'now'))
}

for (const [era, test] of inTurn(t, Object.keys(eras))) {
  test(`${era}: the first answer and the later ones are alike`, async (t) => {
    const calls: [string, object | undefined][] = [
      ['async_read', { path: 'f' }],
      ['async_read', { path: 'f', offset: 1, limit: 1 }],
      ['read_file', { name: 'f' }],
      ['async_list', undefined],
      ['async_read', { path: 'missing' }],
      ['async_read', { path: 3, other: true }],
      ['read_file', { name: '..' }],
      ['async_update', { path: 'f', expected_hash: `sha256:${'0'.repeat(64)}`, content: 'x' }]
    ]
    const { tool } = connect(t, era)
    for (const [index, [name, input]] of calls.entries()) {
      // A parameter of the protocol that this connection has not seen: the SDK answers, and the next call too.
      const first = await tool(name, input, { [`${protocol}/unseen`]: index })
      await tool(name, input)
      const later = await tool(name, input)
      t.strictSame(comparable(later), comparable(first), `${name} ${JSON.stringify(input)}`)
      t.strictSame(Object.keys(later.result ?? {}), Object.keys(first.result ?? {}), 'in the same order')
    }
  })

  test(`${era}: plain text is the same from the first answer on`, async (t) => {
    const { tool, tree } = connect(t, era, { ASYNC_CRUD_MCP_MCP__TEXT: 'plain' })
    for (const text of ['', 'one\n"two"\\\u2028\u{1F600}\n', 'no end', '\uFEFFmark\n']) {
      tree.write('f', text)
      for (const [name, input] of [
        ['async_read', { path: 'f' }],
        ['async_read', { path: 'f', limit: 1 }],
        ['read_file', { name: 'f' }],
        ['async_read', { path: 'missing' }]
      ] as const) {
        const first = await tool(name, input, { [`${protocol}/unseen`]: text })
        await tool(name, input)
        const later = await tool(name, input)
        t.strictSame(comparable(later), comparable(first), `${name} ${JSON.stringify(input)}`)
        if (name !== 'async_read' || input.path !== 'f' || 'limit' in input) continue
        t.equal(later.result?.['structuredContent'], undefined)
        const { content } = later.result as { content: { text: string }[] }
        const [head, ...rest] = content[0]!.text.split('\n')
        t.match(JSON.parse(head ?? ''), { hash: /^sha256:/ })
        t.equal(rest.join('\n'), text.replace('\uFEFF', ''))
      }
    }
  })

  test(`${era}: structured content and text are the same, whatever the file holds`, async (t) => {
    const { tool, tree } = connect(t, era)
    const texts = ['', '\n', '\\"\n\t\u0000\u001f', '\uFEFFmark\n', '\u2028\u{1F600}é\n'.repeat(9), '"'.repeat(5000)]
    for (const text of [...texts, ...texts]) {
      tree.write('f', text)
      const { result } = (await tool('async_read', { path: 'f' })) as { result: Message }
      t.strictSame(JSON.parse(result['content'][0].text), result['structuredContent'])
      t.equal(result['structuredContent'].content, text.replace('\uFEFF', ''))
    }
  })

  test(`${era}: what the protocol answers itself stays the SDK's`, async (t) => {
    const { tool, program } = connect(t, era)
    const common = eras[era]!.meta
    const wrong = [
      { name: 'async_raed', arguments: {} },
      { name: 'async_read', arguments: [] },
      { name: 3, arguments: {} },
      { arguments: {} }
    ]
    const ask = async () =>
      Promise.all(
        wrong.map(async (params) => {
          const { error } = await program.call('tools/call', {
            ...params,
            ...(common !== undefined && { _meta: common })
          })
          return error
        })
      )
    const before = await ask()
    t.match(
      before,
      wrong.map(() => ({ code: -32602 }))
    )
    await tool('async_read', { path: 'f' })
    await tool('async_read', { path: 'f' })
    t.strictSame(await ask(), before)
    const odd = {
      name: 'async_read',
      arguments: { path: 'f' },
      _meta: { ...modernMeta, [`${protocol}/clientInfo`]: 3 }
    }
    if (era === '2026') t.match(await program.call('tools/call', odd), { error: { code: -32602 } })
  })

  test(`${era}: a wait tells its progress, and can be cancelled`, async (t) => {
    const { tool, program } = connect(t, era)
    await tool('async_read', { path: 'f' })
    await tool('lock_try', { filepaths: ['f'], agent_id: 'ann' })
    const params = {
      name: 'lock_wait',
      arguments: { filepaths: ['f'], agent_id: 'bob', timeout_seconds: 60 },
      _meta: { ...eras[era]!.meta, progressToken: 'p' }
    }
    program.send(request('waits', 'tools/call', params))
    t.match(await program.message(({ method }) => method === 'notifications/progress'), {
      params: { progressToken: 'p', progress: 1, message: /position 1 of 1/ }
    })
    program.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'waits' } })
    // Once the wait has left the queue.
    for (let waiting = 1; waiting > 0;) {
      const { result } = (await tool('lock_status', { filepaths: ['f'], agent_id: 'ann' })) as { result: Message }
      waiting = result['structuredContent'].results[0].queue_depth
    }
    const { messages } = await program.end()
    t.notOk(
      messages.some(({ id }) => id === 'waits'),
      'a cancelled request gets no answer'
    )
  })

  test(`${era}: the name in _meta counts, and a hundred calls at once are each answered`, async (t) => {
    const { tool, program } = connect(t, era)
    const named = (name: string) => ({ ...eras[era]!.meta, 'async-crud-mcp/agent_id': name })
    const call = (name: string, input: object, agent: string) =>
      program.call('tools/call', { name, arguments: input, _meta: named(agent) })
    await call('async_read', { path: 'g' }, 'cid')
    await call('lock_try', { filepaths: ['g'] }, 'ann')
    t.match(await call('async_append', { path: 'g', content: 'y', timeout: 0 }, 'bob'), {
      result: { isError: true, structuredContent: { error_code: 'LOCK_TIMEOUT' } }
    })
    t.match(await call('async_append', { path: 'g', content: 'y' }, 'ann'), {
      result: { structuredContent: { status: 'ok' } }
    })
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => tool('async_append', { path: 'f', content: 'z\n' }))
    )
    t.equal(answers.filter(({ result }) => result?.['isError'] === undefined).length, 100)
  })
}
