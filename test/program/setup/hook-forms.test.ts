// Hooks are written in the cheapest form that the client's version has and that loses nothing; for any other version they start the program.
import { chmodSync } from 'node:fs'
import t, { type Test } from 'tap'
import { makeHome, type Home } from '../../fixtures/home.ts'

const here = process.platform === 'win32' ? 'no script is a program there' : false

interface Hook extends Readonly<Record<string, unknown>> {
  readonly type: string
  readonly command?: string
}
type Groups = Readonly<Record<string, readonly { readonly matcher?: string; readonly hooks: readonly Hook[] }[]>>

const around = ['PreToolUse', 'PostToolUse', 'PostToolUseFailure']

/** A home with a client that only says its version. */
function homeWith(t: Test, says: string): { home: Home; setup: (...args: string[]) => ReturnType<Home['call']> } {
  const home = makeHome(t, { 'app/f': '', 'bin/claude': `#!/bin/sh\n${says}\n` })
  chmodSync(home.path('bin/claude'), 0o755)
  const variables = { PATH: `.:${home.path('bin')}:/usr/bin:/bin` }
  return {
    home,
    setup: (...args) => home.call(['setup', 'claude-code', '--no-start', ...args], variables)
  }
}

function hooksIn(home: Home, file: string): Record<string, Hook> {
  const { hooks } = JSON.parse(home.read(file)) as { hooks: Groups }
  return Object.fromEntries(
    Object.entries(hooks).map(([event, groups]) => {
      t.equal(groups.length, 1, `one group at ${event}`)
      return [event, groups[0]?.hooks[0] as Hook]
    })
  )
}

const kindsOf = (hooks: Record<string, Hook>) => [...new Set(around.map((event) => hooks[event]?.type))].join()

const project = 'app/.claude/settings.json'
const http = ['--transport', 'http', '--url', 'http://127.0.0.1:8731/mcp', '--token-env', 'CRUD_TOKEN']

t.test('around tools a client that starts the server calls a tool of it, and only there', { skip: here }, async (t) => {
  const { home, setup } = homeWith(t, 'echo "2.1.118 (Claude Code)"')
  const before = home.snapshot()
  for (const [flags, file] of [
    [['--dir', 'app'], '.claude/settings.json'],
    [['--project', 'app'], project]
  ] as const) {
    const { stdout } = await setup(...flags)
    const hooks = hooksIn(home, file)
    for (const event of around)
      t.match(hooks[event], {
        type: 'mcp_tool',
        server: 'async-crud-mcp',
        tool: 'native_hook',
        input: { harness: 'claude-code', event: { hook_event_name: '${hook_event_name}', tool_input: '${tool_input}' } }
      })
    for (const event of ['UserPromptSubmit', 'SessionEnd', 'SubagentStop', 'PermissionDenied'])
      t.match(
        hooks[event],
        { type: 'command', command: / hook claude-code$/ },
        `${event}: no server is connected then, or it is rare`
      )
    const need = /need Claude Code 2\.1\.118 or later on each machine.*--program-hooks/
    if (file === project) t.match(stdout, need, 'a team has other machines')
    else t.notMatch(stdout, need)
    t.match((await setup(...flags)).stdout, /already set up/, 'twice is once')
    await setup(...flags, '--program-hooks')
    t.equal(kindsOf(hooksIn(home, file)), 'command')
    await setup(...flags)
    t.equal(kindsOf(hooksIn(home, file)), 'mcp_tool', 'one form takes the place of the other')
    await setup(...(file === project ? flags : []), '--remove')
  }
  t.strictSame(home.snapshot(), before)
})

t.test('a client that connects to an address asks it, for the files of a project', { skip: here }, async (t) => {
  const { home, setup } = homeWith(t, 'echo "2.1.110 (Claude Code)"')
  const before = home.snapshot()
  await setup('--project', 'app', ...http)
  const hooks = hooksIn(home, project)
  for (const event of around)
    t.strictSame(hooks[event], {
      type: 'http',
      url: 'http://127.0.0.1:8731/hooks/claude-code',
      headers: { 'x-wait-seconds': '2', Authorization: 'Bearer ${CRUD_TOKEN}' },
      allowedEnvVars: ['CRUD_TOKEN'],
      timeout: 3
    })
  t.equal(hooks['SessionEnd']?.type, 'command')
  await setup('--project', 'app')
  t.equal(kindsOf(hooksIn(home, project)), 'command', 'this version calls no tools of servers')
  await setup('--project', 'app', ...http)
  await setup('--project', 'app', '--remove')
  await setup('--dir', 'app', ...http)
  t.equal(kindsOf(hooksIn(home, '.claude/settings.json')), 'command', 'other projects may have other servers')
  await setup('--remove')
  t.strictSame(home.snapshot(), before)
})

t.test('of a version that is too old or not known the hooks are programs', { skip: here }, async (t) => {
  for (const says of ['echo "2.1.109 (Claude Code)"', 'echo "2.0.200"', 'echo 1', 'exit 1', 'echo version 2.1.300']) {
    const { home, setup } = homeWith(t, says)
    await setup('--project', 'app', ...http)
    t.equal(kindsOf(hooksIn(home, project)), 'command', says)
    await setup('--project', 'app')
    t.equal(kindsOf(hooksIn(home, project)), 'command', says)
  }
})

t.test('doctor takes hooks that ask the server for its own', { skip: here }, async (t) => {
  const { home, setup } = homeWith(t, 'echo "2.1.300 (Claude Code)"')
  await setup('--project', 'app')
  const { stdout } = await home.call(['doctor', '--dir', 'app', '--json'])
  const { findings } = JSON.parse(stdout) as { findings: { check: string; verdict: string }[] }
  t.match(
    findings.filter(({ check }) => check === 'projects'),
    [{ verdict: 'ok' }]
  )
})
