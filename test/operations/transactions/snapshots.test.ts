// Reads of several files as of one moment, and who made each line.
import { execFileSync } from 'node:child_process'
import t, { type Test } from 'tap'
import { connect, type TestClient } from '../../fixtures/clients.ts'
import { startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree, type Tree } from '../../fixtures/tree.ts'

async function scene(
  t: Test,
  files: Record<string, string>
): Promise<{ tree: Tree; ann: TestClient; bob: TestClient }> {
  const tree = makeTree(t, files)
  const { url } = await startServer(t, tree.root, { crud: { durability: 'rename' } })
  return { tree, ann: await connect(t, 'rest', url, 'ann'), bob: await connect(t, 'rest', url, 'bob') }
}

t.test('a consistent read names its moment, and later calls get the files as they were then', async (t) => {
  const { tree, ann, bob } = await scene(t, { a: '0\n', b: '0\n' })
  const files = [{ path: 'a' }, { path: 'b' }, { path: 'gone' }]
  const first = await ann.call('async_batch_read', { files, consistent: true })
  t.match(first['results'], [{ content: '0\n' }, { content: '0\n' }, { error_code: 'FILE_NOT_FOUND' }])
  const { snapshot } = first
  t.match(snapshot, /^snapshot-\d+$/)
  await bob.call('async_update', { path: 'a', expected_hash: hashOf('0\n'), content: '1\n' })
  await bob.call('async_delete', { path: 'b', expected_hash: hashOf('0\n') })
  t.match(await ann.call('async_read', { path: 'a', snapshot }), { status: 'ok', content: '0\n', snapshot })
  t.match(await ann.call('async_read', { path: 'b', snapshot }), { status: 'ok', content: '0\n' })
  t.match(await ann.call('async_read', { path: 'a' }), { content: '1\n' })
  tree.write('later', 'x')
  t.match(await ann.call('async_read', { path: 'later', snapshot }), { error_code: 'VERSION_NOT_KEPT' })
  t.match(await ann.call('async_read', { path: 'a', snapshot: 'yesterday' }), { error_code: 'INVALID_REQUEST' })
})

t.test('no consistent read sees half of a transaction', async (t) => {
  const { ann, bob } = await scene(t, { a: '0\n', b: '0\n', c: '0\n' })
  const paths = ['a', 'b', 'c']
  const rounds = 40
  async function write(): Promise<void> {
    for (let round = 1; round <= rounds; round += 1) {
      const before = hashOf(`${round - 1}\n`)
      const changes = paths.map((path) => ({ operation: 'update', path, expected_hash: before, content: `${round}\n` }))
      const answer = await bob.call('async_transaction', { changes })
      if (answer['status'] !== 'ok') throw new Error(JSON.stringify(answer))
    }
  }
  const state = { isDone: false }
  const writing = write().finally(() => (state.isDone = true))
  const seen = new Set<string>()
  while (!state.isDone) {
    const files = paths.map((path) => ({ path }))
    const { results } = await ann.call('async_batch_read', { files, consistent: true })
    const contents = results.map(({ content }: { content: string }) => content)
    t.equal(new Set(contents).size, 1, `all of one moment: ${contents.join()}`)
    seen.add(contents[0])
  }
  await writing
  t.ok(seen.size > 1)
})

t.test(
  'blame names the agent, task and version of each line, over a rename, and the commit of older lines',
  async (t) => {
    const { tree, ann, bob } = await scene(t, { f: 'one\ntwo\nthree\nfour\n' })
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', tree.root, '-c', 'user.name=Eve', '-c', 'user.email=eve@example.org', ...args])
    git('init', '-q')
    git('add', 'f')
    git('commit', '-qm', 'first')
    const commit = git('rev-parse', 'HEAD').toString().trim()
    await ann.call('async_read', { path: 'f' })
    const update = async (who: TestClient, path: string, old_string: string, new_string: string, more = {}) => {
      const { hash } = await who.call('async_read', { path, limit: 0 })
      const patches = [{ old_string, new_string }]
      return who.call('async_update', { path, expected_hash: hash, patches, ...more })
    }
    const { hash } = await update(ann, 'f', 'two\n', 'ann\nann too\n', { change_set: 'task' })
    await bob.call('async_rename', { old_path: 'f', new_path: 'g' })
    await update(bob, 'g', 'four\n', 'bob\n')
    const answer = await ann.call('async_blame', { path: 'g' })
    t.match(answer, { status: 'ok', total_lines: 5 })
    t.match(answer['ranges'], [
      { start_line: 1, end_line: 1, agent_id: null },
      { start_line: 2, end_line: 3, agent_id: 'ann', operation: 'async_update', change_set: 'task', hash },
      { start_line: 4, end_line: 4, agent_id: null },
      { start_line: 5, end_line: 5, agent_id: 'bob' }
    ])
    const { ranges } = await ann.call('async_blame', { path: 'g', start_line: 3, end_line: 4 })
    t.match(ranges, [
      { start_line: 3, end_line: 3 },
      { start_line: 4, end_line: 4 }
    ])
    await bob.call('async_rename', { old_path: 'g', new_path: 'f' })
    const committed = await ann.call('async_blame', { path: 'f', start_line: 1, end_line: 1 })
    t.match(committed['ranges'], [{ agent_id: null, commit, author: 'Eve' }])
  }
)
