// Bad input for list_files, read_file and edit_file: the code of FES 3.3, the status, and no trace on the disk.
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { request } from 'node:http'
import t from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { faces, failsWith, makeFolder, resultOf, show } from '../../fixtures/file-editing.ts'
import { startProgram } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { lengthOf } from '../../fixtures/length.ts'

const content = 'one\ntwo\n'
const replace = { line: 1, operation: 'replace', content: 'x' }

/** Names that FES forbids; those with a separator would leave the folder. */
const badNames = [
  '..',
  '.',
  '',
  '../x',
  '..\\x',
  '/etc/hostname',
  'sub/inside',
  './f',
  'f/',
  'a b',
  'a\0',
  'f\n',
  'f\u00e9',
  'C:f',
  '~',
  'x'.repeat(256)
]

/** What is wrong with the parameters whatever the file: operation, parameters, code. */
const wrongParams: [string, unknown, number, RegExp?][] = [
  ['list_files', { path: '.' }, -32602, /unknown parameter "path"/],
  ['list_files', [], -32602],
  ['list_files', 'all', -32602],
  ['list_files', 5, -32602],
  ['read_file', {}, -32600, /missing parameter "name"/],
  ['read_file', [], -32602],
  ['read_file', ['f'], -32602],
  ['read_file', 'f', -32602],
  ['read_file', { name: 5 }, -32602, /name must be string, not number/],
  ['read_file', { name: null }, -32602],
  ['read_file', { name: ['f'] }, -32602],
  ['read_file', { name: 'f', lines: 1 }, -32602, /unknown parameter "lines"/],
  ['read_file', { name: 'f', start_lin: 1 }, -32602, /did you mean "start_line"/],
  ['read_file', { name: 'f', start_line: 0 }, -32602],
  ['read_file', { name: 'f', end_line: 0 }, -32602],
  ['read_file', { name: 'f', start_line: -1 }, -32602],
  ['read_file', { name: 'f', start_line: 1.5 }, -32602],
  ['read_file', { name: 'f', start_line: '1' }, -32602, /not string/],
  ['read_file', { name: 'f', start_line: true }, -32602],
  ['read_file', { name: 'f', start_line: 3, end_line: 2 }, -32602],
  ['read_file', { name: 'f', start_line: 3 }, -32602],
  ['edit_file', {}, -32600],
  ['edit_file', { append: 'x' }, -32600],
  ['edit_file', { name: 'f', edit: [] }, -32602, /did you mean "edits"/],
  ['edit_file', { name: 'f', edits: {} }, -32602],
  ['edit_file', { name: 'f', edits: [null] }, -32602],
  ['edit_file', { name: 'f', edits: [{ line: 1 }] }, -32600],
  ['edit_file', { name: 'f', edits: [{ operation: 'delete' }] }, -32600],
  ['edit_file', { name: 'f', edits: [{ ...replace, line: 0 }] }, -32602],
  ['edit_file', { name: 'f', edits: [{ ...replace, line: -1 }] }, -32602],
  ['edit_file', { name: 'f', edits: [{ ...replace, line: 1.5 }] }, -32602],
  ['edit_file', { name: 'f', edits: [{ ...replace, line: '1' }] }, -32602],
  ['edit_file', { name: 'f', edits: [{ ...replace, line: 1e300 }] }, -32602],
  ['edit_file', { name: 'f', edits: [{ ...replace, operation: 'move' }] }, -32602, /"replace", "insert", "delete"/],
  ['edit_file', { name: 'f', edits: [{ ...replace, operation: 'Replace' }] }, -32602],
  ['edit_file', { name: 'f', edits: [{ ...replace, content: 5 }] }, -32602],
  ['edit_file', { name: 'f', edits: [{ ...replace, content: null }] }, -32602],
  ['edit_file', { name: 'f', edits: [{ ...replace, text: 'x' }] }, -32602, /edits\[0\]\.text/],
  [
    'edit_file',
    { name: 'f', edits: Array.from({ length: 1001 }, () => ({ ...replace, operation: 'insert' })) },
    -32602
  ],
  ['edit_file', { name: 'f', append: 5 }, -32602],
  ['edit_file', { name: 'f', append: ['x'] }, -32602],
  ['edit_file', { name: 'f', append: 'x', create_if_missing: 'true' }, -32602],
  ['edit_file', { name: 'f', append: 'x', create_if_missing: 1 }, -32602],
  ['edit_file', { name: 'f', append: '\ud800' }, -32602, /surrogate/],
  ['edit_file', { name: 'f', edits: [{ ...replace, content: 'a\udc00' }] }, -32602, /surrogate/],
  ['edit_file', { name: 'f', edits: [{ line: 1, operation: 'delete', content: 'x' }] }, -32602],
  ['edit_file', { name: 'f', edits: [{ line: 1, operation: 'delete', content: '' }] }, -32602],
  ['edit_file', { name: 'f', edits: [{ line: 4, operation: 'insert', content: 'x' }] }, -32602, /out of range/],
  ['edit_file', { name: 'f', edits: [replace, { line: 4, operation: 'insert', content: 'x' }] }, -32602],
  ['edit_file', { name: 'f', edits: [{ line: 3, operation: 'delete' }], append: 'x' }, -32602]
]

/** Names that are valid and of what cannot be read or changed as a text file: code and status. */
const wrongFiles: [string, number, number][] = [
  ['directory', -32001, 400],
  ['fifo', -32001, 400],
  ['bad-utf8', -32001, 400],
  ['cut-utf8', -32001, 400],
  ['utf16', -32001, 400],
  ['utf16-unmarked', -32001, 400],
  ['large', -32001, 413],
  ['out', -32602, 403],
  ['out-directory', -32602, 403],
  ['loop', -32001, 403],
  ['.async-crud-mcp', -32001, 403]
]

/** What is no JSON at all. */
const brokenTexts: [string, string | Buffer][] = [
  ['cut off', '{"name":"f"'],
  ['a comma too many', '{"name":"f",}'],
  ['single quotes', "{'name':'f'}"],
  ['something behind it', '{"name":"f"} x'],
  ['two values', '{"name":"f"}{"name":"f"}'],
  ['a word', 'undefined'],
  ['a number that is none', '{"name":"f","start_line":01}'],
  ['a control character in a string', '{"name":"f\t"}'],
  ['not UTF-8', Buffer.from([...Buffer.from('{"name":"'), 0xff, ...Buffer.from('"}')])]
]

for (const [transport, start] of Object.entries(faces)) {
  t.test(`over ${transport}`, async (t) => {
    const { face, tree, put } = await makeFolder(t, start, ['--max-size', '1'])
    put({
      f: content,
      'bad-utf8': Buffer.from([0x61, 0xc3, 0x28]),
      'cut-utf8': Buffer.from('ab\u20ac').subarray(0, -1),
      utf16: Buffer.from('\ufeffab', 'utf16le'),
      'utf16-unmarked': Buffer.from('ab\u00e9cdef', 'utf16le'),
      large: Buffer.alloc(1_048_577, 'x'),
      '.hidden': content,
      'sub/inside': 'x'
    })
    mkdirSync(tree.path('directory'))
    symlinkSync('/etc/hostname', tree.path('out'))
    symlinkSync('/etc', tree.path('out-directory'))
    symlinkSync('loop', tree.path('loop'))
    execFileSync('mkfifo', [tree.path('fifo')])
    const names = () => tree.all().filter((name) => !name.startsWith('.async-crud-mcp'))
    const before = names()

    await t.test('a name that is not a plain file name is -32602', async (t) => {
      for (const name of badNames) {
        for (const [operation, params] of [
          ['read_file', { name }],
          ['edit_file', { name, append: 'x', create_if_missing: true }]
        ] as const) {
          const answer = await face.call(operation, params)
          failsWith(t, answer, { code: -32602, status: 400, operation }, `${operation} ${show(name.slice(0, 20))}`)
        }
      }
    })

    await t.test('a name of 255 characters is a name', async (t) => {
      const name = 'x'.repeat(255)
      const answer = await face.call('read_file', { name })
      failsWith(t, answer, { code: -32001, status: 404, operation: 'read_file', filename: name })
    })

    await t.test('wrong parameters are -32602, a missing one is -32600, and never -32700', async (t) => {
      for (const [operation, params, code, message = /./] of wrongParams) {
        const answer = await face.call(operation, params)
        failsWith(t, answer, { code, status: 400, operation, message }, `${operation} ${show(params).slice(0, 100)}`)
      }
    })

    await t.test('what is no text file of the folder is refused, and stays as it is', async (t) => {
      for (const [name, code, status] of wrongFiles) {
        const read = await face.call('read_file', { name })
        failsWith(t, read, { code, status, operation: 'read_file', filename: name }, `read ${name}`)
        t.notMatch(show(read), /pass encoding/, 'which it does not take')
        for (const create_if_missing of [false, true]) {
          const edited = await face.call('edit_file', { name, append: 'x', create_if_missing })
          failsWith(t, edited, { code, status, operation: 'edit_file', filename: name }, `edit ${name}`)
        }
      }
    })

    await t.test('broken JSON is -32700', async (t) => {
      for (const [title, text] of brokenTexts) {
        const { error, result, httpStatus = 400 } = await face.callRaw('read_file', text)
        t.match({ error, result, httpStatus }, { error: { code: -32700 }, result: undefined, httpStatus: 400 }, title)
      }
    })

    await t.test('nothing of all this has changed a file, or left one', async (t) => {
      t.strictSame(names(), before)
      t.equal(tree.read('f'), content)
    })

    await t.test('a hidden file is not listed, yet can be read and edited by its name', async (t) => {
      const { files } = resultOf(await face.call('list_files'))
      t.notOk((files as { name: string }[]).some(({ name }) => name.startsWith('.')))
      t.match(resultOf(await face.call('read_file', { name: '.hidden' })), { total_lines: 2 })
      t.match(resultOf(await face.call('edit_file', { name: '.hidden', append: 'x' })), { new_total_lines: 3 })
    })

    await t.test('a thousand edits are not too many', async (t) => {
      const edits = Array.from({ length: 1000 }, () => ({ line: 1, operation: 'insert', content: '' }))
      const facts = { lines_modified: 1000, new_total_lines: 1002 }
      t.match(resultOf(await face.call('edit_file', { name: 'f', edits })), facts)
      t.equal(tree.read('f'), '\n'.repeat(1000) + content)
    })
  })
}

const tree = makeTree(t, { f: content })
const { url } = await startProgram(t, ['--dir', tree.root, '--max-size', '1'])

t.test('what is wrong with an HTTP request itself is told in the envelope of FES, with its status', async (t) => {
  const json = { 'content-type': 'application/json' }
  const text = { 'content-type': 'text/plain' }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const body = JSON.stringify({ name: 'f', append: 'x' })
  const cases: [string, RequestInit, number, number][] = [
    ['GET', { method: 'GET' }, 405, -32601],
    ['PUT', { method: 'PUT', headers: json, body }, 405, -32601],
    ['DELETE', { method: 'DELETE' }, 405, -32601],
    ['plain text', { method: 'POST', headers: text, body }, 415, -32600],
    ['a form', { method: 'POST', headers: form, body: 'name=f' }, 415, -32600],
    [
      'another charset',
      { method: 'POST', headers: { 'content-type': 'application/json; charset=latin1' }, body },
      415,
      -32600
    ],
    ['no body', { method: 'POST', headers: json }, 400, -32600],
    ['a foreign origin', { method: 'POST', headers: { ...json, origin: 'https://evil.example' }, body }, 403, -32603]
  ]
  for (const [title, request, status, code] of cases) {
    const response = await fetch(`${url}/edit_file`, request)
    t.equal(response.status, status, title)
    t.equal(response.headers.get('content-type'), 'application/json; charset=utf-8', title)
    if (status === 405) t.equal(response.headers.get('allow'), 'POST', title)
    const answer = (await response.json()) as Answer
    t.match(answer, { error: { code, message: /\S/, data: { operation: 'edit_file', timestamp: String } } }, title)
    t.match(answer, { status: undefined }, title)
  }
  t.equal(tree.read('f'), content)
  for (const type of ['application/json', 'application/json; charset=utf-8', 'application/json;charset="UTF-8"'])
    t.equal(
      (await fetch(`${url}/read_file`, { method: 'POST', headers: { 'content-type': type }, body: '{"name":"f"}' }))
        .status,
      200,
      type
    )
})

t.test('a body beyond the limit is 413, whether the client sends it or waits', async (t) => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'f', append: 'x'.repeat(20_000_000) })
  const tooLarge = { error: { code: -32001, data: { operation: 'edit_file' } } }

  await t.test('told by its length alone', async (t) => {
    const length = { 'content-length': body.length }
    const [status, answer] = await new Promise<[number | undefined, Answer]>((resolve, reject) => {
      const outgoing = request(`${url}/edit_file`, { method: 'POST', headers: { ...headers, ...length } })
      outgoing.on('error', reject)
      outgoing.on('response', (incoming) => {
        let text = ''
        incoming.on('data', (chunk: Buffer) => (text += chunk.toString()))
        incoming.on('end', () => resolve([incoming.statusCode, JSON.parse(text) as Answer]))
      })
      outgoing.write(body.slice(0, 10))
    })
    t.equal(status, 413)
    t.match(answer, tooLarge)
  })

  // A server that closes while the client is still sending makes the client see a broken connection instead of the answer.
  await t.test('told to a client that sends all of it', async (t) => {
    for (let round = 1; round <= lengthOf({ full: 20, short: 5 }); round += 1) {
      const outcome = await fetch(`${url}/edit_file`, { method: 'POST', headers, body }).then(
        async (response) => ({ status: response.status, answer: await response.json() }),
        (error: Error) => ({ status: undefined, answer: String(error.cause) })
      )
      t.match(outcome, { status: 413, answer: tooLarge }, `request ${round}`)
    }
  })

  t.equal(tree.read('f'), content)
})
