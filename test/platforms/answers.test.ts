// The same calls have the same answers on every system: npm run test:wine keeps those of Linux, and compares them with those on Windows.
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import type { Answer } from '../fixtures/clients.ts'
import { post } from '../fixtures/processes.ts'
import { startOneProgram } from '../fixtures/server.ts'
import { hashOf, makeTree, withSlashes, type Tree } from '../fixtures/tree.ts'

/** The file to write them to, and the file of those to compare with. */
const { TEST_ANSWERS_TO: writeTo, TEST_ANSWERS_OF: compareWith } = process.env

interface Call {
  readonly name: string
  /** May use the answers so far. */
  readonly input: (answers: readonly Answer[]) => object
}

const call = (name: string, input: Call['input'] | object = {}): Call => ({
  name,
  input: typeof input === 'function' ? (input as Call['input']) : () => input
})
const last = (answers: readonly Answer[]) => answers.at(-1)?.['hash'] as string
const ann = { agent_id: 'ann' }
const bob = { agent_id: 'bob' }
const one = 'first\nsecond\nthird\n'
const crlf = 'first\r\nsecond\r\n'

/** In this order, on a tree that has `plain.txt`, `crlf.txt` and `deep/er/file.ts`. */
const calls: readonly Call[] = [
  call('async_list', { path: '.' }),
  call('async_list', { path: '.', recursive: true }),
  call('async_list', { path: 'deep', recursive: true, pattern: '**/*.ts' }),
  call('list_files', {}),
  call('async_read', { path: 'plain.txt', ...ann }),
  call('async_read', { path: 'crlf.txt', offset: 1, limit: 1 }),
  call('async_read', { path: 'deep/er/file.ts' }),
  call('async_read', { path: 'none.txt' }),
  call('async_read', { path: 'deep' }),
  call('async_read', { path: 'deep/' }),
  call('async_read', { path: '../x' }),
  call('async_read', { path: 'none/x' }),
  call('async_read', { path: 'plain.txt/x' }),
  call('async_read', { path: '' }),
  call('async_write', { path: 'new/deep/a.txt', content: one, ...ann }),
  call('async_write', { path: 'new/deep/a.txt', content: 'x' }),
  call('async_write', { path: 'gone/a.txt', content: 'x', create_dirs: false }),
  call('async_update', {
    path: 'plain.txt',
    expected_hash: hashOf(one),
    patches: [{ old_string: 'second', new_string: '2nd' }],
    ...ann
  }),
  call('async_update', { path: 'plain.txt', expected_hash: hashOf(one), content: 'lost\n', ...bob }),
  call('async_update', {
    path: 'crlf.txt',
    expected_hash: hashOf(crlf),
    patches: [{ start_line: 2, end_line: 2, new_content: 'zwei' }],
    ...bob
  }),
  call('async_append', { path: 'crlf.txt', content: 'more\r\n', ...bob }),
  call('async_append', {
    path: 'log/new.log',
    content: 'a line\n',
    create_dirs: true,
    create_if_missing: true,
    ...bob
  }),
  call('async_diff', { path: 'plain.txt', from_hash: hashOf(one) }),
  call('async_rename', { old_path: 'deep/er/file.ts', new_path: 'deep/file.ts', ...bob }),
  call('async_rename', { old_path: 'deep/file.ts', new_path: 'plain.txt', ...bob }),
  call('async_history', { path: 'plain.txt' }),
  call('async_history', {}),
  call('async_transaction', {
    changes: [
      { operation: 'append', path: 'plain.txt', content: 'fourth\n' },
      { operation: 'write', path: 'made/by/both.txt', content: 'both\n' },
      { operation: 'rename', path: 'deep/file.ts', new_path: 'made/file.ts' },
      { operation: 'delete', path: 'log/new.log' }
    ],
    change_set: 'joint',
    ...ann
  }),
  call('async_undo', { by_agent: 'ann', change_set: 'joint', dry_run: true, ...ann }),
  call('async_undo', { by_agent: 'ann', change_set: 'joint', ...ann }),
  call('async_blame', { path: 'plain.txt' }),
  call('async_batch_read', { files: ['plain.txt', 'crlf.txt', 'none.txt'].map((path) => ({ path })) }),
  call('async_batch_write', {
    files: [
      { path: 'b/1', content: '1\n' },
      { path: 'b/2', content: '2\n' }
    ]
  }),
  call('async_delete', { path: 'b/1', ...ann }),
  call('async_read', { path: 'b/2' }),
  call('async_update', (answers) => ({ path: 'b/2', expected_hash: last(answers), content: 'two\n', ...ann })),
  call('async_restore', { path: 'b/2', hash: hashOf('2\n'), expected_hash: hashOf('two\n'), ...ann }),
  call('lock_try', { filepaths: ['plain.txt', 'made/none.txt'], ...ann }),
  call('lock_status', { filepaths: ['plain.txt', 'b/2'], ...bob }),
  call('lock_try', { filepaths: ['plain.txt'], ...bob }),
  call('lock_release_all', ann),
  call('async_status', { path: 'plain.txt' }),
  call('edit_file', { name: 'plain.txt', append: 'last\n' }),
  call('read_file', { name: 'plain.txt' })
]

const files = { 'plain.txt': one, 'crlf.txt': crlf, 'deep/er/file.ts': 'export const x = 1\n' }

/** What differs from run to run. */
const passing =
  /^(timestamp|modified|at|pid|expires_at|acquired_at|granted_at|fencing_token|held_since|held_until|duration_ms|waited_ms|age_seconds|held_seconds)$/

/** Paths below the root as Linux has them, and nothing of the clock. */
function comparable(answer: unknown, root: string): unknown {
  return JSON.parse(
    JSON.stringify(answer, (key, value: unknown) => {
      if (passing.test(key)) return '-'
      if (typeof value !== 'string') return value
      const [start = '', ...rest] = value.split(root)
      return start + rest.map((text) => `<root>${text.replace(/^[^\s"',:;]+/, withSlashes)}`).join('')
    })
  )
}

async function answersOf(url: string, tree: Tree): Promise<unknown[]> {
  const answers: Answer[] = []
  for (const { name, input } of calls) answers.push(await post(url, name, input(answers)))
  return [...answers.map((answer) => comparable(answer, tree.root)), tree.all()]
}

const noneGiven = writeTo === undefined && compareWith === undefined && 'npm run test:wine compares them'

t.test('each call has the answer that it has on Linux', { skip: noneGiven }, async (t) => {
  const tree = makeTree(t, files)
  const { url } = await startOneProgram(t, ['--dir', tree.root])
  const answers = await answersOf(url, tree)
  if (writeTo !== undefined) writeFileSync(writeTo, JSON.stringify(answers))
  if (compareWith === undefined) return
  const wanted = JSON.parse(readFileSync(compareWith, 'utf8')) as unknown[]
  for (const [index, answer] of answers.entries()) {
    const { name, input } = calls[index] ?? call('all paths')
    t.strictSame(answer, wanted[index], `${name} ${JSON.stringify(input([]))}`)
  }
})
