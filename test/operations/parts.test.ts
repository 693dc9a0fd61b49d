// Parts of files by bytes: of lines of any length, and of files that are too large to be read whole.
import { appendFileSync, truncateSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { wholeLines } from '../../src/operations/part.ts'
import { splitLines } from '../../src/engine/diff/lines.ts'
import { connect, transports } from '../fixtures/clients.ts'
import { casesOf, inTurn } from '../fixtures/length.ts'
import { startServer } from '../fixtures/server.ts'
import { hashOf, makeTree } from '../fixtures/tree.ts'

const long = 'aé€😀"\\'.repeat(20_000)
const small = { crud: { max_file_size_bytes: 1_000 } }
const lines = Array.from({ length: 500 }, (_, index) => `line ${index}\n`).join('')

for (const [transport, test] of inTurn(t, transports)) {
  test(`${transport}: a line of any length is read in parts, and no character is cut`, async (t) => {
    const tree = makeTree(t, { f: `\uFEFF${long}` })
    const { url } = await startServer(t, tree.root)
    const client = await connect(t, transport, url, 'ann')
    let text = ''
    let next = 0
    for (;;) {
      const part = await client.call('async_read', { path: 'f', byte_offset: next, byte_limit: 30_000 + (next % 4) })
      t.match(part, { status: 'ok', hash: hashOf(`\uFEFF${long}`), byte_range: { start: next }, total_bytes: 240_003 })
      t.ok(part['content'].isWellFormed() && Buffer.byteLength(part['content']) <= 30_003)
      text += part['content'] as string
      next = part['byte_range'].end as number
      if (next === part['total_bytes']) break
    }
    t.equal(text, long)
  })

  test(`${transport}: a read that begins behind the end of a file says so`, async (t) => {
    const { url } = await startServer(t, makeTree(t, { f: 'one\ntwo\n', empty: '' }).root)
    const client = await connect(t, transport, url, 'ann')
    const read = (path: string, offset: number) => client.call('async_read', { path, offset })
    t.match(await read('f', 2), { content: '', message: 'The file ends before offset 2 (total_lines 2).' })
    t.match(await read('f', 9), { content: '', lines_returned: 0, message: /before offset 9 \(total_lines 2\)/ })
    t.match(await read('empty', 1), { content: '', message: /total_lines 0/ })
    for (const [path, offset] of [
      ['f', 1],
      ['empty', 0]
    ] as const)
      t.notOk('message' in (await read(path, offset)), `${path}, ${offset}`)
  })

  test(`${transport}: of a file that is too large to be read whole, a part can be read`, async (t) => {
    const tree = makeTree(t, { f: lines })
    const { url } = await startServer(t, tree.root, small)
    const client = await connect(t, transport, url, 'ann')
    t.match(await client.call('async_read', { path: 'f' }), {
      error_code: 'FILE_TOO_LARGE',
      message: /4390 bytes, more than the 1000 .* byte_offset/
    })
    const part = await client.call('async_read', { path: 'f', byte_offset: 4_300, include_modified: true })
    t.match(part, { content: lines.slice(4_300), byte_range: { start: 4_300, end: 4_390 }, total_bytes: 4_390 })
    t.notOk('hash' in part, 'nothing has read the rest')
    const most = await client.call('async_read', { path: 'f', byte_offset: 0, byte_limit: 100_000 })
    t.match(most, { content: lines.slice(0, 1_000), byte_range: { end: 1_000 } }, 'no more than the limit at once')
    t.match(await client.call('async_read', { path: 'f', byte_offset: 9_999 }), {
      content: '',
      byte_range: { start: 4_390, end: 4_390 }
    })
    t.match(await client.call('async_append', { path: 'f', content: 'x' }), {
      error_code: 'FILE_TOO_LARGE',
      message: /crud\.max_file_size_bytes/
    })
    t.equal(tree.read('f'), lines)
  })
}

t.test('a part by bytes is one of one file, in an encoding in which characters have an end', async (t) => {
  const tree = makeTree(t, { f: 'aé' })
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url, 'ann')
  const read = (input: object) => client.call('async_read', { path: 'f', ...input })
  for (const other of [{ offset: 1 }, { limit: 1 }, { known_hash: hashOf('x') }])
    t.match(await read({ byte_offset: 0, ...other }), { error_code: 'INVALID_REQUEST', message: /leave out/ })
  t.match(await read({ byte_offset: 0, encoding: 'utf-16' }), {
    error_code: 'ENCODING_ERROR',
    message: /not in utf-16/
  })
  t.match(await read({ byte_offset: 0, encoding: 'x-none' }), { error_code: 'ENCODING_ERROR' })
  t.match(await read({ byte_offset: 1, encoding: 'windows-1252' }), { content: 'Ã©', byte_range: { start: 1, end: 3 } })
  t.match(await read({ byte_offset: 2 }), { content: '', byte_range: { start: 3, end: 3 } }, 'behind the character')
  t.match(await read({ byte_offset: 1, byte_limit: 3 }), { error_code: 'INVALID_REQUEST', message: />= 4/ })
  writeFileSync(tree.path('f'), Buffer.from([0x61, 0xff, 0xff, 0x62]))
  t.match(await read({ byte_offset: 0, byte_limit: 4 }), { error_code: 'ENCODING_ERROR' })
  t.match(await client.call('async_read', { path: '.', byte_offset: 0 }), { error_code: 'NOT_A_FILE' })
  t.match(await client.call('async_read', { path: 'none', byte_offset: 0 }), { error_code: 'FILE_NOT_FOUND' })
  t.match(await client.call('async_read', { path: '../x', byte_offset: 0 }), { error_code: 'PATH_OUTSIDE_BASE' })
})

t.test('only whole lines of a part count as seen', async (t) => {
  const text = 'one\ntwo\nthree\nfour\n'
  const tree = makeTree(t, { f: text })
  const { url } = await startServer(t, tree.root)
  const hash = hashOf(text)
  const seen = async (name: string, byte_offset: number, byte_limit: number, offset: number, limit: number | null) => {
    const client = await connect(t, 'rest', url, name)
    await client.call('async_read', { path: 'f', byte_offset, byte_limit })
    return (await client.call('async_read', { path: 'f', offset, limit, known_hash: hash }))['not_modified'] === true
  }
  t.notOk(await seen('a', 0, 4, 1, 1), 'the line behind it')
  t.notOk(await seen('g', 4, 5, 2, 1), 'a piece of a line')
  t.ok(await seen('b', 2, 12, 1, 2), 'the two lines between two pieces')
  t.notOk(await seen('c', 2, 12, 0, 2), 'the piece before them')
  t.notOk(await seen('d', 2, 12, 2, 2), 'the piece behind them')
  t.ok(await seen('e', 0, 100, 0, null), 'all of it')
  t.notOk(await seen('f', 0, 18, 0, null), 'all but the last line end')

  const breaks = fc.constantFrom('a', '\n', '\r', '\r\n', 'b')
  const property = fc.property(fc.array(breaks), fc.nat(20), fc.nat(20), (parts, one, other) => {
    const whole = parts.join('')
    const [from, to] = [Math.min(one, other, whole.length), Math.min(Math.max(one, other), whole.length)]
    const found = wholeLines(whole.slice(0, from), whole.slice(from, to), to === whole.length)
    if (found === undefined) return
    const before = splitLines(whole)
      .slice(0, found.start - 1)
      .join('').length
    const end = splitLines(whole).slice(0, found.end).join('').length
    t.ok(before >= from && end <= to && found.start <= found.end, JSON.stringify({ whole, from, to, found }))
  })
  fc.assert(property, { numRuns: casesOf(10_000) })
})

t.test('a range of a file of any size is read alone', async (t) => {
  const tree = makeTree(t, { f: lines, huge: '' })
  truncateSync(tree.path('huge'), 6e9)
  appendFileSync(tree.path('huge'), 'the end')
  const { url } = await startServer(t, tree.root, small)
  const get = async (path: string, headers: Record<string, string>, method = 'GET') => {
    const response = await fetch(`${url}/files/${path}`, { method, headers })
    const { status } = response
    return { status, headers: Object.fromEntries(response.headers), text: await response.text() }
  }
  t.match(await get('huge', { range: 'bytes=-7' }), {
    status: 206,
    text: 'the end',
    headers: {
      'content-range': 'bytes 6000000000-6000000006/6000000007',
      'accept-ranges': 'bytes',
      'last-modified': /GMT$/,
      etag: undefined
    }
  })
  t.match(await get('huge', { range: 'bytes=5000000000-5000000001' }), { status: 206, text: '\0\0' })
  t.match(
    await get('f', { range: 'bytes=10-' }),
    {
      status: 206,
      text: lines.slice(10, 1_010),
      headers: { 'content-range': 'bytes 10-1009/4390' }
    },
    'at most crud.max_file_size_bytes at once'
  )
  t.match(await get('f', { range: 'bytes=5000-' }), { status: 416, headers: { 'content-range': 'bytes */4390' } })
  const whole = await get('f', {})
  t.equal(whole.status, 413)
  t.match(JSON.parse(whole.text), { error_code: 'FILE_TOO_LARGE', message: /Range/ })
  t.equal((await get('f', { range: 'bytes=0-1', 'if-range': '"x"' })).status, 413, 'no version is known')
  t.equal((await get('f', { range: 'bytes=0-1' }, 'HEAD')).status, 413)
})
