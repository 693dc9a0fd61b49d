// request_id: a change that its caller has named is made once, and a repeat gets the recorded answer.
import { rmSync } from 'node:fs'
import t, { type Test } from 'tap'
import { connect, transports, type Answer } from '../fixtures/clients.ts'
import { inTurn } from '../fixtures/length.ts'
import { startServer } from '../fixtures/server.ts'
import { startStdio, type RpcAnswer } from '../fixtures/stdio.ts'
import { hashOf, makeTree, type Tree } from '../fixtures/tree.ts'
import { untilQueued } from '../fixtures/processes.ts'
import type { PartialConfig } from '../../src/config/config.ts'

async function scene(t: Test, files: Record<string, string> = {}, crud: PartialConfig['crud'] = {}) {
  const tree = makeTree(t, files)
  const { url } = await startServer(t, tree.root, { crud })
  const ann = await connect(t, 'rest', url, 'ann')
  const withKey = async (name: string, key: string, input: object, agentId = 'ann') => {
    const headers = { 'content-type': 'application/json', 'x-agent-id': agentId, 'idempotency-key': key }
    const response = await fetch(`${url}/${name}`, { method: 'POST', headers, body: JSON.stringify(input) })
    return (await response.json()) as Answer
  }
  return { tree, url, call: (name: string, input: object) => ann.call(name, input), withKey }
}

/** Each change of a file `f-<at>` that is there before it, or of one beside it, and how another agent then undoes or overwrites it. */
const changes: readonly {
  readonly name: string
  readonly input: (at: number) => object
  readonly undo: (tree: Tree, at: number) => void
}[] = [
  {
    name: 'async_write',
    input: (at) => ({ path: `new-${at}`, content: 'one' }),
    undo: (tree, at) => rmSync(tree.path(`new-${at}`))
  },
  {
    name: 'async_update',
    input: (at) => ({ path: `f-${at}`, expected_hash: hashOf('one\n'), content: 'two\n' }),
    undo: (tree, at) => tree.write(`f-${at}`, 'x')
  },
  {
    name: 'async_append',
    input: (at) => ({ path: `f-${at}`, content: 'two\n' }),
    undo: (tree, at) => tree.write(`f-${at}`, 'x')
  },
  {
    name: 'async_append',
    input: (at) => ({ path: `new-${at}`, content: 'two\n', create_if_missing: true }),
    undo: (tree, at) => rmSync(tree.path(`new-${at}`))
  },
  {
    name: 'async_delete',
    input: (at) => ({ path: `f-${at}` }),
    undo: (tree, at) => tree.write(`f-${at}`, 'one\n')
  },
  {
    name: 'async_rename',
    input: (at) => ({ old_path: `f-${at}`, new_path: `new-${at}` }),
    undo: (tree, at) => tree.write(`f-${at}`, 'one\n')
  },
  {
    name: 'edit_file',
    input: (at) => ({ name: `f-${at}`, append: 'two' }),
    undo: (tree, at) => tree.write(`f-${at}`, 'x')
  },
  {
    name: 'async_batch_write',
    input: (at) => ({
      files: [
        { path: `new-${at}`, content: '1' },
        { path: `other-${at}`, content: '2' }
      ]
    }),
    undo: (tree, at) => rmSync(tree.path(`new-${at}`))
  },
  {
    name: 'async_batch_update',
    input: (at) => ({ files: [{ path: `f-${at}`, expected_hash: hashOf('one\n'), content: 'two\n' }] }),
    undo: (tree, at) => tree.write(`f-${at}`, 'x')
  }
]

for (const [transport, test] of inTurn(t, [...transports, 'json-rpc'] as const)) {
  test(`a repeat of a named change over ${transport} gets its answer, whatever became of the file`, async (t) => {
    const tree = makeTree(t, Object.fromEntries(changes.map((_, at) => [`f-${at}`, 'one\n'])))
    const contents = () =>
      tree
        .all()
        .filter((path) => !path.startsWith('.'))
        .map((path) => [path, tree.read(path)])
    const call = await callOver(t, transport, tree)
    for (const [at, { name, input, undo }] of changes.entries()) {
      const named = { ...input(at), request_id: `${name} ${at}`, agent_id: 'ann' }
      const first = await call(name, named)
      undo(tree, at)
      const before = contents()
      const repeated = await call(name, named)
      const { notices: _, replayed, results, ...others } = repeated
      t.equal(replayed, true, name)
      const { results: firstResults, notices: _of, ...firstOthers } = first
      t.strictSame(others, firstOthers, name)
      t.strictSame(
        results,
        (firstResults as Answer[] | undefined)?.map((each) => ({ ...each, replayed: true })),
        name
      )
      t.strictSame(contents(), before, `${name}: nothing is changed`)
    }
  })
}

async function callOver(t: Test, transport: (typeof transports)[number] | 'json-rpc', tree: Tree) {
  if (transport === 'json-rpc') {
    const program = startStdio(t, ['--transport', 'stdio', '--dir', tree.root])
    return async (name: string, input: object) => (await program.call(name, input)).result as Answer
  }
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, transport, url, 'ann')
  return (name: string, input: object) => client.call(name, input)
}

t.test('async_restore is made once, too', async (t) => {
  const { tree, call } = await scene(t, { f: 'one' })
  const { hash } = await call('async_read', { path: 'f' })
  await call('async_delete', { path: 'f' })
  const input = { path: 'f', hash, request_id: 'r' }
  t.match(await call('async_restore', input), { status: 'ok', changed: true })
  rmSync(tree.path('f'))
  t.match(await call('async_restore', input), { status: 'ok', changed: true, replayed: true })
  t.strictSame(tree.all(), [])
})

t.test('a request_id with another input, or for another operation, is refused, and says so', async (t) => {
  const { tree, call, withKey } = await scene(t, { f: 'one' })
  const input = { path: 'f', content: '+' }
  await call('async_append', { ...input, request_id: 'r' })
  const refused = { error_code: 'INVALID_REQUEST', message: /"r" belongs to an earlier call with another input/ }
  t.match(await call('async_append', { ...input, content: '-', request_id: 'r' }), refused)
  t.match(await call('async_delete', { path: 'f', request_id: 'r' }), refused)
  t.match(await withKey('async_append', 'r', { content: '+', path: 'f' }), { replayed: true }, 'in another order')
  t.equal(tree.read('f'), 'one+')
})

t.test('the same request_id of another agent is another request', async (t) => {
  const { tree, call } = await scene(t, { f: '' })
  const input = { path: 'f', content: '+', request_id: 'r' }
  t.match(await call('async_append', input), { status: 'ok' })
  t.notMatch(await call('async_append', { ...input, agent_id: 'bob' }), { replayed: true })
  t.match(await call('async_append', { ...input, agent_id: 'bob' }), { replayed: true })
  t.equal(tree.read('f'), '++')
})

t.test('the header Idempotency-Key is the request_id, and must not differ from one in the body', async (t) => {
  const { tree, withKey } = await scene(t, { f: '' })
  const input = { path: 'f', content: '+' }
  t.match(await withKey('async_append', 'k', input), { status: 'ok' })
  t.match(await withKey('async_append', 'k', { ...input, request_id: 'k' }), { status: 'ok', replayed: true })
  t.match(await withKey('async_append', 'k', { ...input, request_id: 'l' }), {
    error_code: 'INVALID_REQUEST',
    message: /Idempotency-Key and another one in request_id/
  })
  t.match(await withKey('async_append', 'k'.repeat(129), input), { error_code: 'INVALID_REQUEST' })
  t.equal(tree.read('f'), '+')
  for (const request_id of ['', 'k'.repeat(129), 'a\nb'])
    t.match(await withKey('async_append', '', { ...input, request_id }), { error_code: 'INVALID_REQUEST' }, request_id)
})

t.test('a call that changed nothing is not recorded: its repeat is another attempt', async (t) => {
  const { tree, call } = await scene(t, { f: 'two' })
  const update = { path: 'f', expected_hash: hashOf('one'), content: 'three', request_id: 'r' }
  t.match(await call('async_update', update), { status: 'contention' })
  tree.write('f', 'one')
  t.match(await call('async_update', update), { status: 'ok' })
  t.match(await call('async_update', update), { status: 'ok', replayed: true })
  const files = [
    { path: 'a', content: '1' },
    { path: 'f', content: '2' }
  ]
  const batch = { files, request_id: 'batch' }
  t.match(await call('async_batch_write', batch), { results: [{ status: 'ok' }, { error_code: 'FILE_EXISTS' }] })
  rmSync(tree.path('f'))
  t.match(await call('async_batch_write', batch), { replayed: true, results: [{ replayed: true }, { status: 'ok' }] })
  t.equal(tree.read('f'), '2', 'what was not done the first time is done now')
})

t.test('a repeat while the first call still waits gets the answer of the first', async (t) => {
  const { tree, url, call } = await scene(t, { f: '' })
  const { results } = await call('lock_try', { filepaths: ['f'], agent_id: 'holder' })
  t.match(results, [{ acquired: true }])
  const input = { path: 'f', content: '+', request_id: 'r' }
  const first = call('async_append', input)
  await untilQueued(url, 'f', 1)
  const second = call('async_append', input)
  t.match(await call('async_append', { ...input, request_id: 'other', timeout: 0 }), { error_code: 'LOCK_TIMEOUT' })
  await call('lock_release', { filepaths: ['f'], agent_id: 'holder' })
  const answers = await Promise.all([first, second])
  t.match(answers, [{ status: 'ok' }, { status: 'ok', replayed: true }])
  t.equal(tree.read('f'), '+')
})

t.test('repeats of a call that ends without a change are one attempt after the other, and make it once', async (t) => {
  const { tree, url, call } = await scene(t, { f: '' })
  const lease = { filepaths: ['f'], agent_id: 'holder' }
  t.match(await call('lock_try', lease), { all_acquired: true })
  const input = { path: 'f', content: '+', request_id: 'r', timeout: 1 }
  const first = call('async_append', input)
  await untilQueued(url, 'f', 1)
  const repeats = [1, 2, 3].map(() => call('async_append', { ...input, timeout: 60 }))
  t.match(
    await Promise.all(repeats),
    repeats.map(() => ({ error_code: 'INVALID_REQUEST' })),
    'with another timeout'
  )
  const same = [1, 2, 3].map(() => call('async_append', input))
  t.match(await first, { error_code: 'LOCK_TIMEOUT' })
  await call('lock_release', lease)
  const answers = await Promise.all(same)
  t.equal(tree.read('f'), '+', JSON.stringify(answers))
  t.same(
    answers.map(({ status }) => status as string),
    ['ok', 'ok', 'ok']
  )
  t.equal(answers.filter(({ replayed }) => replayed === true).length, 2)
})

t.test('equal named calls that come in one moment make one change', async (t) => {
  const tree = makeTree(t, { f: '', g: '' })
  const program = startStdio(t, ['--transport', 'stdio', '--dir', tree.root])
  const append = { path: 'f', content: '+', request_id: 'r' }
  const changes = [{ operation: 'append', path: 'g', content: '+' }]
  const batch = [1, 2, 3].flatMap((at) => [
    { jsonrpc: '2.0', id: `append ${at}`, method: 'async_append', params: append },
    { jsonrpc: '2.0', id: `transaction ${at}`, method: 'async_transaction', params: { changes, request_id: 's' } }
  ])
  program.send(batch)
  const answers = (await program.message((message) => Array.isArray(message))) as unknown as RpcAnswer[]
  for (const path of ['f', 'g']) t.equal(tree.read(path), '+', `${path}: ${JSON.stringify(answers)}`)
  const results = answers.map(({ result }) => result as Answer)
  t.same(
    results.map(({ status }) => status as string),
    Array.from({ length: 6 }, () => 'ok')
  )
  t.equal(results.filter(({ replayed }) => replayed === true).length, 4)
})

t.test('a dry run leaves its name to the call that makes the change', async (t) => {
  const { tree, call, withKey } = await scene(t, { f: 'one' })
  const append = { changes: [{ operation: 'append', path: 'f', content: '+' }] }
  const undo = { by_agent: 'ann' }
  const cases = [
    { name: 'async_transaction', input: append, before: 'one', after: 'one+' },
    { name: 'async_undo', input: undo, before: 'one+', after: 'one' }
  ]
  for (const { name, input, before, after } of cases) {
    const dry = { ...input, dry_run: true, request_id: name }
    for (const attempt of [1, 2]) {
      const preview = await call(name, dry)
      t.match(preview, { status: 'ok', dry_run: true }, `${name} ${attempt}`)
      t.notOk('replayed' in preview, `${name} ${attempt} shows what would happen now`)
    }
    t.match(await withKey(name, name, { ...input, dry_run: true }), { status: 'ok', dry_run: true })
    t.equal(tree.read('f'), before)
    const real = { ...input, request_id: name }
    const made = await call(name, real)
    t.match(made, { status: 'ok' }, name)
    t.notOk('dry_run' in made, name)
    t.equal(tree.read('f'), after)
    t.match(await call(name, dry), { status: 'ok', dry_run: true }, 'neither is a dry run refused afterwards')
    t.match(await call(name, { ...real, dry_run: false }), { replayed: true }, name)
    t.equal(tree.read('f'), after)
  }
})

t.test('the receipt of a merged change says so, and holds no content', async (t) => {
  const { tree, call } = await scene(t, { f: '1\n2\n3\n4\n5\n' })
  const { hash } = await call('async_read', { path: 'f' })
  tree.write('f', '1\n2\n3\n4\nfive\n')
  const patches = [{ old_string: '1\n', new_string: 'one\n' }]
  const update = { path: 'f', expected_hash: hash, patches, on_contention: 'merge', request_id: 'r' }
  t.match(await call('async_update', update), { merged: true, diff: { changes: Array } })
  t.match(await call('async_update', update), { merged: true, diff: null, replayed: true })
  t.equal(tree.read('f'), 'one\n2\n3\n4\nfive\n')
})

t.test('a flood of names costs an agent its own oldest receipts, and no other agent one', async (t) => {
  const bounds = { max_agent_receipt_bytes: 8192, max_receipt_bytes: 20_000 }
  const { tree, call } = await scene(t, { f: '' }, bounds)
  const append = (request_id: string, agent_id: string) =>
    call('async_append', { path: 'f', content: '', request_id, agent_id })
  await append('kept', 'bob')
  for (let count = 0; count < 50; count += 1) await append(`r${count}`, 'ann')
  for (let count = 0; count < 20; count += 1) await append('only', `newcomer ${count}`)
  t.match(await append('kept', 'bob'), { replayed: true })
  t.notMatch(await append('r0', 'ann'), { replayed: true })
  t.equal(tree.read('f'), '')
})
