// Over MCP answers give 16 digits of a hash, and inputs take them; content stays as it is. REST gives all 64.
import t, { type Test } from 'tap'
import { OperationError } from '../../../src/errors.ts'
import { envelopes } from '../../../src/operations/definition/envelopes.ts'
import { operations } from '../../../src/operations/index.ts'
import { withHashes } from '../../../src/transports/mcp/short-hashes.ts'
import { connect, type Answer, type TestClient } from '../../fixtures/clients.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree, shortHashOf } from '../../fixtures/tree.ts'

const whole = /sha256:[0-9a-f]{17}/
/** Looks like hashes, and is text of a file. */
const one = `hash: ${hashOf('x')}\nsecond\nthird\n`
const two = one.replace('second', '2nd')
const three = one.replace('third', '3rd')

async function start(t: Test, hashes: 'short' | 'full', transport: 'mcp-2025' | 'mcp-2026') {
  const tree = makeTree(t, { 'a.txt': one })
  const { url } = await startServer(t, tree.root, { mcp: { hashes } })
  const [ann, bob] = [await connect(t, transport, url, 'ann'), await connect(t, transport, url, 'bob')]
  return { tree, url, ann, bob }
}

/** @returns the answer, none of whose members but the content of files has a whole hash */
async function short(t: Test, client: TestClient, name: string, input: object): Promise<Answer> {
  const answer = await client.call(name, input)
  const withoutContent = (key: string, value: unknown) => (key === 'content' || key === 'diff' ? undefined : value)
  t.notMatch(JSON.stringify(answer, withoutContent), whole, name)
  return answer
}

for (const transport of ['mcp-2025', 'mcp-2026'] as const)
  t.test(`a day of work over ${transport} needs 16 digits`, async (t) => {
    const { tree, ann, bob } = await start(t, 'short', transport)
    const path = 'a.txt'
    const read = await short(t, ann, 'async_read', { path })
    t.match(read, { hash: shortHashOf(one), content: one })
    t.equal(read['content'], one, 'content is never shortened')
    t.match(await short(t, ann, 'async_read', { path, known_hash: read['hash'] }), { not_modified: true })
    const theirs = await short(t, bob, 'async_update', { path, expected_hash: read['hash'], content: two })
    t.match(theirs, { previous_hash: shortHashOf(one), hash: shortHashOf(two) })
    const late = await short(t, ann, 'async_update', { path, expected_hash: read['hash'], content: three })
    t.match(late, {
      status: 'contention',
      base_known: true,
      expected_hash: shortHashOf(one),
      current_hash: shortHashOf(two)
    })
    const batch = await short(t, ann, 'async_batch_update', {
      files: [{ path, expected_hash: late['current_hash'], content: three }]
    })
    t.match(batch, { results: [{ hash: shortHashOf(three) }] })
    const stale = { operation: 'update', path, expected_hash: shortHashOf(one), content: one }
    t.match(await short(t, ann, 'async_transaction', { changes: [stale] }), {
      contentions: [{ expected_hash: shortHashOf(one), current_hash: shortHashOf(three) }]
    })
    const failed = await short(t, ann, 'async_transaction', {
      changes: [stale, { operation: 'update', path: 'none', expected_hash: shortHashOf(one), content: one }]
    })
    t.match(failed, { error_code: 'FILE_NOT_FOUND', details: { contentions: [{ current_hash: shortHashOf(three) }] } })
    const noticed = await short(t, bob, 'async_status', {})
    t.match(noticed, { notices: [{ path, hash: shortHashOf(three), known_hash: shortHashOf(two) }] })
    const history = await short(t, ann, 'async_history', { path })
    t.match(history, {
      versions: [{ hash: shortHashOf(three), previous_hash: shortHashOf(two) }, {}, { hash: shortHashOf(one) }]
    })
    t.match(await short(t, ann, 'async_diff', { path, from_hash: shortHashOf(one), to_hash: shortHashOf(two) }), {
      from_hash: shortHashOf(one),
      to_hash: shortHashOf(two)
    })
    t.match(await short(t, ann, 'async_blame', { path }), { ranges: [{}, { hash: shortHashOf(three) }] })
    t.match(await short(t, ann, 'async_undo', { versions: [{ path, hash: shortHashOf(three) }] }), {
      files: [{ previous_hash: shortHashOf(three), hash: shortHashOf(two) }]
    })
    t.match(await short(t, ann, 'async_restore', { path, hash: shortHashOf(one), expected_hash: shortHashOf(two) }), {
      hash: shortHashOf(one)
    })
    const list = await short(t, ann, 'async_list', { path: '.', include_hashes: true })
    t.match(list, { entries: [{ name: path, hash: shortHashOf(one) }] })
    t.match(await short(t, ann, 'async_delete', { path, expected_hash: shortHashOf(one) }), {
      deleted_hash: shortHashOf(one)
    })
    t.strictSame(tree.all(), [])
  })

t.test('mcp.hashes full gives all 64 digits, as REST does whatever the setting', async (t) => {
  const { ann } = await start(t, 'full', 'mcp-2025')
  t.match(await ann.call('async_read', { path: 'a.txt' }), { hash: hashOf(one) })
  const { url } = await start(t, 'short', 'mcp-2025')
  const rest = await connect(t, 'rest', url, 'carl')
  t.match(await rest.call('async_read', { path: 'a.txt' }), { hash: hashOf(one) })
})

t.test('every place at which a schema has a hash is shortened', async (t) => {
  for (const operation of operations) {
    const answer = sampleOf(operation.output as Schema) as Answer
    const shortened = withHashes(answer, { hashes: 'short' })
    t.notMatch(JSON.stringify(shortened), whole, operation.name)
    if (JSON.stringify(answer).includes('sha256:')) t.match(JSON.stringify(shortened), shortHashOf('x'), operation.name)
  }
})

t.test('so are those in the details of errors, in both envelopes', async (t) => {
  const details = { applied: true, hash: hashOf('x'), contentions: [{ current_hash: hashOf('x') }] }
  const error = new OperationError('WRITE_ERROR', 'f: the change was made.', { details })
  const { status, bare } = envelopes
  t.match(withHashes(status.body(error, {}), { hashes: 'short' }), {
    details: { applied: true, hash: shortHashOf('x'), contentions: [{ current_hash: shortHashOf('x') }] }
  })
  const { contentions: _, ...rest } = details
  const alone = new OperationError('WRITE_ERROR', 'f: the change was made.', { details: rest })
  const { error: shown } = bare.body(alone, {}) as { error: { data: { details: string } } }
  t.match(shown.data.details, `"hash":"${shortHashOf('x')}"`)
})

interface Schema {
  readonly pattern?: string
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
}

/** A value with a hash wherever the schema has one. */
function sampleOf({ pattern, items, anyOf, properties }: Schema): unknown {
  if (pattern?.startsWith('^sha256:') === true) return hashOf('x')
  if (items !== undefined) return [sampleOf(items)]
  const forms = anyOf?.filter(({ pattern: own, properties: members }) => own !== undefined || members !== undefined)
  if (forms !== undefined && forms.length > 0) return forms.map(sampleOf)[0]
  if (properties === undefined) return null
  return Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, sampleOf(property)]))
}
