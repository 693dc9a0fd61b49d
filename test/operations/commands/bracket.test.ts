// Shell commands between the two reports of their harness: what they change is their session's, in one entry of the log.
import { execFileSync } from 'node:child_process'
import { existsSync, renameSync, rmSync } from 'node:fs'
import t, { type Test } from 'tap'
import {
  content,
  contextOf,
  createSession,
  edit,
  startHooks,
  untilFilesAreStampedLater,
  type Session
} from '../../fixtures/native-session.ts'
import { makeCommitted } from '../../fixtures/repository.ts'
import { connect, type Answer } from '../../fixtures/clients.ts'
import { startServer } from '../../fixtures/server.ts'
import { until } from '../../fixtures/until.ts'

/** Runs a command as a session of Claude Code does. */
async function shell(session: Session, root: string, command: string, after: object = {}): Promise<Answer> {
  const begun = await session.before('Bash', { command })
  t.same(begun, {}, 'the command may run')
  execFileSync('sh', ['-c', command], { cwd: root })
  return session.tool('PostToolUse', 'Bash', { command }, { tool_response: {}, ...after })
}

t.test('what a command changes is its session’s, told to others and not to itself', async (t) => {
  const { tree, bob, session, history } = await startHooks(t)
  const [anna, carl] = [session('anna'), session('carl')]
  const path = tree.path('a.txt')
  await anna.read(path, content)
  await carl.read(path, content)
  const command = "sed -i 's/^line 3$/third/' a.txt"
  t.notMatch(contextOf(await shell(anna, tree.root, command)), 'changed')
  t.match(await history('a.txt'), [
    { agent_id: 'claude-code/anna', operation: 'command', command, attribution: 'certain', lines: { modified: 1 } },
    { agent_id: null }
  ])
  t.match(
    contextOf(await carl.ask('UserPromptSubmit', { prompt: 'x' })),
    /claude-code\/anna changed .*a\.txt by the command "sed .*since you read it: line 3\./
  )
  t.same(await anna.ask('UserPromptSubmit', { prompt: 'x' }), {}, 'not to the one whose command it was')
  const own = edit(path, 'third\n', 'Third\n')
  t.same(await anna.before('Edit', own), {}, 'it may edit these lines')
  tree.write('a.txt', tree.read('a.txt').replace('third\n', 'Third\n'))
  await anna.after('Edit', own)
  t.match(await history('a.txt'), [{ operation: 'native_edit' }, { operation: 'command' }, {}])
  const { ranges } = await bob.call('async_blame', { path: 'a.txt' })
  t.match(ranges[1], { start_line: 3, agent_id: 'claude-code/anna' })
  t.same(await anna.before('Write', { file_path: path, content: 'x' }), {}, 'and replace all of it')
  await anna.after('Write', { file_path: path, content: 'x' })
})

t.test('a read after its own command shows what that has made', async (t) => {
  const { tree, bob, session } = await startHooks(t)
  const anna = session('anna')
  const { hash } = await bob.call('async_read', { path: 'a.txt', agent_id: 'claude-code/anna' })
  await shell(anna, tree.root, 'echo more >> a.txt')
  const answer = await bob.call('async_read', { path: 'a.txt', known_hash: hash, agent_id: 'claude-code/anna' })
  t.match(JSON.stringify(answer), /more/)
})

t.test('files that nobody used: created, changed, deleted, renamed, made executable', async (t) => {
  const { tree, root, git } = makeCommitted(t, {
    'changed.txt': 'one\n',
    'gone.txt': 'gone\n',
    'old/name.txt': 'name\n',
    'run.sh': 'echo\n',
    'same.txt': 'same\n'
  })
  const { bob, session, history } = await serve(t, root)
  git('status')
  await bob.call('async_read', { path: 'run.sh' })
  await bob.call('async_read', { path: 'old/name.txt' })
  const anna = session('anna')
  const command =
    "python3 -c \"open('changed.txt','a').write('two')\"; rm gone.txt; mkdir new && mv old/name.txt new/name.txt; echo x > new/file.txt; chmod +x run.sh"
  await shell(anna, root, command)
  const all = async () => (await bob.call('async_history', { by_agent: 'claude-code/anna' }))['versions'] as Answer[]
  await until(async () => (await all()).length >= 6)
  const versions = await all()
  const byPath = Object.fromEntries(versions.map((version) => [version['path'], version]))
  t.same(Object.keys(byPath).sort(), [
    'changed.txt',
    'gone.txt',
    'new/file.txt',
    'new/name.txt',
    'old/name.txt',
    'run.sh'
  ])
  t.equal(new Set(versions.map((version) => version['change_set'])).size, 1, 'one change set')
  t.match(byPath, {
    'gone.txt': { hash: null },
    'new/file.txt': { previous_hash: null },
    'new/name.txt': { renamed_from: 'old/name.txt' },
    'old/name.txt': { hash: null, renamed_to: 'new/name.txt' }
  })
  t.match((await history('same.txt')).length, 0)
  const undone = await bob.call('async_undo', { of_change_set: versions[0]!['change_set'], partial: true })
  t.equal(existsSync(tree.path('new/file.txt')), false, JSON.stringify(undone))
})

t.test('what a command has made is a version, though the next one takes it away before that is logged', async (t) => {
  const { tree, root } = makeCommitted(t, { 'old.txt': 'name\n' })
  const { bob, session, history } = await serve(t, root)
  const anna = session('anna')
  const [moving, removing] = [{ command: 'mv old.txt new.txt' }, { command: 'rm new.txt' }]
  await anna.before('Bash', moving)
  renameSync(tree.path('old.txt'), tree.path('new.txt'))
  const ended = anna.tool('PostToolUse', 'Bash', moving, { tool_response: {} })
  await anna.before('Bash', removing)
  rmSync(tree.path('new.txt'))
  t.match(await bob.call('async_read', { path: 'new.txt' }), { error_code: 'FILE_NOT_FOUND' })
  await Promise.all([ended, anna.tool('PostToolUse', 'Bash', removing, { tool_response: {} })])
  await until(async () => (await history('new.txt'))[0]?.['hash'] === null)
  const [removed] = await history('new.txt')
  t.match(removed, { hash: null, agent_id: 'claude-code/anna', command: removing.command })
  await bob.call('async_undo', { of_change_set: removed!['change_set'] })
  t.equal(tree.read('new.txt'), 'name\n')
})

t.test('two commands at once: the one that could not have written it is not named', async (t) => {
  const { tree, session, history } = await startHooks(t)
  const [anna, carl] = [session('anna'), session('carl')]
  await anna.read(tree.path('a.txt'), content)
  const [slow, other] = ['python3 one.py', 'python3 two.py']
  await anna.before('Bash', { command: slow })
  await carl.before('Bash', { command: other })
  tree.write('a.txt', `${content}more\n`)
  const told = await anna.tool('PostToolUse', 'Bash', { command: slow }, { tool_response: {} })
  t.match(await history('a.txt'), [
    {
      agent_id: 'claude-code/anna',
      attribution: 'one_of',
      agents: ['claude-code/anna', 'claude-code/carl'],
      command: slow
    },
    {}
  ])
  t.match(contextOf(told), /Either you or claude-code\/carl changed/)
  await untilFilesAreStampedLater(Date.now())
  tree.write('a.txt', `${content}more\nmore\n`)
  await carl.tool('PostToolUse', 'Bash', { command: other }, { tool_response: {} })
  t.match(await history('a.txt'), [{ agent_id: 'claude-code/carl', attribution: 'certain' }, {}, {}])
})

t.test('a line that a command has put beside a native edit is not certainly the editor’s', async (t) => {
  const { tree, session, history } = await startHooks(t, { watcher: { enabled: false } })
  const [anna, carl] = [session('anna'), session('carl')]
  const path = tree.path('a.txt')
  await anna.read(path, content)
  const command = 'python3 one.py'
  for (const isOpen of [true, false]) {
    const now = tree.read('a.txt')
    const last = now.trimEnd().split('\n').at(-1)!
    const input = edit(path, last, `${last} of anna`)
    await anna.before('Edit', input)
    await carl.before('Bash', { command })
    tree.write('a.txt', now.replace(last, `${last} of anna`))
    if (!isOpen) await carl.tool('PostToolUse', 'Bash', { command }, { tool_response: {} })
    tree.write('a.txt', `${tree.read('a.txt')}carl, ${isOpen}\n`)
    await anna.after('Edit', input)
    const agents = ['claude-code/anna', 'claude-code/carl']
    t.match((await history('a.txt'))[0], { operation: 'native_edit', attribution: 'one_of', agents })
    if (isOpen) await carl.tool('PostToolUse', 'Bash', { command }, { tool_response: {} })
  }
})

t.test('an operation between stays its agent’s', async (t) => {
  const { tree, bob, session, history } = await startHooks(t)
  const anna = session('anna')
  await anna.read(tree.path('a.txt'), content)
  const command = 'python3 one.py'
  await anna.before('Bash', { command })
  tree.write('a.txt', `${content}anna 1\n`)
  await bob.call('async_append', { path: 'a.txt', content: 'bob\n' })
  tree.write('a.txt', `${content}anna 1\nbob\nanna 2\n`)
  await anna.tool('PostToolUse', 'Bash', { command }, { tool_response: {} })
  t.match(await history('a.txt'), [
    { agent_id: 'claude-code/anna', lines: { added: 1 } },
    { agent_id: 'bob', lines: { added: 1 } },
    { agent_id: 'claude-code/anna', lines: { added: 1 } },
    { agent_id: null }
  ])
})

for (const isFirst of [true, false])
  t.test(`right before ${isFirst ? 'the first' : 'a'} command a change is that of another program`, async (t) => {
    const { tree, session, history } = await startHooks(t, { watcher: { debounce_ms: isFirst ? 2000 : 10 } })
    const anna = session('anna')
    await anna.read(tree.path('a.txt'), content)
    if (!isFirst) await shell(anna, tree.root, 'true')
    tree.write('a.txt', `${content}person\n`)
    await anna.before('Bash', { command: 'x' })
    tree.write('a.txt', `${content}person\ncommand\n`)
    await anna.tool('PostToolUse', 'Bash', { command: 'x' }, { tool_response: {} })
    t.match(await history('a.txt'), [
      { agent_id: 'claude-code/anna', attribution: 'certain', command: 'x', lines: { added: 1 } },
      { agent_id: 'external', lines: { added: 1 } },
      {}
    ])
  })

t.test('a command in the background may not be alone: a person may change files, too', async (t) => {
  const { tree, session, history } = await startHooks(t)
  const anna = session('anna')
  await anna.read(tree.path('a.txt'), content)
  const command = 'npm run dev'
  await anna.before('Bash', { command, run_in_background: true })
  await anna.tool('PostToolUse', 'Bash', { command }, { tool_response: { backgroundTaskId: 'b1' } })
  tree.write('a.txt', `${content}more\n`)
  await until(async () => (await history('a.txt')).length === 2)
  t.match(await history('a.txt'), [{ attribution: 'one_of', agents: ['claude-code/anna', 'external'] }, {}])
  await anna.tool('PostToolUse', 'KillShell', { shell_id: 'b1' }, { tool_response: {} })
  // Shortly behind its end a change may still be the command's.
  const newest = async () => (await history('a.txt'))[0]!
  await until(async () => {
    const { hash } = await newest()
    tree.write('a.txt', `${tree.read('a.txt')}person\n`)
    await until(async () => (await newest())['hash'] !== hash)
    return (await newest())['agent_id'] === 'external'
  })
})

async function serve(t: Test, root: string) {
  const { url } = await startServer(t, root)
  const bob = await connect(t, 'rest', url, 'bob')
  const history = async (path: string) => (await bob.call('async_history', { path }))['versions'] as Answer[]
  const hook = async (harness: string, event: object) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/hooks/${harness}`, { method: 'POST', headers, body: JSON.stringify(event) })
    return (await response.json()) as Answer
  }
  return { bob, history, session: (id: string) => createSession(hook, root, id, {}) }
}
