// What an answer over MCP leaves out: what its call has said, what is usual, what only programs read, and what the message has in words.
import t, { type Test } from 'tap'
import { connect as connectRest, connectLegacy, connectModern, type Answer } from '../../fixtures/clients.ts'
import { countTokens } from '../../../bench/tokens.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { inTurn } from '../../fixtures/length.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'
import { largestSources } from '../../harness/swarm/swarm.ts'

const eras = { '2026': connectModern, '2025': connectLegacy }
type Era = keyof typeof eras

const one = 'first\nsecond\nthird\n'
const two = 'first\n2nd\nthird\n'
const three = 'first\n2nd\n3rd\n'

async function scene(t: Test, era: Era, settings: object = {}) {
  const { url } = await startServer(t, makeTree(t, { f: one, g: one }).root, { mcp: { fields: 'needed', ...settings } })
  const enter = async (agent: string, name?: string) => {
    const client = await eras[era](url, agent, '', name)
    t.teardown(() => client.close())
    return {
      schemas: async () => (await client.listTools({ _meta: { 'async-crud-mcp/output_schemas': true } })).tools,
      call: async (tool: string, input: object) => {
        const answer = await client.callTool({ name: tool, arguments: { ...input } })
        const [{ text }] = answer['content'] as [{ text: string }]
        return { text, body: (answer['structuredContent'] ?? {}) as Answer }
      }
    }
  }
  return { url, enter, rest: await connectRest(t, 'rest', url, 'rest') }
}

for (const [era, test] of inTurn(t, ['2026', '2025'] as const)) {
  test(`a ${era} client gets of a read and of a change what its model does not know yet`, async (t) => {
    const { enter, rest } = await scene(t, era)
    const [ann, plain] = [await enter('ann'), await enter('ann', 'claude-code')]
    // The SDK answers the first call of a form, the others go straight to the operation.
    for (let calls = 0; calls < 2; calls += 1) {
      t.strictSame((await ann.call('async_read', { path: 'f', offset: 1, limit: 1 })).body, {
        status: 'ok',
        hash: hashOf(one),
        total_lines: 3,
        content: 'second\n'
      })
      const { text } = await plain.call('async_read', { path: 'f' })
      t.equal(text, `{"hash":"${hashOf(one)}","total_lines":3}\n${one}`)
    }
    t.match(await rest.call('async_read', { path: 'f', limit: 1 }), {
      path: 'f',
      offset: 0,
      limit: 1,
      lines_returned: 1,
      encoding: 'utf-8',
      timestamp: String
    })
    const update = { path: 'f', expected_hash: hashOf(one).slice(0, 30), content: two }
    t.strictSame((await ann.call('async_update', update)).body, { status: 'ok', hash: hashOf(two) })
    t.strictSame((await ann.call('async_update', { path: 'f', expected_hash: hashOf(two), content: two })).body, {
      status: 'ok',
      hash: hashOf(two),
      changed: false
    })
    t.strictSame((await ann.call('async_append', { path: 'n', content: one, create_if_missing: true })).body, {
      status: 'ok',
      hash: hashOf(one)
    })
    t.strictSame((await ann.call('async_rename', { old_path: 'n', new_path: 'm' })).body, {
      status: 'ok',
      hash: hashOf(one)
    })
    t.strictSame((await ann.call('async_delete', { path: 'm' })).body, { status: 'ok', deleted_hash: hashOf(one) })
    t.match((await ann.call('async_read', { path: 'f', encoding: 'latin1' })).body, { encoding: undefined })
    t.match(await rest.call('async_append', { path: 'n', content: one, create_if_missing: true }), {
      bytes_appended: 19,
      timestamp: String
    })
  })

  test(`a ${era} client gets of a contention and of a merge what it does not know yet`, async (t) => {
    const { enter, rest } = await scene(t, era)
    const ann = await enter('ann')
    await ann.call('async_read', { path: 'f' })
    await rest.call('async_update', { path: 'f', expected_hash: hashOf(one), content: two })
    const late = { path: 'f', expected_hash: hashOf(one), patches: [{ old_string: 'second', new_string: 'x' }] }
    const { body } = await ann.call('async_update', late)
    t.match(body, { status: 'contention', current_hash: hashOf(two), patches_applicable: false })
    t.strictSame(body['modified_by'], [{ agent_id: 'rest', operation: 'async_update' }])
    const [change] = body['diff']['changes'] as Answer[]
    t.match(change, { old_content: 'second', new_content: '2nd' })
    for (const name of ['path', 'expected_hash', 'timestamp', 'base_known', 'applicable_patches'])
      t.notOk(name in body, name)
    const unknown = { path: 'f', expected_hash: hashOf('never'), content: 'x' }
    t.match((await ann.call('async_update', unknown)).body, { status: 'contention', base_known: false, diff: null })
    const merge = { ...late, on_contention: 'merge', patches: [{ old_string: 'third', new_string: '3rd' }] }
    const merged = (await ann.call('async_update', { ...merge, patches: merge.patches })).body
    t.match(merged, { status: 'contention', merge_conflicts: [{ reason: 'overlap' }] })
    t.match(await rest.call('async_update', late), { path: 'f', base_known: true, modified_by: [{ at: String }] })
  })

  test(`a version before that a ${era} client has not named is told, as are results by their paths`, async (t) => {
    const { enter, rest } = await scene(t, era)
    const ann = await enter('ann')
    await ann.call('async_read', { path: 'f' })
    await rest.call('async_update', { path: 'f', expected_hash: hashOf(one), content: `new\n${one}` })
    const patches = [{ old_string: 'third', new_string: '3rd' }]
    const merge = { path: 'f', expected_hash: hashOf(one), on_contention: 'merge', patches }
    t.match((await ann.call('async_update', merge)).body, {
      merged: true,
      previous_hash: hashOf(`new\n${one}`),
      hash: hashOf(`new\nfirst\nsecond\n3rd\n`)
    })
    const read = (await ann.call('async_batch_read', { files: [{ path: 'g' }, { path: 'h' }] })).body
    t.strictSame(read['results'], [
      { status: 'ok', path: 'g', hash: hashOf(one), total_lines: 3, content: one },
      {
        status: 'error',
        error_code: 'FILE_NOT_FOUND',
        message: read['results'][1].message,
        path: 'h'
      }
    ])
    const files = [{ path: 'g', expected_hash: hashOf(one), content: three }]
    t.strictSame((await ann.call('async_batch_update', { files })).body['results'], [
      { status: 'ok', path: 'g', hash: hashOf(three) }
    ])
    const changes = [{ operation: 'update', path: 'g', expected_hash: hashOf(three), content: two }]
    t.strictSame((await ann.call('async_transaction', { changes })).body['changes'], [
      { operation: 'update', path: 'g', hash: hashOf(two) }
    ])
    const pathsOf = async (input: object) =>
      ((await ann.call('async_history', input)).body['versions'] as Answer[]).map(({ path }) => path as unknown)
    t.strictSame(new Set(await pathsOf({ path: 'g' })), new Set([undefined]), 'versions of the file that was named')
    t.strictSame(new Set(await pathsOf({})), new Set(['f', 'g']))
    t.match((await ann.call('lock_try', { filepaths: ['g'] })).body, {
      timestamp: String,
      results: [{ filepath: 'g', expires_at: String }]
    })
  })

  test(`the message of an error stands once in what a ${era} client gets, and REST has the facts, too`, async (t) => {
    const { url, enter, rest } = await scene(t, era)
    const ann = await enter('ann')
    await ann.call('async_read', { path: 'f' })
    const append = { operation: 'append', path: 'g', content: 'x' }
    const missing = { operation: 'update', path: 'no', expected_hash: hashOf(one), content: 'x' }
    const misspelt = { ...missing, pathh: 'f' }
    const calls: readonly (readonly [name: string, input: object, said: RegExp])[] = [
      ['async_read', { path: 'f', ofset: 1 }, /did you mean ."offset."/g],
      ['async_read', {}, /missing parameter/g],
      ['async_batch_read', { files: [{ path: 'f' }, { ofset: 1 }] }, /did you mean/g],
      ['async_batch_update', { files: [{ path: 'f' }] }, /missing parameter ."files.0..expected_hash/g],
      ['async_batch_write', { files: [{ path: 'n' }], atomic: true }, /missing parameter ."files.0..content/g],
      ['async_transaction', { changes: [misspelt] }, /did you mean/g],
      ['async_transaction', { changes: [append, missing] }, /does not exist: no/g],
      ['async_transaction', { changes: [append, missing, { ...missing, path: 'n2' }] }, /does not exist: no/g],
      [
        'async_update',
        { path: 'f', expected_hash: hashOf(one), patches: [{ old_string: 'seconD', new_string: '2' }] },
        /U\+0064/g
      ],
      [
        'async_update',
        { path: 'f', expected_hash: hashOf(one), unified_diff: '@@ -1,2 +1,2 @@\n firsT\n-a\n+b\n' },
        /@@ -1,2/g
      ],
      ['lock_try', { filepaths: 5 }, /filepaths must/g]
    ]
    for (const [name, input, said] of calls) {
      const { text, body } = await ann.call(name, input)
      t.equal(text.match(said)?.length, 1, `${name}: ${text}`)
      t.strictSame(JSON.parse(text), body)
    }
    // By lines it can be made all the same: the message offers this patch, and no more is beside it.
    const patches = [{ old_string: 'seconD', new_string: '2' }]
    const update = { path: 'f', expected_hash: hashOf(one), patches }
    t.strictSame((await ann.call('async_update', update)).body['details'], {
      nearest: { patch: { start_line: 2, end_line: 2, new_content: '2\n', expected_lines: 'second' } }
    })
    const several = [append, missing, { ...missing, path: 'n2' }]
    t.match((await ann.call('async_transaction', { changes: several })).body, {
      message: /^changes\[1\].*details tell of 1 more/,
      details: { failures: [{ change: 2, path: 'n2' }] }
    })
    await rest.call('lock_try', { filepaths: ['g'], note: 'a long task' })
    const blocked = { path: 'g', content: 'x', timeout: 0 }
    const timedOut = (await ann.call('async_append', blocked)).body
    t.match(timedOut, {
      error_code: 'LOCK_TIMEOUT',
      message: /Agent rest has leased it.*a long task/,
      details: undefined
    })
    t.match(await (await connectRest(t, 'rest', url, 'bob')).call('async_append', blocked), {
      details: { holders: [{ agent_id: 'rest', note: 'a long task' }] }
    })
    t.match(await rest.call('async_read', { path: 'f', ofset: 1 }), { details: { faults: [{ parameter: 'ofset' }] } })
    t.match(await rest.call('async_update', update), { details: { reason: 'not_found', nearest: { start_line: 2 } } })
    t.match(await rest.call('async_transaction', { changes: several }), {
      details: { change: 1, failures: [{ change: 1 }, { change: 2 }] }
    })
  })

  test(`a notice says once who has changed a file, to a ${era} client`, async (t) => {
    const { enter, rest } = await scene(t, era)
    const ann = await enter('ann')
    await ann.call('async_read', { path: 'f' })
    await rest.call('async_update', { path: 'f', expected_hash: hashOf(one), content: two })
    const { body } = await ann.call('async_read', { path: 'g' })
    const [notice] = body['notices'] as Answer[]
    t.match(notice, { message: /^rest changed f/, hash: hashOf(two), known_hash: hashOf(one) })
    t.notOk('at' in notice! || 'modified_by' in notice!)
  })

  test(`what is left out fits the schemas that a ${era} client asks for; mcp.fields all leaves nothing out`, async (t) => {
    const { enter } = await scene(t, era)
    const ann = await enter('ann')
    // The SDK checks each answer by its schema.
    await ann.schemas()
    const path = { path: 'f', expected_hash: hashOf(one) }
    await ann.call('async_read', { path: 'f' })
    t.match((await ann.call('async_update', { ...path, content: two })).body, { status: 'ok' })
    t.match((await ann.call('async_update', { ...path, content: three })).body, { status: 'contention' })
    const files = [{ ...path, content: three }, { path: 'g', expected_hash: hashOf(one), content: two }, {}]
    t.match((await ann.call('async_batch_update', { files })).body['results'], [
      { status: 'contention' },
      { status: 'ok' },
      { status: 'error' }
    ])
    t.match((await ann.call('async_batch_read', { files: [{ path: 'f' }, {}] })).body['results'], [
      { content: two },
      {}
    ])
    const changes = [{ operation: 'append', path: 'g', content: 'x' }]
    t.match((await ann.call('async_transaction', { changes })).body, { changes: [{ operation: 'append' }] })
    t.match((await ann.call('async_history', { path: 'f' })).body, {
      versions: [{ at: String }, {}],
      timestamp: String
    })
    const all = await (await scene(t, era, { fields: 'all' })).enter('ann', 'claude-code')
    const { text } = await all.call('async_read', { path: 'f' })
    t.match(JSON.parse(text.split('\n')[0]!), { status: 'ok', path: 'f', offset: 0, limit: null, timestamp: String })
    t.match(JSON.parse((await all.call('async_read', { ofset: 1 })).text), { details: { faults: [{}, {}] } })
  })

  test(`source code costs a ${era} client that shows text at most 3 % more than the file, an update 30 tokens`, async (t) => {
    const files = Object.entries(largestSources(200)).filter(
      ([, text]) => countTokens(text) >= 1_000 && text.length < 30_000
    )
    t.ok(files.length > 50, `${files.length} files`)
    const { tools: _, ...shipped } = loadConfig({}).mcp
    const { url } = await startServer(t, makeTree(t, Object.fromEntries(files)).root, { mcp: shipped })
    const client = await eras[era](url, 'ann', '', 'claude-code')
    t.teardown(() => client.close())
    const tokensOf = async (name: string, input: Record<string, unknown>) => {
      const answer = await client.callTool({ name, arguments: input })
      return countTokens((answer['content'] as [{ text: string }])[0].text)
    }
    for (const [path, text] of files) {
      const added = (await tokensOf('async_read', { path })) / countTokens(text) - 1
      t.ok(added <= 0.03, `${path}: ${(100 * added).toFixed(1)} %`)
    }
    const [[path, text]] = files as [[string, string]]
    t.ok((await tokensOf('async_update', { path, expected_hash: hashOf(text), content: one })) <= 30)
  })
}
