// A container that has the tree at a path of its own, on one host: its hooks, relays and calls name files by that path.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { runCommand } from '../../fixtures/commands.ts'
import type { Answer } from '../../fixtures/clients.ts'
import { call, httpOn, post, stdioOn } from '../../fixtures/processes.ts'
import { patient, runHook } from '../../fixtures/run-hook.ts'
import { programPath } from '../../fixtures/server.ts'
import { startStdio, type StdioProgram } from '../../fixtures/stdio.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'

/** Folders, processes and addresses of its own, as in a container; where the host has the tree, there is an empty folder. */
const namespaces = ['unshare', '-rmpnf', '--kill-child', '--mount-proc']
const mounts = 'mount --bind "$1" "$2" && mount -t tmpfs none "$1" && shift 2 && exec "$@"'
const probe = makeTree(t, { 'one/f': '', 'two/f': '' })
const inside = (tree: string, at: string) => [...namespaces, 'sh', '-c', mounts, 'sh', tree, at]
const [unshare, ...words] = [...inside(probe.path('one'), probe.path('two')), 'true']
const skip =
  spawnSync(unshare, words).status !== 0 && 'needs unshare -rmpnf --mount-proc (util-linux, and user namespaces)'

/** For a process whose calls are to be refused, while no process serves the tree. */
const impatient = { ASYNC_CRUD_MCP_DAEMON__AUTHORITY_TIMEOUT_SECONDS: '1' }

/** Over stdio, of a client in the container. */
const relayOf = (owner: Test, tree: Tree, at: Tree, args: string[] = [], environment: Record<string, string> = {}) =>
  startStdio(owner, ['--transport', 'stdio', '--dir', at.root, ...args], {
    environment,
    through: inside(tree.root, at.root)
  })

/** Calls again while no process serves the tree: a busy machine needs longer for the next one than an impatient process waits. */
async function callOnceServed(program: StdioProgram, name: string, input: object): Promise<Answer> {
  const answer = await call(program, name, input)
  return answer['error_code'] === 'OVERLOADED' ? callOnceServed(program, name, input) : answer
}

/** What Claude Code in the container has its hook say. */
async function hookIn(tree: Tree, at: Tree, session: string, event: string, fields: object = {}, program = 'hook') {
  const own = program === 'hook' ? ['hook', 'claude-code'] : [program]
  const [command = '', ...args] = [...inside(tree.root, at.root), process.execPath, programPath, ...own]
  const { NODE_OPTIONS: _ofTheTestRunner, ...env } = process.env
  const child = spawn(command, [...args, ...(program === 'hook' ? patient : [])], { env })
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify({ session_id: session, cwd: at.root, hook_event_name: event, ...fields }))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { stdout, stderr }
}

const read = (path: string, content: string) => {
  const numLines = content.split('\n').length - 1
  const file = { filePath: path, content, numLines, startLine: 1, totalLines: numLines }
  return { tool_name: 'Read', tool_input: { file_path: path }, tool_response: { type: 'text', file } }
}
const edit = (path: string, old_string: string, new_string: string) => ({
  tool_name: 'Edit',
  tool_use_id: 'toolu_1',
  tool_input: { file_path: path, old_string, new_string }
})

t.test('native edits in a container are locked, recorded and told of by the server outside', { skip }, async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\ntwo\n' })
  const at = makeTree(t)
  const server = await httpOn(t, tree, '--known-as', at.root)
  const hook = (session: string, event: string, fields?: object) => hookIn(tree, at, session, event, fields)
  const path = at.path('a.txt')
  await hook('ann', 'PostToolUse', read(path, 'one\ntwo\n'))
  await hook('bob', 'PostToolUse', read(path, 'one\ntwo\n'))
  t.match(await hook('ann', 'PreToolUse', edit(path, 'two', '2')), { stdout: '', stderr: '' })
  t.match(await post(server.url, 'async_append', { path: 'a.txt', content: 'x', timeout: 0 }), {
    error_code: 'LOCK_TIMEOUT'
  })
  tree.write('a.txt', 'one\n2\n')
  await hook('ann', 'PostToolUse', { ...edit(path, 'two', '2'), tool_response: {} })
  t.match(await post(server.url, 'async_history', { path: 'a.txt' }), {
    versions: [{ agent_id: 'claude-code/ann', operation: 'native_edit' }, {}]
  })
  const told = await hook('bob', 'UserPromptSubmit', { prompt: 'go on' })
  t.match(told, { stdout: new RegExp(`claude-code/ann changed \\S*a.txt since you read it`), stderr: '' })
  t.notMatch(told.stdout, tree.root, 'no path of the host')
  const whole = { tool_name: 'Write', tool_use_id: 'toolu_2', tool_input: { file_path: path, content: 'bob\n' } }
  const refused = await hook('bob', 'PreToolUse', whole)
  t.match(refused.stdout, '"permissionDecision":"deny"')
  t.match(refused.stdout, path)
})

t.test('a hook in a container whose path is not named says how to name it', { skip }, async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const at = makeTree(t)
  await httpOn(t, tree)
  const { stdout, stderr } = await hookIn(tree, at, 'ann', 'PreToolUse', edit(at.path('a.txt'), 'one', '1'))
  t.equal(stdout, '')
  t.match(stderr, `in ${at.root}, which it serves as ${tree.root}: `)
  t.match(stderr, `start it with --known-as ${at.root}. The tool goes on unchecked`)
})

t.test('a relay in a container names files by its own paths, and does not take over', { skip }, async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const at = makeTree(t)
  const server = await httpOn(t, tree, '--known-as', at.root)
  const relay = relayOf(t, tree, at, [], impatient)
  const path = at.path('a.txt')
  t.match(await callOnceServed(relay, 'lock_try', { filepaths: [path], agent_id: 'ann' }), {
    all_acquired: true,
    results: [{ filepath: path }]
  })
  t.match(await post(server.url, 'lock_try', { filepaths: ['a.txt'], agent_id: 'bob' }), {
    all_acquired: false,
    results: [{ holder: 'ann' }]
  })
  t.match(await call(relay, 'async_append', { path, content: 'two\n', agent_id: 'ann' }), { status: 'ok', path })
  t.equal(tree.read('a.txt'), 'one\ntwo\n')
  t.match(await call(relay, 'async_read', { path: at.path('none') }), { message: new RegExp(at.path('none')) })
  server.process.kill('SIGKILL')
  t.match(await call(relay, 'async_read', { path }), {
    error_code: 'OVERLOADED',
    message: /serves this tree as .* at another path.*Start the server of .* again/
  })
  const next = await httpOn(t, tree, '--known-as', at.root)
  t.match(await post(next.url, 'lock_try', { filepaths: ['a.txt'], agent_id: 'bob' }), { all_acquired: false })
  t.match(await callOnceServed(relay, 'async_append', { path, content: 'three\n', agent_id: 'ann' }), { status: 'ok' })
  t.equal(tree.read('a.txt'), 'one\ntwo\nthree\n')
})

t.test('the guard in a container asks the server outside who has leased a file', { skip }, async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const at = makeTree(t)
  const { url } = await httpOn(t, tree, '--known-as', at.root)
  await post(url, 'lock_try', { filepaths: ['a.txt'], agent_id: 'bob' })
  const asked = await hookIn(tree, at, 'ann', 'PreToolUse', edit(at.path('a.txt'), 'one', '1'), 'guard')
  t.match(asked.stdout, '"permissionDecision":"deny"')
  t.match(asked.stdout, 'bob')
})

t.test('the folder that a client in a container offers is the tree of the server outside', { skip }, async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const at = makeTree(t)
  await httpOn(t, tree, '--known-as', at.root)
  const relay = startStdio(t, ['--transport', 'stdio'], { through: inside(tree.root, at.root) })
  const clientInfo = { name: 'test', version: '1' }
  const params = { protocolVersion: '2025-06-18', capabilities: { roots: {} }, clientInfo }
  relay.send({ jsonrpc: '2.0', id: 'first', method: 'initialize', params })
  await relay.answer('first')
  relay.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  const { id } = await relay.message(({ method }) => method === 'roots/list')
  relay.send({ jsonrpc: '2.0', id, result: { roots: [{ uri: pathToFileURL(at.root).href }] } })
  t.match(await call(relay, 'async_append', { path: at.path('a.txt'), content: 'two\n' }), { status: 'ok' })
  t.match(relay.stderr.join('\n'), 'relaying to the authority of the tree')
  t.equal(tree.read('a.txt'), 'one\ntwo\n')
})

t.test('a hook outside finds the server in a container', { skip }, async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const at = makeTree(t)
  const server = relayOf(t, tree, at, ['--known-as', tree.root])
  t.match(await call(server, 'lock_try', { filepaths: ['a.txt'], agent_id: 'bob' }), { all_acquired: true })
  const event = { session_id: 'ann', cwd: tree.root, hook_event_name: 'PreToolUse' }
  const input = { ...event, ...edit(tree.path('a.txt'), 'one', '1') }
  const refused = await runHook('claude-code', input, [...patient, '--wait', '0'])
  t.match(refused.stdout, '"permissionDecision":"deny"')
  t.match(refused.stdout, `bob`)
  t.notMatch(refused.stdout, at.root, 'no path of the container')
})

t.test(
  'the path may be named by the process in the container instead; else its refusal says so',
  { skip },
  async (t) => {
    const tree = makeTree(t, { 'a.txt': 'one\n' })
    const at = makeTree(t)
    await httpOn(t, tree)
    const named = relayOf(t, tree, at, ['--known-as', tree.root])
    t.match(await call(named, 'async_read', { path: at.path('a.txt') }), { content: 'one\n' })
    const other = relayOf(t, tree, at)
    t.match(await call(other, 'async_read', { path: 'a.txt' }), { message: new RegExp(`--known-as ${at.root}`) })
  }
)

t.test('calls name files by any path of the root, and are answered by that one', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const { url } = await httpOn(t, tree, '--known-as', '/workspaces/app')
  const path = '/workspaces/app/a.txt'
  t.match(await post(url, 'async_read', { path }), { path, content: 'one\n' })
  t.match(await post(url, 'async_append', { path, content: 'two\n' }), { path, status: 'ok' })
  t.match(await post(url, 'async_read', { path: tree.path('a.txt') }), { path: tree.path('a.txt') })
  t.match(await post(url, 'async_read', { path: '/workspaces/other/a.txt' }), {
    error_code: 'PATH_OUTSIDE_BASE',
    message: `Roots: ${tree.root} (known as /workspaces/app, too)`
  })
})

t.test('a path that would mean two places is refused at the start', async (t) => {
  const tree = makeTree(t, { 'one/f': '', 'two/f': '' })
  const dirs = ['--dir', tree.path('one'), '--dir', tree.path('two')]
  for (const wrong of ['/', tree.path('one/f'), tree.path('two'), tree.root]) {
    const { code, stderr } = await runCommand([...dirs, '--known-as', wrong])
    t.match({ code, stderr }, { code: 1, stderr: `tree.known_as has ${wrong}, which overlaps the root ` })
  }
})

t.test('a process takes over again once it has followed one with its own path', { skip }, async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const at = makeTree(t)
  const server = relayOf(t, tree, at, ['--known-as', tree.root])
  const read = { path: tree.path('a.txt') }
  await call(server, 'async_read', { path: 'a.txt' })
  const outside = startStdio(t, ['--transport', 'stdio', '--dir', tree.root], { environment: impatient })
  t.match(await callOnceServed(outside, 'async_read', read), { content: 'one\n' })
  await server.end()
  t.match(await call(outside, 'async_read', read), { error_code: 'OVERLOADED', message: /start this one anew/ })
  const next = stdioOn(t, tree)
  t.match(await call(next, 'lock_try', { filepaths: ['a.txt'], agent_id: 'ann' }), { all_acquired: true })
  t.match(await callOnceServed(outside, 'async_read', read), { content: 'one\n' })
  await next.end('SIGKILL')
  t.match(await callOnceServed(outside, 'async_read', read), { content: 'one\n' }, 'it serves the tree itself')
})
