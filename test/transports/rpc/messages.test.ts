// JSON-RPC 2.0 as the real program speaks it on standard input and output (FES 3.2): ids, versions, params, batches, notifications.
import t from 'tap'
import { agentOperations } from '../../../src/operations/index.ts'
import {
  answersTo,
  argsFor,
  failure,
  legacyHandshake,
  notification,
  readF,
  request,
  sameMessages
} from '../../fixtures/rpc.ts'
import { answersHere } from '../../fixtures/rpc-here.ts'
import { startStdio, type Message } from '../../fixtures/stdio.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'

t.test('a request is answered with its own id: strings, 0, negative numbers, fractions, "" and null', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const ids = ['a', '', '0', 0, 7, -1, 1.5, 1e15, null, '\u{1f600}', 'x'.repeat(1000)]
  const messages = await answersTo(t, tree, ids.map(readF))
  sameMessages(
    t,
    messages,
    ids.map((id) => ({ jsonrpc: '2.0', id, result: { content: 'one', total_lines: 1 } }))
  )
  for (const message of messages) t.strictSame(Object.keys(message).sort(), ['id', 'jsonrpc', 'result'])
})

t.test('an id that is an object, an array or a boolean is -32600 with id null, and nothing is done', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const append = { name: 'f', append: 'two' }
  const lines = [{}, [], [1], true, false].map((id) => request(id, 'edit_file', append))
  sameMessages(
    t,
    await answersHere(t, tree, lines),
    lines.map(() => failure(null, -32600))
  )
  t.equal(tree.read('f'), 'one')
})

t.test('a message without version "2.0" is -32600 with its id, and nothing is done', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const call = { id: 1, method: 'edit_file', params: { name: 'f', append: 'two' } }
  const lines = [call, { ...call, jsonrpc: '1.0' }, { ...call, jsonrpc: 2 }, { ...call, jsonrpc: null }]
  sameMessages(
    t,
    await answersHere(t, tree, lines),
    lines.map(() => failure(1, -32600))
  )
  t.equal(tree.read('f'), 'one')
})

t.test('what is no request object is -32600 with id null', async (t) => {
  const tree = makeTree(t)
  const lines = ['5', '"read_file"', 'null', 'true', '{}', '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","method":1}']
  sameMessages(
    t,
    await answersHere(t, tree, lines),
    lines.map(() => failure(null, -32600))
  )
  sameMessages(t, await answersHere(t, tree, [{ jsonrpc: '2.0', id: 3 }, request(4, 5)]), [
    failure(3, -32600),
    failure(4, -32600)
  ])
})

t.test('what cannot be parsed is -32700 with id null, and the next line works', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const lines = [
    '{"jsonrpc": "2.0", "id": 1',
    '[1,',
    "{'id': 1}",
    'read_file',
    '{"id":1}{"id":2}',
    '\ufeff',
    '{\ufeff}',
    ']'
  ]
  const messages = await answersHere(t, tree, [...lines, readF('next')])
  sameMessages(t, messages, [...lines.map(() => failure(null, -32700)), { id: 'next', result: { content: 'one' } }])
})

t.test('a byte order mark in front of a line is no part of it, whatever the line is', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const messages = [
    readF(1),
    { jsonrpc: '2.0', id: 2, method: 'ping' },
    ...legacyHandshake,
    request(3, 'tools/call', { name: 'async_read', arguments: { path: 'f' } }),
    request(4, 'tools/call', { name: 'async_read', arguments: { path: 'f' } })
  ]
  const lines = [...messages, [readF(5)], {}].map((message) => `\ufeff${JSON.stringify(message)}`)
  const answers = await answersHere(t, tree, lines)
  sameMessages(
    t,
    answers.filter((answer) => !Array.isArray(answer)),
    [
      { id: 1, result: { content: 'one' } },
      { id: 2, result: {} },
      { id: 'initialize', result: {} },
      { id: 3, result: { structuredContent: { content: 'one' } } },
      { id: 4, result: { structuredContent: { content: 'one' } } },
      failure(null, -32600)
    ]
  )
  t.match(
    answers.find((answer) => Array.isArray(answer)),
    [{ id: 5, result: { content: 'one' } }]
  )
})

t.test('a line that is not UTF-8 is -32700 with id null, and its text does not reach a file', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const [before, after] = JSON.stringify(request(1, 'edit_file', { name: 'f', append: '#' })).split('#') as [
    string,
    string
  ]
  const bad = [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98]].map((bytes) =>
    Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(`${after}\n`)])
  )
  const input = Buffer.concat([...bad, Buffer.from(`${JSON.stringify(readF('next'))}\n`)])
  const messages = await answersHere(t, tree, input)
  sameMessages(t, messages, [...bad.map(() => failure(null, -32700)), { id: 'next', result: { content: 'one' } }])
})

t.test('an unknown method is -32601', async (t) => {
  const tree = makeTree(t)
  const names = ['delete_file', 'Read_File', 'read_file ', '', 'toString', 'constructor', '__proto__', 'rpc.discover']
  const messages = await answersHere(
    t,
    tree,
    names.map((name) => request(name, name, {}))
  )
  sameMessages(
    t,
    messages,
    names.map((name) => failure(name, -32601))
  )
})

t.test('every operation for agents is a method, in the result and in the error of its own envelope', async (t) => {
  const tree = makeTree(t, { f: 'one\n' })
  const program = startStdio(t, argsFor(tree))
  for (const { name } of agentOperations) {
    const { result, error } = await program.call(name, { no_such_parameter: 1 })
    t.match(
      { result, error },
      { result: undefined, error: { code: /^-3260[02]$/, message: /no_such_parameter/ } },
      name
    )
  }
  t.match(await program.call('async_read', { path: 'f' }), { result: { status: 'ok', hash: hashOf('one\n') } })
  const update = { path: 'f', expected_hash: hashOf('one\n'), content: 'two\n' }
  t.match(await program.call('async_update', update), { result: { status: 'ok', hash: hashOf('two\n') } })
  t.match(
    await program.call('async_update', update),
    { result: { status: 'contention', current_hash: hashOf('two\n'), diff: { changes: [{ type: 'modified' }] } } },
    'contention is a result'
  )
  t.match(
    await program.call('async_read', { path: 'nothing' }),
    { error: { code: -32001, data: { status: 'error', error_code: 'FILE_NOT_FOUND', path: 'nothing' } } },
    'a failure carries the envelope of the PRD'
  )
  t.match(await program.call('read_file', { name: 'nothing' }), {
    error: { code: -32001, data: { filename: 'nothing', operation: 'read_file', timestamp: String, details: String } }
  })
})

t.test('lock_break is no method: it is -32601, and a lease stays', async (t) => {
  const program = startStdio(t, argsFor(makeTree(t, { f: '' })))
  const ann = { filepaths: ['f'], agent_id: 'ann' }
  t.match(await program.call('lock_try', ann), { result: { all_acquired: true } })
  t.match(await program.call('lock_break', { filepaths: ['f'], reason: 'why not' }), { error: { code: -32601 } })
  t.match(await program.call('lock_status', ann), { result: { results: [{ held_by_me: true }] } })
})

t.test('params are an object; a required one that is missing is -32600 for the operations of FES alone', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const wrong = [[], ['f'], 'f', 5, true]
  const messages = await answersHere(t, tree, [
    ...wrong.map((params, index) => request(index, 'read_file', params)),
    request('none', 'read_file'),
    request('null', 'read_file', null),
    request('null, none needed', 'list_files', null),
    request('no name', 'read_file', {}),
    request('no path', 'async_read', {}),
    request('none needed', 'list_files')
  ])
  sameMessages(t, messages, [
    ...wrong.map((_, index) => failure(index, -32602)),
    failure('none', -32600),
    failure('null', -32600),
    { id: 'null, none needed', result: { total_count: 1 } },
    failure('no name', -32600),
    { ...failure('no path', -32602), error: { data: { error_code: 'INVALID_REQUEST' } } },
    { id: 'none needed', result: { total_count: 1 } }
  ])
})

t.test('a notification is carried out and never answered, whatever it contains', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const messages = await answersTo(t, tree, [
    notification('edit_file', { name: 'f', append: 'two' }),
    notification('edit_file', { name: 'missing', append: 'x' }),
    notification('edit_file', { name: '../x' }),
    notification('edit_file', { nonsense: 1 }),
    notification('edit_file', ['f']),
    notification('edit_file', 'f'),
    notification('read_file', { name: 'f' }),
    notification('read_file'),
    notification('async_read', { path: 'nothing' }),
    notification('no_such_method', { name: 'f' }),
    notification('toString'),
    notification('tools/list', {}),
    notification('tools/call', { name: 'async_append', arguments: { path: 'f', content: 'by a tool' } }),
    notification('initialize', {}),
    notification('notifications/initialized'),
    notification('notifications/cancelled', { requestId: 'nothing' }),
    notification('notifications/cancelled', 'nonsense'),
    notification('notifications/of/no/kind', { x: [1] }),
    { method: 'edit_file', params: { name: 'f', append: 'without version' } },
    { jsonrpc: '1.0', method: 'edit_file', params: { name: 'f', append: 'of another version' } },
    [notification('edit_file', { name: 'f', append: 'three' }), notification('edit_file', { name: 5 })],
    readF('last')
  ])
  sameMessages(t, messages, [{ jsonrpc: '2.0', id: 'last', result: { content: 'one\ntwo\nthree' } }])
})

t.test('a batch is answered as an array with an answer to each request in it', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const [answers, ...others] = await answersHere(t, tree, [
    [
      readF(1),
      notification('edit_file', { name: 'g', append: 'x', create_if_missing: true }),
      request('2', 'read_file', {}),
      request(3, 'no_such_method'),
      notification('no_such_method'),
      notification('edit_file', 5),
      { method: 'read_file' },
      { id: 4, method: 'read_file', params: { name: 'f' } },
      request({}, 'list_files'),
      5,
      [readF(6)],
      request(7, 'async_read', { path: 'nothing' })
    ]
  ])
  t.ok(Array.isArray(answers))
  sameMessages(t, answers as unknown as Message[], [
    { jsonrpc: '2.0', id: 1, result: { content: 'one' } },
    failure('2', -32600),
    failure(3, -32601),
    failure(4, -32600),
    failure(null, -32600),
    failure(null, -32600),
    failure(null, -32600),
    { ...failure(7, -32001), error: { data: { error_code: 'FILE_NOT_FOUND' } } }
  ])
  t.strictSame(others, [])
  t.equal(tree.read('g'), 'x\n', 'its notification was carried out')
})

t.test(
  'an empty batch is -32600, a batch of wrong things an array, one of notifications is not answered',
  async (t) => {
    const tree = makeTree(t)
    t.match(await answersHere(t, tree, [[]]), [failure(null, -32600)])
    const [wrong, ...none] = await answersHere(t, tree, [[1, 'x', null]])
    t.match(wrong, [failure(null, -32600), failure(null, -32600), failure(null, -32600)])
    t.strictSame(none, [])
    t.strictSame(await answersHere(t, tree, [[notification('list_files'), notification('no_such_method')]]), [])
  }
)
