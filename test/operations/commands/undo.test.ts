// Commands and undo: one call takes a command back, and what may be another's stays unless it is meant.
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { content, startHooks } from '../../fixtures/native-session.ts'

t.test('a command is taken back whole, and later work of others stays', async (t) => {
  const { tree, bob, session, history } = await startHooks(t)
  const anna = session('anna')
  await anna.read(tree.path('a.txt'), content)
  await bob.call('async_write', { path: 'old.txt', content: 'old\n' })
  const command = "sed -i 's/^line 3$/third/' a.txt; mv old.txt new.txt; echo made > made.txt"
  await anna.before('Bash', { command })
  execFileSync('sh', ['-c', command], { cwd: tree.root })
  await anna.tool('PostToolUse', 'Bash', { command }, { tool_response: {} })
  await bob.call('async_append', { path: 'a.txt', content: 'bob\n' })
  const [, version] = await history('a.txt')
  const undone = await bob.call('async_undo', { of_change_set: version!['change_set'] })
  t.match(undone, { status: 'ok', conflicts: [] })
  t.equal(tree.read('a.txt'), `${content}bob\n`)
  t.same(
    tree.all().filter((path) => path.endsWith('.txt')),
    ['a.txt', 'old.txt']
  )
})

t.test('what one of two commands made is left, and said; include_uncertain takes it', async (t) => {
  const { tree, bob, session } = await startHooks(t)
  const [anna, carl] = [session('anna'), session('carl')]
  await anna.read(tree.path('a.txt'), content)
  await anna.before('Bash', { command: 'python3 one.py' })
  await carl.before('Bash', { command: 'python3 two.py' })
  tree.write('a.txt', `${content}more\n`)
  await anna.tool('PostToolUse', 'Bash', { command: 'python3 one.py' }, { tool_response: {} })
  await carl.tool('PostToolUse', 'Bash', { command: 'python3 two.py' }, { tool_response: {} })
  for (const by_agent of ['claude-code/anna', 'claude-code/carl']) {
    const left = await bob.call('async_undo', { by_agent })
    t.match(left, { status: 'ok', undone: 0, uncertain: 1, message: /include_uncertain/ })
  }
  t.match(await bob.call('async_undo', { by_agent: 'claude-code/carl', include_uncertain: true }), { undone: 1 })
  t.equal(tree.read('a.txt'), content)
})
