// The same in other trees: renamed files, a root below the top of its repository, line ends that Git converts, worktrees, no commit yet.
import { mkdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import { connect, type Answer } from '../../fixtures/clients.ts'
import { makeCommitted, makeRepository } from '../../fixtures/repository.ts'
import { startProgram, startServer } from '../../fixtures/server.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

const lines = (name: string) => Array.from({ length: 6 }, (_, line) => `${name} ${line}\n`).join('')

async function serve(t: Test, root: string) {
  const { url } = await startServer(t, root)
  return usersOf(t, url, root)
}

async function usersOf(t: Test, url: string, root: string) {
  const clientOf = async (name: string) => {
    const client = await connect(t, 'rest', url, name)
    return async (operation: string, input: object) => {
      const made = await client.call(operation, input)
      if (made['status'] !== 'ok') throw new Error(JSON.stringify(made))
    }
  }
  const report = async (hook_event_name: string, command: string, cwd = root): Promise<Answer> => {
    const event = { session_id: 'me', hook_event_name, tool_name: 'Bash', tool_input: { command }, cwd }
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/hooks/claude-code`, { method: 'POST', headers, body: JSON.stringify(event) })
    return ((await response.json()) as Answer)?.['hookSpecificOutput'] ?? {}
  }
  const refusal = async (command: string, cwd = root): Promise<string> =>
    (await report('PreToolUse', command, cwd))['permissionDecisionReason'] ?? ''
  return { report, refusal, me: await clientOf('claude-code/me'), ann: await clientOf('ann') }
}

t.test("a rename is its author's own, the lines of others in the file are not", async (t) => {
  const { root, git } = makeCommitted(t, { 'a.txt': lines('a'), 'b.txt': lines('b'), 'c.txt': lines('c') })
  const { refusal, me, ann } = await serve(t, root)
  await me('async_rename', { old_path: 'a.txt', new_path: 'a2.txt' })
  t.equal(await refusal('git clean -f'), '')
  t.equal(await refusal('git checkout -- a.txt'), '')
  git('add', '--all')
  t.equal(await refusal('git reset --hard'), '')
  await ann('async_append', { path: 'b.txt', content: 'of ann\n' })
  await me('async_rename', { old_path: 'b.txt', new_path: 'b2.txt' })
  t.match(await refusal('git clean -f'), 'b2.txt: 1 line of ann')
  git('add', '--all')
  t.match(await refusal('git stash'), 'b2.txt: 1 line of ann')
})

t.test('what others have removed is theirs, too', async (t) => {
  const { root } = makeCommitted(t, { 'a.txt': lines('a'), 'b.txt': lines('b') })
  const { refusal, me, ann } = await serve(t, root)
  const expected_hash = hashOf(lines('a'))
  await ann('async_update', { path: 'a.txt', expected_hash, patches: [{ old_string: 'a 2\n', new_string: '' }] })
  await me('async_append', { path: 'a.txt', content: 'mine\n' })
  await me('async_delete', { path: 'b.txt' })
  t.match(await refusal('git restore a.txt'), 'a.txt: 1 line of ann')
  t.equal(await refusal('git restore b.txt'), '')
})

t.test('lines of others that are committed meanwhile are not lost', async (t) => {
  const { root, git } = makeCommitted(t, { 'a.txt': lines('a') })
  const { refusal, me, ann } = await serve(t, root)
  await ann('async_append', { path: 'a.txt', content: 'of ann\n' })
  t.match(await refusal('git checkout a.txt'), 'a.txt: 1 line of ann')
  git('commit', '--quiet', '--all', '--message=ann')
  await me('async_append', { path: 'a.txt', content: 'mine\n' })
  t.equal(await refusal('git checkout a.txt'), '')
})

t.test('a root below the top of its repository is judged for itself', async (t) => {
  const { root, tree } = makeCommitted(t, { 'app/a.txt': lines('a'), 'other/b.txt': lines('b') })
  tree.write('other/b.txt', 'of someone else\n')
  const { refusal, me, ann } = await serve(t, tree.path('app'))
  await me('async_append', { path: 'a.txt', content: 'mine\n' })
  t.equal(await refusal('git reset --hard', root), '')
  await ann('async_append', { path: 'a.txt', content: 'of ann\n' })
  t.match(await refusal('git reset --hard', root), 'app/a.txt: 1 line of ann')
  t.match(await refusal('git checkout .', tree.path('app')), 'a.txt: 1 line of ann')
})

t.test('line ends that Git converts are no difference; what a filter makes is unknown', async (t) => {
  const { root, tree, git } = makeCommitted(t, {
    '.gitattributes': '*.crlf text eol=crlf\n*.f filter=f\n',
    'a.crlf': lines('a'),
    'a.f': lines('f')
  })
  git('checkout', '--quiet', '--', '.')
  tree.write('a.crlf', lines('a').replaceAll('\n', '\r\n'))
  const { refusal, me, ann } = await serve(t, root)
  await me('async_append', { path: 'a.crlf', content: 'mine\r\n' })
  t.equal(await refusal('git checkout a.crlf'), '')
  await ann('async_append', { path: 'a.crlf', content: 'of ann\r\n' })
  t.match(await refusal('git checkout a.crlf'), 'a.crlf: 1 line of ann')
  await me('async_append', { path: 'a.f', content: 'mine\n' })
  t.match(await refusal('git checkout a.f'), 'a.f')
})

t.test('linked worktrees, repositories without a commit, and folders without Git', async (t) => {
  const main = makeCommitted(t, { 'a.txt': lines('a') })
  const place = makeTree(t)
  main.git('worktree', 'add', '--quiet', '-b', 'linked', place.path('files'))
  const linked = await serve(t, place.path('files'))
  await linked.ann('async_append', { path: 'a.txt', content: 'of ann\n' })
  t.match(await linked.refusal('git reset --hard'), 'a.txt: 1 line of ann')

  const empty = makeRepository(t)
  const unborn = await serve(t, empty.root)
  await unborn.ann('async_write', { path: 'new/a.txt', content: 'of ann\n' })
  t.match(await unborn.refusal('git clean -fd'), 'new/a.txt: 1 line of ann')
  t.equal(await unborn.refusal('git reset --hard'), '')

  const plain = makeTree(t)
  mkdirSync(plain.path('src'))
  const bare = await serve(t, plain.root)
  await bare.me('async_write', { path: 'src/mine.txt', content: 'mine\n' })
  t.equal(await bare.refusal('rm -rf src'), '')
  await bare.ann('async_write', { path: 'src/ann.txt', content: 'of ann\n' })
  t.match(await bare.refusal('rm -rf src'), 'src/ann.txt: 1 line of ann')
  t.match(await bare.refusal('find src -type f -delete'), 'src/ann.txt')
  t.equal(await bare.refusal('git clean -fd'), '')
})

t.test(
  'a server that cannot run Git says that it could not look, and judges removals by what it knows itself',
  async (t) => {
    const { root } = makeCommitted(t, { 'a.txt': lines('a'), 'folder/b.txt': lines('b') })
    const { url, stderr, stdout } = await startProgram(t, ['--dir', root], { PATH: '/nothing' })
    await until(() => [...stderr, ...stdout].some((line) => line.includes('Git is not in PATH')))
    const { report, refusal, ann } = await usersOf(t, url, root)
    const toldOf = async (command: string): Promise<string> => {
      t.equal(await refusal(command), '')
      return (await report('PostToolUse', command))['additionalContext'] ?? ''
    }
    for (const path of ['a.txt', 'folder/b.txt']) await ann('async_append', { path, content: 'of ann\n' })
    const told = await toldOf('git checkout -- a.txt')
    t.match(told, 'could not ask Git what this command would discard')
    t.match(told, `git -C ${root} status`)
    t.match(await refusal('rm -r folder'), 'folder/b.txt')
    t.equal(await toldOf('cat a.txt'), '')
  }
)
