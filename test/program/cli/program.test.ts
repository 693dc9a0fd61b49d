// The real program: its flags, its port, its stop.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import t from 'tap'
import { connect } from '../../fixtures/clients.ts'
import { runCommand } from '../../fixtures/commands.ts'
import { isFull, lengthOf, someOf } from '../../fixtures/length.ts'
import { patientStop, programPath, runProgram, startProgram } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { installed } from '../../../src/support/installation.ts'
import { isRunning } from '../../../src/support/process-identity.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

async function takenPort(t: { teardown(fn: () => void): void }): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

t.test('--help and --version answer and exit 0', async (t) => {
  const help = await runProgram(['--help'])
  t.equal(help.code, 0)
  for (const flag of ['--dir', '--port', '--host', '--max-size', '--timeout', '--log-level', '--token', '--version']) {
    t.match(help.stdout, flag)
  }
  t.match(await runProgram(['--version']), { code: 0, stdout: /^\d+\.\d+\.\d+\n$/ })
})

t.test('help is a command, of the program and of each of its commands', async (t) => {
  const [help, flag, setup, daemon] = await Promise.all(
    [['help'], ['--help'], ['help', 'setup'], ['help', 'daemon', 'start']].map((args) => runProgram(args))
  )
  t.match(help, { code: 0, stderr: '', stdout: /^Usage: async-crud-mcp .*\n[^]*quick-install/ })
  t.equal(help?.stdout, flag?.stdout)
  t.match(setup, { code: 0, stdout: /^Usage: async-crud-mcp setup .*<client>/ })
  t.match(daemon, { code: 0, stdout: /^Usage: async-crud-mcp daemon start/ })
})

t.test('bad arguments exit 1 with one clear line', async (t) => {
  const tree = makeTree(t, { file: '' })
  const { root } = tree
  const cases: [string[], RegExp][] = [
    [['--dri', root], /--dri.*Did you mean --dir/],
    [['--dir', tree.path('nothing')], /does not exist/],
    [['--dir', tree.path('file')], /not a directory/],
    [['--dir', root, '--port', '80'], /1024 to 65535/],
    [['--dir', root, '--port', '65536'], /1024 to 65535/],
    [['--dir', root, '--port', 'x'], /1024 to 65535/],
    [['--dir', root, '--max-size', '0'], /1 to 100/],
    [['--dir', root, '--max-size', '101'], /1 to 100/],
    [['--dir', root, '--timeout', '301'], /1 to 300/],
    [['--dir', root, '--log-level', 'loud'], /trace, debug, info/],
    [['--dir', root, '--host', '0.0.0.0'], /--token/],
    [['--dir', root, root], /too many arguments .*every folder needs a --dir/],
    [['./extra'], /too many arguments .*every folder needs a --dir/],
    [['extra'], /unknown command 'extra'; known: serve, config, .*async-crud-mcp --help/],
    [['help', 'extra'], /unknown command 'extra'/],
    [['help', 'setpu'], /unknown command 'setpu' \(Did you mean setup\?\)/],
    [['confg', 'show'], /unknown command 'confg' \(Did you mean config\?\)/],
    [['--dir'], /argument missing/]
  ]
  const ended = await Promise.all(cases.map(([args], index) => (index < 2 ? runProgram : runCommand)(args)))
  cases.forEach(([args, message], index) => {
    const { code, stdout, stderr } = ended[index] as (typeof ended)[number]
    t.equal(code, 1, args.join(' '))
    t.match(stderr, message)
    t.equal(stderr.trimEnd().split('\n').length, 1, 'one line')
    t.equal(stdout, '')
  })
})

t.test('an explicit port that is taken ends with exit 1; one from no flag moves on to the next free one', async (t) => {
  const { root } = makeTree(t)
  const port = await takenPort(t)
  t.match(await runProgram(['--dir', root, '--port', String(port)]), {
    code: 1,
    stderr: new RegExp(`port ${port} is taken`)
  })
  const [first, second] = [await startProgram(t, ['--dir', root]), await startProgram(t, ['--dir', root])]
  for (const { url } of [first, second]) {
    const chosen = Number(new URL(url).port)
    t.ok(chosen >= 8720 && chosen <= 8819, url)
  }
  t.not(first.url, second.url)
  // The preferred port may belong to anybody; the one of two who has not got it says so.
  const { url, stderr } = new URL(first.url).port === '8720' ? second : first
  const warning = () => stderr.find((line) => line.includes('is taken'))
  await until(() => warning() !== undefined)
  t.match(warning(), new RegExp(`port 8720 is taken, this server is on ${new URL(url).port}`))
})

t.test('an address that this machine does not have is named, with what to do', async (t) => {
  const { root } = makeTree(t)
  for (const host of ['192.0.2.1', 'no-such-host.invalid']) {
    const { code, stderr } = await runProgram(['--dir', root, '--host', host, '--token', 'secret'])
    t.equal(code, 1)
    t.match(stderr.trimEnd().split('\n').at(-1), new RegExp(`--host ${host} is not an address of this machine: .*127`))
  }
})

t.test('from npm start in a clone, a message names commands as they are called there', async (t) => {
  const { root } = makeTree(t)
  const none = `${root}/none.json`
  for (const [event, command] of [
    ['start', 'npm start -- config init'],
    ['', 'async-crud-mcp config init']
  ] as const) {
    const { code, stderr } = await runCommand(['--dir', root, '--config', none], { npm_lifecycle_event: event })
    t.match({ code, stderr }, { code: 1, stderr: new RegExp(`; ${command} --config`) })
  }
})

t.test('the flags reach the server', async (t) => {
  const tree = makeTree(t, { 'one/a.txt': 'a', 'two/b.txt': 'b' })
  tree.write('one/big', Buffer.alloc(1_048_577, 'x'))
  const port = await freePort()
  const args = [
    '--dir',
    tree.path('one'),
    '--dir',
    tree.path('two'),
    '--port',
    String(port),
    '--max-size',
    '1',
    '--log-level',
    'INFO'
  ]
  const { url, stdout } = await startProgram(t, args)
  t.equal(new URL(url).port, String(port))
  const client = await connect(t, 'rest', url)
  t.match(await client.call('async_read', { path: 'a.txt' }), { content: 'a' }, 'relative to the first root')
  t.match(await client.call('async_read', { path: tree.path('two/b.txt') }), { content: 'b' })
  t.match(await client.call('async_read', { path: 'big' }), { error_code: 'FILE_TOO_LARGE' })
  const health = (await (await fetch(`${url}/health`)).json()) as object
  t.match(health, { status: 'healthy', version: /^\d+\.\d+\.\d+$/, uptime_seconds: Number, port_listening: true })
  t.strictSame(stdout, [], 'stdout stays free')
})

t.test('settings come from the environment too, and a wrong one is one clear line', async (t) => {
  const { root } = makeTree(t, { f: 'x' })
  const wrong = { ASYNC_CRUD_MCP_CRUD__MAX_FILE_SIZE_BYTES: '0.5' }
  const { code, stderr } = await runCommand(['--dir', root], wrong)
  t.equal(code, 1)
  t.match(stderr, /^async-crud-mcp: .*crud\.max_file_size_bytes must be a whole number from 1 to 104857600, not 0\.5/)
  const limited = await startProgram(t, ['--dir', root], { ASYNC_CRUD_MCP_CRUD__PROTECTED: '["f"]' })
  const client = await connect(t, 'rest', limited.url)
  t.match(await client.call('async_append', { path: 'f', content: 'y' }), { error_code: 'ACCESS_DENIED' })
})

for (const signal of someOf(['SIGTERM', 'SIGINT'] as const, 1)) {
  t.test(`on ${signal} waiting calls are answered, nothing is half done, and the process ends with 0`, async (t) => {
    const tree = makeTree(t, { f: 'one' })
    const program = await startProgram(t, ['--dir', tree.root], patientStop)
    const rest = await connect(t, 'rest', program.url)
    const modern = await connect(t, 'mcp-2026', program.url)
    const legacy = await connect(t, 'mcp-2025', program.url)
    // A queue that is long enough to be caught in the middle: each append waits for the one before it.
    const calls = [rest, modern, legacy].flatMap((client) =>
      Array.from({ length: lengthOf({ full: 60, short: 25 }) }, (_, index) =>
        client.call('async_append', { path: 'f', content: `,${client.transport}-${index}` })
      )
    )
    const settled = Promise.allSettled(calls)
    await Promise.race(calls)
    const { code } = await program.stop(signal)
    t.equal(code, 0)
    let applied = 0
    for (const result of await settled) {
      if (result.status === 'rejected') continue
      if (result.value['status'] === 'ok') applied += 1
      else t.match(result.value, { error_code: 'OVERLOADED', message: /stopping/ })
    }
    const inFile = tree.read('f').split(',').slice(1)
    t.ok(inFile.length >= applied, `${applied} were acknowledged, ${inFile.length} are in the file`)
    t.equal(new Set(inFile).size, inFile.length)
    t.strictSame([...tree.all(), ...tree.own()], ['f', '.gitignore'], 'nothing temporary stays')
  })
}

t.test(
  'temporary files of a process that is gone are swept at the next start, those of living processes are not',
  async (t) => {
    const tree = makeTree(t, { 'deep/f': 'one' })
    const { pid } = spawnSync(process.execPath, ['--version'])
    const dead = `.async-crud-mcp-${pid}-abc-0123456789abcdef.tmp`
    const alive = `.async-crud-mcp-${process.pid}-abc-0123456789abcdef.tmp`
    writeFileSync(tree.path(`deep/${dead}`), 'left')
    writeFileSync(tree.path(`deep/${alive}`), 'busy')
    const next = await startProgram(t, ['--dir', tree.root])
    await until(() => next.stderr.some((line) => line.includes('removed temporary files')))
    const foreign = tree.all().filter((name) => !name.startsWith('.async-crud-mcp'))
    t.strictSame(foreign, ['deep', `deep/${alive}`, 'deep/f'])
  }
)

t.test('the log tells what happens without content', async (t) => {
  const tree = makeTree(t, { f: 'secret-content' })
  const program = await startProgram(t, ['--dir', tree.root, '--log-level', 'trace'])
  const client = await connect(t, 'rest', program.url)
  await client.call('async_read', { path: 'f' })
  await client.call('async_update', { path: 'f', expected_hash: hashOf('secret-content'), content: 'secret-new' })
  await client.call('async_update', {
    path: 'f',
    expected_hash: hashOf('secret-content'),
    patches: [{ old_string: 'secret-old', new_string: 'x' }]
  })
  await client.call('async_write', { path: 'g', content: 5 })
  await fetch(`${program.url}/async_write`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"content":"secret-broken'
  })
  await program.stop()
  t.ok(program.stderr.length > 0)
  t.notMatch(program.stderr.join('\n'), /secret/)
  for (const line of program.stderr) t.doesNotThrow(() => JSON.parse(line) as unknown)
})

t.test(
  'npm start without a root serves the folder that it is called from, and its server goes when npm is killed',
  async (t) => {
    const tree = makeTree(t, { f: 'one' })
    const port = await freePort()
    const project = installed('')
    const args = ['--silent', '--prefix', project, 'start', '--', '--port', String(port)]
    const env = { ...process.env, ASYNC_CRUD_MCP_CONFIG: '' }
    const npm = spawn('npm', args, { cwd: tree.root, env, stdio: ['ignore', 'ignore', 'pipe'] })
    t.teardown(() => npm.kill('SIGKILL'))
    await new Promise<void>((resolve) => {
      createInterface({ input: npm.stderr }).on('line', (line) => line.includes('listening on') && resolve())
    })
    const client = await connect(t, 'rest', `http://127.0.0.1:${port}`)
    t.match(await client.call('async_read', { path: 'f' }), { content: 'one' })
    npm.kill('SIGTERM')
    const isUp = () =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        (response) => response.ok,
        () => false
      )
    await until(async () => !(await isUp()))
    t.pass('nobody listens any more')
  }
)

t.test('a server without any root starts, says so, and refuses every path with the way out', async (t) => {
  const tree = makeTree(t, { 'config.json': '{"crud":{"base_directories":[]}}', f: 'one' })
  const message = /no root, so it refuses every path, .*set crud\.base_directories .*--dir <folder>/
  const fromFile = await startProgram(t, ['--config', tree.path('config.json')])
  t.match(fromFile.stderr.join('\n'), /crud\.base_directories is empty, so every path is refused: .*--dir <folder>/)
  const client = await connect(t, 'rest', fromFile.url)
  const refused = { error_code: 'PATH_OUTSIDE_BASE', message }
  t.match(await client.call('async_read', { path: tree.path('f') }), refused)
  t.match(await client.call('async_write', { path: 'new', content: '' }), refused)
  t.match(await client.call('lock_try', { filepaths: ['f'], agent_id: 'ann' }), refused)
  t.match(await client.call('list_files', {}), { error: { message } })
  const fromEnvironment = startStdio(t, ['--transport', 'stdio'], {
    environment: { ASYNC_CRUD_MCP_CRUD__BASE_DIRECTORIES: '[]' }
  })
  t.match((await fromEnvironment.call('async_read', { path: 'f' })).error, { data: refused })
  t.match(await fromEnvironment.end(), { code: 0 })
  t.strictSame(tree.all(), ['config.json', 'f'])
})

t.test('a service for which no root is set serves none, whatever folder it is started in', async (t) => {
  const { url } = await startProgram(t, ['serve', '--as-service'])
  const client = await connect(t, 'rest', url)
  t.match(await client.call('async_list', { path: '.' }), { error_code: 'PATH_OUTSIDE_BASE' })
})

t.test('daemon.enabled: false keeps the service from serving, and nobody else', async (t) => {
  const { root } = makeTree(t, { f: 'x' })
  const environment = { ASYNC_CRUD_MCP_DAEMON__ENABLED: 'false' }
  const service = await runProgram(['serve', '--as-service', '--dir', root], environment)
  t.match(service, { code: 0, stdout: '', stderr: /^async-crud-mcp: daemon\.enabled is false.*\n$/ })
  const { url } = await startProgram(t, ['serve', '--dir', root], environment)
  t.match(await (await fetch(`${url}/health`)).json(), { status: 'healthy' })
})

const noTerminal =
  (process.platform !== 'linux' || spawnSync('script', ['--version']).status !== 0) &&
  'the program script of util-linux, which makes a terminal, is not here'

t.test('a server whose terminal is closed ends in order', { skip: noTerminal }, async (t) => {
  const tree = makeTree(t, { 'root/f': 'x' })
  const [pidFile, codeFile, typescript] = [tree.path('pid'), tree.path('code'), tree.path('typescript')]
  // The shell leads the session of the terminal: it gets the hangup, passes it on, and learns how the server ends.
  const words = [process.execPath, programPath, '--dir', tree.path('root')].map((word) => `'${word}'`).join(' ')
  const command = `trap 'kill -HUP $!' HUP; ${words} & echo $! > '${pidFile}'
    wait $!; wait $!; echo $? > '${codeFile}.new'; mv '${codeFile}.new' '${codeFile}'`
  const { NODE_OPTIONS: _ofTestRunner, ...environment } = process.env
  const terminal = spawn('script', ['--quiet', '--flush', '--command', command, typescript], {
    env: { ...environment, SHELL: '/bin/sh', ASYNC_CRUD_MCP_CONFIG: '' },
    stdio: 'ignore'
  })
  const pid = () => Number(existsSync(pidFile) && tree.read('pid'))
  t.teardown(() => {
    terminal.kill('SIGKILL')
    if (isRunning(pid(), null)) process.kill(pid(), 'SIGKILL')
  })
  await until(() => existsSync(typescript) && tree.read('typescript').includes('authority of the tree'))
  terminal.kill('SIGKILL')
  await until(() => existsSync(codeFile))
  t.equal(tree.read('code'), '0\n')
  t.notOk(isRunning(pid(), null))
  t.notOk(existsSync(tree.path('root/.async-crud-mcp/.mcp_server_state.json')), 'its state file is gone')
})

t.test('a fault of the process ends it at once, by the signal of the fault', async (t) => {
  const rarer = ['SIGBUS', 'SIGFPE', 'SIGILL', 'SIGTRAP'] as const
  const ended = ['SIGSEGV', 'SIGABRT', ...(isFull ? rarer : [])] as const
  const outcomes = await Promise.all(
    ended.map(async (signal) => {
      const through = ['sh', '-c', 'ulimit -c 0; exec "$@"', 'sh']
      const program = startStdio(t, ['--transport', 'dual', '--dir', makeTree(t).root], { through })
      await program.url()
      return (await program.end(signal)).signal
    })
  )
  t.strictSame(outcomes, ended)
})

/** Loaded before the program: throws as a defect of ours would, when it gets the signal. */
const faulty = (act: string) => [
  '--import',
  `data:text/javascript,process.on('SIGCONT', () => { ${act} })`,
  programPath
]

const uncaught = {
  'an exception that nothing catches': 'throw new Error("fault")',
  'a rejection that nothing handles': 'Promise.reject(new Error("fault"))',
  'one fault after another, while the server stops as well': 'setInterval(() => { throw new Error("fault") }, 1)'
}
for (const [what, act] of Object.entries(uncaught)) {
  t.test(`${what} ends the process with code 1, so that a service manager starts it again`, async (t) => {
    const program = await startProgram(t, ['--dir', makeTree(t).root], {}, faulty(act))
    t.match(await program.stop('SIGCONT'), { code: 1, signal: null })
    t.match(program.stderr.join('\n'), /stopping after an unexpected failure/)
  })
}

t.test('without a named folder the one it was called from is served, but no home and no disk', async (t) => {
  const tree = makeTree(t, { 'app/f': '', 'package/package.json': '{}' })
  const run = (cwd: string, more: Record<string, string> = {}) => {
    const env = { PATH: process.env['PATH'] ?? '', HOME: tree.root, ASYNC_CRUD_MCP_CONFIG: '', ...more }
    return spawnSync(process.execPath, [programPath, '--stdio'], { cwd, env, input: '', encoding: 'utf8' })
  }
  const served = run(tree.path('app'))
  t.equal(served.status, 0)
  t.match(served.stderr, `no --dir was given: serving ${tree.path('app')}`)
  const byNpm = { INIT_CWD: tree.path('app'), npm_package_json: tree.path('package/package.json') }
  t.match(run(tree.path('package'), byNpm).stderr, `serving ${tree.path('app')}`, 'from where npm was called')
  t.match(
    run(tree.path('app'), { ...byNpm, INIT_CWD: tree.root }).stderr,
    `serving ${tree.path('app')}`,
    'not a script'
  )
  symlinkSync(tree.root, tree.path('link'))
  for (const [folder, words] of [
    [tree.root, /your home folder.*--dir/],
    [tree.path('link'), /your home folder.*--dir/],
    ['/', /the whole disk.*--dir/]
  ] as const) {
    // The folder in which a process runs has no links in its name; that of the home folder may have some.
    const refused = run(folder, folder === tree.path('link') ? { HOME: folder } : {})
    t.equal(refused.status, 1)
    t.match(refused.stderr, words)
  }
  t.same(tree.own(), [], 'nothing was written there')
})
