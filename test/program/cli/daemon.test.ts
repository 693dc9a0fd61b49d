// daemon: a server in the background is started once, found, followed, started anew and stopped, and nobody else is.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { createBackgroundRecords, type BackgroundRecord } from '../../../src/program/background/background-records.ts'
import { isRunning, startOf } from '../../../src/support/process-identity.ts'
import { toReadableLine } from '../../../src/program/cli/log-line.ts'
import { paint } from '../../../src/program/cli/output.ts'
import { preload } from '../../fixtures/preload.ts'
import { makeHome, type Home } from '../../fixtures/home.ts'
import { programPath } from '../../fixtures/server.ts'
import { until } from '../../fixtures/until.ts'

const logFile = '.local/state/async-crud-mcp/async-crud-mcp.log'

interface Owner {
  teardown(fn: () => void): void
}

interface Status {
  readonly running: boolean
  readonly pid: number
  readonly url: string
  readonly roots: string[]
  readonly health: string
  readonly uptime_seconds: number
  readonly log_file: string
  readonly started_by_daemon: boolean
}

/** A home whose background servers end with the test, whatever happens in it. */
function homeWithServers(t: Owner, files: Record<string, string> = {}): Home {
  const home = makeHome(t, files)
  const records = createBackgroundRecords(home.path('.local/share/async-crud-mcp'))
  t.teardown(() => {
    for (const { pid, process_start } of records.list()) if (isRunning(pid, process_start)) process.kill(pid, 'SIGKILL')
  })
  return home
}

const statusOf = async (home: Home, ...args: string[]) =>
  JSON.parse((await home.call(['daemon', 'status', '--json', ...args])).stdout) as Status

t.test('a server is started once, shows how it does, starts anew with its flags, and ends', async (t) => {
  const home = homeWithServers(t, { 'tree/f': 'one' })
  const root = realpathSync(home.path('tree'))
  t.match(await home.call(['daemon', 'status', '--dir', 'tree']), { code: 3, stdout: /not running/ })
  const started = await home.run(['daemon', 'start', '--dir', 'tree', '--token', 'quite-secret', '--max-size', '7'])
  t.match(started, {
    code: 0,
    stdout: /^running: http:\/\/127\.0\.0\.1:\d+\/mcp \(process \d+\)\nlog: .*async-crud-mcp\.log\n$/,
    stderr: ''
  })
  const first = await statusOf(home)
  t.match(first, {
    running: true,
    root,
    roots: [root],
    health: 'healthy',
    log_file: home.path(logFile),
    started_by_daemon: true
  })
  t.ok(first.uptime_seconds < 60)
  t.match(started.stdout, `${first.url} (process ${first.pid})`)
  t.match(await home.call(['daemon', 'start', '--dir', 'tree']), { code: 0, stdout: `already running: ${first.url}` })
  const asked = await home.call(['daemon', 'start', '--dir', 'tree', '--max-size', '8'])
  t.match(asked, { code: 0, stdout: /already running: .*\nit keeps the flags that it was started with/ })
  mkdirSync(home.path('other'))
  t.match(await home.call(['daemon', 'start', '--dir', 'tree', '--dir', 'other']), {
    code: 1,
    stderr: /serves this tree with the roots .*tree, not .*other: daemon stop it first/
  })
  const broken = { ASYNC_CRUD_MCP_CRUD__MAX_TIMEOUT: 'long' }
  t.match(await home.call(['daemon', 'status', '--dir', 'tree'], broken), {
    code: 0,
    stdout: /^running: process/,
    stderr: /crud\.max_timeout.*this command goes on without the settings/
  })
  t.match(await home.run(['daemon', 'status']), {
    code: 0,
    stdout: /^running: process \d+, started by daemon start\nurl: .*\nroot: .*\nhealth: healthy\nup for: \d+ s\n/
  })
  const commandLine = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  if (process.platform === 'linux')
    t.notMatch(commandLine(first.pid), ['quite-secret'], 'no secret in the list of processes')
  const [record = ''] = home.all().filter((name) => /daemons\/\w+\.json$/.test(name))
  t.equal(statSync(home.path(record)).mode & 0o777, 0o600)
  t.equal((await fetch(new URL('health', first.url))).status, 401, 'the token counts')

  const again = await home.run(['daemon', 'restart'])
  t.match(again, { code: 0, stdout: /^running: / })
  const second = await statusOf(home)
  t.not(second.pid, first.pid)
  t.equal(isRunning(first.pid, null), false)
  if (process.platform === 'linux')
    t.match(
      commandLine(second.pid).join(' '),
      /serve --in-background --transport http --dir \S+ --max-size 7 --log-file auto/
    )
  t.equal((await fetch(new URL('health', second.url))).status, 401, 'the token is that of before')

  t.match(await home.run(['daemon', 'stop']), { code: 0, stdout: `process ${second.pid} has ended\n` })
  t.equal(isRunning(second.pid, null), false)
  t.match(await home.call(['daemon', 'stop', '--dir', 'tree']), { code: 0, stdout: /no server here was started/ })
  t.match(await home.call(['daemon', 'restart', '--dir', 'tree']), { code: 1, stderr: /nothing to restart/ })
  t.strictSame(await statusOf(home), { running: false })
  t.notOk(
    home.all().some((name) => name.includes('daemons/')),
    'its record is gone'
  )
  const lines = (await home.run(['daemon', 'logs', '--lines', '100000'])).stdout.trimEnd().split('\n')
  t.ok(
    lines.every((line) => JSON.parse(line) !== undefined),
    'the log stays, line by line as it is'
  )
  t.match(lines.at(-1), /stop|clos|end/i)
  t.notMatch(lines.join('\n'), 'quite-secret')
})

t.test('one that does not start is told with its last words, and nothing of it is left', async (t) => {
  const home = homeWithServers(t, { 'tree/f': '' })
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  const ended = await Promise.all([
    home.run(['daemon', 'start', '--dir', 'tree', '--port', String(port)]),
    home.call(['daemon', 'start', '--dir', '.', '--host', '0.0.0.0']),
    home.call(['daemon', 'start']),
    home.call(['daemon', 'start', '--dir', 'tree', '--transport', 'stdio']),
    home.call(['daemon', 'start', '--dir', 'tree', '--prot', '1']),
    home.call(['daemon', 'start', '--dir', 'nothing']),
    home.call(['--dir', 'tree', 'daemon', 'start']),
    home.call(['daemon'])
  ])
  const messages = [
    new RegExp(`the server did not start: it ended with exit code 1\n(?:.*\n)* {2}.*port ${port} is taken`),
    /did not start.*\n.*pass --token/,
    /no root: pass --dir/,
    /has no standard input/,
    /--prot.*Did you mean --port/,
    /nothing is not a directory/,
    /--dir is before the command: put it after daemon start/,
    /Usage: async-crud-mcp daemon/
  ]
  messages.forEach((stderr, index) => t.match(ended[index], { code: 1, stdout: '', stderr }))
  t.match(await makeHome(t).call(['daemon', 'logs']), { code: 1, stderr: /has no lines yet/ })
  t.strictSame(
    home.all().filter((name) => name.endsWith('.json') && name.includes('daemons')),
    []
  )
})

t.test('a server that somebody else has started is found, and left alone', async (t) => {
  const home = homeWithServers(t, { 'tree/f': '', 'other/f': '' })
  const foreign = spawn(process.execPath, [programPath, '--dir', home.path('tree')], {
    env: home.environment,
    stdio: 'ignore'
  })
  t.teardown(() => foreign.kill('SIGKILL'))
  await until(async () => (await statusOf(home, '--dir', 'tree')).running)
  t.match(await statusOf(home, '--dir', 'tree'), { pid: foreign.pid, started_by_daemon: false, health: 'healthy' })
  t.match(await home.call(['daemon', 'start', '--dir', 'tree']), {
    code: 0,
    stdout: /already running: .*was not started/
  })
  t.match(await home.call(['daemon', 'stop', '--dir', 'tree']), { code: 0, stdout: /no server here was started/ })
  t.equal(foreign.exitCode, null)

  // A record of a process that is gone, whose id somebody else has now.
  const root = realpathSync(home.path('other'))
  const records = createBackgroundRecords(home.path('.local/share/async-crud-mcp'))
  const record = {
    version: 1,
    root,
    roots: [root],
    started_at: new Date().toISOString(),
    args: ['--dir', root],
    output_file: ''
  } as const
  records.write({ ...record, pid: foreign.pid as number, process_start: 'another boot/1' })
  t.match(await home.call(['daemon', 'status', '--dir', 'other']), { code: 3 })
  t.match(await home.call(['daemon', 'stop', '--dir', 'other']), { code: 0, stdout: /had already ended/ })
  t.equal(foreign.exitCode, null, 'it was not signalled')
})

/** As macOS, which has no /proc. */
const withoutProc = {
  NODE_OPTIONS: `--import=${preload(`
    const { readFileSync } = fs
    fs.readFileSync = (path, options) => (String(path).startsWith('/proc/') ? fail('ENOENT', 'open') : readFileSync(path, options))`)}`
}

t.test(
  'where no /proc tells of a process, its start is asked of ps, and a stranger with its number is left alone',
  async (t) => {
    const home = homeWithServers(t, { 'tree/f': '', 'other/f': '' })
    t.match(await home.run(['daemon', 'start', '--dir', 'tree'], withoutProc), { code: 0 })
    const records = createBackgroundRecords(home.path('.local/share/async-crud-mcp'))
    const [record] = records.list()
    t.match(record?.process_start, /^ps\/\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}$/)
    t.match(await home.run(['daemon', 'status', '--dir', 'tree'], withoutProc), { code: 0 })
    const foreign = spawn('sleep', ['600'], { stdio: 'ignore' })
    t.teardown(() => foreign.kill('SIGKILL'))
    const pid = foreign.pid as number
    const root = realpathSync(home.path('other'))
    const stale = { ...(record as BackgroundRecord), root, roots: [root], args: ['--dir', root], pid }
    records.write({ ...stale, process_start: 'ps/Thu Jan  1 00:00:00 1970' })
    t.match(await home.run(['daemon', 'stop', '--dir', 'other'], withoutProc), { code: 0, stdout: /had already ended/ })
    for (const process_start of [null, record?.process_start ?? null]) {
      records.write({ ...stale, process_start })
      const environment = process_start === null ? withoutProc : { ...withoutProc, PATH: home.path('nothing') }
      const stopped = await home.run(['daemon', 'stop', '--dir', 'other'], environment)
      t.match(stopped, { code: 1, stderr: new RegExp(`process ${pid} was left alone: nothing says whether`) })
    }
    t.equal(foreign.exitCode ?? foreign.signalCode, null, 'it was not signalled')
    t.match(await home.run(['daemon', 'stop', '--dir', 'tree'], withoutProc), { code: 0, stdout: /has ended/ })
  }
)

t.test('one that does not end is killed, and that is said', { skip: process.platform !== 'linux' }, async (t) => {
  const home = homeWithServers(t, { 'one/f': '', 'two/f': '' })
  await home.call(['daemon', 'start', '--dir', 'one'])
  await home.call(['daemon', 'start', '--dir', 'two'])
  t.match(await home.call(['daemon', 'status']), {
    code: 1,
    stderr: /several servers run: name one with --dir \(.*one.*two|two.*one/
  })
  const { pid } = await statusOf(home, '--dir', 'one')
  process.kill(pid, 'SIGSTOP')
  t.match(await home.call(['daemon', 'stop', '--dir', 'one', '--timeout', '1']), {
    code: 0,
    stdout: /did not end by itself and was killed/
  })
  t.equal(isRunning(pid, null), false)
  t.match(await home.call(['daemon', 'stop']), { code: 0, stdout: /has ended/ }, 'the only one left is meant')
})

t.test('daemon.enabled false starts nothing', async (t) => {
  const home = homeWithServers(t, { 'tree/f': '', 'c.json': '{"daemon": {"enabled": false}}' })
  const before = home.snapshot()
  const ended = await home.call(['daemon', 'start', '--dir', 'tree', '--config', 'c.json'])
  t.match(ended, { code: 0, stdout: /daemon\.enabled is false/ })
  t.strictSame(home.snapshot(), before)
})

t.test('the log is read over all its files, and followed when it is set aside, until it is interrupted', async (t) => {
  const home = makeHome(t)
  const path = home.path(logFile)
  mkdirSync(dirname(path), { recursive: true })
  const line = (msg: string) => `${JSON.stringify({ level: 30, time: 0, msg })}\n`
  const aside = (stamp: string) => path.replace(/\.log$/, `.2026-11-20T${stamp}.000-1.log`)
  writeFileSync(`${aside('10-00-00.000')}.gz`, gzipSync(line('packed')))
  writeFileSync(aside('11-00-00.000'), line('aside'))
  writeFileSync(path, line('one') + line('two'))
  const messages = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { msg: string }).msg)
  t.strictSame(messages((await home.call(['daemon', 'logs'])).stdout), ['packed', 'aside', 'one', 'two'])
  t.strictSame(messages((await home.call(['daemon', 'logs', '--lines', '3'])).stdout), ['aside', 'one', 'two'])

  const follower = follow(t, home, ['daemon', 'logs', '--follow', '--lines', '1'])
  t.match(await follower.line(0), 'two')
  appendFileSync(path, line('three').slice(0, 10))
  appendFileSync(path, line('three').slice(10))
  t.match(await follower.line(1), 'three')
  appendFileSync(path, line('last of the old'))
  renameSync(path, aside('12-00-00.000'))
  writeFileSync(path, line('first of the new'))
  t.match(await follower.line(2), 'last of the old')
  t.match(await follower.line(3), 'first of the new')
  follower.process.kill('SIGINT')
  t.strictSame(await once(follower.process, 'exit'), [0, null])
  t.equal(follower.lines.length, 4)
})

function follow(
  t: Owner,
  home: Home,
  args: string[]
): { process: ChildProcess; lines: string[]; line(index: number): Promise<string> } {
  const child = spawn(process.execPath, [programPath, ...args], {
    env: home.environment,
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout })
  reader.on('line', (line) => lines.push(line))
  return {
    process: child,
    lines,
    async line(index) {
      while (lines.length <= index) await once(reader, 'line')
      return lines[index] as string
    }
  }
}

t.test('a log line is readable, and steers no terminal; colours are for terminals that want them', (t) => {
  const entry = {
    level: 40,
    time: 0,
    pid: 1,
    hostname: 'h',
    port: 1,
    roots: ['/a'],
    msg: 'odd \u001B[2J name',
    err: { message: 'oh' }
  }
  t.match(
    toReadableLine(JSON.stringify(entry)),
    /^\d\d:\d\d:00 WARN {2}odd \\u001b\[2J name \(oh\) port=1 roots=\["\/a"\]$/
  )
  t.equal(toReadableLine('no JSON'), 'no JSON')
  const terminal = { isTTY: true } as NodeJS.WriteStream
  const before = { ...process.env }
  t.teardown(() => {
    process.env = before
  })
  delete process.env['NO_COLOR']
  process.env['TERM'] = 'xterm'
  t.equal(paint('red', 'x', terminal), '\u001B[31mx\u001B[39m')
  process.env['NO_COLOR'] = '1'
  t.equal(paint('red', 'x', terminal), 'x')
  delete process.env['NO_COLOR']
  t.equal(paint('red', 'x', { isTTY: false } as NodeJS.WriteStream), 'x')
  t.end()
})

t.test('a process that has started is told from a later one with its id', (t) => {
  t.equal(isRunning(process.pid, startOf(process.pid)), true)
  if (process.platform === 'linux') t.equal(isRunning(process.pid, 'another/1'), false)
  t.end()
})
