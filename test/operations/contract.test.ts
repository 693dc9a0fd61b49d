// The answers keep the contract: each REST answer satisfies the schema that openapi.json promises for its status.
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { errorTable } from '../../schemas/errors.ts'
import { recordExamples } from '../../scripts/openapi/recorder.ts'
import { operations } from '../../src/operations/index.ts'
import { createOpenApi } from '../../scripts/openapi/document.ts'
import { version } from '../../src/support/installation.ts'
import { answerSchema, document as committed } from '../fixtures/document.ts'
import { startServer } from '../fixtures/server.ts'
import { hashOf, makeTree } from '../fixtures/tree.ts'

t.test('openapi.json is what the operations say, and what the server serves', async (t) => {
  const openapi = createOpenApi({ operations, version, calls: await recordExamples() })
  t.strictSame(committed, JSON.parse(JSON.stringify(openapi)), 'if not: npm run generate')
  const tree = makeTree(t)
  const { url } = await startServer(t, tree.root)
  t.strictSame(await (await fetch(`${url}/openapi.json`)).json(), committed)
  for (const { name } of operations) t.equal(committed.paths[`/${name}`]?.post?.operationId, name)
})

t.test('every operation takes the name of its agent', async (t) => {
  // FES gives list_files no parameter at all.
  const without = operations.filter(({ input }) => !('agent_id' in input.properties)).map(({ name }) => name)
  t.strictSame(without, ['list_files'])
})

t.test('every answer satisfies the schema of its status', async (t) => {
  const tree = makeTree(t, { f: 'one\n' })
  const { url } = await startServer(t, tree.root, { crud: { max_timeout: 0.05 } })
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(committed, 'openapi')
  const calls: [string, object, number][] = [
    ['async_read', { path: 'f' }, 200],
    ['async_read', { path: 'nothing' }, 404],
    ['async_read', {}, 400],
    ['async_read', { path: '../f' }, 403],
    ['async_write', { path: 'g', content: 'x' }, 200],
    ['async_write', { path: 'g', content: 'x' }, 409],
    ['async_update', { path: 'f', expected_hash: hashOf('one\n'), content: 'two\n' }, 200],
    [
      'async_update',
      { path: 'f', expected_hash: hashOf('one\n'), patches: [{ old_string: 'one', new_string: '1' }] },
      409
    ],
    ['async_update', { path: 'f', expected_hash: hashOf('one\n'), content: 'x', diff_format: 'unified' }, 409],
    ['async_append', { path: 'g', content: 'x' }, 200],
    ['async_rename', { old_path: 'g', new_path: 'h', expected_hash: hashOf('x') }, 409],
    ['async_rename', { old_path: 'g', new_path: 'f' }, 409],
    ['async_rename', { old_path: 'g', new_path: 'h' }, 200],
    ['async_list', { path: '.' }, 200],
    ['async_status', {}, 200],
    ['async_status', { path: 'f' }, 200],
    ['get_server_info', {}, 200],
    ['get_server_info', { verbose: true }, 400],
    ['async_batch_read', { files: [{ path: 'f' }, { path: 'nothing' }] }, 200],
    ['async_batch_read', {}, 400],
    ['async_batch_update', { files: [{ path: 'f', expected_hash: hashOf('one\n'), content: 'x' }] }, 200],
    ['async_delete', { path: 'h' }, 200],
    ['lock_try', { filepaths: ['f', 'new'], agent_id: 'ann', note: 'at it', ttl_seconds: 9999 }, 200],
    ['lock_try', { filepaths: ['f', 'free'], agent_id: 'bob', mode: 'shared' }, 200],
    ['lock_try', { filepaths: ['f'] }, 400],
    ['lock_try', { filepaths: [''], agent_id: 'ann' }, 400],
    ['lock_try', { filepaths: ['../f'], agent_id: 'ann' }, 403],
    ['lock_wait', { filepaths: ['f'], agent_id: 'bob', timeout_seconds: 0 }, 200],
    ['lock_wait', { filepaths: ['f'], agent_id: 'bob', timeout_seconds: 9 }, 200],
    ['lock_wait', { ticket: 'none', agent_id: 'bob' }, 400],
    ['lock_renew', { filepaths: ['f', 'free'], agent_id: 'ann' }, 200],
    ['lock_status', { filepaths: ['f', 'free', 'none'], agent_id: 'ann' }, 200],
    ['async_status', { path: 'f' }, 200],
    ['async_append', { path: 'f', content: 'x', timeout: 0, agent_id: 'bob' }, 408],
    ['async_append', { path: 'f', content: 'x', fencing_token: 1_000_000_000, agent_id: 'ann' }, 409],
    ['lock_release', { filepaths: ['f', 'free'], agent_id: 'bob' }, 200],
    ['lock_break', { filepaths: ['f', 'none'], reason: 'test' }, 200],
    ['async_list', { path: '.', agent_id: 'ann' }, 200],
    ['async_append', { path: 'f', content: 'x', agent_id: 'ann' }, 409],
    ['lock_break', { filepaths: ['new'], reason: 'test', agent_id: 'boss' }, 200],
    ['async_read', { path: 'nothing', agent_id: 'ann' }, 404],
    ['lock_release_all', { agent_id: 'bob' }, 200]
  ]
  for (const [name, input, status] of calls) {
    const response = await fetch(`${url}/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(input)
    })
    const answer: unknown = await response.json()
    const title = `${name} ${JSON.stringify(input).slice(0, 60)}`
    t.equal(response.status, status, title)
    const check = ajv.compile({ $ref: answerSchema(name, status) })
    t.ok(check(answer), `${title}: ${ajv.errorsText(check.errors)}`)
  }
})

t.test('the error table has the statuses of the specification', async (t) => {
  const statuses = Object.fromEntries(Object.entries(errorTable).map(([code, { httpStatus }]) => [code, httpStatus]))
  t.match(statuses, {
    FILE_NOT_FOUND: 404,
    FILE_EXISTS: 409,
    ACCESS_DENIED: 403,
    PATH_OUTSIDE_BASE: 403,
    LOCK_TIMEOUT: 408,
    ENCODING_ERROR: 400,
    INVALID_PATCH: 400,
    CONTENT_OR_PATCHES_REQUIRED: 400,
    FILE_TOO_LARGE: 413,
    READ_ERROR: 500,
    WRITE_ERROR: 500,
    DELETE_ERROR: 500,
    RENAME_ERROR: 500,
    DIR_NOT_FOUND: 404,
    SERVER_ERROR: 500,
    INVALID_REQUEST: 400,
    NOT_A_FILE: 400,
    INVALID_PATTERN: 400,
    LOCK_REQUIRED: 423,
    DEADLOCK: 409,
    LEASE_LOST: 409,
    CANCELLED: 499,
    OVERLOADED: 503,
    UNAUTHORIZED: 401,
    FORBIDDEN_ORIGIN: 403,
    FORBIDDEN_USER: 403
  })
})
