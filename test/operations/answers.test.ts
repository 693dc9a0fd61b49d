// What callers are told, over every door: contention of what is no text, nulls, malformed items, tokens, tools that are none.
import { mkdirSync } from 'node:fs'
import t from 'tap'

import type { Answer } from '../fixtures/clients.ts'
import { inTurn } from '../fixtures/length.ts'
import { hashOf } from '../fixtures/tree.ts'
import { doors, openWorld } from './leases/fixtures/doors.ts'

const world = await openWorld(t)
const { tree } = world
const ann = await world.enter('rest', 'ann')

const text = 'one\ntwo\n'
const binary = Buffer.from([0x89, 0x50, 0xff, 0x00, 0x0a])

/** A file whose earlier version the server knows. */
async function replaceOutside(path: string, before: string | Buffer, after: string | Buffer): Promise<string> {
  tree.write(path, before)
  await ann.call('async_status', { path })
  tree.write(path, after)
  return hashOf(before)
}

/** Every operation that takes the version it is meant for: its input, and what its message advises. */
const versioned: [name: string, input: object, advice: RegExp][] = [
  ['async_update', { path: 'f', content: 'x' }, /current_hash/],
  ['async_update', { path: 'f', content: 'x', on_contention: 'merge' }, /current_hash/],
  ['async_update', { path: 'f', patches: [{ old_string: 'one', new_string: '1' }] }, /current_hash/],
  ['async_append', { path: 'f', content: 'x' }, /append.*current_hash/],
  ['async_append', { path: 'f', content: 'x', on_contention: 'merge' }, /append.*current_hash/],
  ['async_delete', { path: 'f' }, /delete.*current_hash/],
  ['async_rename', { old_path: 'f', new_path: 'g' }, /rename.*current_hash/],
  ['async_restore', { path: 'f', hash: hashOf('kept') }, /restore.*current_hash/],
  ['edit_file', { name: 'f', append: 'x' }, /read_file.*current_hash/],
  ['edit_file', { name: 'f', append: 'x', on_contention: 'merge' }, /read_file.*current_hash/]
]

t.test('a stale expected_hash is contention, whatever the bytes before and now are', async (t) => {
  await replaceOutside('f', 'kept', text)
  for (const [before, after, known] of [
    [text, binary, true],
    [binary, text, true],
    [binary, Buffer.concat([binary, binary]), true],
    [undefined, binary, false]
  ] as const) {
    const expected_hash =
      before === undefined ? (tree.write('f', after), hashOf('never')) : await replaceOutside('f', before, after)
    for (const [name, input, advice] of versioned) {
      const title = `${name} ${JSON.stringify(input)} from ${before?.length} to ${after.length} bytes`
      const answer = await ann.call(name, { ...input, expected_hash })
      t.match(
        answer,
        { status: 'contention', expected_hash, current_hash: hashOf(after), base_known: known, diff: null },
        title
      )
      t.match(answer.message, advice, title)
    }
    t.ok(tree.bytes('f').equals(Buffer.from(after)), 'nothing was changed')
  }
})

t.test('with the current_hash of such an answer the same call is carried out', async (t) => {
  const expected_hash = await replaceOutside('f', text, binary)
  const late = await ann.call('async_rename', { old_path: 'f', new_path: 'g', expected_hash })
  t.match(await ann.call('async_rename', { old_path: 'f', new_path: 'g', expected_hash: late.current_hash }), {
    status: 'ok'
  })
  const again = await ann.call('async_delete', { path: 'g', expected_hash })
  t.match(await ann.call('async_delete', { path: 'g', expected_hash: again.current_hash }), { status: 'ok' })
  t.notOk(tree.all().includes('g'))
})

t.test(
  'contention in another encoding than that of the file names it, and one that does not exist is an error',
  async (t) => {
    const expected_hash = await replaceOutside('f', 'caf\u00e9', Buffer.from('caf\u00e9s', 'latin1'))
    const input = { path: 'f', content: 'x', expected_hash }
    t.match(await ann.call('async_update', { ...input, encoding: 'ascii' }), {
      status: 'contention',
      diff: null,
      message: /ascii.*encoding/
    })
    for (const hash of [expected_hash, hashOf('never')])
      t.match(await ann.call('async_update', { ...input, expected_hash: hash, encoding: 'klingon' }), {
        error_code: 'ENCODING_ERROR',
        message: /klingon/
      })
  }
)

/** Operation, input with nulls, and what comes of it: each null is for a parameter that may be left out. */
const withNulls: [name: string, input: object, expected: object][] = [
  ['async_write', { path: 'n', content: text, encoding: null, create_dirs: null, timeout: null }, { status: 'ok' }],
  [
    'async_read',
    { path: 'n', offset: null, limit: null, encoding: null, known_hash: null, agent_id: null },
    { content: text, offset: 0, limit: null }
  ],
  ['async_list', { path: '.', pattern: null, recursive: null, cursor: null, limit: null }, { status: 'ok' }],
  ['async_status', { path: null }, { server: {} }],
  [
    'async_update',
    {
      path: 'n',
      expected_hash: hashOf(text),
      content: null,
      patches: [{ old_string: 'one', new_string: '1', replace_all: null, start_line: null, end_line: null }],
      on_contention: null,
      diff_format: null
    },
    { status: 'ok', hash: hashOf('1\ntwo\n') }
  ],
  [
    'async_update',
    {
      path: 'n',
      expected_hash: hashOf('1\ntwo\n'),
      patches: [
        { old_string: null, new_string: null, start_line: 2, end_line: 2, new_content: '2', expected_lines: null }
      ]
    },
    { status: 'ok', hash: hashOf('1\n2\n') }
  ],
  ['async_update', { path: 'n', expected_hash: hashOf('1\n2\n'), content: text, patches: null }, { status: 'ok' }],
  [
    'async_batch_read',
    { files: [{ path: 'n', offset: null, known_hash: null }], diff_format: null },
    { results: [{ content: text }] }
  ],
  [
    'edit_file',
    {
      name: 'n',
      edits: [{ line: 1, operation: 'delete', content: null }],
      append: null,
      create_if_missing: null,
      expected_hash: null,
      fencing_token: null
    },
    { success: true, lines_modified: 1 }
  ],
  ['read_file', { name: 'n', start_line: null, end_line: null }, { content: 'two', total_lines: 1 }],
  ['async_append', { path: 'n', content: 'x', expected_hash: null, separator: null }, { status: 'ok' }],
  [
    'lock_try',
    { filepaths: ['n'], mode: null, ttl_seconds: null, note: null, all_or_nothing: null },
    { all_acquired: true }
  ],
  ['lock_wait', { filepaths: ['n'], ticket: null, timeout_seconds: null, poll_interval_ms: null }, { status: 'ok' }],
  ['async_history', { path: null, by_agent: null, limit: null }, { status: 'ok' }],
  ['async_rename', { old_path: 'n', new_path: 'o', overwrite: null, expected_hash: null }, { status: 'ok' }],
  ['async_delete', { path: 'o', expected_hash: null, timeout: null }, { status: 'ok' }],
  ['lock_release_all', {}, { status: 'ok' }]
]

/** A null where a value is required stays a fault. */
const nullFaults: [name: string, input: object, message: RegExp][] = [
  ['async_read', { path: null }, /path must be string, not null/],
  ['async_write', { path: 'n', content: null }, /content must be string, not null/],
  ['async_update', { path: 'n', expected_hash: null, content: 'x' }, /expected_hash must be string, not null/],
  [
    'async_update',
    { path: 'n', expected_hash: hashOf(''), patches: [{ old_string: null, new_string: 'x' }] },
    /patches\[0\]\.old_string must be string, not null/
  ],
  ['async_read', { path: 'n', ofset: null }, /unknown parameter "ofset"; did you mean "offset"/],
  ['lock_try', { filepaths: null }, /filepaths must be array, not null/],
  ['lock_try', { filepaths: [null] }, /filepaths\[0\] must be string, not null/],
  ['async_batch_read', { files: null }, /files must be array, not null/],
  ['edit_file', { name: null }, /name must be string, not null/],
  ['edit_file', { name: 'n', edits: [null] }, /edits\[0\] must be object, not null/]
]

for (const [door, test] of inTurn(t, doors)) {
  test(`over ${door}: a null where a parameter may be left out is as if it were left out`, async (t) => {
    const agent = await world.enter(door, `nulls-${door}`)
    for (const [name, input, expected] of withNulls)
      t.match(await agent.call(name, input), expected, `${name} ${JSON.stringify(input)}`)
    for (const [name, input, message] of nullFaults) {
      const { answer, isError } = await agent.outcome(name, input)
      const title = `${name} ${JSON.stringify(input)}`
      t.ok(isError, title)
      t.match('error' in answer ? answer.error : answer, { message }, title)
    }
  })

  test(`over ${door}: a malformed item of a batch is its own result, and the others are carried out`, async (t) => {
    const agent = await world.enter(door, `batches-${door}`)
    const name = `${door}.txt`
    const fault = (message: RegExp, path?: string) => ({
      status: 'error',
      error_code: 'INVALID_REQUEST',
      message,
      ...(path !== undefined && { path })
    })
    const written = await agent.call('async_batch_write', {
      files: [
        { path: name, content: text },
        { path: 'bad.txt', content: 5 },
        null,
        { content: 'x' },
        { path: '', content: 'x' },
        { path: 'lone.txt', content: '\ud800' },
        { path: 'typo.txt', content: '', encodign: 'utf-8' }
      ]
    })
    t.match(written, {
      status: 'ok',
      summary: { total: 7, succeeded: 1, failed: 6 },
      results: [
        { status: 'ok' },
        fault(/files\[1\]\.content must be string, not number/, 'bad.txt'),
        fault(/files\[2\] must be object, not null/),
        fault(/missing parameter "files\[3\]\.path"/),
        fault(/files\[4\]\.path/),
        fault(/files\[5\]\.content has a lone surrogate/, 'lone.txt'),
        fault(/files\[6\]\.encodign"; did you mean "encoding"/, 'typo.txt')
      ]
    })
    t.notOk('path' in written.results[3], 'without a path of its own')
    t.match(
      await agent.call('async_batch_read', { files: [{ pth: name }, { path: name }, { path: name, offset: -1 }] }),
      {
        summary: { total: 3, succeeded: 1, failed: 2 },
        results: [fault(/files\[0\]\.pth"; did you mean "path"/), { content: text }, fault(/files\[2\]\.offset/, name)]
      }
    )
    const files = [{ path: name, content: 'x' }, { path: name, expected_hash: hashOf(text), content: 'x' }, 'text']
    t.match(await agent.call('async_batch_update', { files }), {
      summary: { total: 3, succeeded: 1, contention: 0, failed: 2 },
      results: [fault(/expected_hash/, name), { status: 'ok' }, fault(/files\[2\] must be object, not string/)]
    })
    for (const [input, message] of [
      [{ files: {} }, /files must be array/],
      [{ files: [] }, /files must NOT have fewer than 1 items/],
      [{ files: [{ path: name }], fiels: 1 }, /unknown parameter "fiels"/],
      [{}, /missing parameter "files"/]
    ] as const)
      t.match(await agent.outcome('async_batch_read', input), { isError: true, answer: fault(message) })
    await agent.call('async_delete', { path: name })
    t.strictSame(
      tree.all().filter((path) => /bad|lone|typo/.test(path)),
      []
    )
  })
}

for (const [door, test] of inTurn(t, doors)) {
  test(`over ${door}: a fencing token is shown to its holder alone`, async (t) => {
    const holder = await world.enter(door, `holder-${door}`)
    const other = await world.enter(door, `other-${door}`)
    const filepaths = ['leased']
    const { results } = await holder.call('lock_try', { filepaths, mode: 'shared' })
    const [{ fencing_token }] = results
    await other.call('lock_try', { filepaths, mode: 'shared' })
    for (const [agent, agent_id, token] of [
      [holder, `holder-${door}`, fencing_token],
      [other, `other-${door}`, undefined]
    ] as const) {
      const status = await agent.call('lock_status', { filepaths })
      const { holders } = await agent.call('async_status', { path: 'leased' })
      for (const shown of [status.results[0].holders, holders]) {
        t.equal(shown.length, 2)
        t.equal(shown[0].fencing_token, token, `${agent_id} and the token of holder-${door}`)
        t.type(shown[1].fencing_token, token === undefined ? 'number' : 'undefined')
      }
    }
    const unnamed = await (await world.enter('rest')).call('async_status', { path: 'leased' })
    t.notOk(
      unnamed.holders.some((shown: object) => 'fencing_token' in shown),
      'and to no caller without a name'
    )
    await holder.call('lock_release_all')
    await other.call('lock_release_all')
  })
}

t.test('the server says alike everywhere since when it runs, to a tenth of a second', async (t) => {
  const health = async () => (await (await fetch(`${world.url}/health`)).json()) as Answer
  const status = async () => (await ann.call('async_status')).server as Answer
  const info = async () => (await ann.call('get_server_info')).server as Answer
  const uptimes: number[] = []
  for (const ask of [health, status, info, health, status, info, health]) uptimes.push((await ask()).uptime_seconds)
  t.strictSame(
    uptimes,
    [...uptimes].sort((a, b) => a - b),
    'asked one after the other they only grow'
  )
  for (const uptime of uptimes) t.match(String(uptime), /^\d+(\.\d)?$/)
  const asked = Date.now()
  const { started_at, uptime_seconds } = await info()
  const start = Date.parse(started_at as string)
  const slack = 1000
  t.ok(start + uptime_seconds * 1000 > asked - slack && start + uptime_seconds * 1000 < Date.now() + slack)
})

t.test('a failure of a folder operation advises folder operations alone', async (t) => {
  mkdirSync(tree.path('folder'))
  tree.write('latin', Buffer.from([0xe4, 10]))
  for (const [name, input, message] of [
    ['read_file', { name: 'none' }, /none.*list_files.*edit_file/],
    ['read_file', { name: 'async_read' }, /: async_read\..*list_files/],
    ['read_file', { name: 'folder' }, /folder.*list_files/],
    ['read_file', { name: 'latin' }, /not valid UTF-8: latin.*read_file/],
    ['edit_file', { name: 'none', append: 'x' }, /none.*create_if_missing/],
    ['edit_file', { name: 'folder', append: 'x' }, /folder.*list_files/],
    ['edit_file', { name: 'latin', append: 'x' }, /latin.*edit_file/]
  ] as const) {
    const { error } = await ann.call(name, input)
    t.match(error.message, message)
    t.notMatch(error.message.replace(input.name, ''), /async_/)
  }
})

t.test('a number that does not fit is shown, not only its type', async (t) => {
  const read = async (json: string) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${world.url}/async_append`, { method: 'POST', headers, body: json })
    return ((await response.json()) as Answer).message
  }
  const call = (timeout: string) => read(`{"path":"f","content":"x","timeout":${timeout}}`)
  t.match(await call('1e999'), /timeout must be number, not a number that is too large/)
  t.match(await call('-1'), /timeout must be >= 0, not -1/)
  t.match(await read('{"path":"f","content":"x","fencing_token":1.5}'), /fencing_token must be integer, not 1\.5/)
})

t.test('LEASE_LOST advises to leave the token out only where one was sent', async (t) => {
  const operator = await world.enter('rest')
  tree.write('broken', text)
  for (const [sent, advice] of [
    [false, /, or send the call again as it is\.$/],
    [true, /, or send it without fencing_token\.$/]
  ] as const) {
    const agent = await world.enter('rest', `loser-${sent}`)
    const { results } = await agent.call('lock_try', { filepaths: ['broken'] })
    await operator.call('lock_break', { filepaths: ['broken'], reason: 'test' })
    const token = sent ? { fencing_token: results[0].fencing_token } : {}
    const lost = await agent.call('async_append', { path: 'broken', content: 'x', ...token })
    t.match(lost, { error_code: 'LEASE_LOST', message: advice })
  }
})
