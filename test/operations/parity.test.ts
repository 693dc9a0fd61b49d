// All transports give the same answer to the same call: one table of calls runs over all of them.
import { symlinkSync } from 'node:fs'
import t, { type Test } from 'tap'
import { operations } from '../../src/operations/index.ts'
import { connect, transports, type Answer, type TransportName } from '../fixtures/clients.ts'
import { startServer } from '../fixtures/server.ts'
import { startStdio } from '../fixtures/stdio.ts'
import { hashOf, makeTree, type Tree } from '../fixtures/tree.ts'

interface Step {
  readonly title: string
  readonly name: string
  /** May use the answers so far, and the root. */
  readonly input: (answers: readonly Answer[], root: string) => object
  /** Properties that the answer must have, whatever else it has. */
  readonly expect: object
}

const one = 'first\nsecond\nthird\n'
const two = 'first\n2nd\nthird\n'
const error = (error_code: string) => ({ status: 'error', error_code })

const steps: readonly Step[] = [
  { title: 'status of the server', name: 'async_status', input: () => ({}), expect: { status: 'ok', queue_depth: 0 } },
  {
    title: 'write',
    name: 'async_write',
    input: () => ({ path: 'new/deep/a.txt', content: one }),
    expect: { status: 'ok', hash: hashOf(one), bytes_written: 19 }
  },
  {
    title: 'write again',
    name: 'async_write',
    input: () => ({ path: 'new/deep/a.txt', content: 'x' }),
    expect: error('FILE_EXISTS')
  },
  {
    title: 'write without its directory',
    name: 'async_write',
    input: () => ({ path: 'none/a.txt', content: 'x', create_dirs: false }),
    expect: error('DIR_NOT_FOUND')
  },
  {
    title: 'read',
    name: 'async_read',
    input: () => ({ path: 'new/deep/a.txt' }),
    expect: { status: 'ok', content: one, total_lines: 3, lines_returned: 3, offset: 0, limit: null, encoding: 'utf-8' }
  },
  {
    title: 'read some lines',
    name: 'async_read',
    input: () => ({ path: 'new/deep/a.txt', offset: 1, limit: 1 }),
    expect: { content: 'second\n', lines_returned: 1, total_lines: 3, hash: hashOf(one) }
  },
  {
    title: 'read by an absolute path',
    name: 'async_read',
    input: (_answers, root) => ({ path: `${root}/new/deep/a.txt`, limit: 0 }),
    expect: { content: '', lines_returned: 0, hash: hashOf(one) }
  },
  {
    title: 'read beyond the end',
    name: 'async_read',
    input: () => ({ path: 'new/deep/a.txt', offset: 99 }),
    expect: { content: '', lines_returned: 0 }
  },
  {
    title: 'read what is not there',
    name: 'async_read',
    input: () => ({ path: 'nothing.txt' }),
    expect: error('FILE_NOT_FOUND')
  },
  { title: 'read a directory', name: 'async_read', input: () => ({ path: 'new' }), expect: error('NOT_A_FILE') },
  { title: 'read outside', name: 'async_read', input: () => ({ path: '../x' }), expect: error('PATH_OUTSIDE_BASE') },
  {
    title: 'read with an unknown parameter',
    name: 'async_read',
    input: () => ({ path: 'a', ofset: 1 }),
    expect: error('INVALID_REQUEST')
  },
  {
    title: 'read in an unknown encoding',
    name: 'async_read',
    input: () => ({ path: 'new/deep/a.txt', encoding: 'klingon' }),
    expect: error('ENCODING_ERROR')
  },
  {
    title: 'update by patch',
    name: 'async_update',
    input: () => ({
      path: 'new/deep/a.txt',
      expected_hash: hashOf(one),
      patches: [{ old_string: 'second', new_string: '2nd' }],
      agent_id: 'ann'
    }),
    expect: { status: 'ok', previous_hash: hashOf(one), hash: hashOf(two), changed: true }
  },
  {
    title: 'update too late',
    name: 'async_update',
    input: () => ({
      path: 'new/deep/a.txt',
      expected_hash: hashOf(one),
      patches: [{ old_string: 'third', new_string: '3rd' }]
    }),
    expect: {
      status: 'contention',
      base_known: true,
      current_hash: hashOf(two),
      modified_by: [{ agent_id: 'ann', operation: 'async_update' }],
      diff: {
        format: 'json',
        changes: [{ type: 'modified', start_line: 2, end_line: 2, old_content: 'second', new_content: '2nd' }]
      }
    }
  },
  {
    title: 'update too late, unified',
    name: 'async_update',
    input: () => ({ path: 'new/deep/a.txt', expected_hash: hashOf(one), content: 'x', diff_format: 'unified' }),
    expect: {
      status: 'contention',
      diff: {
        format: 'unified',
        content: '--- expected\n+++ current\n@@ -1,3 +1,3 @@\n first\n-second\n+2nd\n third\n'
      }
    }
  },
  {
    title: 'update of a version never known',
    name: 'async_update',
    input: () => ({ path: 'new/deep/a.txt', expected_hash: hashOf('never'), content: 'x' }),
    expect: { status: 'contention', base_known: false, diff: null }
  },
  {
    title: 'update that changes nothing',
    name: 'async_update',
    input: () => ({ path: 'new/deep/a.txt', expected_hash: hashOf(two), content: two }),
    expect: { status: 'ok', changed: false, hash: hashOf(two), bytes_written: 0 }
  },
  {
    title: 'update with a patch that is not there',
    name: 'async_update',
    input: () => ({
      path: 'new/deep/a.txt',
      expected_hash: hashOf(two),
      patches: [{ old_string: 'absent', new_string: '' }]
    }),
    expect: error('INVALID_PATCH')
  },
  {
    title: 'update with a patch that is there twice',
    name: 'async_update',
    input: () => ({
      path: 'new/deep/a.txt',
      expected_hash: hashOf(two),
      patches: [{ old_string: 'ir', new_string: '' }]
    }),
    expect: error('INVALID_PATCH')
  },
  {
    title: 'update everywhere',
    name: 'async_update',
    input: () => ({
      path: 'new/deep/a.txt',
      expected_hash: hashOf(two),
      patches: [{ old_string: 'ir', new_string: '$&', replace_all: true }]
    }),
    expect: { status: 'ok', hash: hashOf('f$&st\n2nd\nth$&d\n') }
  },
  {
    title: 'update by a unified diff that does not apply',
    name: 'async_update',
    input: () => ({
      path: 'new/deep/a.txt',
      expected_hash: hashOf('f$&st\n2nd\nth$&d\n'),
      unified_diff: '@@ -1,2 +1,2 @@\n-first\n+1st\n 2nd\n'
    }),
    expect: { ...error('INVALID_PATCH'), details: { reason: 'not_found', hunk_index: 0 } }
  },
  {
    title: 'update by a unified diff, for an older version, merged',
    name: 'async_update',
    input: () => ({
      path: 'new/deep/a.txt',
      expected_hash: hashOf(two),
      unified_diff: '@@ -1,3 +1,4 @@\n first\n-2nd\n+second\n+more\n third\n',
      on_contention: 'merge'
    }),
    expect: { status: 'contention', merge_conflicts: [{ reason: 'overlap' }] }
  },
  {
    title: 'update by a unified diff',
    name: 'async_update',
    input: () => ({
      path: 'new/deep/a.txt',
      expected_hash: hashOf('f$&st\n2nd\nth$&d\n'),
      unified_diff: '--- a\n+++ b\n@@ -7,2 +7,2 @@\n-f$&st\n+f$1st\n 2nd\n'
    }),
    expect: { status: 'ok', hash: hashOf('f$1st\n2nd\nth$&d\n') }
  },
  {
    title: 'update with neither form',
    name: 'async_update',
    input: () => ({ path: 'new/deep/a.txt', expected_hash: hashOf(two) }),
    expect: error('CONTENT_OR_PATCHES_REQUIRED')
  },
  {
    title: 'update with both forms',
    name: 'async_update',
    input: () => ({
      path: 'new/deep/a.txt',
      expected_hash: hashOf(two),
      content: '',
      patches: [{ old_string: 'a', new_string: '' }]
    }),
    expect: error('INVALID_REQUEST')
  },
  {
    title: 'append',
    name: 'async_append',
    input: () => ({ path: 'log.txt', content: 'one', create_if_missing: true, separator: '\n' }),
    expect: { status: 'ok', hash: hashOf('one'), bytes_appended: 3, total_size_bytes: 3 }
  },
  {
    title: 'append more',
    name: 'async_append',
    input: () => ({ path: 'log.txt', content: 'two', separator: '\n' }),
    expect: { status: 'ok', hash: hashOf('one\ntwo'), bytes_appended: 4, total_size_bytes: 7 }
  },
  {
    title: 'append to what is not there',
    name: 'async_append',
    input: () => ({ path: 'no-log.txt', content: 'x' }),
    expect: error('FILE_NOT_FOUND')
  },
  {
    title: 'rename with the wrong hash',
    name: 'async_rename',
    input: () => ({ old_path: 'log.txt', new_path: 'renamed/log.txt', expected_hash: hashOf('one') }),
    expect: { status: 'contention', base_known: true, current_hash: hashOf('one\ntwo') }
  },
  {
    title: 'rename',
    name: 'async_rename',
    input: () => ({ old_path: 'log.txt', new_path: 'renamed/log.txt', expected_hash: hashOf('one\ntwo') }),
    expect: { status: 'ok', hash: hashOf('one\ntwo'), changed: true }
  },
  {
    title: 'rename onto another',
    name: 'async_rename',
    input: () => ({ old_path: 'renamed/log.txt', new_path: 'new/deep/a.txt' }),
    expect: error('FILE_EXISTS')
  },
  {
    title: 'rename onto itself',
    name: 'async_rename',
    input: () => ({ old_path: 'renamed/log.txt', new_path: 'renamed/log.txt' }),
    expect: { status: 'ok', changed: false }
  },
  {
    title: 'rename over another',
    name: 'async_rename',
    input: () => ({ old_path: 'renamed/log.txt', new_path: 'new/deep/a.txt', overwrite: true }),
    expect: { status: 'ok', hash: hashOf('one\ntwo') }
  },
  {
    title: 'rename a directory',
    name: 'async_rename',
    input: () => ({ old_path: 'new', new_path: 'other' }),
    expect: error('NOT_A_FILE')
  },
  {
    title: 'status of a file',
    name: 'async_status',
    input: () => ({ path: 'new/deep/a.txt' }),
    expect: {
      status: 'ok',
      exists: true,
      hash: hashOf('one\ntwo'),
      lock_state: 'unlocked',
      queue_depth: 0,
      holders: [],
      pending_requests: []
    }
  },
  {
    title: 'status of nothing',
    name: 'async_status',
    input: () => ({ path: 'nothing' }),
    expect: { status: 'ok', exists: false, hash: null }
  },
  {
    title: 'list',
    name: 'async_list',
    input: () => ({ path: '.' }),
    expect: {
      status: 'ok',
      entries: [
        { name: 'link', type: 'symlink' },
        { name: 'new', type: 'directory' },
        { name: 'renamed', type: 'directory' },
        { name: 'unreadable.bin', type: 'file' }
      ],
      total_entries: 4
    }
  },
  {
    title: 'list by pattern with hashes',
    name: 'async_list',
    input: () => ({ path: '.', recursive: true, pattern: '*.txt', include_hashes: true }),
    expect: { entries: [{ name: 'new/deep/a.txt', size_bytes: 7, hash: hashOf('one\ntwo') }], total_entries: 1 }
  },
  {
    title: 'list one page',
    name: 'async_list',
    input: () => ({ path: '.', limit: 2 }),
    expect: {
      entries: [{ name: 'link' }, { name: 'new' }],
      total_entries: 4,
      next_cursor: /^[\w-]+$/
    }
  },
  {
    title: 'list the next page',
    name: 'async_list',
    input: (answers) => ({ path: '.', limit: 2, cursor: answers.at(-1)?.['next_cursor'] }),
    expect: { entries: [{ name: 'renamed' }, { name: 'unreadable.bin' }] }
  },
  {
    title: 'list by a pattern that is none',
    name: 'async_list',
    input: () => ({ path: '.', pattern: '+(a)' }),
    expect: error('INVALID_PATTERN')
  },
  {
    title: 'list what is not there',
    name: 'async_list',
    input: () => ({ path: 'nothing' }),
    expect: error('DIR_NOT_FOUND')
  },
  {
    title: 'batch read',
    name: 'async_batch_read',
    input: () => ({ files: [{ path: 'new/deep/a.txt' }, { path: 'nothing' }, { path: 'new/deep/a.txt', offset: 1 }] }),
    expect: {
      status: 'ok',
      summary: { total: 3, succeeded: 2, failed: 1 },
      results: [{ status: 'ok', content: 'one\ntwo' }, error('FILE_NOT_FOUND'), { content: 'two' }]
    }
  },
  {
    title: 'batch write',
    name: 'async_batch_write',
    input: () => ({
      files: [
        { path: 'b1.txt', content: '1' },
        { path: 'b1.txt', content: '2' },
        { path: 'b2.txt', content: '2' }
      ]
    }),
    expect: {
      summary: { total: 3, succeeded: 2, failed: 1 },
      results: [{ status: 'ok' }, error('FILE_EXISTS'), { status: 'ok' }]
    }
  },
  {
    title: 'batch update',
    name: 'async_batch_update',
    input: () => ({
      files: [
        { path: 'b1.txt', expected_hash: hashOf('1'), content: 'one' },
        { path: 'b2.txt', expected_hash: hashOf('1'), content: 'two' },
        { path: 'b3.txt', expected_hash: hashOf('1'), content: 'x' }
      ]
    }),
    expect: {
      summary: { total: 3, succeeded: 1, contention: 1, failed: 1 },
      results: [
        { status: 'ok', hash: hashOf('one') },
        { status: 'contention', base_known: true },
        error('FILE_NOT_FOUND')
      ]
    }
  },
  {
    title: 'batch of nothing',
    name: 'async_batch_read',
    input: () => ({ files: [] }),
    expect: error('INVALID_REQUEST')
  },
  {
    title: 'read binary',
    name: 'async_read',
    input: () => ({ path: 'unreadable.bin' }),
    expect: error('ENCODING_ERROR')
  },
  {
    title: 'read through a link that leaves',
    name: 'async_read',
    input: () => ({ path: 'link' }),
    expect: error('PATH_OUTSIDE_BASE')
  },
  {
    title: 'delete with the wrong hash',
    name: 'async_delete',
    input: () => ({ path: 'b1.txt', expected_hash: hashOf('1') }),
    expect: { status: 'contention', diff: { changes: [{ type: 'modified', old_content: '1', new_content: 'one' }] } }
  },
  {
    title: 'delete',
    name: 'async_delete',
    input: () => ({ path: 'b1.txt', expected_hash: hashOf('one') }),
    expect: { status: 'ok', deleted_hash: hashOf('one') }
  },
  { title: 'delete again', name: 'async_delete', input: () => ({ path: 'b1.txt' }), expect: error('FILE_NOT_FOUND') },
  {
    title: 'delete a link',
    name: 'async_delete',
    input: () => ({ path: 'link' }),
    expect: { status: 'ok', deleted_hash: null }
  },
  {
    title: 'delete a directory',
    name: 'async_delete',
    input: () => ({ path: 'renamed' }),
    expect: error('NOT_A_FILE')
  },
  {
    title: 'write into .git',
    name: 'async_write',
    input: () => ({ path: '.git/hooks/x', content: '' }),
    expect: error('ACCESS_DENIED')
  },
  {
    title: 'list the folder',
    name: 'list_files',
    input: () => ({}),
    expect: { total_count: Number, files: [{ lines: Number }] }
  },
  {
    title: 'create by lines',
    name: 'edit_file',
    input: () => ({ name: 'lines.txt', append: 'one\ntwo', create_if_missing: true }),
    expect: { success: true, lines_modified: 2, file_created: true, new_total_lines: 2 }
  },
  {
    title: 'read lines',
    name: 'read_file',
    input: () => ({ name: 'lines.txt', start_line: 2 }),
    expect: { content: 'two', total_lines: 2, range_requested: { start_line: 2 } }
  },
  {
    title: 'edit a line that is not there',
    name: 'edit_file',
    input: () => ({ name: 'lines.txt', edits: [{ line: 9, operation: 'delete' }] }),
    expect: { error: { code: -32602, data: { filename: 'lines.txt', operation: 'edit_file' } } }
  },
  {
    title: 'read without a name',
    name: 'read_file',
    input: () => ({}),
    expect: { error: { code: -32600, data: { operation: 'read_file' } } }
  },
  {
    title: 'what edit_file wrote is a version to async_update',
    name: 'async_update',
    input: () => ({
      path: 'lines.txt',
      expected_hash: hashOf('one\ntwo\n'),
      patches: [{ old_string: 'two', new_string: '2' }]
    }),
    expect: { status: 'ok' }
  },
  {
    title: 'lease files',
    name: 'lock_try',
    input: () => ({ filepaths: ['new.txt', './lines.txt'], agent_id: 'ann', note: 'at it', ttl_seconds: 9999 }),
    expect: {
      status: 'ok',
      all_acquired: true,
      results: [
        { filepath: './lines.txt', acquired: true, holder: null },
        { filepath: 'new.txt', acquired: true }
      ],
      message: /3600/
    }
  },
  {
    title: 'lease what is leased',
    name: 'lock_try',
    input: () => ({ filepaths: ['lines.txt', 'free'], agent_id: 'bob', mode: 'shared' }),
    expect: { all_acquired: false, results: [{ acquired: true }, { acquired: false, holder: 'ann', position: 1 }] }
  },
  {
    title: 'wait for what is leased',
    name: 'lock_wait',
    input: () => ({ filepaths: ['lines.txt'], agent_id: 'bob', timeout_seconds: 0 }),
    expect: { all_acquired: false, results: [{ acquired: false, holder: 'ann', holder_note: 'at it' }] }
  },
  {
    title: 'who has what',
    name: 'lock_status',
    input: () => ({ filepaths: ['lines.txt', 'free', 'none'], agent_id: 'bob' }),
    expect: { results: [{ held_by_me: true }, { held_by_me: false, holder: 'ann' }, { holder: null }] }
  },
  {
    title: 'status of a leased file',
    name: 'async_status',
    input: () => ({ path: 'lines.txt' }),
    expect: { lock_state: 'write_locked', holders: [{ type: 'lease', agent_id: 'ann', note: 'at it' }] }
  },
  {
    title: 'append to what another has leased',
    name: 'async_append',
    input: () => ({ path: 'lines.txt', content: 'x', timeout: 0, agent_id: 'bob' }),
    expect: { ...error('LOCK_TIMEOUT'), message: /ann has leased it.*at it/ }
  },
  {
    title: 'append under no lease of mine',
    name: 'async_append',
    input: () => ({ path: 'lines.txt', content: 'x', fencing_token: 1_000_000_000, agent_id: 'bob' }),
    expect: error('LEASE_LOST')
  },
  {
    title: 'append under my lease',
    name: 'async_append',
    input: (answers) => ({
      path: 'lines.txt',
      content: 'x',
      agent_id: 'ann',
      fencing_token: answers.at(-7)?.['results'][0].fencing_token
    }),
    expect: { status: 'ok' }
  },
  {
    title: 'prolong leases',
    name: 'lock_renew',
    input: () => ({ filepaths: ['lines.txt', 'free'], agent_id: 'ann' }),
    expect: { all_renewed: false, results: [{ renewed: false, holder: 'bob' }, { renewed: true }] }
  },
  {
    title: 'release leases',
    name: 'lock_release',
    input: () => ({ filepaths: ['lines.txt', 'free'], agent_id: 'ann' }),
    expect: {
      all_released: false,
      results: [
        { released: false, holder: 'bob' },
        { released: true, holder: null }
      ]
    }
  },
  {
    title: 'release all leases',
    name: 'lock_release_all',
    input: () => ({ agent_id: 'ann' }),
    expect: { status: 'ok', count: 1 }
  },
  {
    title: 'lease nothing',
    name: 'lock_try',
    input: () => ({ filepaths: [], agent_id: 'ann' }),
    expect: { status: 'ok', results: [], all_acquired: true }
  },
  {
    title: 'lease a directory',
    name: 'lock_try',
    input: () => ({ filepaths: ['new.txt', 'new'], agent_id: 'ann' }),
    expect: error('NOT_A_FILE')
  },
  {
    title: 'lease what is outside',
    name: 'lock_wait',
    input: () => ({ filepaths: ['../x'], agent_id: 'ann' }),
    expect: error('PATH_OUTSIDE_BASE')
  },
  {
    title: 'wait with an unknown ticket',
    name: 'lock_wait',
    input: () => ({ ticket: 'ticket-0', agent_id: 'ann' }),
    expect: error('INVALID_REQUEST')
  }
]

/** Calls an operation; a failure is its envelope. */
type CallOne = (name: string, input: object) => Promise<Answer>

async function connectRest(t: Test, transport: TransportName, root: string): Promise<CallOne> {
  const { url } = await startServer(t, root)
  const client = await connect(t, transport, url)
  return (name, input) => client.call(name, input)
}

async function connectJsonRpc(t: Test, root: string): Promise<CallOne> {
  const program = startStdio(t, ['--dir', root, '--transport', 'stdio'])
  return async (name, input) => {
    const { result, error } = await program.call(name, input)
    return result ?? (/^(?:async|lock)_/.test(name) ? (error?.data as Answer) : { error })
  }
}

const doors: Record<string, (t: Test, root: string) => Promise<CallOne>> = {
  ...Object.fromEntries(
    transports.map((transport) => [transport, (t: Test, root: string) => connectRest(t, transport, root)])
  ),
  'json-rpc': connectJsonRpc
}

async function runAll(t: Test, transport: string): Promise<{ answers: Answer[]; tree: Tree; root: string }> {
  const tree = makeTree(t, { 'root/unreadable.bin': Buffer.from([0, 255, 1]) })
  symlinkSync('/etc/passwd', tree.path('root/link'))
  const root = tree.path('root')
  const call = await (doors[transport] as (typeof doors)[string])(t, root)
  const answers: Answer[] = []
  for (const { title, name, input, expect } of steps) {
    const answer = await call(name, input(answers, root))
    t.match(answer, expect, `${transport}: ${title}`)
    answers.push(answer)
  }
  t.notMatch(tree.all().join(), /\.tmp/, 'no temporary file stays')
  return { answers, tree, root }
}

const seen = new Map<string, { answers: unknown; files: unknown }>()

for (const transport of Object.keys(doors)) {
  t.test(`every call of the table over ${transport}`, async (t) => {
    const { answers, tree, root } = await runAll(t, transport)
    seen.set(transport, { answers: answers.map((answer) => normalize(answer, root)), files: tree.all() })
  })
}

t.test('the answers are the same, property by property, and so are the files', async (t) => {
  const { answers, files } = seen.get('rest') as { answers: unknown[]; files: unknown }
  for (const transport of Object.keys(doors).slice(1)) {
    const other = seen.get(transport) as { answers: unknown[]; files: unknown }
    steps.forEach(({ title }, index) => t.strictSame(other.answers[index], answers[index], `${transport}: ${title}`))
    t.strictSame(other.files, files)
  }
})

t.test('every operation is in the table', async (t) => {
  // Suites of their own run them over every transport: what a process says of itself, histories, what operators do, hooks, layers and landings.
  const elsewhere = [
    'get_server_info',
    'async_history',
    'async_diff',
    'async_restore',
    'async_transaction',
    'async_undo',
    'async_blame',
    'lock_break',
    'native_hook',
    'layer_begin',
    'layer_end',
    'layer_apply',
    'layer_list',
    'layer_drop',
    'land',
    'land_prepare',
    'land_finish',
    'replay'
  ]
  const called = new Set([...steps.map(({ name }) => name), ...elsewhere])
  t.strictSame(
    operations.map(({ name }) => name).filter((name) => !called.has(name)),
    [],
    'each has a step of this file, or a suite named above'
  )
})

/** Without what must differ: times, the port, the folder, and who a session says it is. */
function normalize(answer: Answer, root: string): unknown {
  const text = JSON.stringify(answer, (key, value: unknown) => {
    if (varying.has(key)) return `<${key}>`
    if (key === 'fencing_token' && value !== null) return '<token>'
    if (key === 'agent_id' && /^(?:anonymous|session-.*|stdio-.*)$/.test(String(value))) return '<unnamed>'
    return value
  })
  const times = /\d{4}-\d\d-\d\dT[0-9:.]+Z(?:, [0-9.]+ s from now)?/g
  const names = /(?:anonymous|session-[0-9a-f]+|stdio-[0-9a-f-]+)(?= (?:changed|deleted) )/g
  return JSON.parse(text.replaceAll(root, '<root>').replaceAll(times, '<time>').replaceAll(names, '<unnamed>'))
}

const varying: ReadonlySet<string> = new Set([
  'timestamp',
  'modified',
  'at',
  'uptime_seconds',
  'port',
  'version',
  'transport',
  'remaining_seconds'
])
