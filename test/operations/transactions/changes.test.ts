// Transactions as their callers see them: all or none, every refusal at once, and nothing left behind.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, lstatSync, mkdirSync, readlinkSync, statSync, symlinkSync } from 'node:fs'
import t, { type Test } from 'tap'
import { connect, transports, type TestClient, type TransportName } from '../../fixtures/clients.ts'
import { inTurn, lengthOf } from '../../fixtures/length.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'
import { runUnprivileged } from '../../fixtures/unprivileged.ts'
import type { PartialConfig } from '../../../src/config/config.ts'

const base = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join('')
const put = (text: string, line: number, word: string) => text.replace(`line ${line}\n`, `${word}\n`)

interface Scene {
  readonly tree: Tree
  readonly ann: TestClient
  readonly bob: TestClient
}

async function scene(
  t: Test,
  files: Record<string, string> = { a: 'a\n', b: 'b\n', c: 'c\n', long: base },
  { transport = 'rest', config = {} }: { transport?: TransportName; config?: PartialConfig } = {}
): Promise<Scene> {
  const tree = makeTree(t, files)
  const { url } = await startServer(t, tree.root, { ...config, crud: { durability: 'rename', ...config.crud } })
  const ann = await connect(t, transport, url, 'ann')
  const bob = await connect(t, 'rest', url, 'bob')
  for (const path of Object.keys(files)) await ann.call('async_read', { path })
  return { tree, ann, bob }
}

const update = (path: string, before: string, content: string) => ({
  operation: 'update',
  path,
  expected_hash: hashOf(before),
  content
})
const rename = (path: string, new_path: string, more = {}) => ({ operation: 'rename', path, new_path, ...more })

/** Nothing was changed, and nothing is left. */
function unchanged(t: Test, tree: Tree, files: Record<string, string>, folders: readonly string[] = []): void {
  t.same(tree.all(), [...Object.keys(files), ...folders].sort(), 'no file came or went')
  for (const [name, content] of Object.entries(files)) {
    t.equal(tree.read(name), content)
    t.equal(statSync(tree.path(name)).nlink, 1, 'no second name is left')
  }
  t.notOk(
    tree.own().some((name) => name.startsWith('change-')),
    'no note is left'
  )
}

for (const [transport, test] of inTurn(t, transports)) {
  test(`${transport}: changes of every kind are made together`, async (t) => {
    const { tree, ann, bob } = await scene(t, undefined, { transport })
    await bob.call('async_read', { path: 'a' })
    const answer = await ann.call('async_transaction', {
      changes: [
        update('a', 'a\n', 'A\n'),
        { operation: 'write', path: 'new/deep/d', content: 'd\n' },
        { operation: 'write', path: 'new/deep/e', content: 'e\n' },
        { operation: 'append', path: 'long', content: 'more\n' },
        { operation: 'append', path: 'long', content: 'and more\n' },
        { operation: 'delete', path: 'b', expected_hash: hashOf('b\n') },
        rename('c', 'moved/c')
      ],
      change_set: 'sweep'
    })
    t.match(answer, { status: 'ok', change_set: 'sweep' })
    t.match(answer['changes'], [
      { operation: 'update', path: 'a', previous_hash: hashOf('a\n'), hash: hashOf('A\n'), changed: true },
      { operation: 'write', path: 'new/deep/d', previous_hash: null, hash: hashOf('d\n') },
      { operation: 'write' },
      { operation: 'append', hash: hashOf(`${base}more\nand more\n`) },
      { operation: 'append', hash: hashOf(`${base}more\nand more\n`) },
      { operation: 'delete', path: 'b', previous_hash: hashOf('b\n'), hash: null },
      { operation: 'rename', path: 'c', new_path: 'moved/c', hash: hashOf('c\n') }
    ])
    t.same(tree.all(), ['a', 'long', 'moved', 'moved/c', 'new', 'new/deep', 'new/deep/d', 'new/deep/e'])
    t.equal(tree.read('long'), `${base}more\nand more\n`)
    t.notOk(
      tree.own().some((name) => name.includes('transaction')),
      'its note is closed'
    )
    const { versions, notices } = await bob.call('async_history', { change_set: 'sweep' })
    t.equal(versions.length, 7, 'six files have a new version, and one has a new name')
    t.match(versions[0], { agent_id: 'ann', operation: 'async_transaction', change_set: 'sweep' })
    t.match(JSON.stringify(notices), /"ann".*"async_transaction"/, 'a reader is told')
  })
}

t.test('every contention is told at once, each with its diff, and nothing is changed', async (t) => {
  const { tree, ann, bob } = await scene(t)
  for (const [path, before] of [
    ['a', 'a\n'],
    ['long', base]
  ] as const)
    await bob.call('async_update', { path, expected_hash: hashOf(before), content: `${before}bob\n` })
  const changes = [
    update('a', 'a\n', 'A\n'),
    update('b', 'b\n', 'B\n'),
    {
      operation: 'update',
      path: 'long',
      expected_hash: hashOf(base),
      patches: [{ old_string: 'line 3\n', new_string: 'mine\n' }]
    },
    { operation: 'delete', path: 'c', expected_hash: hashOf('c\n') }
  ]
  const answer = await ann.call('async_transaction', { changes })
  t.match(answer, {
    status: 'contention',
    contentions: [
      { path: 'a', diff: {} },
      { path: 'long', diff: {} }
    ]
  })
  t.equal(answer['contentions'].length, 2)
  t.equal(answer['contentions'][1].patches_applicable, true)
  unchanged(t, tree, { a: 'a\nbob\n', b: 'b\n', c: 'c\n', long: `${base}bob\n` })
  const [first, ...others] = changes
  const merged = await ann.call('async_transaction', { changes: others, on_contention: 'merge' })
  t.match(merged, { status: 'ok', changes: [{ path: 'b' }, { path: 'long', merged: true, diff: {} }, { path: 'c' }] })
  t.equal(tree.read('long'), `${put(base, 3, 'mine')}bob\n`)
  const clash = await ann.call('async_transaction', { changes: [first], on_contention: 'merge' })
  t.match(clash, { status: 'contention', contentions: [{ path: 'a', merge_conflicts: [{ reason: 'overlap' }] }] })
})

t.test('every other fault is told at once, too', async (t) => {
  const { tree, ann } = await scene(t)
  const answer = await ann.call('async_transaction', {
    changes: [
      update('a', 'a\n', 'A\n'),
      { operation: 'update', path: 'gone', expected_hash: hashOf('x'), content: 'x' },
      {
        operation: 'update',
        path: 'b',
        expected_hash: hashOf('b\n'),
        patches: [{ old_string: 'nothing', new_string: 'x' }]
      },
      update('c', 'other\n', 'C\n')
    ]
  })
  t.match(answer, { status: 'error', error_code: 'FILE_NOT_FOUND' })
  const { failures, contentions } = answer['details']
  t.match(failures, [
    { change: 1, code: 'FILE_NOT_FOUND' },
    { change: 2, code: 'INVALID_PATCH' }
  ])
  t.match(contentions, [{ change: 3, path: 'c', status: 'contention' }])
  const stale = update('c', 'other\n', 'C\n')
  const taken = await ann.call('async_transaction', { changes: [rename('a', 'b'), stale] })
  t.match(taken, { status: 'error', error_code: 'FILE_EXISTS', details: { failures: [{ change: 0 }] } })
  const late = rename('b', 'd', { expected_hash: hashOf('other\n') })
  t.match(
    await ann.call('async_transaction', { changes: [rename('a', 'b'), late] }),
    { status: 'contention', contentions: [{ path: 'b' }] },
    'a name that is to be given up is not in the way'
  )
  unchanged(t, tree, { a: 'a\n', b: 'b\n', c: 'c\n', long: base })
})

t.test('names can be exchanged, moved on and taken over', async (t) => {
  const { tree, ann, bob } = await scene(t)
  chmodSync(tree.path('a'), 0o755)
  const node = statSync(tree.path('a')).ino
  t.match(await ann.call('async_transaction', { changes: [rename('a', 'b'), rename('b', 'a')] }), { status: 'ok' })
  t.same([tree.read('a'), tree.read('b')], ['b\n', 'a\n'], 'a swap')
  t.same(
    [statSync(tree.path('b')).ino, statSync(tree.path('b')).mode & 0o777],
    [node, 0o755],
    'the files themselves move'
  )
  const chain = { changes: [rename('a', 'b'), rename('b', 'c'), rename('c', 'd')] }
  t.match(await ann.call('async_transaction', chain), { status: 'ok' })
  t.same([tree.read('b'), tree.read('c'), tree.read('d')], ['b\n', 'a\n', 'c\n'], 'a chain')
  t.same(tree.all(), ['b', 'c', 'd', 'long'])
  t.match(await ann.call('async_transaction', { changes: [rename('b', 'c')] }), { error_code: 'FILE_EXISTS' })
  t.match(await ann.call('async_transaction', { changes: [rename('b', 'c', { overwrite: true })] }), { status: 'ok' })
  t.equal(tree.read('c'), 'b\n')
  symlinkSync('long', tree.path('link'))
  t.match(await bob.call('async_transaction', { changes: [rename('link', 'e/link')] }), { status: 'ok' })
  t.equal(readlinkSync(tree.path('e/link')), 'long', 'a link is renamed itself')
  t.match(await bob.call('async_transaction', { changes: [{ operation: 'delete', path: 'e/link' }] }), { status: 'ok' })
  t.throws(() => lstatSync(tree.path('e/link')))
  t.equal(tree.read('long'), base)
})

const inPlace: readonly [string, object[], Record<string, string>][] = [
  [
    'a folder comes where a file was',
    [
      { operation: 'delete', path: 'd' },
      { operation: 'write', path: 'd/x', content: 'x\n' },
      { operation: 'write', path: 'd/deep/y', content: 'y\n' }
    ],
    { 'd/x': 'x\n', 'd/deep/y': 'y\n', 'e/1': '1\n', 'e/in/2': '2\n' }
  ],
  [
    'a file moves into a folder of its own name',
    [rename('d', 'd/index')],
    { 'd/index': 'd\n', 'e/1': '1\n', 'e/in/2': '2\n' }
  ],
  [
    'a file comes where a folder was',
    [
      { operation: 'write', path: 'e', content: 'e\n' },
      { operation: 'delete', path: 'e/1' },
      { operation: 'delete', path: 'e/in/2' }
    ],
    { d: 'd\n', e: 'e\n' }
  ],
  [
    'a file moves out of a folder to its name',
    [{ operation: 'delete', path: 'e/in/2' }, rename('e/1', 'e', { overwrite: true })],
    { d: 'd\n', e: '1\n' }
  ],
  [
    'a file and a folder change places',
    [rename('d', 'e'), rename('e/1', 'd/1'), rename('e/in/2', 'd/in/2')],
    { e: 'd\n', 'd/1': '1\n', 'd/in/2': '2\n' }
  ]
]
for (const [title, changes, wanted] of inPlace)
  t.test(`${title}, all or none, and back by one undo`, async (t) => {
    const files = { d: 'd\n', 'e/1': '1\n', 'e/in/2': '2\n' }
    const { tree, ann, bob } = await scene(t, files)
    const contents = () =>
      Object.fromEntries(
        tree.all().flatMap((path) => (statSync(tree.path(path)).isFile() ? [[path, tree.read(path)]] : []))
      )
    t.match(await ann.call('async_transaction', { changes, dry_run: true }), { status: 'ok', dry_run: true })
    const missing = { operation: 'delete', path: 'missing' }
    t.match(await ann.call('async_transaction', { changes: [...changes, missing] }), { error_code: 'FILE_NOT_FOUND' })
    t.strictSame(contents(), files)
    t.match(await ann.call('async_transaction', { changes, change_set: 'turn' }), { status: 'ok' })
    t.strictSame(contents(), wanted)
    t.match(await bob.call('async_undo', { of_change_set: 'turn' }), { status: 'ok', conflicts: [] })
    t.strictSame(contents(), files)
  })

t.test('a folder stays that holds what the call does not know of, and a file above what is to be made', async (t) => {
  const files = { d: 'd\n', 'e/1': '1\n', 'e/other': 'other\n' }
  const { tree, ann } = await scene(t, files)
  for (const [changes, error_code, message] of [
    [
      [
        { operation: 'write', path: 'e', content: 'e\n' },
        { operation: 'delete', path: 'e/1' }
      ],
      'FILE_EXISTS',
      /A folder is at e/
    ],
    [[rename('d', 'e', { overwrite: true }), { operation: 'delete', path: 'e/1' }], 'NOT_A_FILE', /directory.*: e/],
    [
      [update('d', 'd\n', 'D\n'), { operation: 'write', path: 'd/x', content: 'x\n' }],
      'NOT_A_FILE',
      /Not a directory: .*\/d, on the path to d\/x/
    ],
    [
      [
        { operation: 'delete', path: 'd' },
        { operation: 'write', path: 'd/x', content: 'x\n', create_dirs: false }
      ],
      'DIR_NOT_FOUND',
      /create_dirs/
    ]
  ] as const) {
    t.match(await ann.call('async_transaction', { changes }), { error_code, message })
    unchanged(t, tree, files, ['e'])
  }
})

t.test('changes of one file are of one kind, and do not overlap', async (t) => {
  const { tree, ann } = await scene(t)
  const edit = (line: number) => ({
    operation: 'update',
    path: 'long',
    expected_hash: hashOf(base),
    patches: [{ old_string: `line ${line}\n`, new_string: `new ${line}\n` }]
  })
  t.match(await ann.call('async_transaction', { changes: [edit(3), edit(9), edit(17)] }), { status: 'ok' })
  const now = put(put(put(base, 3, 'new 3'), 9, 'new 9'), 17, 'new 17')
  t.equal(tree.read('long'), now)
  const bad: readonly (readonly [string, object[]])[] = [
    ['overlap', [update('a', 'a\n', 'A\n'), update('a', 'a\n', 'B\n')]],
    ['two kinds', [update('a', 'a\n', 'A\n'), { operation: 'delete', path: 'a' }]],
    ['renamed and changed', [rename('a', 'z'), update('a', 'a\n', 'A\n')]],
    [
      'deleted twice',
      [
        { operation: 'delete', path: 'a' },
        { operation: 'delete', path: './a' }
      ]
    ],
    ['renamed twice', [rename('a', 'x'), rename('a', 'y')]],
    ['two to one name', [rename('a', 'x'), rename('b', 'x')]],
    [
      'created twice',
      [
        { operation: 'write', path: 'x', content: '1' },
        { operation: 'write', path: 'x', content: '2' }
      ]
    ],
    [
      'a file in place of a folder',
      [
        { operation: 'write', path: 'x', content: '1' },
        { operation: 'write', path: 'x/y', content: '2' }
      ]
    ]
  ]
  for (const [title, changes] of bad)
    t.match(await ann.call('async_transaction', { changes }), { error_code: 'INVALID_REQUEST' }, title)
  unchanged(t, tree, { a: 'a\n', b: 'b\n', c: 'c\n', long: now })
})

t.test('what is in the way stops all of it', async (t) => {
  const { tree, ann } = await scene(t)
  mkdirSync(tree.path('folder'))
  const before = { a: 'a\n', b: 'b\n', c: 'c\n', long: base, folder: undefined }
  const bad: readonly (readonly [string, object])[] = [
    ['NOT_A_FILE', rename('b', 'folder', { overwrite: true })],
    ['NOT_A_FILE', { operation: 'write', path: 'a/below', content: 'x' }],
    ['FILE_EXISTS', { operation: 'write', path: 'folder', content: 'x' }],
    ['FILE_EXISTS', { operation: 'write', path: 'b', content: 'x' }],
    ['DIR_NOT_FOUND', { operation: 'write', path: 'no/x', content: 'x', create_dirs: false }],
    ['PATH_OUTSIDE_BASE', { operation: 'write', path: '../x', content: 'x' }],
    ['INVALID_REQUEST', { operation: 'write', path: 'x', content: 'x', new_path: 'y' }],
    ['INVALID_REQUEST', { operation: 'update', path: 'b', content: 'x' }],
    ['INVALID_REQUEST', { operation: 'remove', path: 'b' }]
  ]
  for (const [error_code, change] of bad)
    t.match(
      await ann.call('async_transaction', { changes: [update('a', 'a\n', 'A\n'), change] }),
      { error_code },
      JSON.stringify(change)
    )
  t.same(tree.all(), Object.keys(before).sort())
  t.equal(tree.read('a'), 'a\n')
})

t.test('a dry run tells what would happen', async (t) => {
  const { tree, ann } = await scene(t)
  const changes = [update('long', base, put(base, 4, 'new')), { operation: 'delete', path: 'a' }]
  const answer = await ann.call('async_transaction', { changes, dry_run: true })
  t.match(answer, {
    status: 'ok',
    dry_run: true,
    changes: [
      { path: 'long', changed: true },
      { path: 'a', hash: null }
    ]
  })
  t.match(JSON.stringify(answer['changes'][0].diff), /line 4/)
  unchanged(t, tree, { a: 'a\n', b: 'b\n', c: 'c\n', long: base })
})

t.test('a named transaction is made once', async (t) => {
  const { tree, ann } = await scene(t)
  const call = { changes: [{ operation: 'append', path: 'a', content: '+\n' }, rename('b', 'd')], request_id: 'r1' }
  const first = await ann.call('async_transaction', call)
  t.match(first, { status: 'ok' })
  t.match(await ann.call('async_transaction', call), { status: 'ok', replayed: true, changes: first['changes'] })
  t.equal(tree.read('a'), 'a\n+\n')
})

t.test('a lease of another agent is waited for, and one of the own counts as held', async (t) => {
  const { tree, ann, bob } = await scene(t)
  const { results } = await bob.call('lock_try', { filepaths: ['b'] })
  const changes = [update('a', 'a\n', 'A\n'), update('b', 'b\n', 'B\n')]
  t.match(await ann.call('async_transaction', { changes, timeout: 0 }), { error_code: 'LOCK_TIMEOUT' })
  unchanged(t, tree, { a: 'a\n', b: 'b\n', c: 'c\n', long: base })
  const fencing_token = results[0].fencing_token as number
  const own = [changes[0], { ...changes[1], fencing_token }]
  t.match(await bob.call('async_transaction', { changes: own, timeout: 0 }), { status: 'ok' })
  await bob.call('lock_release', { filepaths: ['b'] })
  const late = [{ operation: 'append', path: 'b', content: 'x', fencing_token }]
  t.match(await bob.call('async_transaction', { changes: [update('c', 'c\n', 'C\n'), ...late] }), {
    error_code: 'LEASE_LOST'
  })
  t.equal(tree.read('c'), 'c\n')
})

const cannotMount = process.getuid?.() === 0 && process.platform === 'linux' ? false : 'needs root on Linux'

t.test('a full disk in the middle of staging leaves everything as it was', { skip: cannotMount }, async (t) => {
  const tree = makeTree(t)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', tree.root])
  if (mounted.status !== 0) return t.comment('a tmpfs cannot be mounted here')
  t.teardown(() => spawnSync('umount', ['-l', tree.root]))
  for (const name of ['a', 'b', 'c']) tree.write(name, `${name}\n`)
  const { url } = await startServer(t, tree.root)
  const ann = await connect(t, 'rest', url, 'ann')
  const large = 'x'.repeat(400_000)
  const changes = [
    ...['a', 'b', 'c'].map((path) => ({ operation: 'append', path, content: large })),
    { operation: 'write', path: 'new/d', content: 'd' }
  ]
  t.match(await ann.call('async_transaction', { changes }), { error_code: 'WRITE_ERROR', message: /disk is full/ })
  unchanged(t, tree, { a: 'a\n', b: 'b\n', c: 'c\n' })
})

const many = lengthOf({ full: 500, short: 80 })

t.test(`one file of ${many} that cannot be written leaves everything as it was`, async (t) => {
  const names = Array.from({ length: many }, (_, index) => (index === many - 30 ? 'locked/f' : `f${index}`))
  const files = Object.fromEntries(names.map((name) => [name, `${name}\n`]))
  const tree = makeTree(t, files)
  const changes = names.map((path) => ({ operation: 'append', path, content: 'more\n' }))
  const [refused, made] = await runUnprivileged(tree, [
    { chmod: 'locked', mode: 0o555 },
    { call: 'async_transaction', input: { changes, agent_id: 'ann' } },
    { chmod: 'locked', mode: 0o755 },
    { call: 'async_transaction', input: { changes: changes.slice(-35, -25), agent_id: 'ann' } }
  ])
  t.match(refused, { status: 'error', error_code: 'ACCESS_DENIED', path: 'locked/f' })
  t.match(made, { status: 'ok' })
  const after = Object.entries(files).map(([name, text], index) => [
    name,
    index < many - 35 || index >= many - 25 ? text : `${text}more\n`
  ])
  unchanged(t, tree, Object.fromEntries(after) as Record<string, string>, ['locked'])
})

t.test('limits are settings, and say what to do', async (t) => {
  const crud = { max_transaction_changes: 3, max_transaction_files: 2, max_transaction_bytes: 1024 }
  const { ann, tree } = await scene(t, undefined, { config: { crud } })
  const write = (path: string, content = 'x') => ({ operation: 'write', path, content })
  for (const changes of [
    ['1', '2', '3', '4'].map((path) => write(path)),
    ['1', '2', '3'].map((path) => write(path)),
    ['1', '2'].map((path) => write(path, 'x'.repeat(600)))
  ])
    t.match(await ann.call('async_transaction', { changes }), {
      error_code: 'INVALID_REQUEST',
      message: /max_transaction_/
    })
  t.notOk(existsSync(tree.path('1')))
})

t.test('a batch with atomic is made all or none', async (t) => {
  const { tree, ann, bob } = await scene(t)
  const file = (path: string, before: string, content: string) => ({ path, expected_hash: hashOf(before), content })
  await bob.call('async_update', file('b', 'b\n', 'bob\n'))
  const files = [file('a', 'a\n', 'A\n'), file('b', 'b\n', 'B\n')]
  const call = { files, atomic: true, request_id: 'b1' }
  const refused = await ann.call('async_batch_update', call)
  t.match(refused, {
    results: [
      { status: 'error', error_code: 'NOT_MADE' },
      { status: 'contention', path: 'b' }
    ],
    summary: { total: 2, succeeded: 0, failed: 1, contention: 1 }
  })
  t.equal(tree.read('a'), 'a\n')
  await bob.call('async_update', file('b', 'bob\n', 'b\n'))
  const made = { results: [{ status: 'ok', path: 'a', changed: true }, { status: 'ok' }], summary: { succeeded: 2 } }
  t.match(await ann.call('async_batch_update', call), made, 'what was refused is tried again')
  t.match(await ann.call('async_batch_update', call), { ...made, replayed: true })
  const write = (path: string) => ({ path, content: path })
  const taken = { files: [write('x'), write('a')], atomic: true }
  const answer = await ann.call('async_batch_write', taken)
  t.match(answer['results'], [{ error_code: 'NOT_MADE' }, { error_code: 'FILE_EXISTS' }])
  t.notOk(existsSync(tree.path('x')))
  const created = await ann.call('async_batch_write', { files: [write('x'), write('y')], atomic: true })
  t.match(created, { summary: { succeeded: 2, failed: 0 } })
  t.equal(tree.read('y'), 'y')
})
