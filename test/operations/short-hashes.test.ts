// A version is named by at least 12 digits of its hash: resolved once, among all versions that are known of the file.
import { symlinkSync } from 'node:fs'
import t, { type Test } from 'tap'
import { collidingTexts } from '../fixtures/colliding-texts.ts'
import { connect, transports, type Answer, type TransportName } from '../fixtures/clients.ts'
import { isFull } from '../fixtures/length.ts'
import { startServer } from '../fixtures/server.ts'
import { startStdio } from '../fixtures/stdio.ts'
import { hashOf, makeTree, type Tree } from '../fixtures/tree.ts'

const [one, two] = collidingTexts
const digits = (hash: string, count: number) => hash.slice(0, 'sha256:'.length + count)
const unknown = `sha256:${'0123456789abcdef'.repeat(4)}`

interface Call {
  (name: string, input: object): Promise<Answer>
}

/** Every input that names a version: what it answers if it names the current one, and if no version begins so. */
interface Way {
  readonly title: string
  readonly name: string
  readonly input: (path: string, hash: string) => object
  /** Of an unknown version. */
  readonly unknown: object
}

const contention = { status: 'contention', base_known: false, diff: null }
const content = 'new\n'

const ways: readonly Way[] = [
  {
    title: 'async_update expected_hash',
    name: 'async_update',
    input: (path, expected_hash) => ({ path, expected_hash, content }),
    unknown: contention
  },
  {
    title: 'async_append expected_hash',
    name: 'async_append',
    input: (path, expected_hash) => ({ path, expected_hash, content }),
    unknown: contention
  },
  {
    title: 'async_delete expected_hash',
    name: 'async_delete',
    input: (path, expected_hash) => ({ path, expected_hash }),
    unknown: contention
  },
  {
    title: 'async_rename expected_hash',
    name: 'async_rename',
    input: (path, expected_hash) => ({ old_path: path, new_path: `${path}.new`, expected_hash }),
    unknown: contention
  },
  {
    title: 'async_restore expected_hash',
    name: 'async_restore',
    input: (path, expected_hash) => ({ path, hash: hashOf('before\n'), expected_hash }),
    unknown: contention
  },
  {
    title: 'async_restore hash',
    name: 'async_restore',
    input: (path, hash) => ({ path, hash, expected_hash: null }),
    unknown: { status: 'error', error_code: 'VERSION_NOT_KEPT' }
  },
  {
    title: 'async_diff from_hash',
    name: 'async_diff',
    input: (path, from_hash) => ({ path, from_hash }),
    unknown: { status: 'error', error_code: 'VERSION_NOT_KEPT' }
  },
  {
    title: 'async_diff to_hash',
    name: 'async_diff',
    input: (path, to_hash) => ({ path, from_hash: hashOf('before\n'), to_hash }),
    unknown: { status: 'error', error_code: 'VERSION_NOT_KEPT' }
  },
  {
    title: 'async_undo versions[].hash',
    name: 'async_undo',
    input: (path, hash) => ({ versions: [{ path, hash }] }),
    unknown: { status: 'error', error_code: 'VERSION_NOT_KEPT' }
  },
  {
    title: 'async_read known_hash',
    name: 'async_read',
    input: (path, known_hash) => ({ path, known_hash }),
    unknown: { status: 'ok', content: one }
  },
  {
    title: 'async_batch_read known_hash',
    name: 'async_batch_read',
    input: (path, known_hash) => ({ files: [{ path, known_hash }] }),
    unknown: { results: [{ status: 'ok', content: one }] }
  },
  {
    title: 'async_batch_update expected_hash',
    name: 'async_batch_update',
    input: (path, expected_hash) => ({ files: [{ path, expected_hash, content }] }),
    unknown: { results: [contention] }
  },
  ...(['update', 'append', 'delete'] as const).map((operation) => ({
    title: `async_transaction ${operation} expected_hash`,
    name: 'async_transaction',
    input: (path: string, expected_hash: string) => ({
      changes: [{ operation, path, expected_hash, ...(operation !== 'delete' && { content }) }]
    }),
    unknown: { status: 'contention', contentions: [contention] }
  }))
]

/** @returns what the answer says of the one file, and of the call if that is refused */
function outcomeOf(answer: Answer): Answer {
  return (answer['results'] as Answer[] | undefined)?.[0] ?? answer
}

async function prepare(call: Call, tree: Tree, path: string): Promise<void> {
  tree.write(path, 'before\n')
  await call('async_read', { path })
  await call('async_update', { path, expected_hash: hashOf('before\n'), content: one })
}

/** Which digits are enough is decided behind all transports: one tries them all. */
interface Setting {
  readonly counts: readonly number[]
  readonly call: Call
  readonly fresh: () => Promise<string>
}

async function checkWay(t: Test, { name, input, unknown: wanted }: Way, { counts, call, fresh }: Setting) {
  const whole = hashOf(one)
  for (const count of counts)
    for (const hash of [digits(whole, count), digits(whole, count).slice('sha256:'.length)]) {
      const answer = outcomeOf(await call(name, input(await fresh(), hash)))
      t.equal(answer['status'], 'ok', `${hash}: ${JSON.stringify(answer)}`)
    }
  t.match(outcomeOf(await call(name, input(await fresh(), digits(whole, 11)))), {
    status: 'error',
    error_code: 'INVALID_REQUEST'
  })
  t.match(await call(name, input(await fresh(), digits(unknown, 12))), wanted, 'no version begins so')
  const path = await fresh()
  await call('async_update', { path, expected_hash: whole, content: two })
  await call('async_update', { path, expected_hash: hashOf(two), content: one })
  const refused = outcomeOf(await call(name, input(path, digits(whole, 17))))
  t.match(refused, { status: 'error', error_code: 'INVALID_REQUEST', message: /give more digits/i })
  for (const hash of [whole, hashOf(two)]) t.match(refused['message'], hash, 'a model can send it')
  // The version was there twice: what was built on it in between may keep its change from being taken back.
  t.not(
    outcomeOf(await call(name, input(path, digits(whole, 18))))['status'],
    'error',
    'one more digit tells them apart'
  )
}

/** In the short form each way is tried over one of the four doors. @param turn of the door */
async function checkAll(t: Test, turn: number, tree: Tree, call: Call, counts = [64, 12]): Promise<void> {
  let count = 0
  async function fresh(): Promise<string> {
    count += 1
    const path = `f${count}.txt`
    await prepare(call, tree, path)
    return path
  }
  const here = isFull ? ways : ways.filter((_, index) => index % 4 === turn)
  for (const way of here) await t.test(way.title, (t) => checkWay(t, way, { counts, call, fresh }))
  await t.test('a stale version is contention with its difference', async (t) => {
    const path = await fresh()
    const expected_hash = digits(hashOf('before\n'), 12)
    const answer = await call('async_update', { path, expected_hash, content: 'mine\n' })
    t.match(answer, { status: 'contention', base_known: true, diff: { format: 'json' } })
    t.match(answer['expected_hash'], digits(hashOf('before\n'), 16))
    t.equal(tree.read(path), one)
  })
}

t.test('the two texts collide', async (t) => {
  t.equal(digits(hashOf(one), 17), digits(hashOf(two), 17))
  t.not(digits(hashOf(one), 18), digits(hashOf(two), 18))
})

for (const [turn, transport] of transports.entries())
  t.test(`over ${transport}`, async (t) => {
    const tree = makeTree(t)
    const { url } = await startServer(t, tree.root, settingsOf(transport))
    const client = await connect(t, transport, url, 'ann')
    const counts = transport === 'rest' ? [64, 63, 16, 12] : undefined
    await checkAll(t, turn, tree, (name, input) => client.call(name, input), counts)
  })

/** MCP does not offer all operations by default. */
function settingsOf(transport: TransportName) {
  return transport === 'rest' ? {} : { mcp: { tools: ['all', 'undo', 'files'] } }
}

t.test('over JSON-RPC', async (t) => {
  const tree = makeTree(t)
  const program = startStdio(t, ['--dir', tree.root, '--transport', 'stdio'])
  await checkAll(t, transports.length, tree, async (name, input) => {
    const { result, error } = await program.call(name, input)
    return result ?? (error?.data as Answer)
  })
})

t.test('edit_file, and files over HTTP', async (t) => {
  const tree = makeTree(t, { f: one })
  const { url } = await startServer(t, tree.root)
  const ann = await connect(t, 'rest', url, 'ann')
  const edits = [{ line: 1, content: 'x', operation: 'replace' }]
  t.match(await ann.call('edit_file', { name: 'f', edits, expected_hash: digits(unknown, 12) }), {
    status: 'contention',
    expected_hash: digits(unknown, 12)
  })
  const answer = await ann.call('edit_file', { name: 'f', edits, expected_hash: digits(hashOf(one), 12) })
  t.match(answer, { success: true, previous_hash: hashOf(one) })
  // An ETag is compared as a whole, by caches between, too.
  const put = await fetch(`${url}/files/f`, {
    method: 'PUT',
    headers: { 'if-match': `"${digits(hashOf('x\n'), 16)}"` },
    body: 'y\n'
  })
  t.equal(put.status, 400)
  t.equal(tree.read('f'), 'x\n')
})

t.test('a version that another program has just put there counts, though no call has seen it', async (t) => {
  const tree = makeTree(t, { f: one })
  const { url } = await startServer(t, tree.root, { watcher: { enabled: false } })
  const ann = await connect(t, 'rest', url, 'ann')
  await ann.call('async_read', { path: 'f' })
  tree.write('f', two)
  const input = { path: 'f', expected_hash: digits(hashOf(one), 12), content: 'mine\n' }
  t.match(await ann.call('async_update', input), { error_code: 'INVALID_REQUEST', message: hashOf(two) })
  t.equal(tree.read('f'), two, 'it is not taken for the version that was read')
})

t.test('a version counts that the history has forgotten and an agent was shown', async (t) => {
  const tree = makeTree(t, { f: one })
  const { url } = await startServer(t, tree.root, { crud: { max_file_versions: 1 } })
  const ann = await connect(t, 'rest', url, 'ann')
  const bob = await connect(t, 'rest', url, 'bob')
  await ann.call('async_read', { path: 'f' })
  await bob.call('async_update', { path: 'f', expected_hash: hashOf(one), content: two })
  const { versions } = await ann.call('async_history', { path: 'f' })
  t.equal((versions as unknown[]).length, 1)
  const input = { path: 'f', expected_hash: digits(hashOf(one), 12), content: 'mine\n' }
  t.match(await ann.call('async_update', input), { error_code: 'INVALID_REQUEST' })
  t.equal(tree.read('f'), two)
})

t.test('a version that the file had under another name, or that a link leads to', async (t) => {
  const tree = makeTree(t, { old: one })
  const { url } = await startServer(t, tree.root)
  const ann = await connect(t, 'rest', url, 'ann')
  await ann.call('async_read', { path: 'old' })
  await ann.call('async_update', { path: 'old', expected_hash: hashOf(one), content: 'next\n' })
  await ann.call('async_rename', { old_path: 'old', new_path: 'new' })
  const expected_hash = digits(hashOf(one), 18)
  t.match(await ann.call('async_update', { path: 'new', expected_hash, content: 'x\n' }), {
    status: 'contention',
    expected_hash: hashOf(one),
    base_known: true
  })
  symlinkSync('new', tree.path('link'))
  t.match(await ann.call('async_delete', { path: 'link', expected_hash }), { status: 'contention', base_known: true })
  t.match(await ann.call('async_delete', { path: 'link', expected_hash: digits(hashOf('next\n'), 12) }), {
    status: 'ok'
  })
  const hash = digits(hashOf('next\n'), 16)
  t.match(await ann.call('async_restore', { path: 'link', hash }), { status: 'ok', bytes_written: 0 })
})

t.test(
  'a repeat of a named change is answered, however many digits it gives and whatever they fit by then',
  async (t) => {
    const tree = makeTree(t, { f: one })
    const { url } = await startServer(t, tree.root)
    const ann = await connect(t, 'rest', url, 'ann')
    await ann.call('async_read', { path: 'f' })
    const input = { path: 'f', content: two, request_id: 'named' }
    const first = await ann.call('async_update', { ...input, expected_hash: digits(hashOf(one), 12) })
    t.equal(first['status'], 'ok')
    for (const count of [12, 16, 64])
      for (const expected_hash of [digits(hashOf(one), count), digits(hashOf(one), count).slice('sha256:'.length)])
        t.match(
          await ann.call('async_update', { ...input, expected_hash }),
          { ...first, replayed: true },
          expected_hash
        )
    const other = { ...input, expected_hash: digits(unknown, 12) }
    t.match(await ann.call('async_update', other), { error_code: 'INVALID_REQUEST', message: /request_id/ })
  }
)
