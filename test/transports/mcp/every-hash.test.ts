// One story through every tool and resource of the real program: each hash has 16 digits, or 64 if that is set, and goes back in as it came.
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { collidingTexts } from '../../fixtures/colliding-texts.ts'
import { connectLegacy, connectModern, type Answer } from '../../fixtures/clients.ts'
import { startProgram } from '../../fixtures/server.ts'
import { hashOf, makeTree, shortHashOf, type Tree } from '../../fixtures/tree.ts'

type Client = Awaited<ReturnType<typeof connectModern | typeof connectLegacy>>

/** What none of the answers may have. */
const wrong = { short: /sha256:[0-9a-f]{17}|\b[0-9a-f]{64}\b/, full: /sha256:[0-9a-f]{16}(?![0-9a-f]{48})/ }

interface Teller {
  readonly tools: Set<string>
  /** Hashes that were seen in answers. */
  count: number
  /** @returns what the model gets, and the text of a listing as `lines` */
  readonly tell: (agent: Client, name: string, input: object, expected: object) => Promise<Answer>
  readonly see: (title: string, answer: object) => void
}

function createTeller(t: Test, hashes: 'short' | 'full'): Teller {
  const teller: Teller = {
    tools: new Set(),
    count: 0,
    async tell(agent, name, input, expected) {
      const answer = await agent.callTool({ name, arguments: { ...input } })
      const title = `${name} ${JSON.stringify(input)}`
      teller.tools.add(name)
      teller.see(title, answer)
      const [{ text }] = answer['content'] as [{ text: string }]
      const shown = (answer.structuredContent ?? { lines: text }) as Answer
      if (!t.match(shown, expected, title)) t.comment(text)
      return shown
    },
    see(title, answer) {
      const text = JSON.stringify(answer)
      teller.count += text.match(/sha256:[0-9a-f]+/g)?.length ?? 0
      // The text of a message names a version by 16 digits, whatever is set.
      t.notMatch(text.replaceAll(/(kept for|that made) sha256:[0-9a-f]{16}\b/g, ''), wrong[hashes], title)
    }
  }
  return teller
}

async function open(t: Test, tree: Tree, environment: Record<string, string> = {}) {
  const { url } = await startProgram(t, ['--dir', tree.root, '--tools', 'all,files'], environment)
  const ann = await connectModern(url, 'ann')
  const bob = await connectLegacy(url, 'bob')
  t.teardown(() => Promise.all([ann.close(), bob.close()]))
  return { ann, bob }
}

const path = 'a.txt'
const lines = (...words: string[]) => words.map((word) => `${word}\n`).join('')

for (const hashes of ['short', 'full'] as const)
  t.test(`hashes ${hashes}: every tool gives and takes them`, async (t) => {
    const tree = makeTree(t)
    const { ann, bob } = await open(t, tree, {
      ASYNC_CRUD_MCP_MCP__HASHES: hashes,
      ASYNC_CRUD_MCP_MCP__OUTPUT_SCHEMAS: 'true'
    })
    // From here on the clients check every answer against its schema.
    const offered = (await Promise.all([ann.listTools(), bob.listTools()]))[0].tools.map(({ name }) => name)
    const teller = createTeller(t, hashes)
    const { tell } = teller
    const hash = hashes === 'short' ? shortHashOf : hashOf

    const one = lines('one', 'two', 'three', 'four', 'five')
    const made = await tell(ann, 'async_write', { path, content: one }, { hash: hash(one) })
    await tell(ann, 'async_read', { path, known_hash: made['hash'] }, { not_modified: true })
    const read = await tell(bob, 'async_read', { path }, { hash: hash(one), content: one })
    const two = one.replace('two', '2')
    const patches = [{ old_string: 'two', new_string: '2' }]
    await tell(bob, 'async_update', { path, expected_hash: read['hash'], patches }, { hash: hash(two) })

    const late = { path, expected_hash: made['hash'], content: one.replace('two', 'zwei') }
    const told = await tell(ann, 'async_update', late, { status: 'contention', current_hash: hash(two) })
    const merge = { ...late, on_contention: 'merge' }
    await tell(ann, 'async_update', merge, { status: 'contention', merge_conflicts: [{ reason: 'overlap' }] })
    const three = `${two}six\n`
    const append = { path, expected_hash: told['current_hash'], content: 'six\n' }
    const appended = await tell(ann, 'async_append', append, { hash: hash(three) })
    await tell(bob, 'async_append', append, { status: 'contention', current_hash: hash(three) })

    const files = [{ path, known_hash: appended['hash'] }]
    await tell(ann, 'async_batch_read', { files }, { results: [{ not_modified: true }] })
    const others = ['b.txt', 'c.txt', 'd.txt'].map((name) => ({ path: name, content: one }))
    await tell(bob, 'async_batch_write', { files: others }, { results: others.map(() => ({ hash: hash(one) })) })
    const four = three.replace('five', '5')
    const updates = [
      { path, expected_hash: appended['hash'], content: four },
      { path: 'b.txt', expected_hash: told['current_hash'], content: four }
    ]
    const results = [{ hash: hash(four) }, { status: 'contention', current_hash: hash(one) }]
    const batch = await tell(bob, 'async_batch_update', { files: updates }, { results })

    const stale = { operation: 'update', path, expected_hash: appended['hash'], content: 'x' }
    const contended = { contentions: [{ current_hash: hash(four) }] }
    await tell(ann, 'async_transaction', { changes: [stale] }, { status: 'contention', ...contended })
    const gone = { ...stale, path: 'none' }
    await tell(ann, 'async_transaction', { changes: [gone, stale] }, { status: 'error', details: contended })
    const five = `${four}seven\n`
    const changes = [
      { operation: 'update', path, expected_hash: batch['results'][0].hash, content: five },
      { operation: 'append', path: 'b.txt', expected_hash: made['hash'], content: 'x' },
      { operation: 'delete', path: 'c.txt', expected_hash: made['hash'] },
      { operation: 'rename', path: 'd.txt', new_path: 'e.txt', expected_hash: made['hash'] }
    ]
    const transaction = { changes: [{ hash: hash(five) }, {}, {}, { hash: hash(one) }] }
    await tell(ann, 'async_transaction', { changes }, { status: 'ok', ...transaction })

    await checkNotices(teller, ann, bob, hash)
    await checkHistory(teller, ann, bob, hash)
    await checkNames(teller, ann, hash)
    await checkResources(t, teller, { tree, ann, bob, hash })

    // A landing has ids of Git, and needs a repository.
    t.strictSame(
      offered.filter((name) => !teller.tools.has(name) && name !== 'land'),
      [],
      'no tool is left out'
    )
    t.ok(teller.count > 100, `${teller.count} hashes were seen`)
  })

type Hash = (text: string) => string

/** What others have done comes with any answer: of each tool for leases, of an error. */
async function checkNotices({ tell }: Teller, ann: Client, bob: Client, hash: Hash): Promise<void> {
  let text = (await tell(ann, 'async_read', { path }, {}))['content'] as string
  await tell(bob, 'async_read', { path }, {})
  async function change(): Promise<{ notices: object[] }> {
    const content = `${text}more\n`
    const known = { hash: hash(content), known_hash: hash(text) }
    await tell(bob, 'async_update', { path, expected_hash: hash(text), content }, { hash: known.hash })
    text = content
    return { notices: [known] }
  }
  const read = () => tell(ann, 'async_read', { path }, {})
  const filepaths = ['leased.txt']
  const asked: readonly [string, object][] = [
    ['lock_try', { filepaths }],
    ['lock_renew', { filepaths }],
    ['lock_status', { filepaths }],
    ['lock_release', { filepaths }],
    ['lock_wait', { filepaths }],
    ['lock_release_all', {}],
    ['async_status', { path }],
    ['async_read', { path: 'missing' }],
    ['async_write', { path, content: '' }]
  ]
  for (const [name, input] of asked) {
    await tell(ann, name, input, await change())
    await read()
  }
}

async function checkHistory({ tell }: Teller, ann: Client, bob: Client, hash: Hash): Promise<void> {
  const { versions } = await tell(ann, 'async_history', { path }, { versions: [{ hash: String }, { hash: String }] })
  const [last, before, first] = [versions[0].hash, versions[1].hash, versions.at(-1).hash]
  await tell(ann, 'async_diff', { path, from_hash: first, to_hash: before }, { status: 'ok', diff: {} })
  await tell(ann, 'async_blame', { path }, { hash: last, ranges: [{ hash: String }] })
  const restored = await tell(bob, 'async_restore', { path, hash: before, expected_hash: last }, { hash: before })
  await tell(ann, 'async_restore', { path, hash: first, expected_hash: last }, { current_hash: before })
  // It was there twice.
  const undo = { versions: [{ path, hash: restored['hash'] }] }
  await tell(bob, 'async_undo', undo, { status: 'contention', conflicts: [{ hash: before }] })
  const old = { versions: [{ path, hash: versions.at(-2).hash }] }
  const undone = await tell(bob, 'async_undo', old, { files: [{ previous_hash: before, hash: String }] })
  const never = hash('never')
  const lost = { error_code: 'VERSION_NOT_KEPT' }
  await tell(ann, 'async_diff', { path, from_hash: never }, lost)
  await tell(ann, 'async_restore', { path, hash: never }, lost)
  await tell(ann, 'async_undo', { versions: [{ path, hash: never }] }, lost)
  await tell(
    ann,
    'async_update',
    { path, expected_hash: never, content: '' },
    { base_known: false, current_hash: undone['files'][0].hash }
  )
}

async function checkNames({ tell }: Teller, ann: Client, hash: Hash): Promise<void> {
  const content = lines('alpha', 'beta')
  const made = await tell(ann, 'async_write', { path: 'n.txt', content }, { hash: hash(content) })
  const listed = await tell(ann, 'async_list', { path: '.', include_hashes: true }, { lines: 'n.txt' })
  const [, digits] = /^n\.txt ([0-9a-f]+)$/m.exec(listed['lines'] as string) ?? []
  const edits = [{ line: 1, content: 'one', operation: 'replace' }]
  const edited = await tell(ann, 'edit_file', { name: 'n.txt', edits, expected_hash: digits }, { success: true })
  await tell(ann, 'edit_file', { name: 'n.txt', edits, expected_hash: made['hash'] }, { current_hash: edited['hash'] })
  await tell(ann, 'read_file', { name: 'n.txt' }, { content: 'one\nbeta' })
  await tell(ann, 'list_files', {}, { files: Array })
  await tell(ann, 'get_server_info', {}, { server: { version: String } })
  const rename = { old_path: 'n.txt', new_path: 'm.txt' }
  await tell(ann, 'async_rename', { ...rename, expected_hash: made['hash'] }, { current_hash: edited['hash'] })
  const renamed = await tell(
    ann,
    'async_rename',
    { ...rename, expected_hash: edited['hash'] },
    { hash: edited['hash'] }
  )
  await tell(ann, 'async_delete', { path: 'm.txt', expected_hash: made['hash'] }, { current_hash: renamed['hash'] })
  const remove = { path: 'm.txt', expected_hash: renamed['hash'] }
  await tell(ann, 'async_delete', remove, { deleted_hash: edited['hash'] })
}

interface Scene {
  readonly tree: Tree
  readonly ann: Client
  readonly bob: Client
  readonly hash: Hash
}

async function checkResources(t: Test, { tell, see }: Teller, { tree, ann, bob, hash }: Scene): Promise<void> {
  const uri = pathToFileURL(tree.path(path)).href
  const key = 'async-crud-mcp/hash'
  await tell(ann, 'async_read', { path }, {})
  const append = await tell(bob, 'async_append', { path, content: 'again\n' }, { hash: String })
  for (const client of [bob, ann]) {
    const listed = await client.listResources()
    see('resources/list', listed)
    const { _meta } = listed.resources.find((resource) => resource.uri === uri) ?? {}
    t.match(_meta, { [key]: append['hash'] })
  }
  const read = await ann.readResource({ uri })
  see('resources/read', read)
  t.match(read.contents, [{ _meta: { [key]: hash(tree.read(path)) } }])
  await tell(bob, 'async_append', { path, content: 'once more\n' }, {})
  const missing = await ann.readResource({ uri: `${uri}.missing` }).then(
    () => t.fail('there is no such file'),
    (error: { data?: object }) => error.data
  )
  t.match(missing, { notices: [{ hash: String }] })
  see('the error of resources/read', missing as object)
}

t.test('two versions whose hashes share 16 digits are told apart, and never taken for each other', async (t) => {
  const tree = makeTree(t)
  const { ann, bob } = await open(t, tree)
  const [one, two] = collidingTexts
  t.equal(shortHashOf(one), shortHashOf(two))
  const call = async (client: Client, name: string, input: object) =>
    (await client.callTool({ name, arguments: { path, ...input } })).structuredContent as Answer
  const { hash } = await call(ann, 'async_write', { content: one })
  await call(bob, 'async_read', {})
  t.match(await call(bob, 'async_update', { expected_hash: hash, content: two }), { hash: shortHashOf(two) })
  // What Ann was given names what is there now, too; it is not what she has read.
  for (const [name, input] of [
    ['async_update', { expected_hash: hash, content: 'mine\n' }],
    ['async_append', { expected_hash: hash, content: 'mine\n' }],
    ['async_delete', { expected_hash: hash }],
    ['async_restore', { hash }],
    ['async_diff', { from_hash: hash }],
    ['async_read', { known_hash: hash }]
  ] as const) {
    const answer = await call(ann, name, input)
    t.match(answer, { error_code: 'INVALID_REQUEST' }, name)
    for (const text of [one, two]) t.match(answer['message'], hashOf(text), 'the whole hashes tell them apart')
  }
  t.equal(tree.read(path), two)
  const stale = await call(ann, 'async_update', { expected_hash: hashOf(one), content: 'mine\n' })
  t.match(stale, { status: 'contention', current_hash: shortHashOf(two), diff: {} })
  const digits = hashOf(two).slice(0, 'sha256:'.length + 18)
  t.match(await call(ann, 'async_update', { expected_hash: digits, content: 'mine\n' }), {
    hash: shortHashOf('mine\n')
  })
  const restored = await call(ann, 'async_restore', { hash: hashOf(one) })
  t.match(restored, { status: 'ok', hash: shortHashOf(one) })
  t.equal(tree.read(path), one)
})

t.test('a message about a version whose bytes are gone names it by 16 digits', async (t) => {
  const tree = makeTree(t)
  const { ann } = await open(t, tree, { ASYNC_CRUD_MCP_CRUD__BASE_CACHE_BYTES: '0' })
  const teller = createTeller(t, 'short')
  const { hash } = await teller.tell(ann, 'async_write', { path, content: 'one\n' }, {})
  await teller.tell(ann, 'async_update', { path, expected_hash: hash, content: 'two\n' }, { status: 'ok' })
  for (const [name, input] of [
    ['async_diff', { from_hash: hash }],
    ['async_restore', { hash }]
  ] as const)
    await teller.tell(ann, name, { path, ...input }, { error_code: 'VERSION_NOT_KEPT', message: hash as string })
})
