// A command of which no line says what it writes, in a tree of Git: what it does to files that nobody used comes back in one call.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs'
import t, { type Test } from 'tap'
import { connect, type Answer } from '../../fixtures/clients.ts'
import { createSession, type Session } from '../../fixtures/native-session.ts'
import { makeCommitted } from '../../fixtures/repository.ts'
import { startServer } from '../../fixtures/server.ts'
import { until } from '../../fixtures/until.ts'

const crlf = Array.from({ length: 5 }, (_, line) => `line ${line}\n`).join('')

function toHook(url: string) {
  return async (harness: string, event: object) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/hooks/${harness}`, { method: 'POST', headers, body: JSON.stringify(event) })
    return (await response.json()) as Answer
  }
}

interface Options {
  readonly root: string
  /** How many versions are to be logged. */
  readonly changes: number
  /** Files that are read before. */
  readonly used?: readonly string[]
  readonly hooks?: { readonly git?: 'off'; readonly look_ms?: number }
}

/** Runs a program of the session that no server has heard of, and waits until its changes are logged. */
async function runProgram(t: Test, { root, changes, used = [], hooks = {} }: Options) {
  const { url } = await startServer(t, root, { hooks: { look_ms: 10_000, ...hooks } })
  const bob = await connect(t, 'rest', url, 'bob')
  for (const path of used) await bob.call('async_read', { path })
  const anna = createSession(toHook(url), root, 'anna', {})
  return async (script: string) => {
    const command = './program'
    await anna.before('Bash', { command })
    execFileSync('sh', ['-ec', script], { cwd: root })
    await anna.tool('PostToolUse', 'Bash', { command }, { tool_response: {} })
    const made = async () => (await bob.call('async_history', { by_agent: 'claude-code/anna' }))['versions'] as Answer[]
    await until(async () => (await made()).length === changes)
    return { bob, versions: await made() }
  }
}

t.test('changed, deleted, renamed and made executable, and a change that a person had not committed', async (t) => {
  const { tree, root } = makeCommitted(t, {
    '.gitattributes': '*.crlf text eol=crlf\n',
    'src/changed.ts': 'one\ntwo\n',
    'src/deep/gone.ts': 'gone\n',
    'src/old.ts': 'renamed\n',
    'src/windows.crlf': crlf,
    'bin/tool': '#!/bin/sh\n',
    'person.txt': 'one\n'
  })
  chmodSync(tree.path('bin/tool'), 0o755)
  execFileSync('git', ['-C', root, 'add', '--all'])
  execFileSync('git', ['-C', root, 'commit', '--quiet', '--message=x'])
  tree.write('src/windows.crlf', crlf.replaceAll('\n', '\r\n'))
  tree.write('person.txt', 'one\nof a person\n')
  const run = await runProgram(t, { root, changes: 7 })
  const before = () =>
    ['src/changed.ts', 'src/deep/gone.ts', 'src/old.ts', 'src/windows.crlf', 'bin/tool', 'person.txt'].map((path) => [
      readFileSync(tree.path(path), 'latin1'),
      statSync(tree.path(path)).mode & 0o777
    ])
  const as = before()
  const { bob, versions } = await run(
    'echo three >> src/changed.ts; rm -r src/deep; mv src/old.ts src/new.ts; echo more >> src/windows.crlf; rm bin/tool; sed -i 1d person.txt'
  )
  t.match(versions.find(({ path }) => path === 'src/new.ts')?.['renamed_from'], 'src/old.ts')
  const undone = await bob.call('async_undo', { of_change_set: versions[0]!['change_set'] })
  t.match(undone, { status: 'ok', conflicts: [] })
  t.strictSame(before(), as)
  t.notOk(existsSync(tree.path('src/new.ts')))
})

t.test('what a filter of the repository makes is not known, and is not guessed', async (t) => {
  const { tree, root } = makeCommitted(t, {
    '.gitattributes': '*.f filter=upper\n',
    'a.f': 'a\n',
    'b.txt': 'b\n'
  })
  const run = await runProgram(t, { root, changes: 2 })
  const { bob, versions } = await run('echo more >> a.f; echo more >> b.txt')
  const undone = await bob.call('async_undo', { of_change_set: versions[0]!['change_set'], partial: true })
  t.match(undone, { undone: 1, conflicts: [{ path: 'a.f' }] })
  t.equal(tree.read('a.f'), 'a\nmore\n')
  t.equal(tree.read('b.txt'), 'b\n')
})

t.test('where nothing is kept, the first command is looked at all the same', async (t) => {
  const { tree, root, git } = makeCommitted(t, { 'a.txt': 'a\n', 'b.txt': 'b\n' })
  git('checkout', '--quiet', '-b', 'other')
  tree.write('b.txt', 'other\n')
  git('commit', '--quiet', '--all', '--message=other')
  git('checkout', '--quiet', 'main')
  const run = await runProgram(t, { root, changes: 2, hooks: { git: 'off' } })
  const { bob, versions } = await run('echo more >> a.txt; git checkout --quiet other')
  const undone = await bob.call('async_undo', { of_change_set: versions[0]!['change_set'] })
  t.match(undone, { status: 'ok', conflicts: [] })
  t.strictSame([tree.read('a.txt'), tree.read('b.txt')], ['a\n', 'b\n'])
})

t.test(
  'without a look what the first command changes has its author, and nothing is guessed of what it was',
  async (t) => {
    const { tree, root } = makeCommitted(t, { 'a.txt': 'a\n', 'gone.txt': 'gone\n' })
    const run = await runProgram(t, { root, changes: 3, hooks: { look_ms: 0 } })
    const { bob, versions } = await run('echo more >> a.txt; rm gone.txt; echo new > new.txt')
    t.notOk(versions.some((version) => typeof version['previous_hash'] === 'string'))
    const undone = await bob.call('async_undo', { of_change_set: versions[0]!['change_set'], partial: true })
    t.match(undone, { undone: 1, files: [{ path: 'new.txt', hash: null }] })
    t.equal(tree.read('a.txt'), 'a\nmore\n')
  }
)

t.test('HEAD is moved by one command, and another begins and ends meanwhile', async (t) => {
  const { tree, root, git } = makeCommitted(t, { 'b.txt': 'b\n' })
  git('checkout', '--quiet', '-b', 'other')
  tree.write('b.txt', 'other\n')
  git('commit', '--quiet', '--all', '--message=other')
  git('checkout', '--quiet', 'main')
  const { url } = await startServer(t, root, { hooks: { look_ms: 10_000 } })
  const bob = await connect(t, 'rest', url, 'bob')
  const [anna, carl] = ['anna', 'carl'].map((id) => createSession(toHook(url), root, id, {}))
  const [moving, reading] = [{ command: './switch' }, { command: './other' }]
  await anna!.before('Bash', moving)
  git('checkout', '--quiet', 'other')
  await carl!.before('Bash', reading)
  await carl!.after('Bash', reading)
  await anna!.after('Bash', moving)
  const history = async () => (await bob.call('async_history', { path: 'b.txt' }))['versions'] as Answer[]
  await until(async () => (await history()).some(({ agent_id }) => agent_id === 'claude-code/anna'))
  t.match(await history(), [{ operation: 'command' }, {}])
})

t.test(
  'a change of the executable bit alone is a change, and is taken back, of files in use and of others',
  async (t) => {
    const { tree, root } = makeCommitted(t, { 'used.sh': 'echo\n', 'unused.sh': 'echo 2\n', 'plain.txt': 'x\n' })
    const modes = () => ['used.sh', 'unused.sh', 'plain.txt'].map((path) => statSync(tree.path(path)).mode & 0o111)
    const run = await runProgram(t, { root, changes: 2, used: ['used.sh', 'plain.txt'] })
    const { bob, versions } = await run('chmod +x used.sh unused.sh')
    t.strictSame(modes(), [0o111, 0o111, 0])
    t.same(versions.map(({ path }) => String(path)).sort(), ['unused.sh', 'used.sh'])
    const own = { of_change_set: versions[0]!['change_set'] }
    t.match(await bob.call('async_undo', { ...own, dry_run: true }), {
      undone: 2,
      files: [{ previous_mode: /^7/, mode: /^6/ }, {}]
    })
    const undone = await bob.call('async_undo', own)
    t.match(undone, { status: 'ok', undone: 2, conflicts: [] })
    t.strictSame(modes(), [0, 0, 0])
    t.match(await bob.call('async_undo', { of_change_set: undone['change_set'] }), { status: 'ok', undone: 2 })
    t.strictSame(modes(), [0o111, 0o111, 0], 'and made again')
  }
)

for (const isOver of [true, false])
  t.test(
    `what the next command changes again before the first ${isOver ? 'is logged' : 'has ended'} has a version in between`,
    async (t) => {
      const { tree, root } = makeCommitted(t, { 'both.txt': 'one\n', 'gone.txt': 'one\n', 'tool.sh': 'echo\n' })
      const { url } = await startServer(t, root, { hooks: { look_ms: 10_000 } })
      const bob = await connect(t, 'rest', url, 'bob')
      const [anna, carl] = [createSession(toHook(url), root, 'anna', {}), createSession(toHook(url), root, 'carl', {})]
      const command = './program'
      const run = (script: string) => execFileSync('sh', ['-ec', script], { cwd: root })
      const stateOf = (path: string) =>
        existsSync(tree.path(path)) && [tree.read(path), statSync(tree.path(path)).mode & 0o777]
      const state = () => ['both.txt', 'gone.txt', 'made.txt', 'tool.sh'].map(stateOf)
      const end = (session: Session) => session.tool('PostToolUse', 'Bash', { command }, { tool_response: {} })
      const first = state()
      await anna.before('Bash', { command })
      run('echo anna >> both.txt; rm gone.txt; echo anna > made.txt; chmod 755 tool.sh')
      const between = state()
      const ended = isOver ? end(anna) : undefined
      await carl.before('Bash', { command })
      run('echo carl >> both.txt; echo carl > gone.txt; echo carl >> made.txt; chmod 644 tool.sh')
      const last = state()
      await Promise.all([end(carl), ended ?? end(anna)])
      const carls = { by_agent: 'claude-code/carl', include_uncertain: true }
      await until(async () => (await bob.call('async_undo', { ...carls, dry_run: true }))['undone'] === 4)
      const undone = await bob.call('async_undo', carls)
      t.match(undone, { status: 'ok', undone: 4, conflicts: [] })
      t.strictSame(state(), between)
      t.match(await bob.call('async_undo', { of_change_set: undone['change_set'] }), { status: 'ok', conflicts: [] })
      t.strictSame(state(), last)
      const all = await bob.call('async_undo', { since: new Date(0).toISOString(), include_uncertain: true })
      t.match(all, { status: 'ok', conflicts: [] })
      t.strictSame(state(), first)
    }
  )
