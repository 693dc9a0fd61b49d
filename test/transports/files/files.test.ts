// Files over plain HTTP: bytes as they are, versions as entity tags, and the same refusals as the operations give.
import { spawnSync } from 'node:child_process'
import { symlinkSync, utimesSync } from 'node:fs'
import { request as send, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { PartialConfig } from '../../../src/config/config.ts'
import { connect, type Answer } from '../../fixtures/clients.ts'
import { holdLock } from '../../fixtures/locks.ts'
import { memberOn } from '../../fixtures/processes.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'

const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
const tag = (content: string | Buffer) => `"${hashOf(content)}"`

async function start(t: Test, files: Record<string, string | Buffer> = {}, overrides: PartialConfig = {}) {
  const tree = makeTree(t, files)
  const server = await startServer(t, tree.root, overrides)
  const http = async (method: string, path: string, headers: Record<string, string> = {}, body?: string | Buffer) => {
    const response = await fetch(`${server.url}/files/${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: typeof body === 'string' ? body : new Uint8Array(body) })
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    const header = (name: string) => response.headers.get(name)
    return {
      status: response.status,
      header,
      bytes,
      text: bytes.toString(),
      json: () => JSON.parse(bytes.toString()) as Answer
    }
  }
  return { tree, server, http }
}

t.test('a file comes as its bytes, whatever they are, with its type, version and time', async (t) => {
  const mark = '\uFEFFone\r\ntwo'
  const { http } = await start(t, {
    'every.bin': every,
    'mark.txt': mark,
    'page.html': '<p>',
    'a.ts': 'let a',
    empty: ''
  })
  const answer = await http('GET', 'every.bin')
  t.equal(answer.status, 200)
  t.ok(answer.bytes.equals(every))
  t.equal(answer.header('etag'), tag(every))
  t.equal(answer.header('content-type'), 'application/octet-stream')
  t.equal(answer.header('content-length'), '256')
  t.match(answer.header('last-modified'), /^\w{3}, \d\d \w{3} \d{4} [\d:]+ GMT$/)
  t.equal((await http('GET', 'mark.txt')).bytes.toString('hex'), Buffer.from(mark).toString('hex'))
  t.equal((await http('GET', 'empty')).bytes.length, 0)
  t.equal((await http('GET', 'a.ts')).header('content-type'), 'text/plain; charset=utf-8', 'not a video')
  const page = await http('GET', 'page.html')
  t.equal(page.header('content-type'), 'text/html; charset=utf-8')
  t.match(page.header('content-security-policy'), /default-src 'none'.*frame-ancestors 'none'.*sandbox/)
  t.equal(page.header('x-content-type-options'), 'nosniff')
})

t.test('a read that names the version it has gets 304, and HEAD the headers alone', async (t) => {
  const { http } = await start(t, { f: 'one\n' })
  for (const tags of [tag('one\n'), `"x", W/${tag('one\n')}`, '*']) {
    const answer = await http('GET', 'f', { 'if-none-match': tags })
    t.match([answer.status, answer.text, answer.header('etag')], [304, '', tag('one\n')], tags)
  }
  t.equal((await http('GET', 'f', { 'if-none-match': tag('two\n') })).text, 'one\n')
  const head = await http('HEAD', 'f')
  t.match([head.status, head.text, head.header('content-length'), head.header('etag')], [200, '', '4', tag('one\n')])
  t.equal((await http('HEAD', 'none')).status, 404)
})

t.test('one range of bytes is answered, any other is 416 with the size', async (t) => {
  const { http } = await start(t, { f: '0123456789', empty: '' })
  for (const [range, part, shown] of [
    ['bytes=0-0', '0', '0-0'],
    ['bytes=2-4', '234', '2-4'],
    ['bytes=7-', '789', '7-9'],
    ['bytes=-3', '789', '7-9'],
    ['bytes=-99', '0123456789', '0-9'],
    ['bytes=8-99', '89', '8-9']
  ] as const) {
    const answer = await http('GET', 'f', { range })
    t.match([answer.status, answer.text, answer.header('content-range')], [206, part, `bytes ${shown}/10`], range)
  }
  for (const range of ['bytes=10-', 'bytes=-0', 'bytes=5-4', 'bytes=-', 'bytes=0-1,3-4', 'lines=1-2', 'bytes=a-b']) {
    const answer = await http('GET', 'f', { range })
    t.match([answer.status, answer.header('content-range')], [416, 'bytes */10'], range)
    t.match(answer.json(), { error_code: 'RANGE_NOT_SATISFIABLE', message: /one range of bytes/ })
  }
  t.equal((await http('GET', 'empty', { range: 'bytes=0-' })).status, 416)
  t.equal((await http('GET', 'f', { range: 'bytes=0-1', 'if-range': tag('0123456789') })).status, 206)
  t.equal((await http('GET', 'f', { range: 'bytes=0-1', 'if-range': tag('other') })).status, 200)
})

t.test('a folder is JSON, or a list of addresses for who asks for text, page by page', async (t) => {
  const { http } = await start(t, { 'src/a b.ts': '', 'src/ü%': '', 'src/deep/c': '', 'src/d': '' })
  t.match((await http('GET', 'src')).json(), { status: 'ok', path: 'src', total_entries: 4 })
  t.match((await http('GET', '')).json(), { entries: [{ name: 'src', type: 'directory' }] })
  const list = await http('GET', 'src/', { accept: 'text/plain' })
  t.equal(list.header('content-type'), 'text/plain; charset=utf-8')
  t.equal(list.text, 'a%20b.ts\nd\ndeep/\n%C3%BC%25\n')
  for (const address of ['a%20b.ts', '%C3%BC%25']) t.equal((await http('GET', `src/${address}`)).status, 200)
  t.equal((await http('GET', 'src/?pattern=**/*', { accept: 'text/plain' })).text.split('\n').length, 6)
  const first = await http('GET', 'src/?limit=3', { accept: 'text/plain' })
  const [, next = ''] = /^<(.*)>; rel="next"$/.exec(first.header('link') ?? '') ?? []
  t.equal((await http('GET', `src/${next}`, { accept: 'text/plain' })).text, '%C3%BC%25\n')
  t.match((await http('GET', 'src?limits=3')).json(), {
    error_code: 'INVALID_REQUEST',
    message: /did you mean "limit"/
  })
})

t.test('the addresses of a folder lead to its files, with a slash behind its own or not', async (t) => {
  const { http, server, tree } = await start(t, { 'sub/a b': 'below', 'sub/deep/x': 'deep', x: 'above' })
  const folders = [
    'sub',
    'sub/',
    'sub/deep',
    '',
    `/${tree.root}/sub`.slice(1),
    `${tree.root}/sub/`,
    'sub?pattern=**/*',
    'sub?limit=1'
  ]
  for (const folder of folders) {
    const { text } = await http('GET', folder, { accept: 'text/plain' })
    const addresses = text.split('\n').slice(0, -1)
    t.ok(addresses.length > 0, folder)
    for (const address of addresses) {
      const found = await fetch(new URL(address, `${server.url}/files/${folder}`))
      t.equal(found.status, 200, `${folder}: ${address}`)
      const isFolder = address.endsWith('/')
      t.equal(found.headers.get('etag') === null, isFolder, address)
      if (!isFolder) t.not(await found.text(), folder === '' ? 'below' : 'above', address)
    }
  }
})

const then = new Date('2001-02-03T04:05:06.700Z')
const dates = {
  before: 'Sat, 03 Feb 2001 04:05:06 GMT',
  exact: 'Sat, 03 Feb 2001 04:05:07 GMT',
  after: 'Sunday, 04-Feb-01 00:00:00 GMT',
  asctime: 'Sun Feb  4 00:00:00 2001',
  none: 'yesterday'
}

/** For a file that has the content `f`: RFC 9110, 13.2.2. */
const conditions: readonly (readonly [methods: string, headers: Record<string, string>, status: number])[] = [
  ['GET HEAD', { 'if-match': tag('f') }, 200],
  ['GET HEAD', { 'if-match': `"x", ${tag('f')}` }, 200],
  ['GET HEAD', { 'if-match': '*' }, 200],
  ['GET HEAD', { 'if-match': tag('g') }, 412],
  ['GET HEAD', { 'if-match': `W/${tag('f')}` }, 412],
  ['GET HEAD', { 'if-none-match': tag('f') }, 304],
  ['GET HEAD', { 'if-none-match': `"x", W/${tag('f')}` }, 304],
  ['GET HEAD', { 'if-none-match': '*' }, 304],
  ['GET HEAD', { 'if-none-match': tag('g') }, 200],
  ['GET HEAD', { 'if-modified-since': dates.before }, 200],
  ['GET HEAD', { 'if-modified-since': dates.exact }, 304],
  ['GET HEAD', { 'if-modified-since': dates.after }, 304],
  ['GET HEAD', { 'if-modified-since': dates.asctime }, 304],
  ['GET HEAD', { 'if-modified-since': dates.none }, 200],
  ['GET HEAD', { 'if-unmodified-since': dates.before }, 412],
  ['GET HEAD', { 'if-unmodified-since': dates.exact }, 200],
  ['GET HEAD', { 'if-unmodified-since': dates.asctime }, 200],
  ['GET HEAD', { 'if-unmodified-since': dates.none }, 200],
  // If-Match comes before If-Unmodified-Since, and If-None-Match before If-Modified-Since.
  ['GET HEAD', { 'if-match': tag('f'), 'if-unmodified-since': dates.before }, 200],
  ['GET HEAD', { 'if-match': tag('g'), 'if-unmodified-since': dates.after }, 412],
  ['GET HEAD', { 'if-none-match': tag('g'), 'if-modified-since': dates.after }, 200],
  ['GET HEAD', { 'if-none-match': tag('f'), 'if-modified-since': dates.before }, 304],
  // What must be the case comes before what the client has.
  ['GET HEAD', { 'if-match': tag('g'), 'if-none-match': tag('f') }, 412],
  ['GET HEAD', { 'if-match': tag('f'), 'if-none-match': tag('f') }, 304],
  ['GET HEAD', { 'if-unmodified-since': dates.before, 'if-none-match': tag('f') }, 412],
  ['GET', { range: 'bytes=0-0', 'if-match': tag('g') }, 412],
  ['GET', { range: 'bytes=0-0', 'if-none-match': tag('f') }, 304],
  ['GET', { range: 'bytes=0-0', 'if-range': tag('f') }, 206],
  ['GET', { range: 'bytes=0-0', 'if-range': `W/${tag('f')}` }, 200],
  ['GET', { range: 'bytes=0-0', 'if-range': dates.exact }, 200],
  ['GET', { range: 'bytes=0-0', 'if-range': tag('g') }, 200],
  ['HEAD', { range: 'bytes=0-0', 'if-range': tag('f') }, 200],
  ['GET', { 'if-range': tag('g') }, 200],
  ['PUT PATCH DELETE', { 'if-match': tag('g') }, 412],
  ['PUT PATCH DELETE', { 'if-match': tag('f'), 'if-unmodified-since': dates.before }, 200],
  ['PUT PATCH DELETE', { 'if-match': `W/${tag('f')}` }, 400],
  ['PUT PATCH DELETE', { 'if-match': `${tag('f')}, "x"` }, 400],
  ['PUT PATCH DELETE', { 'if-match': tag('f'), 'if-none-match': '*' }, 400],
  ['PUT PATCH DELETE', { 'if-none-match': tag('g') }, 400],
  ['PUT PATCH DELETE', { 'if-unmodified-since': dates.after }, 428],
  ['PUT PATCH DELETE', { 'if-unmodified-since': dates.before }, 428],
  ['PUT PATCH DELETE', { 'if-unmodified-since': dates.none }, 428],
  // Only reads are asked for that; what a range would be of is a read, too.
  ['PUT PATCH DELETE', { 'if-match': tag('f'), 'if-modified-since': dates.after }, 200],
  ['PUT PATCH DELETE', { 'if-match': tag('f'), range: 'bytes=0-0', 'if-range': tag('g') }, 200],
  ['PUT', { 'if-none-match': '*' }, 412],
  ['PUT', { 'if-match': '*' }, 428],
  ['DELETE', { 'if-match': '*' }, 200],
  ['DELETE', { 'if-none-match': '*' }, 400]
]

t.test('each condition of a request on a file is obeyed or refused', async (t) => {
  const { http, tree } = await start(t)
  for (const [methods, headers, status] of conditions) {
    for (const method of methods.split(' ')) {
      tree.write('f', 'f')
      utimesSync(tree.path('f'), then, then)
      const body = { PUT: 'new', PATCH: JSON.stringify({ patches: [{ old_string: 'f', new_string: 'new' }] }) }[method]
      const type = method === 'PATCH' ? { 'content-type': 'application/json' } : {}
      const answer = await http(method, 'f', { ...headers, ...type }, body)
      const title = `${method} ${JSON.stringify(headers)}`
      t.equal(answer.status, status, title)
      const isRead = ['GET', 'HEAD'].includes(method)
      if (isRead || status >= 400) t.equal(tree.read('f'), 'f', title)
      if (isRead && status === 412)
        t.match(method === 'HEAD' || answer.json()['error_code'], method === 'HEAD' || 'PRECONDITION_FAILED')
      if (isRead && status < 400)
        t.match([answer.header('etag'), answer.header('last-modified')], [tag('f'), dates.exact])
      if (status === 304 || method === 'HEAD') t.equal(answer.bytes.length, 0, title)
    }
  }
  for (const [headers, status] of [
    [{ 'if-match': tag('f') }, 412],
    [{ 'if-match': '*' }, 200],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': tag('f') }, 200],
    [{ 'if-unmodified-since': dates.before }, 200],
    [{ 'if-modified-since': dates.after }, 200]
  ] as const)
    t.equal((await http('GET', '', headers)).status, status, `a folder, ${JSON.stringify(headers)}`)
  t.equal((await http('GET', 'gone', { 'if-match': tag('f') })).status, 404, 'what is not there has no version')
})

t.test('the time of an answer shows whether a later version is another one', async (t) => {
  const { http, tree } = await start(t, { f: 'f' })
  const first = await http('GET', 'f')
  const modified = first.header('last-modified') ?? ''
  t.ok(Date.parse(modified) <= Date.now(), 'not in the future')
  tree.write('f', 'g')
  const later = await http('GET', 'f', { 'if-modified-since': modified })
  t.match([later.status, later.text], [200, 'g'], 'changed within the same second')
})

t.test(
  'what is no file and in the way is called what it is, and has no version to name',
  { skip: process.platform === 'win32' },
  async (t) => {
    const { http, server, tree } = await start(t, { 'folder/x': '', f: '' })
    spawnSync('mkfifo', [tree.path('pipe')])
    symlinkSync('nowhere', tree.path('link'))
    const ann = await connect(t, 'rest', server.url, 'ann')
    for (const [path, message] of [
      ['folder', /^A folder is at folder/],
      ['pipe', /^A pipe, a socket or a device is at pipe/]
    ] as const) {
      t.match(await ann.call('async_write', { path, content: '' }), { error_code: 'FILE_EXISTS', message })
      t.match(await ann.call('async_rename', { old_path: 'f', new_path: path }), { error_code: 'FILE_EXISTS', message })
      const put = await http('PUT', path, {}, 'x')
      t.match([put.status, put.json()], [409, { error_code: 'FILE_EXISTS', message }])
    }
    const linked = await ann.call('async_rename', { old_path: 'f', new_path: 'link' })
    t.match(linked, { error_code: 'FILE_EXISTS', message: /^A symbolic link is at link/ })
  }
)

t.test('PUT takes any type, also one of no valid form, and HEAD is among the methods', async (t) => {
  const { http, server, tree } = await start(t)
  for (const type of ['text', '', 'a/b/c', ';', 'text/plain; charset', 'application/json']) {
    t.equal((await http('PUT', `f-${type.length}`, { 'content-type': type }, 'x')).status, 201, type)
    t.equal(tree.read(`f-${type.length}`), 'x')
  }
  t.equal((await http('PATCH', 'f-4', { 'content-type': 'text', 'if-match': tag('x') }, 'x')).status, 415)
  for (const path of ['/health', '/locks', '/files/f-4']) {
    const refused = await fetch(`${server.url}${path}`, { method: 'POST' })
    t.match([refused.status, refused.headers.get('allow')], [405, /GET, HEAD/], path)
    t.equal((await fetch(`${server.url}${path}`, { method: 'HEAD' })).status, 200, path)
  }
  t.notMatch((await fetch(`${server.url}/events`, { method: 'POST' })).headers.get('allow'), 'HEAD')
})

t.test('PUT creates, replaces the version that If-Match names, and refuses every other', async (t) => {
  const { http, tree } = await start(t)
  const created = await http('PUT', 'new/f.bin', {}, every)
  t.match([created.status, created.header('etag')], [201, tag(every)])
  t.match(created.json(), { status: 'ok', path: 'new/f.bin', bytes_written: 256 })
  t.ok(tree.bytes('new/f.bin').equals(every))
  const unnamed = await http('PUT', 'new/f.bin', {}, 'x')
  t.equal(unnamed.status, 428)
  t.match(unnamed.json(), { error_code: 'PRECONDITION_REQUIRED', message: /If-Match with the ETag/ })
  t.equal((await http('PUT', 'new/f.bin', { 'if-match': '*' }, 'x')).status, 428)
  const exists = await http('PUT', 'new/f.bin', { 'if-none-match': '*' }, 'x')
  t.match([exists.status, exists.json()], [412, { error_code: 'FILE_EXISTS' }])
  const marked = '\uFEFFä\n'
  t.match((await http('PUT', 'new/f.bin', { 'if-match': tag(every) }, marked)).header('etag'), tag(marked))
  const late = await http('PUT', 'new/f.bin', { 'if-match': tag(every) }, 'y')
  t.match([late.status, late.header('etag')], [412, tag(marked)])
  t.match(late.json(), { status: 'contention', current_hash: hashOf(marked), base_known: true })
  const unmarked = await http('PUT', 'new/f.bin', { 'if-match': tag(marked) }, 'ö\n')
  t.equal(unmarked.header('etag'), tag('ö\n'), 'the very bytes, without the byte order mark of the version before')
  t.equal(tree.read('new/f.bin'), 'ö\n')
  const gone = await http('PUT', 'none', { 'if-match': tag('one') }, 'x')
  t.match([gone.status, gone.json()], [412, { error_code: 'FILE_NOT_FOUND' }])
  t.equal((await http('PUT', 'empty', { 'if-none-match': '*' })).header('etag'), tag(''))
  t.strictSame(tree.all(), ['empty', 'new', 'new/f.bin'])
})

t.test(
  'the difference of a late change is text that can be read, or a diff that patch applies to the bytes',
  async (t) => {
    const base = 'grün\nrot\nblau\n'
    const { http, server } = await start(t, { f: base, 'g.txt': Buffer.from('gr\xfcn\nrot\n', 'latin1') })
    await http('GET', 'f')
    const ann = await connect(t, 'rest', server.url, 'ann')
    await ann.call('async_update', { path: 'f', expected_hash: hashOf(base), content: 'grün\nrot\nbläulich\n' })
    const json = (await http('PUT', 'f', { 'if-match': tag(base) }, 'x')).json()
    t.match(json, {
      modified_by: [{ agent_id: 'ann' }],
      diff: { changes: [{ old_content: 'blau', new_content: 'bläulich', context_before: 'grün\nrot' }] }
    })
    const diff = await http('PUT', 'f', { 'if-match': tag(base), accept: 'text/x-diff' }, 'x')
    t.match([diff.status, diff.header('content-type')], [412, 'text/x-diff'])
    t.equal(diff.text, '--- expected\n+++ current\n@@ -1,3 +1,3 @@\n grün\n rot\n-blau\n+bläulich\n')
    const latin = Buffer.from('gr\xfcn\nrot\n', 'latin1')
    await http('GET', 'g.txt')
    await http('PUT', 'g.txt', { 'if-match': tag(latin) }, Buffer.from('gr\xfcner\nrot\n', 'latin1'))
    const bytes = await http('DELETE', 'f', { 'if-match': tag(base), accept: 'text/x-diff' })
    t.equal(bytes.text, diff.text)
    const raw = await http('PUT', 'g.txt', { 'if-match': tag(latin), accept: 'text/x-diff' }, 'x')
    t.ok(raw.bytes.includes(Buffer.from('-gr\xfcn\n+gr\xfcner\n', 'latin1')))
  }
)

t.test('PATCH takes patches or a unified diff, for the version that If-Match names', async (t) => {
  const latin = Buffer.from('gr\xfcn\nrot\n', 'latin1')
  const { http, tree } = await start(t, { f: 'one\ntwo\nthree\n', g: latin })
  const json = { 'content-type': 'application/json' }
  const patched = await http(
    'PATCH',
    'f',
    { ...json, 'if-match': tag('one\ntwo\nthree\n') },
    '{"patches":[{"old_string":"two","new_string":"2"}]}'
  )
  t.match([patched.status, patched.header('etag')], [200, tag('one\n2\nthree\n')])
  const diff = '--- a/f\n+++ b/f\n@@ -5,2 +5,2 @@\n 2\n-three\n+3\n'
  const applied = await http(
    'PATCH',
    'f',
    { 'content-type': 'text/x-diff; charset=utf-8', 'if-match': tag('one\n2\nthree\n') },
    diff
  )
  t.match([applied.status, applied.header('etag')], [200, tag('one\n2\n3\n')])
  const failing = await http(
    'PATCH',
    'f',
    { 'content-type': 'text/x-patch', 'if-match': tag('one\n2\n3\n') },
    '@@ -1,2 +1,2 @@\n-ä\n+b\n 2\n'
  )
  t.equal(failing.status, 400)
  t.match(failing.json(), {
    error_code: 'INVALID_PATCH',
    message: /hunk 1 of 1/,
    details: { hunk_index: 0, hunk: /-ä\n/ }
  })
  const bytes = Buffer.from('@@ -1,2 +1,2 @@\n-gr\xfcn\n+gr\xfcner\n rot\n', 'latin1')
  t.equal((await http('PATCH', 'g', { 'content-type': 'text/x-diff', 'if-match': tag(latin) }, bytes)).status, 200)
  t.equal(tree.bytes('g').toString('latin1'), 'gr\xfcner\nrot\n')
  const refused: [number, RegExp, Record<string, string>, string][] = [
    [
      415,
      /takes application\/json, text\/x-diff, text\/x-patch, not "text\/plain"/,
      { 'content-type': 'text/plain' },
      'x'
    ],
    [415, /UTF-8, not latin1/, { 'content-type': 'application/json; charset=latin1', 'if-match': tag('x') }, '{}'],
    [415, /Content-Encoding "gzip"/, { ...json, 'content-encoding': 'gzip', 'if-match': tag('x') }, '{}'],
    [428, /If-Match/, json, '{"patches":[]}'],
    [400, /If-Match is one ETag/, { ...json, 'if-match': 'x' }, '{}'],
    [400, /one object/, { ...json, 'if-match': tag('x') }, '[]'],
    [400, /without path/, { ...json, 'if-match': tag('x') }, '{"path":"g"}'],
    [400, /not valid JSON/, { ...json, 'if-match': tag('x') }, '{'],
    [400, /did you mean "patches"/, { ...json, 'if-match': tag('one\n2\n3\n') }, '{"patchs":[]}']
  ]
  for (const [status, message, headers, body] of refused) {
    const answer = await http('PATCH', 'f', headers, body)
    t.match([answer.status, answer.json()], [status, { status: 'error', message }], String(message))
  }
  t.match((await http('PATCH', 'f', {}, 'x')).header('accept-patch'), 'text/x-diff')
})

t.test('Prefer says how long a change waits and whether it is merged', async (t) => {
  const base = '1\n2\n3\n4\n5\n'
  const { http, server, tree } = await start(t, { f: base })
  const lock = await holdLock(server, tree.path('f'))
  const waited = await http('PUT', 'f', { 'if-match': tag(base), prefer: 'respond-async, wait=0' }, 'x')
  t.match(
    [waited.status, waited.json(), waited.header('preference-applied')],
    [408, { error_code: 'LOCK_TIMEOUT' }, 'wait=0']
  )
  lock.release()
  t.match((await http('PUT', 'f', { prefer: 'wait=soon' }, 'x')).json(), { message: /number of seconds/ })
  await http('PUT', 'f', { 'if-match': tag(base) }, 'eins\n2\n3\n4\n5\n')
  const merged = await http(
    'PUT',
    'f',
    { 'if-match': tag(base), prefer: 'merge', 'x-agent-id': 'bob' },
    '1\n2\n3\n4\nfünf\n'
  )
  t.match([merged.status, merged.header('etag'), merged.header('preference-applied')], [200, null, 'merge'])
  t.match(merged.json(), {
    merged: true,
    hash: hashOf('eins\n2\n3\n4\nfünf\n'),
    diff: { changes: [{ new_content: 'eins' }] }
  })
  t.equal(tree.read('f'), 'eins\n2\n3\n4\nfünf\n')
  const conflict = await http('PUT', 'f', { 'if-match': tag(base), prefer: 'merge' }, 'ä\n2\n3\n4\n5\n')
  t.match(
    [conflict.status, conflict.json()],
    [412, { merge_conflicts: [{ incoming: { content: 'ä\n' } }, {}].slice(0, 1) }]
  )
})

t.test('a change that is repeated under one Idempotency-Key is made once', async (t) => {
  const { http, tree } = await start(t)
  tree.write('f', 'one\n')
  const change = { 'if-match': tag('one\n'), 'idempotency-key': 'change 1' }
  const remove = { 'if-match': tag('two\n'), 'idempotency-key': 'change 2' }
  for (const replayed of [undefined, true]) {
    const { status, header, json } = await http('PUT', 'f', change, 'two\n')
    t.strictSame([status, header('etag'), json()['replayed']], [200, tag('two\n'), replayed])
  }
  t.equal((await http('PUT', 'f', change, 'three\n')).status, 400, 'another input')
  for (const replayed of [undefined, true]) {
    const { status, json } = await http('DELETE', 'f', remove)
    t.strictSame([status, json()['replayed']], [200, replayed])
  }
  t.strictSame(tree.all(), [])
})

t.test('DELETE takes the version that If-Match names, or any', async (t) => {
  const { http, tree } = await start(t, { f: 'one\n', g: 'two\n' })
  t.equal((await http('DELETE', 'f', { 'if-match': tag('other') })).status, 412)
  t.match((await http('DELETE', 'f', { 'if-match': tag('one\n') })).json(), {
    status: 'ok',
    deleted_hash: hashOf('one\n')
  })
  t.equal((await http('DELETE', 'g')).status, 200)
  t.equal((await http('DELETE', 'g')).status, 404)
  t.strictSame(tree.all(), [])
})

t.test('the agent of X-Agent-Id is the author, and its notices wait for an answer that has room', async (t) => {
  const { http, server } = await start(t, { f: 'one\n', g: '' })
  const bob = { 'x-agent-id': 'bob' }
  await http('GET', 'f', bob)
  await http('PUT', 'f', { 'if-match': tag('one\n'), 'x-agent-id': 'ann' }, 'two\n')
  await http('GET', 'g', bob)
  await http('GET', '', { ...bob, accept: 'text/plain' })
  t.match((await http('PUT', 'h', bob, '')).json(), { notices: [{ type: 'file_changed', path: 'f' }] })
  const ann = await connect(t, 'rest', server.url, 'ann')
  t.match(await ann.call('async_history', { path: 'f' }), {
    versions: [{ agent_id: 'ann', operation: 'async_update' }, {}]
  })
})

t.test(
  'paths are those of operations: decoded once, absolute behind two slashes, never outside the roots',
  async (t) => {
    const name = `${'long/'.repeat(40)}50%-#?+&=ü`
    const { http, tree, server } = await start(t, { [name]: 'one\n', 'a/b': 'two\n' })
    const address = name.split('/').map(encodeURIComponent).join('/')
    t.equal((await http('GET', address)).text, 'one\n')
    t.equal((await http('GET', 'a%2Fb')).text, 'two\n')
    t.equal((await http('GET', `/${tree.path('a/b')}`.replace('//', '/'))).text, 'two\n')
    const raw = async (path: string) => {
      const request = send(`${server.url}/`, { path })
      const response = await new Promise<IncomingMessage>((resolve, reject) =>
        request.on('response', resolve).on('error', reject).end()
      )
      return { status: response.statusCode, body: JSON.parse(await text(response)) as Answer }
    }
    t.match(await raw('/files/a/../../x'), { status: 403, body: { error_code: 'PATH_OUTSIDE_BASE' } })
    t.match(await raw('/files/%2e%2e/x'), { status: 403, body: { error_code: 'PATH_OUTSIDE_BASE' } })
    t.match(await raw('/files/a%00b'), { status: 400, body: { error_code: 'INVALID_REQUEST' } })
    t.match(await raw('/files/%zz'), { status: 400, body: { error_code: 'INVALID_REQUEST' } })
    t.match(await raw('/files/.async-crud-mcp/x'), { status: 403, body: { error_code: 'ACCESS_DENIED' } })
    const post = await http('POST', 'a/b', {}, 'x')
    t.match([post.status, post.header('allow')], [405, 'GET, HEAD, PUT, PATCH, DELETE'])
  }
)

t.test('a process that relays to the authority of the tree serves the same bytes', async (t) => {
  const tree = makeTree(t, { f: every })
  await memberOn(t, tree)
  const relay = await memberOn(t, tree)
  const read = await fetch(`${relay.url}/files/f`)
  t.ok(Buffer.from(await read.arrayBuffer()).equals(every))
  const twice = Buffer.concat([every, every])
  const headers = { 'if-match': tag(every) }
  const put = await fetch(`${relay.url}/files/f`, { method: 'PUT', headers, body: new Uint8Array(twice) })
  t.match([put.status, put.headers.get('etag')], [200, tag(twice)])
  t.ok(tree.bytes('f').equals(twice))
  t.match(await (await fetch(`${relay.url}/metrics`)).text(), /^async_crud_is_authority 0$/m)
})

t.test('sizes and access are checked as on every route', async (t) => {
  const { http, tree } = await start(
    t,
    { f: 'x'.repeat(2000) },
    { crud: { max_file_size_bytes: 1024 }, daemon: { token: 'sesame' } }
  )
  t.equal((await http('GET', 'f')).status, 401)
  t.equal((await http('PUT', 'g', {}, 'x')).status, 401)
  const known = { authorization: 'Bearer sesame' }
  t.match((await http('GET', 'f', known)).json(), { error_code: 'FILE_TOO_LARGE' })
  t.equal((await http('PUT', 'g', known, 'x'.repeat(1025))).status, 413)
  t.equal((await http('PUT', 'g', known, 'x'.repeat(2_000_000))).status, 413)
  t.equal((await http('PUT', 'g', { ...known, 'content-range': 'bytes 0-0/2' }, 'x')).status, 400)
  t.equal((await http('PUT', 'g', { ...known, 'if-match': tag('x'), 'if-none-match': '*' }, 'x')).status, 400)
  for (const dest of ['image', 'iframe', 'script'])
    t.equal(
      (
        await http('GET', 'f', {
          ...known,
          'sec-fetch-site': 'cross-site',
          'sec-fetch-dest': dest,
          'sec-fetch-mode': 'no-cors'
        })
      ).status,
      403
    )
  t.strictSame(tree.all(), ['f'])
})

t.test('a change whose replaced bytes are not kept says so in a header', async (t) => {
  const { http } = await start(t, { a: 'a\n', b: 'b\n' }, { crud: { base_cache_bytes: 0 } })
  const put = await http('PUT', 'a', { 'if-match': tag('a\n') }, 'new\n')
  t.same([put.status, put.header('x-kept'), put.json()['kept']], [200, 'false', false])
  const patch = { 'if-match': tag('new\n'), 'content-type': 'application/json' }
  const patches = JSON.stringify({ patches: [{ old_string: 'new', new_string: 'newer' }] })
  t.equal((await http('PATCH', 'a', patch, patches)).header('x-kept'), 'false')
  t.equal((await http('DELETE', 'b')).header('x-kept'), 'false')
  const kept = await start(t, { a: 'a\n' })
  t.equal((await kept.http('DELETE', 'a')).header('x-kept'), null)
})

t.test('a part, a 304 and the headers alone show no more of a file than they have', async (t) => {
  const content = Array.from({ length: 60 }, (_, index) => `line ${index + 1}\n`).join('')
  const { tree, http, server } = await start(t, { f: content })
  const ask = async (agent: string, more: object = {}) => {
    const client = await connect(t, 'rest', server.url, agent)
    return client.call('async_read', { path: 'f', known_hash: hashOf(content), ...more })
  }
  const get = (agent: string, headers: Record<string, string>, method = 'GET') =>
    http(method, 'f', { 'x-agent-id': agent, ...headers })
  const lines = (first: number, count: number) =>
    content
      .split(/(?<=\n)/)
      .slice(first - 1, first - 1 + count)
      .join('')
  t.equal((await get('byte', { range: 'bytes=0-0' })).text, 'l')
  t.match(await ask('byte', { limit: 1 }), { content: 'line 1\n' }, 'one byte is no line')
  t.equal((await get('part', { range: 'bytes=7-22' })).text, 'line 2\nline 3\nli')
  t.match(await ask('part', { offset: 1, limit: 2 }), { not_modified: true }, 'the lines that it has')
  t.match(await ask('part', { offset: 1, limit: 3 }), { content: lines(2, 3) })
  t.match(await ask('part'), { content }, 'not the file')
  for (const name of ['part 2', 'part 3']) await get(name, { range: 'bytes=7-22' })
  const restore = { path: 'f', hash: hashOf('new'), agent_id: 'part 2' }
  const bob = await connect(t, 'rest', server.url, 'bob')
  await bob.call('async_update', { path: 'f', expected_hash: hashOf(content), content: 'new' })
  await bob.call('async_restore', { path: 'f', hash: hashOf(content) })
  t.match(await bob.call('async_restore', restore), { error_code: 'INVALID_REQUEST', message: /not seen all of it/ })
  t.equal(tree.read('f'), content)
  await get('whole', { range: 'bytes=0-' })
  t.match(await ask('whole'), { not_modified: true }, 'a range of all is all')
  await get('tag', { range: 'bytes=7-22' })
  t.equal((await get('tag', { 'if-none-match': tag(content) })).status, 304)
  t.match(await ask('tag'), { content }, 'a 304 has nothing to show')
  await get('head', { range: 'bytes=7-22' })
  await get('head', {}, 'HEAD')
  t.match(await ask('head'), { content })
  await get('other', { range: 'bytes=0-0', 'if-range': tag('other') })
  t.match(await ask('other'), { not_modified: true }, 'it was sent whole')
  await get('stale', { 'if-none-match': tag('other') })
  t.match(await ask('stale'), { not_modified: true })
})
