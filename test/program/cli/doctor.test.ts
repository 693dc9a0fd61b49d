// doctor: what is wrong is found, with what to do, and nothing is changed.
import { chmodSync, symlinkSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import t from 'tap'
import { runCheck } from '../../../src/program/doctor/check.ts'
import { checkRoots } from '../../../src/program/doctor/roots.ts'
import { checkFolder, checkNode, checkOpenFiles, checkPort } from '../../../src/program/doctor/system.ts'
import { checkWatches } from '../../../src/program/doctor/watches.ts'
import { makeHome, type Home } from '../../fixtures/home.ts'
import { startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'

interface Report {
  readonly ok: boolean
  readonly findings: {
    readonly check: string
    readonly verdict: string
    readonly message: string
    readonly advice?: string
  }[]
}

/** By its check, what is not well. */
async function troubles(
  home: Home,
  args: string[],
  environment = {}
): Promise<{ code: number | null; troubles: string[] }> {
  const { code, stdout } = await home.call(['doctor', '--json', ...args], environment)
  const { findings } = JSON.parse(stdout) as Report
  for (const { verdict, advice } of findings) if (verdict !== 'ok') t.ok(advice, 'it says what to do')
  const bad = findings.filter(({ verdict }) => verdict !== 'ok')
  return { code, troubles: bad.map(({ check, verdict, message }) => `${verdict} ${check}: ${message}`) }
}

t.test('a home where all is well has no troubles, and is not touched', async (t) => {
  const home = makeHome(t, { 'tree/f': '', '.cursor/mcp.json': '{}' })
  const { url } = await startServer(t, home.path('tree'))
  const before = home.snapshot()
  const own = { ASYNC_CRUD_MCP_DAEMON__PORT: new URL(url).port }
  const { code, stdout } = await home.run(['doctor', '--dir', 'tree'], own)
  t.equal(code, 0)
  for (const check of [
    'node',
    'configuration',
    'roots',
    'state folder',
    'kept state',
    'server',
    'port',
    'open files',
    'log folder',
    'data folder',
    'service',
    'clients'
  ])
    t.match(stdout, new RegExp(`^ok {4}${check} `, 'm'))
  t.match(stdout, /is taken by an async-crud-mcp server \(0\.0\.0-test\)/)
  t.match(stdout, /Cursor: not set up for all projects \(async-crud-mcp setup cursor\)/)
  t.notMatch(stdout, '\u001B')
  t.strictSame(home.snapshot(), before)
})

t.test('each trouble is found', async (t) => {
  const home = makeHome(t, {
    'tree/inner/f': '',
    'linked/f': '',
    file: '',
    'elsewhere/f': '',
    'open/.async-crud-mcp/x': '',
    'bad.json': '{"daemon": {"prot": 1}}',
    '.cursor/mcp.json':
      '{"mcpServers": {"async-crud-mcp": {"command": "/gone/node", "args": ["/gone/dist/main.cjs"]}}}',
    '.codex/config.toml': 'broken =\n',
    '.config/Claude/claude_desktop_config.json': '{"mcpServers": {"async-crud-mcp": {"command": "other"}}}',
    '.config/systemd/user/async-crud-mcp.service': ''
  })
  symlinkSync('../elsewhere', home.path('linked/.async-crud-mcp'))
  chmodSync(home.path('open/.async-crud-mcp'), 0o777)
  const foreign = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'))
  await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve))
  t.teardown(() => foreign.close())
  const { port } = foreign.address() as AddressInfo
  const before = home.snapshot()
  const [many, none, linked, open] = await Promise.all([
    troubles(
      home,
      ['--dir', 'tree', '--dir', 'tree/inner', '--dir', 'nothing', '--dir', 'file', '--config', 'bad.json'],
      { PATH: '/nowhere' }
    ),
    troubles(home, []),
    troubles(home, ['--dir', 'linked']),
    troubles(home, ['--dir', 'open'], { ASYNC_CRUD_MCP_DAEMON__PORT: String(port) })
  ])
  t.equal(many.code, 1)
  const expected = [
    /^fail configuration: .*bad\.json.*prot/,
    /^fail roots: .*nothing does not exist/,
    /^fail roots: .*file is not a directory/,
    /^fail roots: .*inner lies inside .*tree$/,
    /^warn service: async-crud-mcp is installed, but systemd does not answer: systemctl is not installed/,
    /^warn clients: Cursor: .* starts \/gone\/node, which is gone/,
    /^warn clients: Codex: .*config\.toml is not valid TOML/,
    /^warn clients: Claude Desktop: async-crud-mcp in .* is another server/
  ]
  for (const trouble of expected)
    t.ok(
      many.troubles.some((line) => trouble.test(line)),
      String(trouble)
    )
  t.match(none, { code: 0, troubles: [/warn roots: no root is named: a server started by hand serves its working/] })
  t.match(linked, { code: 1 })
  t.ok(linked.troubles.some((line) => /fail state folder: .* is a symbolic link/.test(line)))
  t.match(open, { code: 0 }, 'warnings alone are no failure')
  t.ok(open.troubles.some((line) => /warn state folder: .* can be written by other users \(777\)/.test(line)))
  t.ok(open.troubles.some((line) => new RegExp(`port: ${port} is taken by another program`).test(line)))
  t.strictSame(home.snapshot(), before)
})

t.test('limits and rights of the system', async (t) => {
  t.match(checkNode('20.18.9'), [{ verdict: 'fail', advice: /Node 20\.19 or newer/ }])
  t.match(checkNode('20.19.0'), [{ verdict: 'ok' }])
  t.match(checkNode('24.0.0'), [{ verdict: 'ok' }])
  const tree = makeTree(t, {
    'a/b/c/f': '',
    'd/f': '',
    ...limits('few', 'sys/fs/inotify/max_user', { watches: 5, instances: 2 }),
    ...limits('many', 'sys/fs/inotify/max_user', { watches: 1000, instances: 100 }),
    ...limits('namespace', 'sys/fs/inotify/max_user', { watches: 1000, instances: 100 }),
    ...limits('namespace', 'sys/user/max_inotify', { watches: 3, instances: 100 }),
    'nothing/f': '',
    limits: 'Max open files            256                  4096                 files\n'
  })
  const roots = [tree.path('a'), tree.path('d')]
  t.match(await checkWatches({ roots, maxFiles: 100, proc: tree.path('few') }), [
    { verdict: 'warn', message: '4 folders, 0 of 5 watches of this user in use', advice: /max_user_watches=524288/ },
    { verdict: 'warn', message: /^0 of 2 inotify instances/, advice: /max_user_instances=1024/ }
  ])
  t.match(await checkWatches({ roots, maxFiles: 100, proc: tree.path('many') }), [{ verdict: 'ok' }, { verdict: 'ok' }])
  t.match(await checkWatches({ roots, maxFiles: 100, proc: tree.path('namespace') }), [
    { verdict: 'warn', message: /of 3 watches/ },
    { verdict: 'ok' }
  ])
  t.strictSame(
    await checkWatches({ roots, maxFiles: 100, proc: tree.path('nothing') }),
    [],
    'only Linux counts watches'
  )
  t.match(await checkOpenFiles(tree.path('limits')), [
    { verdict: 'warn', message: 'at most 256', advice: /ulimit -n 1024/ }
  ])
  t.match(await checkFolder('log folder', tree.path('new/folder')), [{ verdict: 'ok', message: /can be created/ }])
  t.match(await checkFolder('log folder', tree.path('limits/folder')), [{ verdict: 'fail', message: /ENOTDIR/ }])
  t.match(await checkPort('192.0.2.1', 8720, ''), [
    { verdict: 'fail', message: /192\.0\.2\.1 cannot be bound \(EADDRNOTAVAIL\)/ }
  ])
  if (process.platform === 'linux')
    t.match(await checkRoots(['/proc/self'], false), [{ verdict: 'fail' }], 'a root that cannot be written')
})

function limits(folder: string, prefix: string, values: Readonly<Record<string, number>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([what, value]) => [`${folder}/${prefix}_${what}`, `${value}\n`])
  )
}

t.test('a folder that hangs is told, and keeps nobody', async (t) => {
  const hanging = { name: 'roots', run: () => new Promise<never>(() => {}) }
  t.match(await runCheck(hanging, 10), [{ check: 'roots', verdict: 'warn', message: 'no answer within 0.01 s' }])
  const failing = { name: 'roots', run: () => Promise.reject(new Error('oh')) }
  t.match(await runCheck(failing, 1000), [{ verdict: 'fail', message: 'oh' }])
})
