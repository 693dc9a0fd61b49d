// Bad input gets its documented code, never a 5xx; the file stays as it is and nothing is left behind.
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import t from 'tap'
import { errorTable } from '../../schemas/errors.ts'
import { connect, transports, type Answer } from '../fixtures/clients.ts'
import { isFull } from '../fixtures/length.ts'
import { startServer } from '../fixtures/server.ts'
import { hashOf, makeTree } from '../fixtures/tree.ts'

const content = 'one\ntwo\n'
const hash = hashOf(content)
const patch = { old_string: 'one', new_string: '1' }
const long = 'x'.repeat(300)

/** Operation, input, expected code, and what the message must say. */
const cases: [string, object, keyof typeof errorTable, RegExp?][] = [
  ['async_read', { path: 'a\0b' }, 'INVALID_REQUEST', /NUL/],
  ['async_read', { path: '' }, 'INVALID_REQUEST'],
  ['async_read', {}, 'INVALID_REQUEST', /missing parameter "path"/],
  [
    'async_update',
    { path: 'f', content: '' },
    'INVALID_REQUEST',
    /missing parameter "expected_hash": the hash .*async_read/
  ],
  ['async_read', { path: 5 }, 'INVALID_REQUEST', /path must be string, not number/],
  ['async_read', { path: 'f', offset: -1 }, 'INVALID_REQUEST', /offset/],
  ['async_read', { path: 'f', limit: -1 }, 'INVALID_REQUEST', /: limit must be >= 0, not -1$/],
  ['async_read', { path: 'f', limit: '5' }, 'INVALID_REQUEST', /: limit must be integer, not string$/],
  ['async_read', { path: 'f', offset: '1' }, 'INVALID_REQUEST', /not string/],
  ['async_read', { path: 'f', offset: 1.5 }, 'INVALID_REQUEST'],
  ['async_read', { path: 'f', encodign: 'utf-8' }, 'INVALID_REQUEST', /did you mean "encoding"/],
  [
    'async_read',
    { path: 'f', offset: -1, limit: 'x', nonsense: 1 },
    'INVALID_REQUEST',
    /nonsense.*offset|offset.*nonsense/
  ],
  ['async_read', { path: 'f', encoding: 'no-such' }, 'ENCODING_ERROR'],
  ['async_read', { path: '../f' }, 'PATH_OUTSIDE_BASE', /outside/],
  ['async_read', { path: '/etc/passwd' }, 'PATH_OUTSIDE_BASE'],
  ['async_read', { path: 'out' }, 'PATH_OUTSIDE_BASE', /symbolic link/i],
  ['async_read', { path: 'out-directory/passwd' }, 'PATH_OUTSIDE_BASE'],
  ['async_read', { path: 'directory' }, 'NOT_A_FILE'],
  ['async_read', { path: 'fifo' }, 'NOT_A_FILE'],
  ['async_read', { path: 'socket' }, 'NOT_A_FILE'],
  ['async_read', { path: 'f/below' }, 'NOT_A_FILE'],
  ['async_read', { path: 'bad-utf8' }, 'ENCODING_ERROR'],
  ['async_read', { path: 'big' }, 'FILE_TOO_LARGE'],
  ['async_read', { path: `${long}/f` }, 'INVALID_REQUEST'],
  ['async_read', { path: 'nothing' }, 'FILE_NOT_FOUND'],
  ['async_undo', { since: 'yesterday' }, 'INVALID_REQUEST', /since must be a time such as .+, not "yesterday"/],
  ['async_write', { path: 'n', content: '\ud800' }, 'INVALID_REQUEST', /surrogate/],
  ['async_write', { path: 'n\udc00', content: '' }, 'INVALID_REQUEST', /surrogate/],
  ['async_write', { path: 'made/n', content: '\u20ac', encoding: 'iso-8859-1' }, 'ENCODING_ERROR'],
  ['async_write', { path: 'made/n', content: 'x'.repeat(2_000_000) }, 'FILE_TOO_LARGE'],
  ['async_write', { path: 'f/n', content: '' }, 'NOT_A_FILE'],
  ['async_write', { path: 'directory', content: '' }, 'FILE_EXISTS'],
  ['async_write', { path: `made/${long}`, content: '' }, 'INVALID_REQUEST'],
  ['async_write', { path: 'n', content: '', timeout: -1 }, 'INVALID_REQUEST'],
  ['async_write', { path: '.git/config', content: '' }, 'ACCESS_DENIED', /protected/],
  ['async_write', { path: '.async-crud-mcp/x', content: '' }, 'ACCESS_DENIED'],
  ['async_write', { path: 'out', content: '' }, 'PATH_OUTSIDE_BASE'],
  [
    'async_update',
    { path: 'f', expected_hash: hash.toUpperCase(), content: '' },
    'INVALID_REQUEST',
    /64 lower-case hex/
  ],
  ['async_update', { path: 'f', expected_hash: hash.slice(7, 7 + 11), content: '' }, 'INVALID_REQUEST'],
  ['async_update', { path: 'f', expected_hash: hash.slice(0, 'sha256:'.length + 11), content: '' }, 'INVALID_REQUEST'],
  ['async_update', { path: 'f', expected_hash: hash }, 'CONTENT_OR_PATCHES_REQUIRED'],
  ['async_update', { path: 'f', expected_hash: hash, content: '', patches: [patch] }, 'INVALID_REQUEST'],
  ['async_update', { path: 'f', expected_hash: hash, patches: [] }, 'INVALID_REQUEST'],
  ['async_update', { path: 'f', expected_hash: hash, unified_diff: '' }, 'INVALID_REQUEST'],
  ['async_update', { path: 'f', expected_hash: hash, unified_diff: 'x' }, 'INVALID_PATCH', /no hunk.*diff -u/],
  [
    'async_update',
    { path: 'f', expected_hash: hash, unified_diff: 'x', content: '' },
    'INVALID_REQUEST',
    /one of content, patches and unified_diff, not content and unified_diff/
  ],
  [
    'async_update',
    { path: 'f', expected_hash: hash, patches: [{ old_string: '', new_string: 'x' }] },
    'INVALID_REQUEST'
  ],
  [
    'async_update',
    { path: 'f', expected_hash: hash, patches: [{ ...patch, replace: true }] },
    'INVALID_REQUEST',
    /patches\[0\]\.replace.*replace_all/
  ],
  [
    'async_update',
    { path: 'f', expected_hash: hash, patches: [{ old_string: 'One', new_string: '' }] },
    'INVALID_PATCH',
    /one/
  ],
  [
    'async_update',
    { path: 'f', expected_hash: hash, patches: [{ old_string: 'o', new_string: '' }] },
    'INVALID_PATCH',
    /replace_all/
  ],
  [
    'async_update',
    { path: 'f', expected_hash: hash, patches: [patch, { old_string: 'one', new_string: '' }] },
    'INVALID_PATCH',
    /patches\[1\]/
  ],
  [
    'async_update',
    { path: 'f', expected_hash: hash, content: 'x', diff_format: 'html' },
    'INVALID_REQUEST',
    /"json", "unified"/
  ],
  ['async_update', { path: 'fifo', expected_hash: hash, content: 'x' }, 'NOT_A_FILE'],
  ['async_append', { path: 'nothing', content: '' }, 'FILE_NOT_FOUND'],
  ['async_append', { path: 'bad-utf8', content: 'x' }, 'ENCODING_ERROR'],
  ['async_append', { path: 'made/n', content: '\u20ac', encoding: 'ascii', create_if_missing: true }, 'ENCODING_ERROR'],
  ['async_append', { path: 'made/n', content: '', create_if_missing: true, create_dirs: false }, 'DIR_NOT_FOUND'],
  ['async_append', { path: 'f', content: 'x'.repeat(1_999_000) }, 'FILE_TOO_LARGE'],
  ['async_delete', { path: 'directory' }, 'NOT_A_FILE'],
  ['async_delete', { path: 'fifo' }, 'NOT_A_FILE'],
  ['async_delete', { path: '.git/config' }, 'ACCESS_DENIED'],
  ['async_rename', { old_path: 'f', new_path: '../f' }, 'PATH_OUTSIDE_BASE'],
  ['async_rename', { old_path: 'f', new_path: 'directory', overwrite: true }, 'NOT_A_FILE'],
  ['async_rename', { old_path: 'f', new_path: 'made/f', create_dirs: false }, 'DIR_NOT_FOUND'],
  ['async_rename', { old_path: 'f', new_path: '.git/f' }, 'ACCESS_DENIED'],
  [
    'async_rename',
    { old_path: 'f', new_path: 'n', start: 1, nonsense: 2 },
    'INVALID_REQUEST',
    /: unknown parameter "start"; known: old_path, [\w, ]+; unknown parameter "nonsense"$/
  ],
  ['lock_wait', { filepaths: ['f'], timeout: 1, agent_id: 'ann' }, 'INVALID_REQUEST', /did you mean "timeout_seconds"/],
  ['async_diff', { path: 'f', hash }, 'INVALID_REQUEST', /unknown parameter "hash"; did you mean "(from|to)_hash"/],
  ['async_rename', { old_path: 'nothing', new_path: 'made/f' }, 'FILE_NOT_FOUND'],
  ['async_list', { path: 'f' }, 'DIR_NOT_FOUND'],
  ['async_list', { path: '.', pattern: '*'.repeat(300) }, 'INVALID_PATTERN'],
  ['async_list', { path: '.', limit: 0 }, 'INVALID_REQUEST'],
  ['async_list', { path: 'out-directory' }, 'PATH_OUTSIDE_BASE'],
  ['async_batch_read', { files: 'f' }, 'INVALID_REQUEST'],
  ['async_status', { path: '../f' }, 'PATH_OUTSIDE_BASE'],
  ['async_status', { agent_id: 'a\nb' }, 'INVALID_REQUEST']
]

for (const [turn, transport] of transports.entries()) {
  t.test(`bad input over ${transport}`, async (t) => {
    const tree = makeTree(t, {
      'root/f': content,
      'root/bad-utf8': Buffer.from([0x61, 0xc3]),
      'root/.git/config': '',
      'root-sibling/f': ''
    })
    const root = tree.path('root')
    tree.write('root/big', Buffer.alloc(1_048_577, 'x'))
    mkdirSync(tree.path('root/directory'))
    symlinkSync('/etc/hostname', tree.path('root/out'))
    symlinkSync('/etc', tree.path('root/out-directory'))
    execFileSync('mkfifo', [tree.path('root/fifo')])
    const socket = createServer().listen(tree.path('root/socket'))
    t.teardown(() => socket.close())
    const { url } = await startServer(t, root, { crud: { max_file_size_bytes: 1_048_576 } })
    const client = await connect(t, transport, url)
    const before = tree.all()
    // In the short form each over one of the three.
    const here = cases.filter((_, index) => isFull || index % transports.length === turn)
    for (const [name, input, code, message = /./] of here) {
      const title = `${name} ${JSON.stringify(input).slice(0, 100)}`
      const answer = await client.call(name, input)
      t.match(answer, { status: 'error', error_code: code, message }, title)
      const { path, old_path: given = path } = input as { path?: unknown; old_path?: unknown }
      if (code === 'INVALID_REQUEST' && typeof given === 'string' && given.isWellFormed())
        // A name that is too long for the system comes back with its folder.
        t.ok(String(answer['path']).endsWith(given.slice(0, 4096)), `${title}: path`)
    }
    t.strictSame(tree.all(), before, 'no folder, file or temporary file was left')
    t.equal(tree.read('root/f'), content)
    if (process.platform === 'linux' && transport === 'rest') {
      t.match(await client.call('async_read', { path: '/dev/zero' }), { error_code: 'PATH_OUTSIDE_BASE' })
    }
  })
}

t.test(
  'a device inside a root is no file',
  { skip: process.getuid?.() !== 0 && 'making a device node needs root' },
  async (t) => {
    const tree = makeTree(t)
    try {
      execFileSync('mknod', [tree.path('zero'), 'c', '1', '5'], { stdio: 'ignore' })
    } catch {
      t.comment('skipped: this container may not make device nodes')
      return
    }
    const { url } = await startServer(t, tree.root)
    const client = await connect(t, 'rest', url)
    t.match(await client.call('async_read', { path: 'zero' }), { error_code: 'NOT_A_FILE' })
  }
)

interface RawAnswer {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly body: Answer
}

function send(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer }
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method: options.method ?? 'POST', headers: options.headers ?? {} }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          body: text === '' ? {} : (JSON.parse(text) as Answer)
        })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(options.body)
  })
}

const json = { 'content-type': 'application/json' }

t.test('what is wrong with a request itself is answered in the envelope, with the right status', async (t) => {
  const tree = makeTree(t, { f: content })
  const { url } = await startServer(t, tree.root, { crud: { max_file_size_bytes: 1000 } })
  const cases: [string, string, Parameters<typeof send>[1], number, string][] = [
    ['broken JSON', '/async_read', { headers: json, body: '{"path":' }, 400, 'INVALID_REQUEST'],
    [
      'bad UTF-8',
      '/async_write',
      { headers: json, body: Buffer.from([...Buffer.from('{"path":"n","content":"'), 0xff, ...Buffer.from('"}')]) },
      400,
      'INVALID_REQUEST'
    ],
    ['an array', '/async_read', { headers: json, body: '[]' }, 400, 'INVALID_REQUEST'],
    ['a prototype', '/async_read', { headers: json, body: '{"__proto__":{"path":"f"}}' }, 400, 'INVALID_REQUEST'],
    [
      'endless nesting',
      '/async_read',
      { headers: json, body: `${'['.repeat(9000)}${']'.repeat(9000)}` },
      400,
      'INVALID_REQUEST'
    ],
    ['no body', '/async_read', { headers: json }, 400, 'INVALID_REQUEST'],
    [
      'plain text',
      '/async_read',
      { headers: { 'content-type': 'text/plain' }, body: '{"path":"f"}' },
      415,
      'UNSUPPORTED_MEDIA_TYPE'
    ],
    [
      'a form',
      '/async_read',
      { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'path=f' },
      415,
      'UNSUPPORTED_MEDIA_TYPE'
    ],
    [
      'another charset',
      '/async_read',
      { headers: { 'content-type': 'application/json; charset=latin1' }, body: '{"path":"f"}' },
      415,
      'UNSUPPORTED_MEDIA_TYPE'
    ],
    ['a wrong method', '/async_read', { method: 'GET' }, 405, 'METHOD_NOT_ALLOWED'],
    ['an unknown route', '/async_raed', { headers: json, body: '{}' }, 404, 'ROUTE_NOT_FOUND'],
    [
      'a body above the limit',
      '/async_write',
      { headers: json, body: JSON.stringify({ path: 'n', content: 'x'.repeat(1_100_000) }) },
      413,
      'FILE_TOO_LARGE'
    ],
    [
      'a foreign origin',
      '/async_read',
      { headers: { ...json, origin: 'https://evil.example' }, body: '{"path":"f"}' },
      403,
      'FORBIDDEN_ORIGIN'
    ],
    [
      'a foreign host',
      '/async_read',
      { headers: { ...json, host: 'evil.example' }, body: '{"path":"f"}' },
      403,
      'FORBIDDEN_ORIGIN'
    ],
    [
      'a foreign host at the health page',
      '/health',
      { method: 'GET', headers: { host: 'evil.example' } },
      403,
      'FORBIDDEN_ORIGIN'
    ]
  ]
  for (const [title, path, options, status, code] of cases) {
    const answer = await send(url + path, options)
    t.match(answer, { status, body: { status: 'error', error_code: code, message: /./ } }, title)
  }
  t.match(await send(`${url}/async_read`, { method: 'GET' }), { headers: { allow: 'POST' } })
  t.strictSame(tree.all(), ['f'])
  t.match(
    await send(`${url}/async_read`, {
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: '{"path":"f"}'
    }),
    { status: 200 }
  )
  t.match(await send(`${url}/async_status`, { headers: json }), { status: 200 }, 'an empty body is an empty input')
})

t.test('broken JSON for MCP is answered as JSON-RPC', async (t) => {
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  const answer = await send(`${url}/mcp`, {
    headers: { ...json, accept: 'application/json, text/event-stream' },
    body: '{'
  })
  t.match(answer, { status: 400, body: { jsonrpc: '2.0', id: null, error: { code: -32700 } } })
})

t.test('every REST status is the one of the error table', async (t) => {
  const tree = makeTree(t, { f: content })
  const { url } = await startServer(t, tree.root)
  const post = (name: string, input: object) => send(`${url}/${name}`, { headers: json, body: JSON.stringify(input) })
  for (const [name, input] of [
    ['async_read', { path: 'nothing' }],
    ['async_write', { path: 'f', content: '' }],
    ['async_read', { path: '../f' }],
    ['async_list', { path: 'nothing' }],
    ['async_update', { path: 'f', expected_hash: hash, patches: [{ old_string: 'zzz', new_string: '' }] }]
  ] as const) {
    const { status, body } = await post(name, input)
    t.equal(status, errorTable[body['error_code'] as keyof typeof errorTable].httpStatus, body['error_code'] as string)
  }
  const { status, body } = await post('async_update', { path: 'f', expected_hash: hashOf(''), content: '' })
  t.match({ status, body }, { status: 409, body: { status: 'contention' } })
})

t.test('with a token only its bearer gets in', async (t) => {
  const tree = makeTree(t, { f: content })
  const { url } = await startServer(t, tree.root, { daemon: { token: 'sesame' } })
  const read = (authorization?: string) =>
    send(`${url}/async_read`, {
      headers: { ...json, ...(authorization !== undefined && { authorization }) },
      body: '{"path":"f"}'
    })
  t.match(await read(), { status: 401, body: { error_code: 'UNAUTHORIZED' } })
  t.match(await read('Bearer sesamf'), { status: 401 })
  t.match(await read('Bearer sesame'), { status: 200 })
})
