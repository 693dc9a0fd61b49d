// Commands and undo: one call takes a command back, and what may be another's stays unless it is meant.
import { execFileSync } from 'node:child_process'
import { chmodSync, rmSync, statSync } from 'node:fs'
import t from 'tap'
import { change, content, startHooks } from '../../fixtures/native-session.ts'

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

t.test('what one possible author has taken back the other has, too, and neither finds a conflict', async (t) => {
  const { tree, bob, session } = await startHooks(t)
  const [anna, carl, dora] = [session('anna'), session('carl'), session('dora')]
  await anna.read(tree.path('a.txt'), content)
  let now = content
  for (const [other, line, made] of [
    [carl, 'line 9\n', 'first 9\n'],
    [dora, 'first 9\n', 'second 9\n']
  ] as const) {
    await anna.before('Bash', { command: 'python3 one.py' })
    await other.before('Bash', { command: 'python3 two.py' })
    now = now.replace(line, made)
    tree.write('a.txt', now)
    await anna.after('Bash', { command: 'python3 one.py' })
    await other.after('Bash', { command: 'python3 two.py' })
    await bob.call('async_history', { path: 'a.txt' })
  }
  const undo = (agent: string, more: object = {}) =>
    bob.call('async_undo', { by_agent: `claude-code/${agent}`, ...more })
  const uncertainToo = { include_uncertain: true }
  t.match(await undo('anna', uncertainToo), { status: 'ok', undone: 2 })
  t.equal(tree.read('a.txt'), content)
  for (const agent of ['anna', 'carl', 'dora']) {
    const again = await undo(agent, uncertainToo)
    t.match(again, { status: 'ok', undone: 0, conflicts: [], message: /taken back already/ }, agent)
    t.equal((await undo(agent))['uncertain'], undefined, agent)
  }
  t.equal(tree.read('a.txt'), content)
})

t.test('bytes and mode are taken back together, or neither if another has changed the mode since', async (t) => {
  const { tree, bob, session, history } = await startHooks(t)
  const [anna, carl] = [session('anna'), session('carl')]
  await anna.read(tree.path('a.txt'), content)
  const isNow = (mode: number, text: string) =>
    t.strictSame([statSync(tree.path('a.txt')).mode & 0o777, tree.read('a.txt')], [mode, text])
  chmodSync(tree.path('a.txt'), 0o640)
  await bob.call('async_read', { path: 'a.txt' })
  for (const [by, command] of [
    [anna, 'chmod 755 a.txt; echo anna >> a.txt'],
    [carl, 'chmod 700 a.txt']
  ] as const) {
    await by.before('Bash', { command })
    execFileSync('sh', ['-c', command], { cwd: tree.root })
    await by.after('Bash', { command })
  }
  t.match(await history('a.txt'), [
    { agent_id: 'claude-code/carl', previous_mode: '755', mode: '700', attribution: 'certain' },
    { agent_id: 'claude-code/anna', previous_mode: '640', mode: '755', attribution: 'certain' },
    { agent_id: 'external', previous_mode: '644', mode: '640' },
    { agent_id: null }
  ])
  const undo = (agent: string) => bob.call('async_undo', { by_agent: agent })
  const refused = await undo('claude-code/anna')
  t.match(refused, { status: 'contention', conflicts: [{ path: 'a.txt', reason: 'mode_changed_again' }] })
  isNow(0o700, `${content}anna\n`)
  t.match(await undo('claude-code/carl'), { status: 'ok', undone: 1 })
  isNow(0o755, `${content}anna\n`)
  await change(bob, 'a.txt', 'line 3\n', 'third\n')
  const others = content.replace('line 3\n', 'third\n')
  const undone = await undo('claude-code/anna')
  t.match(undone, { undone: 1, files: [{ path: 'a.txt', previous_mode: '755', mode: '640' }] })
  isNow(0o640, others)
  t.match(await bob.call('async_undo', { of_change_set: undone['change_set'] }), { status: 'ok', undone: 1 })
  isNow(0o755, `${others}anna\n`)
})

t.test('a mode that a person has changed is taken back with other changes from outside', async (t) => {
  const { tree, bob } = await startHooks(t, {}, { 'b.txt': 'b\n', 'c.txt': 'c\n' })
  const files = ['a.txt', 'b.txt', 'c.txt'].map((path) => tree.path(path))
  const modes = () => files.map((path) => statSync(path).mode & 0o777)
  for (const path of ['a.txt', 'b.txt', 'c.txt']) await bob.call('async_read', { path })
  chmodSync(files[0]!, 0o755)
  tree.write('b.txt', 'b\nmore\n')
  chmodSync(files[1]!, 0o600)
  await bob.call('async_read', { path: 'b.txt' })
  rmSync(files[1]!)
  const { hash } = await bob.call('async_read', { path: 'a.txt' })
  const named = await bob.call('async_undo', { versions: [{ path: 'a.txt', hash }], dry_run: true })
  t.match(named, { undone: 0 }, 'a hash names bytes')
  t.match(await bob.call('async_undo', { by_agent: 'external' }), { status: 'ok', conflicts: [] })
  t.strictSame(modes(), [0o644, 0o644, 0o644])
  t.equal(tree.read('b.txt'), 'b\n')
})
