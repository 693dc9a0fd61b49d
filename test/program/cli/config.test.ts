// The config command of the real program, and how the server starts with what it is given.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { installed } from '../../../src/support/installation.ts'
import { fields } from '../../../src/config/fields.ts'
import { candidatePorts } from '../../../src/support/ports.ts'
import { runCommand } from '../../fixtures/commands.ts'
import { programPath, runProgram, startProgram } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { sampleOf, toVariable } from '../../config/fixtures/sample.ts'

interface Shown {
  readonly file: string | null
  readonly settings: Readonly<Record<string, { value: unknown; origin: Readonly<Record<string, unknown>> }>>
}

const page = readFileSync(installed('docs/configuration.md'), 'utf8')

async function show(args: readonly string[], environment: Record<string, string> = {}): Promise<Shown> {
  const { code, stdout, stderr } = await runCommand(['config', 'show', '--json', ...args], environment)
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as Shown
}

/** The program ends with 1 and one line. */
async function failsWith(
  t: Test,
  args: readonly string[],
  environment: Record<string, string>,
  message: RegExp,
  run = runCommand
) {
  const { code, stdout, stderr } = await run(args, environment)
  t.equal(code, 1, args.join(' '))
  t.match(stderr, message)
  t.equal(stderr.trimEnd().split('\n').length, 1, 'one line')
  t.equal(stdout, '')
}

function strictly(t: Test, settings: Shown['settings'], name: string, value: unknown, origin: object): void {
  t.strictSame(settings[name]?.value, value, name)
  t.strictSame(settings[name]?.origin, origin, name)
}

t.test('without anything every setting is the default of the page', async (t) => {
  const { file, settings } = await show([])
  t.equal(file, null)
  for (const [, name = '', byDefault = ''] of page.matchAll(/^- `(\w+\.\w+)`: default\s+`(.*?)`,/gm))
    strictly(t, settings, name, JSON.parse(byDefault), { source: 'default' })
})

t.test('every variable reaches its setting', async (t) => {
  const samples = [...fields.values()].map((field) => ({ ...field, sample: sampleOf(field.schema) }))
  const environment = Object.fromEntries(samples.map(({ variable, sample }) => [variable, toVariable(sample)]))
  const { settings } = await show([], environment)
  for (const { name, variable, sample, schema } of samples) {
    const value = schema.writeOnly === true ? '********' : sample
    strictly(t, settings, name, value, { source: 'environment', variable })
  }
})

t.test('every flag of the page reaches its setting, and is in the help', async (t) => {
  const tree = makeTree(t)
  const given: Record<string, [args: string[], setting: string, value: unknown]> = {
    '--dir <folder>': [['--dir', '/one', '--dir', '/two'], 'crud.base_directories', ['/one', '/two']],
    '--known-as <folder>': [['--known-as', '/three', '--known-as', '/four'], 'tree.known_as', ['/three', '/four']],
    '--transport <type>': [['--transport', 'dual'], 'daemon.transport', 'dual'],
    '--port <number>': [['--port', '9000'], 'daemon.port', 9000],
    '--host <address>': [['--host', '::1'], 'daemon.host', '::1'],
    '--token <secret>': [['--token', 'sesame'], 'daemon.token', '********'],
    '--max-size <mb>': [['--max-size', '2'], 'crud.max_file_size_bytes', 2_097_152],
    '--timeout <seconds>': [['--timeout', '7'], 'crud.default_timeout', 7],
    '--tools <names>': [
      ['--tools', 'core, locks', '--tools', 'async_diff'],
      'mcp.tools',
      ['core', 'locks', 'async_diff']
    ],
    '--etcd <endpoints>': [
      ['--etcd', 'http://one:2379, http://two:2379'],
      'tree.etcd_endpoints',
      ['http://one:2379', 'http://two:2379']
    ],
    '--log-level <level>': [['--log-level', 'WARN'], 'daemon.log_level', 'warn'],
    '--log-file <path>': [['--log-file', tree.path('a.log')], 'daemon.log_file', tree.path('a.log')]
  }
  const rows = [...page.matchAll(/^\| `(--\S+ <.*?>)` \| ([\w.]*)/gm)].filter(([, flag]) => flag !== '--config <file>')
  t.strictSame(
    rows.map(([, flag, setting]) => [flag, setting]),
    Object.entries(given).map(([flag, [, setting]]) => [flag, setting])
  )
  // The hosts of a tree need a secret, for which there is no flag.
  const environment = { ASYNC_CRUD_MCP_TREE__RELAY_SECRET: 'a secret of the tree' }
  const { settings } = await show(
    Object.values(given).flatMap(([args]) => args),
    environment
  )
  strictly(t, settings, 'tree.coordinator', 'etcd', { source: 'flag', flag: '--etcd' })
  strictly(t, settings, 'tree.relay_secret', '********', {
    source: 'environment',
    variable: 'ASYNC_CRUD_MCP_TREE__RELAY_SECRET'
  })
  const { stdout } = await runCommand(['--help'])
  for (const [flag, [args, setting, value]] of Object.entries(given)) {
    strictly(t, settings, setting, value, { source: 'flag', flag: args[0] })
    t.match(stdout, flag)
  }
  t.match(stdout, '--config <file>')
})

t.test('show says for people, too, where each value comes from, and never shows a token', async (t) => {
  const tree = makeTree(t, { 'config.json': '{\n"daemon":\n{"token":"sesame","port":9000}}' })
  const path = tree.path('config.json')
  chmodSync(path, 0o644)
  const environment = { ASYNC_CRUD_MCP_CRUD__MAX_TIMEOUT: '5', ASYNC_CRUD_MCP_CONFIG: path }
  const { stdout, stderr } = await runProgram(['--host', '::1', 'config', 'show'], environment)
  for (const [name, value, origin] of [
    ['daemon.port', '9000', `${path}:3`],
    ['daemon.token', '"\\*+"', `${path}:3`],
    ['daemon.host', '"::1"', '--host'],
    ['crud.max_timeout', '5', 'ASYNC_CRUD_MCP_CRUD__MAX_TIMEOUT'],
    ['crud.durability', '"full"', 'default']
  ])
    t.match(stdout, new RegExp(`^${name} +${value} +${origin}$`, 'm'))
  t.match(stderr, /can be read by other users: chmod 600/)
  t.notMatch(stdout + stderr, 'sesame')
})

t.test(
  'init writes a file that explains itself, for this user alone, and replaces none unless it is forced to',
  async (t) => {
    const tree = makeTree(t, { root: '' })
    const path = tree.path('folder/config.json')
    const init = ['config', 'init', '--config', path]
    t.match(await runProgram([...init, '--dir', '/srv/tree']), { code: 0, stdout: `${path}\n`, stderr: '' })
    t.equal(statSync(path).mode & 0o777, 0o600)
    t.equal(statSync(tree.path('folder')).mode & 0o777, 0o700)
    const written = JSON.parse(tree.read('folder/config.json')) as Record<string, Record<string, unknown>> & {
      $schema: string
    }
    for (const { section, key, schema, name } of fields.values()) {
      t.equal(written[section]?.[`_${key}_help`], schema.description, name)
      const isChosen = name === 'crud.base_directories'
      t.strictSame(written[section]?.[isChosen ? key : `_${key}`], isChosen ? ['/srv/tree'] : schema.default, name)
    }
    const { settings } = await show(['--config', path])
    const chosen = Object.keys(settings).filter((name) => settings[name]?.origin.source === 'file')
    t.strictSame(chosen, ['crud.base_directories'], 'nothing that nobody has chosen counts as chosen')
    t.ok(statSync(new URL(written.$schema)).isFile(), 'editors find the schema')
    t.match((await show(['--config', path])).settings['crud.base_directories'], { value: ['/srv/tree'] })
    tree.write('folder/config.json', 'mine')
    await failsWith(
      t,
      init,
      {},
      /config\.json exists: change it with async-crud-mcp config edit, or replace it with --force/
    )
    t.equal(tree.read('folder/config.json'), 'mine')
    t.match(await runCommand([...init, '--force']), { code: 0 })
    t.match(JSON.parse(tree.read('folder/config.json')), { crud: { _base_directories: [] } })
    t.strictSame(tree.all(), ['folder', 'folder/config.json', 'root'])
    const inside = ['config', 'init', '--config', tree.path('x.json'), '--dir', tree.root]
    await failsWith(t, inside, {}, /lies inside the root/)
  }
)

t.test('edit opens the editor on the file, written first if need be, and keeps what has a fault', async (t) => {
  const tree = makeTree(t)
  const path = tree.path('config.json')
  const edit = ['config', 'edit', '--config', path]
  const editor = (name: string, script: string) => {
    tree.write(name, `#!/bin/sh\n${script}\n`)
    chmodSync(tree.path(name), 0o755)
    return tree.path(name)
  }
  const bend = editor('bend', 'test "$1" = --wait && sed -i "s/\\"_port\\": 8720/\\"port\\": 80/" "$2"')
  const bent = await runProgram(edit, { VISUAL: `${bend} --wait`, EDITOR: 'false' })
  t.equal(bent.code, 1)
  t.match(bent.stderr, /config\.json:\d+:\d+: daemon\.port must be a whole number from 1024 to 65535 or null, not 80\n/)
  t.match(bent.stderr, /config\.json is kept as you left it.*: run config edit again/)
  t.match(tree.read('config.json'), '"port": 80,')
  const mend = editor('mend', 'sed -i "s/\\"port\\": 80,/\\"port\\": 8721,/" "$1"')
  t.match(await runCommand(edit, { VISUAL: '', EDITOR: mend }), { code: 0, stdout: /config\.json is valid/ })
  await failsWith(t, edit, { VISUAL: 'false' }, /the editor \(false\) ended with 1; set VISUAL or EDITOR/)
  t.match(JSON.parse(tree.read('config.json')), { daemon: { port: 8721 } })
})

t.test('validate tells every fault, for scripts too, by its exit code', async (t) => {
  const tree = makeTree(t, { 'good.json': '{"_note":1}', 'bad.json': '{"daemon":{"port":80,\n"prot":1}}' })
  const [good, bad] = [tree.path('good.json'), tree.path('bad.json')]
  t.match(await runCommand(['config', 'validate', good]), { code: 0, stdout: `${good}: valid\n`, stderr: '' })
  const lines = [
    `async-crud-mcp: ${bad}:1:19: daemon.port must be`,
    `async-crud-mcp: ${bad}:2:1: daemon.prot is not a setting`
  ]
  const outcome = await runProgram(['config', 'validate'], { ASYNC_CRUD_MCP_CONFIG: bad })
  t.match(outcome, { code: 1, stdout: '' })
  lines.forEach((line, index) => t.ok(outcome.stderr.split('\n')[index]?.startsWith(line), outcome.stderr))
  const json = await runCommand(['config', 'validate', '--json', '--config', bad])
  t.equal(json.code, 1)
  t.match(JSON.parse(json.stdout), {
    valid: false,
    file: bad,
    faults: [{ setting: 'daemon.port', origin: { file: bad, line: 1, column: 19 } }, { origin: { line: 2 } }]
  })
  // A file that is named is checked by itself; without one the environment is checked as well.
  const wrong = { ASYNC_CRUD_MCP_DAEMON__PROT: '1' }
  t.match(await runCommand(['config', 'validate', good], wrong), { code: 0 })
  await failsWith(t, ['config', 'validate'], wrong, /did you mean ASYNC_CRUD_MCP_DAEMON__PORT/)
})

t.test('path prints which file is read, schema what it may hold', async (t) => {
  const environment = { ASYNC_CRUD_MCP_CONFIG: '/nowhere/a.json' }
  t.match(await runProgram(['config', 'path'], environment), { code: 0, stdout: '/nowhere/a.json\n' })
  const { stdout } = await runCommand(['config', 'path', '--json', '--config', '/nowhere/b.json'], environment)
  t.strictSame(JSON.parse(stdout), { path: '/nowhere/b.json', exists: false })
  await failsWith(t, ['config', 'path'], {}, /ASYNC_CRUD_MCP_CONFIG is empty, so no file is read/)
  const schema = readFileSync(installed('openapi/config.schema.json'), 'utf8')
  t.equal((await runProgram(['config', 'schema'])).stdout, schema)
})

t.test('the file of this user is found by the conventions of the platform', async (t) => {
  const tree = makeTree(t, { 'xdg/async-crud-mcp/config.json': '{"daemon":{"port":9001}}' })
  const { ASYNC_CRUD_MCP_CONFIG: _, ...environment } = process.env
  const env = { ...environment, HOME: tree.root, XDG_CONFIG_HOME: tree.path('xdg') }
  const { stdout } = await promisify(execFile)(process.execPath, [programPath, 'config', 'show', '--json'], { env })
  const { file, settings } = JSON.parse(stdout) as Shown
  if (process.platform !== 'linux') return t.ok(file)
  t.equal(file, tree.path('xdg/async-crud-mcp/config.json'))
  return t.match(settings['daemon.port'], { value: 9001 })
})

t.test('a server with a broken configuration says so in one line and leaves nothing behind', async (t) => {
  const tree = makeTree(t, { 'root/f': '', 'config.json': '{\n  "daemon": { "port": 8720\n' })
  const args = ['--dir', tree.path('root'), '--config', tree.path('config.json')]
  await failsWith(
    t,
    args,
    {},
    /config\.json:3:1: not JSON: expected a comma or }, found the end of the file/,
    runProgram
  )
  await failsWith(t, [...args.slice(0, 2), '--config', tree.path('none')], {}, /none does not exist/)
  tree.write('config.json', '{"daemon":{"port":1023}}')
  await failsWith(
    t,
    args,
    {},
    /config\.json:1:19: daemon\.port must be a whole number from 1024 to 65535 or null, not 1023/
  )
  await failsWith(
    t,
    args.slice(0, 2),
    { ASYNC_CRUD_MCP_DAEMON__PORT: '65536' },
    /^async-crud-mcp: ASYNC_CRUD_MCP_DAEMON__PORT: .*not 65536/
  )
  t.strictSame(tree.all(), ['config.json', 'root', 'root/f'])
})

t.test('a port in the file is preferred, one in the environment is meant; null is that of the user', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  const tree = makeTree(t, { 'root/f': '', 'config.json': JSON.stringify({ daemon: { port } }) })
  const args = ['--dir', tree.path('root'), '--config', tree.path('config.json')]
  const moved = await startProgram(t, args)
  t.ok(Number(new URL(moved.url).port) > port, moved.url)
  const meant = await runProgram(args.slice(0, 2), { ASYNC_CRUD_MCP_DAEMON__PORT: String(port) })
  t.match(meant, { code: 1, stderr: `port ${port} is taken` })
  tree.write('config.json', '{"daemon":{"port":null}}')
  const own = await startProgram(t, args)
  const chosen = Number(new URL(own.url).port)
  // The first of them that was free: those before it are told as taken.
  const order = candidatePorts(null)
  const said = own.stderr.some((line) => line.includes(`port ${order[0]} is taken`))
  t.ok(order.includes(chosen), `${chosen} of ${userInfo().username}`)
  t.equal(said, chosen !== order[0])
})
