// What npx and npm start run: it ends with npm, in its ordinary way, and with nothing else.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import t from 'tap'
import { askFacts, readFacts } from '../../../src/program/cli/end-with-npm.ts'
import { attempt } from '../../../src/support/attempt.ts'
import { installed } from '../../../src/support/installation.ts'
import { isRunning, startOf } from '../../../src/support/process-identity.ts'
import { findServer } from '../../../src/tree/state/state-file.ts'
import { copyProgram } from '../../fixtures/installation.ts'
import { someOf } from '../../fixtures/length.ts'
import { call, cannotStop, memberOn, post, stdioOn, stopProcess } from '../../fixtures/processes.ts'
import { patientStop } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

interface Owner {
  teardown(fn: () => void): void
}

interface UnderNpm {
  readonly npm: ChildProcess
  /** As Ctrl-C does. */
  signalAll(signal: NodeJS.Signals): void
  /** Lines on stderr so far, of all that npm runs. */
  readonly lines: readonly string[]
  readonly ended: Promise<unknown>
}

/** A process that is not the child of this one, and ends with the test. */
interface Stranger {
  readonly url: string
  isUp(): boolean
}

/** Each waits until processes have gone: for no longer than it may last. */
const options = {
  skip: process.platform === 'win32' && 'there the end of npm reaches no other process',
  timeout: 60_000
}

/** A folder in which the package is installed, with a program beside it that starts it as a client does. */
function makeConsumer(t: Owner): Tree {
  const program = copyProgram(t)
  // npm does this with the commands of what it installs.
  chmodSync(program.main, 0o755)
  const consumer = makeTree(t, {
    'package.json': '{"private":true,"dependencies":{"async-crud-mcp":"*"}}',
    // As clients do, it passes on the environment that npx gave it.
    'client.mjs': `#!/usr/bin/env node
      import { spawn } from 'node:child_process'
      const [, , shell, ...args] = process.argv
      const server = ${JSON.stringify(program.main)}
      if (shell === 'shell') spawn('sh', ['-c', '"$0" "$@"; exit', process.execPath, server, ...args], { stdio: 'inherit' })
      else spawn(process.execPath, [server, ...args], { stdio: 'inherit' })
      setInterval(() => {}, 60_000)`
  })
  chmodSync(consumer.path('client.mjs'), 0o755)
  mkdirSync(consumer.path('node_modules/.bin'), { recursive: true })
  symlinkSync(program.root, consumer.path('node_modules/async-crud-mcp'), 'junction')
  symlinkSync('../async-crud-mcp/dist/main.cjs', consumer.path('node_modules/.bin/async-crud-mcp'))
  symlinkSync('../../client.mjs', consumer.path('node_modules/.bin/client'))
  return consumer
}

/** @param stdin a pipe that another process holds open; of its own by default */
function runNpm(t: Owner, args: readonly string[], home: Tree, stdin: Readable | 'pipe' = 'pipe'): UnderNpm {
  const { NODE_OPTIONS: _ofTheTestRunner, ...environment } = process.env
  const env = { ...environment, HOME: home.root, ASYNC_CRUD_MCP_CONFIG: '' }
  // A group of its own, as a terminal gives to each command.
  const npm = spawn('npm', ['--offline', ...args], {
    cwd: home.root,
    env,
    detached: true,
    stdio: [stdin, 'pipe', 'pipe']
  })
  const signalAll = (signal: NodeJS.Signals) => attempt(() => process.kill(-(npm.pid ?? 0), signal))
  t.teardown(() => signalAll('SIGKILL'))
  const lines: string[] = []
  createInterface({ input: npm.stderr as Readable }).on('line', (line) => lines.push(line))
  return { npm, signalAll, lines, ended: once(npm, 'exit') }
}

const npx = (t: Owner, consumer: Tree, ...args: string[]) => runNpm(t, ['exec', '--no', '--', ...args], consumer)

/** The server of a tree, once it has said so, whatever started it. */
async function serverOf(t: Owner, tree: Tree, { ended }: { ended?: Promise<unknown> } = {}): Promise<Stranger> {
  let hasEnded = false
  void ended?.then(() => (hasEnded = true))
  await until(() => findServer(tree.root) !== undefined || hasEnded)
  const { pid = 0, url } = findServer(tree.root) ?? {}
  const start = startOf(pid)
  const isUp = () => pid !== 0 && isRunning(pid, start)
  t.teardown(() => isUp() && process.kill(pid, 'SIGKILL'))
  return { url: new URL(url ?? '').origin, isUp }
}

const ends: Readonly<Record<string, (run: UnderNpm) => void>> = {
  'npx gets SIGTERM': ({ npm }) => npm.kill('SIGTERM'),
  'npx gets SIGKILL': ({ npm }) => npm.kill('SIGKILL'),
  // Of npx alone dash, the shell of Debian, keeps it to itself until its command has ended: npx lives on with all that it runs.
  'all of them get SIGINT': (run) => run.signalAll('SIGINT')
}

// A kill of npx is tried over standard input, too.
for (const [name, end] of someOf(Object.entries(ends), 2))
  t.test(`the server that npx runs stops in its ordinary way when ${name}`, options, async (t) => {
    const consumer = makeConsumer(t)
    const tree = makeTree(t, { f: 'one' })
    const run = npx(t, consumer, 'async-crud-mcp', '--dir', tree.root)
    const server = await serverOf(t, tree, run)
    await post(server.url, 'lock_try', { filepaths: ['f'], agent_id: 'ann' })
    end(run)
    await until(() => !server.isUp())
    t.match(run.lines.join('\n'), /"msg":"stopping"/, 'it has heard of it')
    t.equal(findServer(tree.root), undefined)
    t.notOk(tree.own().includes('.mcp_server_state.json'), 'nothing says that it serves')
    const next = await memberOn(t, tree)
    t.match(await post(next.url, 'lock_try', { filepaths: ['f'], agent_id: 'bob' }), { all_acquired: true })
  })

t.test('so does that of npm start, even if npm is killed and its shell lives', options, async (t) => {
  const home = makeTree(t)
  const tree = makeTree(t)
  const run = runNpm(t, ['--prefix', installed(''), 'start', '--', '--dir', tree.root], home)
  const server = await serverOf(t, tree, run)
  run.npm.kill('SIGKILL')
  await until(() => !server.isUp())
  t.match(run.lines.join('\n'), /"msg":"stopping"/)
})

t.test(
  'a hang-up, by npm or a terminal, does not hurry a server that stops already',
  { ...options, skip: cannotStop },
  async (t) => {
    const tree = makeTree(t, { f: 'one' })
    const [authority, relay] = [
      stdioOn(t, tree),
      startStdio(t, ['--transport', 'stdio', '--dir', tree.root], { environment: patientStop })
    ]
    for (const program of [authority, relay]) await call(program, 'async_read', { path: 'f' })
    await stopProcess(authority.process)
    const answer = call(relay, 'async_read', { path: 'f' })
    const ended = relay.end('SIGTERM')
    await until(() => relay.stderr.some((line) => line.includes('"stopping"')))
    const stopping = performance.now()
    await until(() => {
      relay.process.kill('SIGHUP')
      // So late a second signal of another kind ends it at once.
      return performance.now() - stopping > 1000
    })
    authority.process.kill('SIGCONT')
    await answer
    t.match(await ended, { code: 0 })
  }
)

t.test('over standard input it ends with that, and with npx while that is open', options, async (t) => {
  const consumer = makeConsumer(t)
  const writer = spawn('sleep', ['600'])
  t.teardown(() => writer.kill())
  for (const [end, reason] of [
    [({ npm }: UnderNpm) => npm.stdin?.end(), 'stdin ended'],
    [({ npm }: UnderNpm) => npm.kill('SIGKILL'), 'SIGHUP']
  ] as const) {
    const tree = makeTree(t)
    const args = ['exec', '--no', '--', 'async-crud-mcp', '--dir', tree.root, '--transport', 'dual']
    const run = runNpm(t, args, consumer, reason === 'SIGHUP' ? writer.stdout : 'pipe')
    const server = await serverOf(t, tree, run)
    end(run)
    await until(() => !server.isUp())
    t.match(run.lines.join('\n'), `"reason":"${reason}"`)
  }
})

t.test(
  'ps says the same of a process as /proc',
  { skip: !existsSync('/proc/self/stat') && 'there is no /proc' },
  (t) => {
    const shell = spawn('sh', ['-c', 'read line; exit', 'name'])
    t.teardown(() => shell.kill())
    const { pid = 0 } = shell
    t.strictSame(askFacts(pid), { parent: process.pid, words: ['sh', '-c', 'read', 'line;', 'exit', 'name'] })
    t.strictSame(readFacts(pid), askFacts(pid))
    t.end()
  }
)

t.test('a server that npx or its shell is not the parent of outlives npx', options, async (t) => {
  const consumer = makeConsumer(t)
  const trees = { background: makeTree(t), child: makeTree(t), grandchild: makeTree(t), last: makeTree(t) }
  const background = npx(t, consumer, 'async-crud-mcp', 'daemon', 'start', '--dir', trees.background.root)
  // As the shells of other systems do, so that npm is the parent of the client.
  const command = `exec client direct --dir '${trees.child.root}'`
  const child = runNpm(t, ['exec', '--no', '-c', command], consumer)
  const grandchild = npx(t, consumer, 'client', 'shell', '--dir', trees.grandchild.root)
  const servers = [
    await serverOf(t, trees.background),
    await serverOf(t, trees.child, child),
    await serverOf(t, trees.grandchild, grandchild)
  ]
  t.match(await background.ended, [0, null])
  child.npm.kill('SIGKILL')
  grandchild.npm.kill('SIGKILL')
  await Promise.all([child.ended, grandchild.ended])
  // Longer than the others would take: it is started only now, looks as often as they would, and stops.
  const last = npx(t, consumer, 'async-crud-mcp', '--dir', trees.last.root)
  const lastServer = await serverOf(t, trees.last, last)
  last.npm.kill('SIGKILL')
  await until(() => !lastServer.isUp())
  t.strictSame(
    servers.map((server) => server.isUp()),
    [true, true, true]
  )
})
