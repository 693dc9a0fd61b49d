// What stands around the text of a file: its byte order mark and its encoding. No line contains the mark, and every change keeps it.
import t from 'tap'
import { connect, type Answer } from '../fixtures/clients.ts'
import { startServer } from '../fixtures/server.ts'
import { hashOf, makeTree } from '../fixtures/tree.ts'

const mark = '\ufeff'
const tree = makeTree(t)
const { url } = await startServer(t, tree.root)
const client = await connect(t, 'rest', url, 'tester')

/** Puts a file there, changes it and gives what it is then. */
async function change(before: string, name: string, input: object): Promise<{ text: string; answer: Answer }> {
  tree.write('f', before)
  const answer = await client.call(name, { path: 'f', expected_hash: hashOf(before), ...input })
  return { text: tree.read('f'), answer }
}

const patched = async (before: string, ...patches: object[]) => (await change(before, 'async_update', { patches })).text
const lines = (start_line: number, end_line: number, new_content: string) => ({ start_line, end_line, new_content })

t.test('patches by lines leave the byte order mark where it is', async (t) => {
  t.equal(await patched(`${mark}a\nb\n`, lines(1, 0, 'x')), `${mark}x\na\nb\n`, 'put in at line 1')
  t.equal(await patched(`${mark}a\nb\n`, lines(1, 1, 'x')), `${mark}x\nb\n`, 'line 1 replaced')
  t.equal(await patched(`${mark}a\nb\n`, lines(1, 1, '')), `${mark}b\n`, 'line 1 deleted')
  t.equal(await patched(`${mark}a\nb\n`, lines(1, 2, '')), mark, 'all lines deleted')
  t.equal(await patched(mark, lines(1, 0, 'x')), `${mark}x`, 'the first line')
  const expected = { ...lines(1, 1, 'x'), expected_lines: 'a' }
  t.equal(await patched(`${mark}a\nb\n`, expected), `${mark}x\nb\n`, 'expected_lines match without it')
})

t.test('patches by text match without the byte order mark, and keep it', async (t) => {
  t.equal(await patched(`${mark}a\nb\n`, { old_string: 'a\n', new_string: '' }), `${mark}b\n`)
  t.equal(await patched(`${mark}a${mark}b`, { old_string: mark, new_string: '-' }), `${mark}a-b`, 'the other is text')
  const { answer } = await change(`${mark}a\n`, 'async_update', {
    patches: [{ old_string: `${mark}a`, new_string: 'b' }]
  })
  t.match(answer, { error_code: 'INVALID_PATCH', details: { nearest: { text: /^a$/ } } })
})

t.test(
  'a text that is nearly there is answered with the character, and with a patch that can be sent as it is',
  async (t) => {
    const before = `${mark}# Titre\nl\u2019été\u00a0: non\nfin\n`
    const { answer, text } = await change(before, 'async_update', {
      patches: [{ old_string: "l'e\u0301te\u0301 : non", new_string: "l'été : oui" }]
    })
    t.equal(text, before)
    t.match(answer, {
      error_code: 'INVALID_PATCH',
      message: /line 2, column 2 has U\+2019 RIGHT SINGLE QUOTATION MARK, old_string has U\+0027 APOSTROPHE\./,
      details: { nearest: { difference: 'characters', first_difference: { line: 2, column: 2 } } }
    })
    const { patch } = answer['details'].nearest as { patch: object }
    t.equal(await patched(before, patch), `${mark}# Titre\nl'été : oui\nfin\n`)
    const stale = before.replace('non', 'peut-être')
    t.match((await change(stale, 'async_update', { patches: [patch] })).answer, {
      error_code: 'INVALID_PATCH',
      details: { reason: 'unexpected_lines', first_difference: { line: 2, column: 9 } }
    })
  }
)

t.test('a byte order mark in front of a body is no part of it', async (t) => {
  tree.write('f', `${mark}a\nb\n`)
  const send = async (path: string, method: string, headers: Record<string, string>, body: string) => {
    const type = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const response = await fetch(url + path, { method, headers: { ...type, ...headers }, body: mark + body })
    return { status: response.status, text: await response.text() }
  }
  t.match(await send('/async_read', 'POST', {}, '{"path": "f"}'), { status: 200, text: /a\\nb/ })
  t.match(await send('/async_read', 'POST', {}, `{${mark}}`), { status: 400 })
  const clientInfo = { name: 'raw', version: '1' }
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  const hello = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  t.match(await send('/mcp', 'POST', {}, hello), { status: 200, text: /"serverInfo"/ })
  const patches = [{ old_string: 'a', new_string: 'A' }]
  const tag = () => ({ 'if-match': `"${hashOf(tree.read('f'))}"` })
  t.match(await send('/files/f', 'PATCH', tag(), JSON.stringify({ patches })), { status: 200 })
  const diff = { ...tag(), 'content-type': 'text/x-diff' }
  t.match(await send('/files/f', 'PATCH', diff, '@@ -1,2 +1,2 @@\n A\n-b\n+B\n'), { status: 200 })
  t.equal(tree.read('f'), `${mark}A\nB\n`)
  const wrong = await send('/files/f', 'PATCH', { ...tag(), 'content-type': 'text/x-diff' }, '@@ -1 +1 @@\n-Äß\n+B\n')
  t.match(JSON.parse(wrong.text), { error_code: 'INVALID_PATCH', details: { line: 1, hunk: /-Äß/ } })
})

t.test('what is read has no byte order mark, and whole content sent back keeps that of the file', async (t) => {
  tree.write('f', `${mark}a\nb\n`)
  t.match(await client.call('async_read', { path: 'f' }), { content: /^a\nb\n$/, total_lines: 2 })
  t.match(await client.call('async_read', { path: 'f', limit: 1 }), { content: /^a\n$/, lines_returned: 1 })
  t.match(await client.call('read_file', { name: 'f' }), { content: /^a\nb$/, total_lines: 2 })
  const content = (before: string, content: string) => change(before, 'async_update', { content })
  t.equal((await content(`${mark}a\n`, 'x\n')).text, `${mark}x\n`)
  t.equal((await content(`${mark}a\n`, `${mark}x\n`)).text, `${mark}x\n`, 'one is enough')
  t.equal((await content('a\n', `${mark}x\n`)).text, `${mark}x\n`, 'one that is new')
  t.match(await content(`${mark}a\n`, 'a\n'), { answer: { changed: false }, text: `${mark}a\n` })
  tree.write('f', mark)
  t.match(await client.call('async_read', { path: 'f' }), { content: '', total_lines: 0 })
  t.match(await client.call('async_append', { path: 'f', content: 'x', separator: '\n' }), { status: 'ok' })
  t.equal(tree.read('f'), `${mark}x`, 'it is no content that a separator follows')
})

t.test('edit_file puts lines behind the byte order mark and does not count it', async (t) => {
  const edited = async (before: string, operation: string, content?: string) => {
    tree.write('f', before)
    const answer = await client.call('edit_file', { name: 'f', edits: [{ line: 1, operation, content }] })
    return [tree.read('f'), answer['new_total_lines']]
  }
  t.strictSame(await edited(`${mark}a\n`, 'insert', 'x'), [`${mark}x\na\n`, 2])
  t.strictSame(await edited(`${mark}a\n`, 'replace', 'x'), [`${mark}x\n`, 1])
  t.strictSame(await edited(`${mark}a\nb\n`, 'delete'), [`${mark}b\n`, 1])
  t.strictSame(await edited(mark, 'insert', 'x'), [`${mark}x`, 1])
  tree.write('f', mark)
  t.match((await client.call('list_files')).files, [{ name: 'f', lines: 0 }])
})

const numbered = Array.from({ length: 12 }, (_, index) => `line ${index + 1}\n`).join('')

t.test('a merge keeps the byte order mark beside changes of line 1', async (t) => {
  const before = mark + numbered
  const late = async (now: string, input: object) => {
    tree.write('f', before)
    await client.call('async_read', { path: 'f' })
    tree.write('f', now)
    const merge = { path: 'f', expected_hash: hashOf(before), on_contention: 'merge' }
    return client.call('async_update', { ...merge, ...input })
  }
  const theirs = before.replace('line 12', 'theirs')
  t.match(await late(theirs, { patches: [lines(1, 0, 'mine')] }), { status: 'ok', merged: true })
  t.equal(tree.read('f'), theirs.replace(mark, `${mark}mine\n`))
  for (const own of ['', mark]) {
    const answer = await late(theirs, { content: own + numbered.replace('line 2\n', 'mine\n') })
    t.match(answer, { status: 'ok', merged: true })
    t.equal(tree.read('f'), theirs.replace('line 2\n', 'mine\n'))
  }
  t.match(await late(numbered, { patches: [lines(1, 1, 'mine')] }), { status: 'ok', merged: true })
  t.equal(tree.read('f'), numbered.replace('line 1\n', 'mine\n'), 'others took it away')
  const clash = await late(before.replace('line 1\n', 'theirs\n'), { patches: [lines(1, 1, 'mine')] })
  t.match(clash.merge_conflicts, [{ base: { content: /^line 1\n$/ }, incoming: { content: /^mine\n$/ } }])
})

t.test('a diff shows the byte order mark only where it came or went; the unified form has the bytes', async (t) => {
  const late = async (before: string, now: string, input: object) => {
    tree.write('f', before)
    await client.call('async_read', { path: 'f' })
    tree.write('f', now)
    return client.call('async_update', { path: 'f', expected_hash: hashOf(before), ...input })
  }
  const patches = [{ old_string: 'b', new_string: 'c' }]
  const both = await late(`${mark}a\nb\n`, `${mark}x\nb\n`, { patches })
  t.match(both.diff.changes, [{ start_line: 1, old_content: /^a$/, new_content: /^x$/, context_after: 'b' }])
  t.equal(both.conflicts[0].reason, 'context_changed')
  const gone = await late(`${mark}a\nb\n`, 'a\nb\n', { patches, diff_format: 'json' })
  t.match(gone, { diff: { changes: [{ old_content: `${mark}a`, new_content: /^a$/ }] }, patches_applicable: true })
  const unified = await late(`${mark}a\nb\n`, `${mark}x\nb\n`, { patches, diff_format: 'unified' })
  t.match(unified.diff.content, `-${mark}a\n+${mark}x\n`)
})

const littleEndian = (text: string) => Buffer.from(text, 'utf16le')
const bigEndian = (text: string) => littleEndian(text).swap16()
const forms: readonly [title: string, encoding: string, bytes: (text: string) => Buffer][] = [
  ['utf-16 with a mark, little-endian', 'utf-16', (text) => littleEndian(mark + text)],
  ['utf-16 with a mark, big-endian', 'utf-16', (text) => bigEndian(mark + text)],
  ['utf-16 without a mark', 'utf-16', littleEndian],
  ['utf-16 without a mark, big-endian', 'utf-16', bigEndian],
  ['utf-16le', 'utf-16le', littleEndian],
  ['utf-16le with a mark', 'utf-16le', (text) => littleEndian(mark + text)],
  ['utf-16be', 'utf-16be', bigEndian],
  ['utf-16be with a mark', 'UTF-16BE', (text) => bigEndian(mark + text)]
]

t.test('a file in UTF-16 keeps its byte order and its mark through every change', async (t) => {
  for (const [title, encoding, bytes] of forms) {
    const is = (text: string, what: string) => t.same(tree.bytes('f'), bytes(text), `${title}: ${what}`)
    tree.write('f', bytes('one\ntwo \u{1f600}\n'))
    const read = await client.call('async_read', { path: 'f', encoding })
    t.equal(read.content, 'one\ntwo \u{1f600}\n', title)
    const patches = [lines(1, 1, 'first')]
    const updated = await client.call('async_update', { path: 'f', encoding, expected_hash: read.hash, patches })
    is('first\ntwo \u{1f600}\n', 'a patch')
    await client.call('async_append', { path: 'f', encoding, content: 'three\n' })
    is('first\ntwo \u{1f600}\nthree\n', 'an append')
    const late = { path: 'f', encoding, expected_hash: updated.hash, patches: [lines(1, 1, 'x')] }
    t.match(await client.call('async_update', late), { diff: { changes: [{ type: 'added', new_content: 'three' }] } })
    t.match(await client.call('async_update', { ...late, on_contention: 'merge' }), { status: 'ok' })
    is('x\ntwo \u{1f600}\nthree\n', 'a merge')
    const expected_hash = hashOf(tree.bytes('f'))
    t.match(await client.call('async_update', { path: 'f', encoding, expected_hash, content: 'new\n' }), {
      status: 'ok'
    })
    is('new\n', 'whole content')
  }
})

t.test('a new file in "utf-16" gets a byte order mark, one in utf-16le or utf-16be does not', async (t) => {
  const made = async (name: string, encoding: string, content = 'a\n') => {
    const mayCreate = name === 'async_append' && { create_if_missing: true }
    t.match(await client.call(name, { path: 'made', encoding, content, ...mayCreate }), { status: 'ok' })
    const bytes = tree.bytes('made')
    await client.call('async_delete', { path: 'made' })
    return bytes
  }
  for (const name of ['async_write', 'async_append']) {
    t.same(await made(name, 'utf-16'), littleEndian(`${mark}a\n`), name)
    t.same(await made(name, 'utf-16', `${mark}a\n`), littleEndian(`${mark}a\n`), `${name}: one is enough`)
    t.same(await made(name, 'utf-16le'), littleEndian('a\n'), name)
    t.same(await made(name, 'utf-16be'), bigEndian('a\n'), name)
  }
  t.same(await made('async_write', 'utf-16', ''), Buffer.alloc(0), 'an empty file is empty')
  tree.write('empty', '')
  await client.call('async_append', { path: 'empty', encoding: 'utf-16', content: 'a' })
  t.same(tree.bytes('empty'), littleEndian(`${mark}a`), 'the first text of an empty file')
})

t.test('bytes that are not valid in the encoding are called what they are', async (t) => {
  const png = Buffer.from('89504e470d0a1a0a', 'hex')
  const cases: readonly [title: string, bytes: Buffer, encoding: string, message: RegExp][] = [
    ['UTF-16 with a mark', littleEndian(`${mark}text`), 'utf-8', /byte order mark of utf-16: pass encoding "utf-16"/],
    ['the same, big-endian', bigEndian(`${mark}text`), 'utf-8', /pass encoding "utf-16"/],
    ['the other byte order', bigEndian(`${mark}text`), 'utf-16le', /pass encoding "utf-16"/],
    ['UTF-16 without a mark', bigEndian('text \u00ff'), 'utf-8', /utf-16be without .* pass encoding "utf-16be"/],
    ['the same, little-endian', littleEndian('text \u00ff'), 'utf-8', /pass encoding "utf-16le"/],
    ['a picture', png, 'utf-8', /binary file/],
    ['a larger picture', Buffer.concat([png, Buffer.from([0, 0, 0, 13, 0xd8])]), 'utf-16', /binary file/],
    ['Latin 1', Buffer.from('na\u00efve', 'latin1'), 'utf-8', /another encoding, name that one/],
    ['UTF-8', Buffer.from('odd'), 'utf-16', /valid utf-8: pass encoding "utf-8"/],
    ['half a character', littleEndian(`${mark}ab`).subarray(0, 5), 'utf-16', /a part may be missing/]
  ]
  for (const [title, bytes, encoding, message] of cases) {
    tree.write('f', bytes)
    t.match(await client.call('async_read', { path: 'f', encoding }), { error_code: 'ENCODING_ERROR', message }, title)
    const expected_hash = hashOf(bytes)
    const patches = [lines(1, 1, 'x')]
    const answer = await client.call('async_update', { path: 'f', encoding, expected_hash, patches })
    t.match(answer, { error_code: 'ENCODING_ERROR', message }, title)
  }
})
