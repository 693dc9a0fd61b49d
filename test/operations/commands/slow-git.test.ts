// A tree of which Git takes longer to tell what differs from HEAD than a hook waits for a server that does not answer.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { delimiter } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { findServerOf } from '../../../src/program/hook/find-server.ts'
import { orUndefined } from '../../../src/support/attempt.ts'
import { connect } from '../../fixtures/clients.ts'
import { makeCommitted } from '../../fixtures/repository.ts'
import { programPath, startProgram } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

/** No line that runs it says what it does. */
const script = 'echo more >> a.txt; rm deep/b.txt'
const skip = process.platform === 'win32' && 'the slow Git is a shell script'

/** A server whose Git waits for a file before it tells its status, and one second more. */
async function serve(t: Test) {
  const { tree, root } = makeCommitted(t, { 'a.txt': 'a\n', 'deep/b.txt': 'b\n', program: script })
  const git = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  const bin = makeTree(t, { git: '' })
  const wait = `while [ ! -e ${bin.path('go')} ]; do sleep 0.05; done; sleep 1`
  bin.write('git', `#!/bin/sh\ncase " $* " in *" status "*) ${wait} ;; esac\nexec ${git} "$@"\n`)
  chmodSync(bin.path('git'), 0o755)
  const PATH = `${bin.root}${delimiter}${process.env['PATH']}`
  const { url } = await startProgram(t, ['--dir', root], { PATH, ASYNC_CRUD_MCP_HOOKS__LOOK_MS: '10000' })
  // It leaves its address in the tree once it serves it, a moment after it listens.
  await until(() => orUndefined(() => findServerOf({ cwd: root })) !== undefined)
  return { tree, root, url, letGo: () => bin.write('go', ''), bob: await connect(t, 'rest', url, 'bob') }
}

t.test('a hook is told that it is waited for, and waits until the command is judged', { skip }, async (t) => {
  const { tree, root, url, letGo, bob } = await serve(t)
  const { hash } = await bob.call('async_read', { path: 'a.txt' })
  await bob.call('async_append', { path: 'a.txt', content: 'of bob\n', expected_hash: hash })
  const names = { hook_event_name: 'PreToolUse', session_id: 'ann', cwd: root, tool_name: 'Bash' }
  const body = JSON.stringify({ ...names, tool_input: { command: 'git reset --hard' } })
  const headers = { 'content-type': 'application/json' }
  // The body comes once Git has answered.
  const response = await fetch(`${url}/hooks/claude-code`, { method: 'POST', headers, body })
  t.equal(Number(response.headers.get('x-wait-seconds')), 30)
  letGo()
  t.match(await response.text(), /"permissionDecision":"deny".*of bob/s)
  t.equal(tree.read('a.txt'), 'a\nof bob\n')
})

async function runProgram(root: string) {
  const args = ['run', '--agent', 'ann', '--', 'env', 'sh', 'program']
  const child = spawn(process.execPath, [programPath, ...args], { cwd: root })
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit') as Promise<[number | null]>])
  return { said, code }
}

t.test('what a command has changed comes back right after its end', { skip }, async (t) => {
  const { tree, root, letGo, bob } = await serve(t)
  letGo()
  t.strictSame(await runProgram(root), { said: '', code: 0 })
  t.match(await bob.call('async_undo', { by_agent: 'ann' }), { status: 'ok', undone: 2, conflicts: [] })
  t.strictSame([tree.read('a.txt'), tree.read('deep/b.txt')], ['a\n', 'b\n'])
})

for (const [name, path] of [
  ['async_history', 'deep/b.txt'],
  ['async_blame', 'a.txt']
] as const)
  t.test(`${name} right after the end of a command knows of it`, { skip }, async (t) => {
    const { root, letGo, bob } = await serve(t)
    letGo()
    t.strictSame(await runProgram(root), { said: '', code: 0 })
    t.match(JSON.stringify(await bob.call(name, { path })), '"agent_id":"ann"')
  })
