// discover: where the server of a tree is, by the real program beside a real server.
import { cpSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { ServerState } from '../../../src/tree/state/server-state.ts'
import { createStateFile, thisProcess } from '../../../src/tree/state/state-file.ts'
import { runCommand } from '../../fixtures/commands.ts'
import { runProgram, startProgram } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'

t.test('from any folder of the tree it prints the server, or its address alone', async (t) => {
  const tree = makeTree(t, { 'src/deep/f': '' })
  t.match(await runProgram(['discover', '--dir', tree.path('src')]), {
    code: 1,
    stdout: '',
    stderr: /^async-crud-mcp: no server runs for .*src or a folder above it; start one .*\n$/
  })
  const program = await startProgram(t, ['--dir', tree.root])
  const { url } = program
  // The state file is written just after the program says that it listens.
  const discover = async (...args: string[]) => {
    for (;;) {
      const outcome = await runCommand(['discover', '--dir', tree.path('src/deep'), ...args])
      if (outcome.code === 0) return outcome
    }
  }
  const outcome = await discover()
  t.match(JSON.parse(outcome.stdout), {
    url: `${url}/mcp`,
    transport: 'http',
    project: { root: realpathSync(tree.root) }
  })
  t.strictSame(JSON.parse(outcome.stdout), JSON.parse(tree.read('.async-crud-mcp/.mcp_server_state.json')))
  t.strictSame(await discover('--json'), outcome)
  t.strictSame(await discover('--url'), { code: 0, stdout: `${url}/mcp\n`, stderr: '' })
  await program.stop()
  t.match(await runCommand(['discover', '--dir', tree.root]), { code: 1, stdout: '' })
})

t.test('each root of a server leads to it, and no longer once the server has stopped', async (t) => {
  const [first, second] = [makeTree(t), makeTree(t, { 'deep/f': '' })]
  const program = await startProgram(t, ['--dir', first.root, '--dir', second.root])
  const { url } = program
  await fetch(`${url}/locks`)
  const roots = [first, second].map(({ root }) => realpathSync(root))
  for (const folder of [first.root, second.path('deep')]) {
    const { stdout } = await runProgram(['discover', '--dir', folder])
    t.match(JSON.parse(stdout), { url: `${url}/mcp`, project: { root: roots[0], roots } }, folder)
  }
  await program.stop()
  for (const tree of [first, second]) {
    t.match(await runCommand(['discover', '--dir', tree.root]), { code: 1, stdout: '' })
    t.strictSame(tree.own(), ['.gitignore'])
  }
})

t.test('a state file that was copied along with a tree leads to no server', async (t) => {
  const tree = makeTree(t, { f: '' })
  createStateFile(tree.root).write({ ...thisProcess, transport: 'http', host: '127.0.0.1', port: 8720 })
  const copy = makeTree(t)
  cpSync(tree.root, copy.root, { recursive: true })
  t.match(await runCommand(['discover', '--dir', tree.root]), { code: 0 })
  t.match(await runCommand(['discover', '--dir', copy.root]), { code: 1, stdout: '', stderr: /no server runs/ })
})

t.test('what a killed server left behind is skipped, with a line that says so', async (t) => {
  const tree = makeTree(t, { 'inner/f': '' })
  const here = { ...thisProcess, transport: 'http', host: '127.0.0.1' } as const
  createStateFile(tree.root).write({ ...here, port: 8720 })
  mkdirSync(tree.path('inner/deep'))
  createStateFile(tree.path('inner')).write({ ...here, port: 8721, process_start: 'another boot/1' })
  const { code, stdout, stderr } = await runCommand(['discover', '--dir', tree.path('inner/deep')])
  t.equal(code, 0)
  t.equal((JSON.parse(stdout) as ServerState).port, 8720)
  t.match(stderr, /^async-crud-mcp: skipped the state file in .*inner, because its process \d+ is gone\n$/)
  createStateFile(tree.root).write({ ...here, port: 8720, pid: 2 ** 31 - 1 })
  const none = await runProgram(['discover', '--url', '--dir', join(tree.root, 'inner')])
  t.match(none, { code: 1, stdout: '', stderr: /gone\n.*gone\n.*no server runs/ })
})

t.test('a server without an address has none to print', async (t) => {
  const tree = makeTree(t)
  createStateFile(tree.root).write({ ...thisProcess, transport: 'stdio', host: '127.0.0.1', port: null })
  const { stdout } = await runCommand(['discover', '--dir', tree.root])
  t.match(JSON.parse(stdout), { transport: 'stdio', url: null, pid: process.pid })
  const none = await runCommand(['discover', '--url', '--dir', tree.root])
  t.match(none, { code: 1, stdout: '', stderr: /^async-crud-mcp: the server of .* has no address/ })
})

t.test('wrong flags get one clear line, and help is there', async (t) => {
  t.match(await runProgram(['discover', '--uri']), {
    code: 1,
    stderr: /unknown option '--uri' \(Did you mean --url\?\)/
  })
  t.match(await runCommand(['discover', '--json', '--url']), { code: 1, stderr: /^async-crud-mcp: .*cannot be used/ })
  for (const args of [['discover', '--help'], ['--help']])
    t.match(await runCommand(args), { code: 0, stdout: /discover/ })
})
