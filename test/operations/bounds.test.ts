// Small requests that ask for endless work: they are refused or done elsewhere, and no other call waits for them.
import { mkdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import { lengthOf } from '../fixtures/length.ts'
import { connect } from '../fixtures/clients.ts'
import { healthOf, post } from '../fixtures/processes.ts'
import { startServer } from '../fixtures/server.ts'
import { startStdio } from '../fixtures/stdio.ts'
import { hashOf, makeTree } from '../fixtures/tree.ts'

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const swaps = (count: number) =>
  Array.from({ length: count }, () => [
    { old_string: 'a', new_string: 'c', replace_all: true },
    { old_string: 'c', new_string: 'a', replace_all: true }
  ]).flat()
/** A thousand characters become nine million, which are exchanged again and again. */
const swelling = [{ old_string: 'a', new_string: 'a'.repeat(9_000), replace_all: true }, ...swaps(50)]

/** Makes the call, asks a few other things meanwhile, and ends the call. */
async function othersAreAnswered(t: Test, url: string, name: string, input: object): Promise<void> {
  const client = new AbortController()
  let isEnded = false
  const heavy = fetch(`${url}/${name}`, { method: 'POST', headers, body: JSON.stringify(input), signal: client.signal })
    .then((response) => response.text())
    .then(
      (answer) => ((isEnded = true), answer),
      () => 'aborted'
    )
  await post(url, 'async_status', {})
  for (let call = 0; call < 5; call += 1) t.match(await healthOf(url), { version: /./ })
  t.notOk(isEnded, 'the others were answered before it')
  client.abort()
  t.equal(await heavy, 'aborted')
}

t.test('patches that swell the text hold up no other call, and end with their client', async (t) => {
  const text = 'a'.repeat(1_000)
  const tree = makeTree(t, { f: text })
  const { url, log } = await startServer(t, tree.root)
  await othersAreAnswered(t, url, 'async_update', { path: 'f', expected_hash: hashOf(text), patches: swelling })
  while (!log.some((line) => line.includes('client cancelled'))) await post(url, 'async_status', {})
  t.match(
    await post(url, 'async_update', {
      path: 'f',
      expected_hash: hashOf(text),
      patches: [{ old_string: 'a', new_string: 'b', replace_all: true }]
    }),
    { status: 'ok' },
    'the file is as it was, and free'
  )
})

t.test('a late update with patches that swell the text holds up no other call', async (t) => {
  const text = 'a'.repeat(1_000)
  const tree = makeTree(t, { f: text })
  const { url } = await startServer(t, tree.root)
  await post(url, 'async_read', { path: 'f' })
  tree.write('f', `${text}\nb`)
  await othersAreAnswered(t, url, 'async_update', { path: 'f', expected_hash: hashOf(text), patches: swelling })
})

t.test('a text that would become too large is refused, whatever makes it so', async (t) => {
  const text = 'a'.repeat(1_000)
  const tree = makeTree(t, { f: text })
  const { url } = await startServer(t, tree.root, { crud: { max_file_size_bytes: 1_000_000 } })
  const tenfold = { old_string: 'a', new_string: 'a'.repeat(10), replace_all: true }
  const answer = await post(url, 'async_update', {
    path: 'f',
    expected_hash: hashOf(text),
    patches: Array.from({ length: 30 }, () => tenfold)
  })
  t.match(answer, { error_code: 'FILE_TOO_LARGE', message: /patches\[\d+\]/ })
  t.equal(tree.read('f'), text)
})

t.test('thousands of patches by lines of one large file are judged one by one, not line by line', async (t) => {
  const count = lengthOf({ full: 300_000, short: 100_000 })
  const text = 'a\n'.repeat(count)
  const tree = makeTree(t, { f: text })
  const { url } = await startServer(t, tree.root)
  await post(url, 'async_read', { path: 'f' })
  tree.write('f', `${text}b\n`)
  const all = { start_line: 1, end_line: count, new_content: 'x', expected_lines: 'b' }
  const answer = await post(url, 'async_update', {
    path: 'f',
    expected_hash: hashOf(text),
    patches: Array.from({ length: 5_000 }, () => all)
  })
  t.match(answer, { status: 'contention', patches_applicable: false, conflicts: { length: 5_000 } })
})

t.test('a large edit by lines is made on a thread, to the same effect', async (t) => {
  const text = 'one\r\ntwo\r\n'
  const tree = makeTree(t, { f: text })
  const { url } = await startServer(t, tree.root)
  const content = Array.from({ length: 100_000 }, (_, index) => `line ${index}`)
  const edits = [{ line: 2, operation: 'insert', content: content.join('\n') }]
  t.match(await post(url, 'edit_file', { name: 'f', edits, append: 'end' }), {
    lines_modified: 100_001,
    new_total_lines: 100_003
  })
  t.equal(tree.read('f'), `one\r\n${content.join('\r\n')}\r\ntwo\r\nend\r\n`)
})

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const members = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join()}}`
const shapes: [name: string, json: string, message: RegExp][] = [
  ['5 million brackets', nested(5_000_000), /nested more than 64 levels/],
  ['half a million keys', members(500_000), /more than 20000 parameters/],
  ['5 million items', `[${'1,'.repeat(5_000_000)}1]`, /more than 200000 elements/],
  [
    'many objects of many keys',
    `[${Array.from({ length: 300 }, () => members(999)).join()}]`,
    /more than 20000 parameters/
  ],
  ['many objects of few keys', `[${Array.from({ length: 3000 }, () => members(99)).join()}]`, /200000 elements/],
  ['a small body', `{"a\\"b\\\\":${nested(65)}}`, /nested more than 64 levels/],
  ['what comes after an escaped quote', `{"\\"${'a'.repeat(70_000)}\\\\":${nested(65)}}`, /nested more than 64 levels/]
]

t.test('a body that would take seconds to build is refused before it is built, on every transport', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  const program = startStdio(t, ['--transport', 'stdio', '--dir', tree.root])
  for (const [name, json, message] of shapes) {
    for (const route of ['async_read', 'list_files', 'mcp']) {
      const response = await fetch(`${url}/${route}`, { method: 'POST', headers, body: `{"path":${json}}` })
      t.match({ status: response.status, text: await response.text() }, { status: 400, text: message }, name)
    }
    const from = program.stdout.length
    program.write(`{"jsonrpc":"2.0","id":1,"method":"async_read","params":{"path":${json}}}\n`)
    t.match(await program.answer(null, from), { error: { code: -32700, message } }, name)
  }
  t.match(await program.end(), { code: 0 })
})

t.test('strings may hold whatever counts outside of them', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  const content = `${nested(100)}\\"${'{"a":1,'.repeat(20_000)}"\\\\`
  t.match(await post(url, 'async_write', { path: 'f', content }), { status: 'ok' })
  t.equal(tree.read('f'), content)
})

t.test('faults are named in an input of any size', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  const faulty = Array.from({ length: 9_000 }, () => ({}))
  t.match(await post(url, 'async_update', { path: 'f', patches: faulty }), {
    message: /missing parameter "expected_hash".*patches\[0\].*more faults$/
  })
  const good = Array.from({ length: 9_000 }, () => ({ old_string: 'a', new_string: 'b' }))
  const last = { path: 'f', expected_hash: hashOf(''), patches: good.with(8_999, { old_string: '', new_string: '' }) }
  t.match(await post(url, 'async_update', last), { message: /patches\[8999\]\.old_string/ })
  t.match(await post(url, 'async_read', { path: 'f', diff_format: 'x'.repeat(5_000_000) }), {
    message: /must be one of "json", "unified", not "x+/
  })
})

t.test('a path through thousands of folders is refused by every operation, at once', async (t) => {
  const tree = makeTree(t)
  mkdirSync(tree.path('d/'.repeat(127)), { recursive: true })
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  const deep = `${'d/'.repeat(127)}e/f`
  t.match(await client.call('async_write', { path: deep, content: 'x' }), { status: 'ok' }, '128 folders')
  t.match(await client.call('lock_try', { filepaths: [deep], agent_id: 'a' }), { status: 'ok' })
  for (const path of [`d/${deep}`, `${'x/'.repeat(2_000)}f`, `/tmp${'/x'.repeat(2_000)}`]) {
    for (const [name, input] of [
      ['async_read', { path }],
      ['async_write', { path, content: '' }],
      ['async_list', { path }],
      ['async_delete', { path }],
      ['lock_try', { filepaths: [path], agent_id: 'a' }]
    ] as const) {
      t.match(await client.call(name, input), { error_code: 'INVALID_REQUEST', message: /more than the 128/ }, name)
    }
  }
})
