// Inputs that harnesses send in another form, over every door: lists and objects as strings of JSON, and one path where a list is meant.
import t from 'tap'
import { inTurn } from '../fixtures/length.ts'
import { hashOf } from '../fixtures/tree.ts'
import { doors, openWorld } from './leases/fixtures/doors.ts'

const json = (value: unknown) => JSON.stringify(value)
const world = await openWorld(t, { '[1]': 'odd', '[id]': 'odder', both: '' })
const { tree } = world

/** With what a pretty printer puts around it. */
const spaced = (value: unknown) => `\n ${JSON.stringify(value, undefined, 2)}\n`

const text = 'one\ntwo\n'
const changed = 'uno\ntwo\n'

/** In this order: operation, input, and what comes of it. `n` is the caller's own file. */
const packed = (n: string): readonly [name: string, input: object, expected: object][] => [
  [
    'async_batch_write',
    { files: json([{ path: n, content: text, encoding: null }]) },
    { results: [{ status: 'ok', hash: hashOf(text) }] }
  ],
  ['async_batch_read', { files: [json({ path: n, limit: 1 })] }, { results: [{ content: 'one\n' }] }],
  [
    'async_update',
    {
      path: n,
      expected_hash: hashOf(text),
      patches: spaced([{ old_string: 'one', new_string: 'uno', start_line: null }])
    },
    { status: 'ok', hash: hashOf(changed) }
  ],
  [
    'async_update',
    { path: n, expected_hash: hashOf(changed), patches: [json({ start_line: 1, end_line: 1, new_content: 'one' })] },
    { status: 'ok', hash: hashOf(text) }
  ],
  [
    'async_transaction',
    { changes: json([{ operation: 'append', path: n, content: '{"a": [1]}' }]), dry_run: true },
    { status: 'ok', changes: [{ changed: true }] }
  ],
  [
    'async_batch_update',
    {
      files: json([{ path: n, expected_hash: hashOf(text), patches: json([{ old_string: 'one', new_string: '[]' }]) }])
    },
    { results: [{ status: 'ok', hash: hashOf('[]\ntwo\n') }] }
  ],
  // A string stays one where a string is meant.
  ['async_append', { path: n, content: '["x"]' }, { status: 'ok', bytes_appended: 5 }],
  ['async_read', { path: n }, { content: '[]\ntwo\n["x"]' }],
  ['lock_try', { filepaths: n }, { all_acquired: true, results: [{ filepath: n }] }],
  ['lock_status', { filepaths: json([n, 'both']) }, { results: [{ filepath: 'both' }, { filepath: n }] }],
  ['lock_renew', { filepaths: n }, { results: [{ filepath: n, renewed: true }] }],
  ['lock_release', { filepaths: spaced([n]) }, { results: [{ filepath: n, released: true }] }],
  // Usual names of folders, which look like lists.
  ['lock_status', { filepaths: '[1]' }, { results: [{ filepath: '[1]' }] }],
  ['lock_status', { filepaths: '[id]' }, { results: [{ filepath: '[id]' }] }],
  ['edit_file', { name: n, edits: json([{ line: 1, operation: 'delete' }]) }, { success: true }]
]

const other = hashOf('other')

/** A string that is not the JSON wanted stays a fault, which names the parameter. */
const faults: readonly [name: string, input: object, message: RegExp][] = [
  ['async_update', { path: 'both', expected_hash: other, patches: 'old -> new' }, /patches must be array, not string/],
  [
    'async_update',
    { path: 'both', expected_hash: other, patches: '[{"old_string": "a"' },
    /patches must be array, not string/
  ],
  [
    'async_update',
    { path: 'both', expected_hash: other, patches: '{"old_string": "a"}' },
    /patches must be array, not string/
  ],
  ['async_update', { path: 'both', expected_hash: other, patches: '[]' }, /patches must NOT have fewer than 1 items/],
  [
    'async_update',
    { path: 'both', expected_hash: other, patches: '[{"old_string": "a", "new_sting": "b"}]' },
    /patches\[0\]\.new_sting"; did you mean "new_string"/
  ],
  ['async_update', { path: 'both', expected_hash: other, patches: ['[]'] }, /patches\[0\] must/],
  [
    'async_update',
    { path: 'both', expected_hash: other, patches: String.raw`[{"old_string": "\ud800", "new_string": ""}]` },
    /patches\[0\]\.old_string has a lone surrogate/
  ],
  ['async_update', { path: 'both', expected_hash: other, patches: '[{"__proto__": {}}]' }, /__proto__/],
  ['async_batch_read', { files: '["' }, /files must be array, not string/],
  ['async_transaction', { changes: `[${'['.repeat(20)}${']'.repeat(20)}]` }, /nested more than 16/],
  ['lock_try', { filepaths: '' }, /filepaths\[0\]/],
  ['async_read', { path: '["both"]' }, process.platform === 'win32' ? /Windows takes/ : /\["both"\]/]
]

for (const [door, test] of inTurn(t, doors)) {
  test(`over ${door}: a string of JSON where a list or an object is meant is that, and one path is a list of it`, async (t) => {
    const agent = await world.enter(door, `packed-${door}`)
    for (const [name, input, expected] of packed(`${door}.txt`))
      t.match(await agent.call(name, input), expected, `${name} ${json(input)}`)
    for (const [name, input, message] of faults) {
      const { answer, isError } = await agent.outcome(name, input)
      const title = `${name} ${json(input)}`
      t.ok(isError, title)
      t.match(answer, { message }, title)
    }
    t.equal(tree.read('both'), '', 'nothing was changed')
  })

  test(`over ${door}: all spellings of a named call are one request`, async (t) => {
    const agent = await world.enter(door, `named-${door}`)
    const [one, two] = [`${door}.one`, `${door}.two`]
    const files = [
      { path: one, content: 'a' },
      { path: two, content: 'b' }
    ]
    const batch = { files, request_id: 'batch' }
    t.match(await agent.call('async_batch_write', batch), { summary: { succeeded: 2 } })
    const spellings = [
      json(files),
      files.map(json),
      files.map((file) => ({ ...file, encoding: null })),
      files.map((file) => ({ create_dirs: true, ...file }))
    ]
    for (const spelt of spellings)
      t.match(await agent.call('async_batch_write', { ...batch, files: spelt }), { replayed: true }, json(spelt))
    const changes = [{ operation: 'append', path: one, content: '+' }]
    const append = { changes: json(changes), request_id: 'append', timeout: null }
    t.match(await agent.call('async_transaction', append), { status: 'ok' })
    t.match(await agent.call('async_transaction', { changes, request_id: 'append' }), { replayed: true })
    const patches = [{ old_string: 'a', new_string: 'A' }]
    const update = { path: one, expected_hash: hashOf('a+'), request_id: 'update' }
    t.match(await agent.call('async_update', { ...update, patches }), { status: 'ok' })
    for (const spelt of [json(patches), patches.map(json)])
      t.match(await agent.call('async_update', { ...update, patches: spelt }), { replayed: true })
    t.equal(tree.read(one), 'A+')
  })
}

t.test('a large list in a string is parsed, too, and many strings within a list are not all of them', async (t) => {
  const agent = await world.enter('rest', 'large')
  const content = 'line\n'.repeat(100_000)
  t.match(await agent.call('async_batch_write', { files: json([{ path: 'large', content }]) }), {
    summary: { succeeded: 1 }
  })
  t.equal(tree.read('large'), content)
  const patch = json({ old_string: 'x'.repeat(100_000), new_string: '' })
  const update = { path: 'large', expected_hash: hashOf(content), patches: Array.from({ length: 5 }, () => patch) }
  t.match(await agent.call('async_update', update), { error_code: 'INVALID_REQUEST', message: /patches\[2\]/ })
})

t.test('an input that is a string of JSON, or null, is the object in it, or an empty one', async (t) => {
  const post = async (name: string, body: string) => {
    const response = await fetch(`${world.url}/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body
    })
    return response.json()
  }
  for (const body of ['null', '']) t.match(await post('async_status', body), { status: 'ok', server: Object }, body)
  t.match(await post('async_status', json(json({ path: 'both' }))), { status: 'ok', path: 'both' })
  t.match(await post('async_read', 'null'), { error_code: 'INVALID_REQUEST', message: /missing parameter "path"/ })
  t.match(await post('async_read', '"both"'), {
    error_code: 'INVALID_REQUEST',
    message: /input must be object, not string/
  })
  t.match((await world.program.call('async_status', null)).result, { status: 'ok', server: Object })
  t.match((await world.program.call('async_status', json({ path: 'both' }))).result, { path: 'both' })
  t.match((await world.program.call('read_file', null)).error, { code: -32600, message: /missing parameter "name"/ })
})

t.test('globs are no paths, and one of them is a list of it all the same', async (t) => {
  const agent = await world.enter('rest', 'undoer')
  const content = 'new'
  await agent.call('async_write', { path: 'undone.ts', content })
  const undo = { by_agent: 'undoer', dry_run: true }
  t.match(await agent.call('async_undo', { ...undo, paths: '*.ts' }), { status: 'ok', undone: 1 })
  t.match(await agent.call('async_undo', { ...undo, paths: json(['*.js']) }), { status: 'ok', undone: 0 })
  const versions = json([{ path: 'undone.ts', hash: hashOf(content) }])
  t.match(await agent.call('async_undo', { versions, dry_run: true }), { status: 'ok', undone: 1 })
})
