// What people do on every system: clients over stdio, one server after the other, trees in trees, setting up and taking back, the doctor.
import { once } from 'node:events'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t from 'tap'
import { clientNames } from '../../src/program/setup/client-names.ts'
import { serverName } from '../../src/program/setup/clients.ts'
import { makeHome } from '../fixtures/home.ts'
import { onSystem } from '../fixtures/preload.ts'
import { httpOn } from '../fixtures/processes.ts'
import { runProgram, startOneProgram } from '../fixtures/server.ts'
import { makeTree } from '../fixtures/tree.ts'
import { startStdioClient } from '../tree/authority/fixtures/own-process.ts'

const ok = { status: 'ok' }

t.test('of two clients over stdio one serves the tree, and the other goes on once that one is killed', async (t) => {
  const tree = makeTree(t, { f: 'one\n', g: 'one\n' })
  const first = await startStdioClient(t, 'legacy', tree)
  t.match(await first.call('async_append', { path: 'f', content: 'two\n', agent_id: 'ann' }), ok)
  const second = await startStdioClient(t, 'modern', tree)
  t.match(await second.call('lock_try', { filepaths: ['f'], agent_id: 'bob' }), { all_acquired: true })
  t.match(await first.call('lock_try', { filepaths: ['f'], agent_id: 'ann' }), { results: [{ holder: 'bob' }] })
  process.kill(first.pid, 'SIGKILL')
  t.match(await second.call('async_append', { path: 'f', content: 'three\n', agent_id: 'bob' }), ok)
  const changes = ['f', 'g'].map((path) => ({ operation: 'append', path, content: 'four\n' }))
  t.match(await second.call('async_transaction', { changes, agent_id: 'bob' }), ok)
  t.strictSame([tree.read('f'), tree.read('g')], ['one\ntwo\nthree\nfour\n', 'one\nfour\n'])
  const third = await startStdioClient(t, 'legacy', tree)
  t.match(await third.call('lock_try', { filepaths: ['f'], agent_id: 'ann' }), { results: [{ holder: 'bob' }] })
})

t.test('a folder that another tree has is not served: the process that has it is named', async (t) => {
  const tree = makeTree(t, { 'one/deep/f': '', 'two/f': '' })
  const { process: server } = await httpOn(t, { ...tree, root: tree.path('one') }, '--dir', tree.path('two'))
  const start = (name: string) => runProgram(['--dir', tree.path(name), '--log-level', 'silent'])
  for (const [name, said] of [
    ['two', `two is already served, by process ${server.pid} as part of the tree .*one: `],
    ['one/deep', `deep lies in .*one, which process ${server.pid} .*already serves: `],
    ['.', `(?:one|two), a part of .*, is already served, by process ${server.pid} `]
  ] as const)
    t.match(await start(name), { code: 1, stderr: new RegExp(said) }, name)
})

t.test('each client is set up, and no file of its user is another once that is taken back', async (t) => {
  const home = makeHome(t, { 'tree/f': '' })
  const before = home.snapshot()
  for (const name of clientNames) {
    t.match(await home.call(['setup', name, '--dir', 'tree', '--no-start']), { code: 0, stderr: '' }, name)
    t.not(Object.keys(home.snapshot()).length, Object.keys(before).length, name)
    t.match(await home.call(['setup', name, '--remove']), { code: 0 }, name)
    t.strictSame(home.snapshot(), before, name)
  }
})

t.test('what setup writes starts a server', async (t) => {
  const home = makeHome(t, { 'tree/f': 'one\n' })
  const { stdout } = await home.run(['setup', 'cursor', '--dir', 'tree', '--print'])
  const { mcpServers } = JSON.parse(stdout) as { mcpServers: Record<string, { command: string; args: string[] }> }
  const { command = '', args = [] } = mcpServers[serverName] ?? {}
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  t.teardown(() => client.close())
  await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore', env: home.environment }))
  t.match(await client.callTool({ name: 'async_read', arguments: { path: 'f' } }), {
    structuredContent: { content: /^one/ }
  })
})

t.test('the doctor finds a server and its folder well', async (t) => {
  const home = makeHome(t, { 'tree/f': '' })
  const { process: server } = await httpOn(t, { ...home, root: home.path('tree') })
  const { code, stdout } = await home.run(['doctor', '--dir', 'tree', '--json'])
  t.equal(code, 0)
  const { findings } = JSON.parse(stdout) as { findings: { check: string; verdict: string; message: string }[] }
  const found = (name: string) => findings.filter(({ check }) => check === name)
  t.match(found('state folder'), [{ verdict: 'ok' }])
  t.match(found('server'), [{ verdict: 'ok', message: new RegExp(`^process ${server.pid} runs on this tree`) }])
  t.match(found('roots'), [{ verdict: 'ok' }])
})

/** A refusal of the system that is none of rights between users. */
const refusing = `
  const { openSync } = fs
  fs.openSync = (path, ...rest) => String(path).endsWith('authority.lock') ? fail('EPERM', 'open') : openSync(path, ...rest)`

t.test('a refusal of the system is not taken for a folder of another user', async (t) => {
  const tree = makeTree(t)
  const { process: server, stderr } = await startOneProgram(t, ['--dir', tree.root], {}, onSystem(refusing))
  if (server.exitCode === null) await once(server, 'exit')
  t.equal(server.exitCode, 1)
  t.match(stderr.join('\n'), /authority\.lock: the system answered EPERM/)
  t.notMatch(stderr.join('\n'), /Remove that folder/)
})
