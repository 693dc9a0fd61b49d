// async-crud-mcp run: the command as its caller would have run it, and its changes in the log.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { connect, type Answer } from '../../fixtures/clients.ts'
import { programPath, startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

function start(root: string, args: readonly string[], input = '') {
  const child = spawn(process.execPath, [programPath, 'run', ...args], { cwd: root, stdio: 'pipe' })
  child.stdin.end(input)
  const ended = async () => {
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    return { stdout, stderr, code: code as number | null }
  }
  return { child, ended: ended() }
}

async function serve(t: Test) {
  const tree = makeTree(t, { 'a.txt': 'one\n', 'b.txt': 'b\n' })
  const { url, app } = await startServer(t, tree.root)
  await app.tree.join()
  const bob = await connect(t, 'rest', url, 'bob')
  const history = async (path: string) => (await bob.call('async_history', { path }))['versions'] as Answer[]
  return { tree, url, app, bob, history }
}

t.test('what a command changes is its agent’s; input, output and exit code are passed', async (t) => {
  const { tree, url, history } = await serve(t)
  const script = 'cat >> a.txt; echo out; echo err >&2; exit 7'
  const args = ['--url', url, '--agent', 'ann', '--change-set', 'task 1', '--', 'sh', '-c', script]
  t.match(await start(tree.root, args, 'two\n').ended, { code: 7, stdout: 'out\n', stderr: 'err\n' })
  t.equal(tree.read('a.txt'), 'one\ntwo\n')
  await until(async () => (await history('a.txt')).length > 0)
  t.match(await history('a.txt'), [
    { agent_id: 'ann', operation: 'command', change_set: 'task 1', command: script, attribution: 'certain' }
  ])
})

t.test('a signal ends the command, and its end is reported', async (t) => {
  const { tree, url, app, history } = await serve(t)
  const { child, ended } = start(tree.root, [
    '--url',
    url,
    '--agent',
    'ann',
    '--',
    'sh',
    '-c',
    'echo x >> a.txt; exec sleep 60'
  ])
  await until(() => tree.read('a.txt').includes('x'))
  t.equal(app.commands.open.length, 1)
  child.kill('SIGTERM')
  t.match(await ended, { code: 143 })
  t.equal(app.commands.open.length, 0)
  t.match(await history('a.txt'), [{ agent_id: 'ann', operation: 'command' }])
})

t.test('without a server the command runs all the same, and one line says so', async (t) => {
  const tree = makeTree(t, {})
  const { stdout, stderr, code } = await start(tree.root, ['--', 'echo', 'hello']).ended
  t.match({ stdout, code }, { stdout: 'hello\n', code: 0 })
  t.match(stderr, /^async-crud-mcp run: no running server found above .*\. The command runs all the same; [^\n]*\n$/)
})

t.test('its own failures end with 125, those of the command as in a shell', async (t) => {
  const { tree, url } = await serve(t)
  const codeOf = async (...args: string[]) => (await start(tree.root, args).ended).code
  t.equal(await codeOf(), 125, 'no command')
  t.equal(await codeOf('--unknown', '--', 'true'), 125)
  t.equal(await codeOf('--agent', 'external', '--', 'true'), 125)
  t.equal(await codeOf('--agent', 'a\nb', '--', 'true'), 125)
  t.equal(await codeOf('--url', url, '--', 'no-such-program'), 127)
  const piped = await start(tree.root, ['--url', url, '--', "echo 'a' | cat"]).ended
  t.match(piped, { code: 127 })
  t.ok(piped.stderr.includes(`No shell reads it: pass -- sh -c 'echo '\\''a'\\'' | cat'\n`), piped.stderr)
  t.equal(await codeOf('--help'), 0)
  t.equal(await codeOf('--url', url, '--', 'sh', '-c', 'kill -9 $$'), 137)
})

t.test(
  'the end of a command that runs for more than ten minutes is not lost: it is reported again that it goes on',
  async (t) => {
    const { tree, app, url } = await serve(t)
    const post = async (event: string) => {
      const body = JSON.stringify({ event, command: ['sleep', '1'], cwd: tree.root, session: 's', id: 'one' })
      const headers = { 'content-type': 'application/json', 'x-agent-id': 'ann' }
      return (await fetch(`${url}/hooks/run`, { method: 'POST', headers, body })).json()
    }
    t.same(await post('before'), {})
    t.same(await post('before'), {})
    t.equal(app.commands.open.length, 1, 'it is one command')
    t.same(await post('after'), {})
    t.equal(app.commands.open.length, 0)
  }
)
