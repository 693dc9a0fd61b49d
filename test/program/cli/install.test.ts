// quick-install and uninstall: after both, a home is what it was, to the byte.
import { existsSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t from 'tap'
import { createBackgroundRecords } from '../../../src/program/background/background-records.ts'
import { isRunning } from '../../../src/support/process-identity.ts'
import { findServer } from '../../../src/tree/state/state-file.ts'
import { makeHome, type Home } from '../../fixtures/home.ts'
import { makeTool } from '../../fixtures/tools.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { freePorts } from '../../fixtures/free-ports.ts'

interface Owner {
  teardown(fn: () => void): void
}

type Tap = Pick<typeof t, 'match'>

const clients = ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'codex']
const noBus = 'echo "Failed to connect to bus: No medium found" >&2; exit 1'

/** What a user of all five clients has at home. */
const used = {
  'tree/f': 'one',
  '.claude.json': '{"numStartups":3}',
  '.claude/settings.json': '{}\n',
  '.config/Claude/claude_desktop_config.json': '{\n  "mcpServers": {\n    "a": { "command": "a" }\n  }\n}',
  '.cursor/mcp.json': '{ // mine\n}\n',
  '.config/Code/User/settings.json': '{}',
  '.codex/config.toml': 'model = "o9"\n'
}

/** Whose servers end with the test. */
function homeOf(t: Owner, files: Record<string, string>): Home {
  const home = makeHome(t, files)
  t.teardown(() => {
    const state = findServer(home.path('tree'))
    if (state !== undefined) process.kill(state.pid, 'SIGKILL')
    for (const { pid, process_start } of createBackgroundRecords(home.path('.local/share/async-crud-mcp')).list())
      if (isRunning(pid, process_start)) process.kill(pid, 'SIGKILL')
  })
  return home
}

/** A home without what the server itself writes while it runs. */
const settled = (home: Home) =>
  Object.fromEntries(
    Object.entries(home.snapshot()).filter(([name]) => !/tree\/\.async-crud-mcp|\.log$|daemons\//.test(name))
  )

t.test(
  'quick-install sets up everything once, and uninstall --purge leaves nothing, where a service manager runs',
  async (t) => {
    const home = homeOf(t, used)
    const outside = makeTree(t)
    // Does what systemd does with a unit: runs its command, without a shell of the user's.
    const systemctl = makeTool(
      outside,
      'systemctl',
      `unit="$HOME/.config/systemd/user/$3"
case "$2" in
start) [ -s "$0.pid" ] || { eval "set -- $(sed -n 's/%%/%/g; s/^ExecStart=":/"/p' "$unit")"; setsid "$@" >/dev/null 2>&1 & echo $! > "$0.pid"; };;
stop) [ -s "$0.pid" ] && kill "$(cat "$0.pid")"; rm -f "$0.pid";;
disable) [ -s "$0.pid" ] && kill "$(cat "$0.pid")" && while kill -0 "$(cat "$0.pid")" 2>/dev/null && ! grep -q 'State:.Z' "/proc/$(cat "$0.pid")/status"; do sleep 0.05; done; rm -f "$0.pid";;
show) printf 'ActiveState=active\\nSubState=running\\nMainPID=%s\\n' "$(cat "$0.pid")";;
esac
exit 0`
    )
    const environment = { PATH: systemctl.path }
    const before = home.snapshot()
    const done = await home.run(['quick-install', '--dir', 'tree'], environment)
    t.match(done, { code: 0, stderr: '' })
    t.match(
      done.stdout,
      /^configuration: .*config\.json written\nserver: http:\/\/127\.0\.0\.1:\d+\/mcp, started at each login\nboard: http:\/\/127\.0\.0\.1:\d+\/board, /
    )
    for (const client of ['Claude Code', 'Claude Desktop', 'Cursor', 'VS Code', 'Codex'])
      t.match(done.stdout, new RegExp(`^${client}: written into `, 'm'))
    t.match(
      home.read('.config/systemd/user/async-crud-mcp.service'),
      `"serve" "--as-service" "--transport" "http" "--config" "${home.path('.config/async-crud-mcp/config.json')}" "--log-file" "auto"`
    )
    for (const file of ['.claude/settings.json', '.codex/hooks.json', '.cursor/hooks.json'])
      t.match(home.read(file), / hook (?:claude-code|codex|cursor)"/, `${file}: the hooks`)
    const written = JSON.parse(home.read('.config/async-crud-mcp/config.json')) as Record<string, object>
    t.match(written['persistence'], { enabled: true }, 'with hooks any server keeps what it knows, as the service does')
    t.match(done.stdout, /survives its restart from now on: persistence\.enabled is true in /)
    const health = await fetch(new URL('health', findServer(home.path('tree'))?.url ?? ''))
    t.match(await health.json(), { status: 'healthy' })
    const after = settled(home)
    const again = await home.call(['quick-install', '--dir', 'tree'], environment)
    t.match(again, {
      code: 0,
      stdout:
        /already exists\n.*started at each login\nboard: .*\nThis is for all projects: .*\n(?:.*already set up.*\n){5}/
    })
    t.strictSame(settled(home), after, 'a second time changes nothing')
    t.equal(
      systemctl.calls().filter((line) => line === '--user stop async-crud-mcp.service').length,
      1,
      'nor does it start the service anew'
    )

    t.match(await home.run(['uninstall', '--purge'], environment), { code: 0, stderr: '' })
    t.strictSame(home.snapshot(), before)

    await home.call(['quick-install', '--dir', 'tree', '--no-hooks'], environment)
    t.notMatch(JSON.stringify(home.snapshot()), / hook (?:claude-code|codex|cursor)/)
    t.match(await home.call(['uninstall'], environment), {
      code: 0,
      stdout: /service async-crud-mcp: removed\n[^]*kept: .*--purge/
    })
    t.notMatch(JSON.stringify(home.snapshot()), /async-crud\\"|mcp_servers|systemd/)
    t.ok(existsSync(home.path('.config/async-crud-mcp/config.json')), 'the configuration stays')
    t.equal(findServer(home.path('tree')), undefined)
  }
)

t.test('the same where none runs: the server goes into the background, and all five clients are named', async (t) => {
  const home = homeOf(t, { 'tree/f': 'one' })
  const { path } = makeTool(makeTree(t), 'systemctl', noBus)
  const before = home.snapshot()
  const [port = 0, other = 0] = await freePorts(2)
  const named = clients.flatMap((client) => ['--client', client])
  const args = ['quick-install', '--dir', 'tree', '--port', String(port), ...named]
  const done = await home.run(args, { PATH: path })
  t.match(done, {
    code: 0,
    stderr: '',
    stdout:
      /in the background; not started at login: .*No medium found\nboard: .*\nThis is for all projects: .*\n(?:.*written into .*\n){5}/
  })
  t.match(home.read('.config/async-crud-mcp/config.json'), `"port": ${port}`)
  t.match(findServer(home.path('tree')), { url: `http://127.0.0.1:${port}` })
  t.notOk(existsSync(home.path('.config/systemd')), 'no unit that nobody starts')
  const after = settled(home)
  t.match(await home.call(args, { PATH: path }), { code: 0, stdout: /is already running/ })
  t.match(await home.call(['quick-install', '--dir', 'tree', '--port', String(other)], { PATH: path }), {
    code: 1,
    stderr: new RegExp(`has port ${port}: set daemon.port to ${other} there`)
  })
  t.strictSame(settled(home), after, 'a second time changes nothing')
  await seeLeaseOfClient(t, home)
  await home.call(['setup', 'claude-code', '--project', 'tree', '--no-start'])
  const pid = findServer(home.path('tree'))?.pid ?? 0
  t.match(await home.call(['uninstall', '--purge'], { PATH: path }), { code: 0, stderr: '' })
  t.equal(isRunning(pid, null), false)
  t.strictSame(home.snapshot(), before)
  t.match(await home.call(['uninstall', '--purge'], { PATH: path }), { code: 0 }, 'with nothing there it is done')
  t.strictSame(home.snapshot(), before)
})

t.test('output that is not read stops nothing half done', async (t) => {
  const home = homeOf(t, used)
  const { path } = makeTool(makeTree(t), 'systemctl', noBus)
  const before = home.snapshot()
  t.equal(await home.runUnread(['quick-install', '--dir', 'tree', '--no-service'], { PATH: path }), 0)
  t.match(home.read('.codex/config.toml'), 'async-crud-mcp', 'the last client, too')
  for (const command of [
    ['doctor'],
    ['config', 'show'],
    ['setup', 'codex', '--dry-run'],
    ['daemon', 'status'],
    ['--help']
  ])
    t.equal(await home.runUnread(command, { PATH: path }), 0, command.join(' '))
  t.equal(await home.runUnread(['uninstall', '--purge'], { PATH: path }), 0)
  t.strictSame(home.snapshot(), before)
})

/** A client that starts what its file says, and one over HTTP, have one engine. */
async function seeLeaseOfClient(t: Tap, home: Home): Promise<void> {
  const { mcpServers } = JSON.parse(home.read('.cursor/mcp.json')) as {
    mcpServers: Record<string, { command: string; args: string[] }>
  }
  const { command = '', args = [] } = mcpServers['async-crud-mcp'] ?? {}
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore', env: home.environment }))
  await client.callTool({ name: 'lock_try', arguments: { filepaths: ['f'], agent_id: 'ann' } })
  const locks = await fetch(new URL('locks', findServer(home.path('tree'))?.url ?? ''))
  t.match(await locks.json(), { files: [{ holders: [{ agent_id: 'ann' }] }] })
  await client.close()
}

t.test('what is not ours stays, and what is in the way is said and can be tried again', async (t) => {
  const home = homeOf(t, { ...used, '.cursor/mcp.json': '{"mcpServers": {"async-crud-mcp": {"command": "mine"}}}' })
  const { path } = makeTool(makeTree(t), 'systemctl', noBus)
  const environment = { PATH: path }
  const before = home.snapshot()
  const wrong: [string[], RegExp][] = [
    [[], /no root: pass --dir/],
    [['--dir', 'nothing'], /root nothing is not a directory/],
    [['--dir', 'tree', '--client', 'emacs'], /no client is called emacs; known: claude-code/]
  ]
  for (const [args, stderr] of wrong)
    t.match(await home.call(['quick-install', ...args], environment), { code: 1, stdout: '', stderr })
  t.strictSame(home.snapshot(), before)
  t.match(await home.call(['quick-install', '--dir', 'tree', '--no-service'], environment), {
    code: 1,
    stdout: /Codex: written/,
    stderr: /Cursor: .*setup did not write.*--force/
  })
  const broken = home.read('.codex/config.toml')
  home.write('.codex/config.toml', `${broken}\nbroken =\n`)
  t.match(await home.call(['uninstall', '--purge'], environment), {
    code: 1,
    stderr: /config\.toml is not valid TOML.*kept.*run this again/
  })
  t.equal(home.read('.codex/config.toml'), `${broken}\nbroken =\n`)
  home.write('.codex/config.toml', broken)
  t.match(await home.call(['uninstall', '--purge'], environment), { code: 0 })
  t.strictSame(home.snapshot(), before)
})
