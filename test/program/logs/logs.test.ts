// The log in a file: whole lines, for this user alone, set aside in time, compressed, removed, and complete however the process ends.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, symlinkSync, utimesSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { installed } from '../../../src/support/installation.ts'
import { createLogWriter } from '../../../src/program/logs/log-writer.ts'
import { logFiles, logPathOf, type LogFile } from '../../../src/program/logs/log-files.ts'
import { openLog } from '../../../src/program/logs/open-log.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { programPath, startProgram } from '../../fixtures/server.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { makeTree } from '../../fixtures/tree.ts'

const dayMs = 86_400_000

/** A place for what a writer cannot write. */
function spill() {
  const lines: string[] = []
  return { lines, write: (line: string) => lines.push(line) }
}

function textOf({ path, isCompressed }: LogFile): string {
  const bytes = readFileSync(path)
  return (isCompressed ? gunzipSync(bytes) : bytes).toString()
}

/** Looks again until it is so; only for what happens off the way of a log line. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20))
}

t.test('a file that would grow too large is set aside, and compressed a moment later; no line is lost', async (t) => {
  const tree = makeTree(t)
  const path = tree.path('logs/a.log')
  const fallback = spill()
  const log = createLogWriter({ path, maxBytes: 100, keepMs: dayMs, fallback })
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index} ${'x'.repeat(20)}\n`)
  for (const line of lines) log.write(line)
  t.equal(statSync(tree.path('logs')).mode & 0o777, 0o700)
  for (const file of logFiles(path)) t.equal(statSync(file.path).mode & 0o777, 0o600)
  const files = logFiles(path)
  t.ok(files.length > 5, `${files.length} files`)
  t.ok(files.every(({ bytes }) => bytes <= 100))
  t.strictSame(
    files.filter(({ isCurrent }) => isCurrent).map((file) => file.path),
    [path]
  )
  t.equal(files.map(textOf).join(''), lines.join(''), 'the oldest first')
  await until(() => logFiles(path).every(({ isCurrent, isCompressed }) => isCurrent !== isCompressed))
  t.equal(logFiles(path).map(textOf).join(''), lines.join(''))
  for (const file of logFiles(path)) t.equal(statSync(file.path).mode & 0o777, 0o600)
  t.strictSame(
    tree.all().filter((name) => name.endsWith('.tmp')),
    []
  )
  t.strictSame(fallback.lines, [])
})

t.test('a file of yesterday is set aside at the first line of today', async (t) => {
  const tree = makeTree(t, { 'a.log': 'yesterday\n' })
  const path = tree.path('a.log')
  utimesSync(path, new Date(Date.now() - dayMs), new Date(Date.now() - dayMs))
  let today = Date.now()
  const log = createLogWriter({ path, maxBytes: 1000, keepMs: 10 * dayMs, fallback: spill(), now: () => today })
  log.write('today\n')
  t.equal(tree.read('a.log'), 'today\n')
  log.write('again\n')
  today += dayMs
  log.write('tomorrow\n')
  t.strictSame(logFiles(path).map(textOf), ['yesterday\n', 'today\nagain\n', 'tomorrow\n'])
})

t.test('what is older than it may be is removed, and nothing else is', async (t) => {
  const names = [
    'a.log',
    'a.2026-01-01T00-00-00.000.000-1.log.gz',
    'a.2026-01-01T00-00-00.000.001-1.log',
    'a.2026.log',
    'b.log'
  ]
  const tree = makeTree(t, Object.fromEntries(names.map((name) => [name, 'x'])))
  const old = new Date(Date.now() - 2 * dayMs)
  for (const name of names) utimesSync(tree.path(name), old, old)
  createLogWriter({ path: tree.path('a.log'), maxBytes: 1000, keepMs: dayMs, fallback: spill() })
  await until(() => !existsSync(tree.path('a.2026-01-01T00-00-00.000.001-1.log')))
  t.strictSame(tree.all(), ['a.2026.log', 'a.log', 'b.log'])
})

t.test('several processes write to one file, and no line is lost or torn while each sets it aside', async (t) => {
  const tree = makeTree(t)
  const path = tree.path('a.log')
  const script = `
    import { createLogWriter } from ${JSON.stringify(pathToFileURL(installed('dist/src/program/logs/log-writer.js')).href)}
    const log = createLogWriter({ path: ${JSON.stringify(path)}, maxBytes: 5000, keepMs: 1e9, fallback: process.stderr })
    for (let index = 0; index < 400; index += 1) {
      log.write(process.argv[1] + ' ' + index + ' ' + 'x'.repeat(index % 50) + '\\n')
      if (index % 20 === 0) await new Promise(setImmediate)
    }
  `
  const ended = ['a', 'b', 'c'].map(async (name) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, name], { stdio: 'inherit' })
    t.strictSame(await once(child, 'exit'), [0, null])
  })
  await Promise.all(ended)
  const lines = logFiles(path).map(textOf).join('').trimEnd().split('\n')
  t.equal(new Set(lines).size, 1200)
  for (const name of ['a', 'b', 'c'])
    for (let index = 0; index < 400; index += 1)
      if (!lines.includes(`${name} ${index} ${'x'.repeat(index % 50)}`)) t.fail(`${name} ${index} is missing or torn`)
})

t.test('where the file cannot be written the log goes to standard error, and says why once', async (t) => {
  const tree = makeTree(t, { file: '', target: '' })
  symlinkSync(tree.path('target'), tree.path('link.log'))
  const settings = loadConfig({}).daemon
  for (const [name, reason] of [
    ['file/a.log', 'ENOTDIR|EEXIST'],
    ['link.log', 'ELOOP'],
    ['', 'is not a file']
  ] as const) {
    const stderr = spill()
    const log = openLog({ ...settings, log_file: tree.path(name) }, stderr)
    log.write('a line\n')
    t.equal(log.path, undefined)
    t.match(stderr.lines, [new RegExp(`^async-crud-mcp: cannot write the log file .*${reason}.*\n$`), 'a line\n'], name)
  }
  t.equal(tree.read('target'), '', 'a link leads nowhere')
  // A folder that goes away later, as on a volume that is taken out.
  const fallback = spill()
  mkdirSync(tree.path('gone'))
  const log = createLogWriter({ path: tree.path('gone/a.log'), maxBytes: 1000, keepMs: dayMs, fallback })
  log.write('one\n')
  renameSync(tree.path('gone'), tree.path('away'))
  log.write('two\n')
  log.write('three\n')
  renameSync(tree.path('away'), tree.path('gone'))
  log.write('four\n')
  t.match(fallback.lines, [/cannot write the log file .*ENOENT/, 'two\n', 'three\n'])
  t.equal(fallback.lines.length, 3)
  t.equal(tree.read('gone/a.log'), 'one\nfour\n')
})

t.test('auto is a file in the log folder of this user', async (t) => {
  t.equal(logPathOf(null), undefined)
  t.equal(logPathOf('/x/y.log'), '/x/y.log')
  t.match(logPathOf('auto'), /async-crud-mcp[/\\](?:.*[/\\])?async-crud-mcp\.log$/)
  t.strictSame(logFiles('/nowhere/at/all/a.log'), [])
})

/** What makes the program end in a way of its own when it gets SIGUSR2. */
const atSignal = (what: string) =>
  `NODE_OPTIONS=--import=data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => { ${what} })`)}`

for (const [how, through, signal, code, last] of [
  ['SIGTERM', [], 'SIGTERM', 0, 'stopping'],
  ['the end of standard input', [], undefined, 0, 'stopping'],
  ['a failure that nobody caught', ['env', atSignal("throw new Error('unforeseen')")], 'SIGUSR2', 1, 'unforeseen'],
  ['an immediate exit', ['env', atSignal('process.exit(7)')], 'SIGUSR2', 7, '"async_status"']
] as const) {
  t.test(`the log is complete after ${how}, and standard output holds answers alone`, async (t) => {
    const tree = makeTree(t, { 'root/f': '' })
    const path = tree.path('logs/server.log')
    const args = ['--transport', 'dual', '--dir', tree.path('root'), '--log-file', path, '--log-level', 'DEBUG']
    const program = startStdio(t, args, { through })
    for (let count = 0; count < 20; count += 1) await program.call('async_status')
    const ended = await program.end(signal)
    t.equal(ended.code, code)
    t.equal(ended.messages.length, 20)
    t.strictSame(
      program.stderr.filter((line) => line !== `async-crud-mcp: the log goes to ${path}`),
      [],
      'standard error says where the log is'
    )
    const lines = tree.read('logs/server.log').trimEnd().split('\n')
    const parsed = lines.map((line) => JSON.parse(line) as { msg: string; operation?: string })
    const address = /^listening on (http:\S+), MCP at \1\/mcp, the board at \1\/board$/
    t.ok(parsed.some(({ msg }) => address.test(msg)))
    t.equal(lines.filter((line) => line.includes('"async_status"')).length, 20, 'each call has its line')
    t.match(
      lines.findLast((line) => line.includes(last)),
      last
    )
  })
}

t.test('without a log file the log is on standard error, and a relative path is meant from here', async (t) => {
  const tree = makeTree(t, { 'root/f': '' })
  const program = await startProgram(t, ['--dir', tree.path('root')])
  await program.stop()
  const { stderr } = program
  t.match(JSON.parse(stderr[0] as string), { msg: 'starting' })
  t.match(JSON.parse(stderr.at(-1) as string), { msg: 'stopping' })
  const cwd = tree.path('root')
  const env = { ...process.env, ASYNC_CRUD_MCP_CONFIG: '' }
  const child = spawn(process.execPath, [programPath, 'config', 'show', '--log-file', '../a.log'], { cwd, env })
  let stdout = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  await once(child, 'close')
  t.match(stdout, `"${tree.path('a.log')}"`)
})
