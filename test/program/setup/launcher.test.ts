// The launcher of a project starts this program from an installation of the machine, for hooks too, and never by a name that a network resolves.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { clients } from '../../../src/program/setup/clients.ts'
import { hookSets } from '../../../src/program/setup/hook-sets.ts'
import { isAsWritten, launcherText } from '../../../src/program/setup/launcher-text.ts'
import { makeHome } from '../../fixtures/home.ts'
import { patientHooks } from '../../fixtures/run-hook.ts'
import { startProgram, startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'

const launcher = 'app/.mcp/async-crud-mcp.cjs'
const projects = clients.filter(({ projectFile }) => projectFile !== undefined)
const here = process.platform === 'win32' ? 'PowerShell runs no sh' : false

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

async function run(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: Record<string, string>; input?: string }
): Promise<Ended> {
  const child = spawn(command, args, { cwd: options.cwd, env: options.env, stdio: 'pipe' })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()))
  child.stdin.on('error', () => {})
  child.stdin.end(options.input ?? '')
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...output }
}

t.test(
  'the hooks of a project start the program that its entry starts, in any folder of it',
  { skip: here },
  async (t) => {
    const home = makeHome(t, { 'app/a.txt': 'one\n', 'app/sub/b.txt': '', 'elsewhere/c': '' })
    await startProgram(t, ['--dir', home.path('app')])
    for (const client of projects) {
      await home.call(['setup', client.name, '--project', 'app', '--no-start'])
      if (hookSets[client.name] === undefined) continue
      const text = home.read(join('app', ...(hookSets[client.name]?.projectFile ?? [])))
      const found = text.matchAll(/"command": ("node -e(?:[^"\\]|\\.)*")/g)
      const commands = new Set([...found].map(([, literal = '']) => JSON.parse(literal) as string))
      t.equal(commands.size, 1, client.name)
      for (const command of commands) {
        const event = JSON.stringify({ hook_event_name: 'SessionEnd', session_id: 's' })
        const at = (folder: string) =>
          run('sh', ['-c', command], {
            cwd: home.path(folder),
            env: { ...home.environment, ...patientHooks },
            input: event
          })
        for (const folder of ['app', 'app/sub'])
          t.same(await at(folder), { code: 0, stdout: '', stderr: '' }, `${client.name} in ${folder}`)
        t.same(await at('elsewhere'), { code: 0, stdout: '', stderr: '' }, 'outside of the project it does nothing')
        rmSync(home.path('.local'), { recursive: true })
        const silent = await at('app/sub')
        t.match(silent, { code: 0, stdout: '', stderr: /^async-crud-mcp: no installation .* goes on unchecked\.\n$/ })
        await home.call(['setup', client.name, '--project', 'app', '--no-start'])
      }
    }
    const plugin = `import { AsyncCrudMcp } from '${home.path('app/.opencode/plugin/async-crud-mcp.js')}'
const hooks = await AsyncCrudMcp({ directory: ${JSON.stringify(home.path('app'))} })
const output = { args: { filePath: ${JSON.stringify(home.path('app/a.txt'))}, content: 'two' } }
await hooks['tool.execute.before']({ tool: 'write', sessionID: 's', callID: 'c' }, output)
process.stdout.write('passed')`
    const env = { ...home.environment, ...patientHooks, ASYNC_CRUD_MCP_HOOK_CLOSED: '1' }
    const write = () => run(process.execPath, ['--input-type=module', '-e', plugin], { cwd: home.root, env })
    t.match(await write(), { stderr: /You have not read .*a\.txt/ }, 'the server judges it')
    rmSync(home.path('.local'), { recursive: true })
    t.match(await write(), { stderr: /no installation of async-crud-mcp was found.*this hook is closed/ })
  }
)

t.test('the launcher finds an installation in the order that it says, and takes nothing else for one', async (t) => {
  const home = makeHome(t, { [launcher]: launcherText })
  const bin = makeTree(t)
  const program = 'process.stdout.write(JSON.stringify([NAME, ...process.argv.slice(1)]))'
  const install = (folder: string, name: string, fields: object = {}) => {
    const bins = { bin: { 'async-crud-mcp': 'dist/main.cjs' } }
    const manifest = { name: 'async-crud-mcp', mcpName: 'io.github.async-crud-mcp/async-crud-mcp', ...bins, ...fields }
    home.write(`${folder}/package.json`, JSON.stringify(manifest))
    home.write(`${folder}/dist/main.cjs`, program.replace('NAME', JSON.stringify(name)))
    chmodSync(home.path(`${folder}/dist/main.cjs`), 0o755)
  }
  const start = (args: readonly string[], env: Record<string, string> = {}, input = '') =>
    run(process.execPath, [home.path(launcher), ...args], {
      cwd: home.root,
      env: { ...home.environment, PATH: bin.root, ...env },
      input
    })
  const nameOf = async (env: Record<string, string> = {}) => {
    const { stdout } = await start(['--version'], env)
    return stdout === '' ? undefined : (JSON.parse(stdout) as string[])[0]
  }
  install('global', 'global')
  install('recorded', 'recorded')
  install('named', 'named')
  t.match(await start([]), {
    code: 1,
    stdout: '',
    stderr: /^async-crud-mcp: no installation .*clone https:.*ASYNC_CRUD_MCP_HOME.*\n$/
  })
  symlinkSync(home.path('global/dist/main.cjs'), bin.path('async-crud-mcp'))
  t.equal(await nameOf(), 'global')
  t.equal(await nameOf({ PATH: '.' }), undefined, 'a relative folder of PATH is none')
  home.write(
    '.local/share/async-crud-mcp/installed.json',
    JSON.stringify({ program: home.path('recorded/dist/main.cjs') })
  )
  t.equal(await nameOf(), 'recorded')
  t.equal(await nameOf({ XDG_DATA_HOME: home.path('no') }), 'global')
  for (const wrong of [
    { mcpName: 'io.github.other/async-crud-mcp' },
    { name: 'other' },
    { bin: { 'async-crud-mcp': '../x.js' } }
  ]) {
    install('node_modules/async-crud-mcp', 'impostor', wrong)
    t.equal(await nameOf(), 'recorded', `${JSON.stringify(wrong)} is another package`)
  }
  install('node_modules/async-crud-mcp', 'above')
  t.equal(await nameOf(), 'above')
  install('app/node_modules/async-crud-mcp', 'own')
  t.equal(await nameOf(), 'own')
  t.equal(await nameOf({ ASYNC_CRUD_MCP_HOME: home.path('named') }), 'named')
  t.match(await start([], { ASYNC_CRUD_MCP_HOME: home.path('app') }), {
    code: 1,
    stderr: /ASYNC_CRUD_MCP_HOME is .*Correct it/
  })
  const [, , ...args] = JSON.parse((await start(['--stdio'])).stdout) as string[]
  t.same(args, ['--stdio', '--dir', home.path('app')], 'it serves its project')
  const [, , ...others] = JSON.parse((await start(['--stdio', '--dir', 'x'])).stdout) as string[]
  t.same(others, ['--stdio', '--dir', home.path('app/x')], 'or a folder of it that it is told')
  const beside = async (folder: string) => {
    const env = { CLAUDE_PROJECT_DIR: home.path(folder) }
    return (JSON.parse((await start(['--stdio', '--tools', 'beside'], env)).stdout) as string[]).includes('beside')
  }
  home.write('app/sub/f', '')
  t.equal(await beside('app'), true)
  t.equal(await beside('app/sub'), false, 'Claude Code runs no hooks there')
})

t.test('without an installation a closed hook refuses a tool, and nothing else', async (t) => {
  const home = makeHome(t, { [launcher]: launcherText })
  const env = { ...home.environment, PATH: '' }
  const hook = (name: string, args: readonly string[], more = {}) =>
    run(process.execPath, [home.path(launcher), 'hook', 'codex', ...args], {
      cwd: home.root,
      env: { ...env, ...more },
      input: JSON.stringify({ hook_event_name: name })
    })
  t.match(await hook('PreToolUse', ['--closed']), { code: 2, stderr: /not run, because this hook is closed/ })
  t.match(await hook('PreToolUse', [], { ASYNC_CRUD_MCP_HOOK_CLOSED: '1' }), { code: 2 })
  t.match(await hook('UserPromptSubmit', ['--closed']), { code: 0, stdout: '' })
  t.match(await hook('PreToolUse', []), { code: 0, stdout: '', stderr: /goes on unchecked/ })
})

t.test(
  'a launcher that was edited stays, one of an earlier version is replaced, and the last client takes it along',
  async (t) => {
    const home = makeHome(t, { 'app/f': '' })
    const before = home.snapshot()
    const setup = (...args: string[]) => home.call(['setup', ...args, '--project', 'app', '--no-start'])
    await setup('cursor')
    await setup('codex')
    const written = home.read(launcher)
    t.equal(written, launcherText)
    t.ok(isAsWritten(written))
    home.write(launcher, written.replaceAll('\n', '\r\n'))
    t.match((await setup('codex')).stdout, /async-crud-mcp\.cjs: already set up/, 'as Git for Windows checks it out')
    home.write(launcher, `${written}// ours\n`)
    t.match(await setup('codex'), {
      code: 0,
      stdout: /async-crud-mcp\.cjs: kept, since it was edited; --force replaces it/
    })
    t.equal(home.read(launcher), `${written}// ours\n`)
    t.match(await setup('codex', '--remove'), { code: 0 })
    t.ok(existsSync(home.path(launcher)))
    await setup('codex', '--force')
    t.equal(home.read(launcher), launcherText)
    t.match((await setup('cursor', '--remove')).stdout, /hooks\.json: entry removed\nRestart/)
    t.ok(existsSync(home.path(launcher)), 'Codex still names it')
    t.match((await setup('codex', '--remove')).stdout, /async-crud-mcp\.cjs: entry removed/)
    t.strictSame(home.snapshot(), before)
  }
)

t.test('setup says whether what it wrote answers, and uninstall takes the launcher along', async (t) => {
  const home = makeHome(t, { 'app/f': '' })
  const before = home.snapshot()
  const wrong = { ASYNC_CRUD_MCP_HOME: home.path('app') }
  t.match(await home.call(['setup', 'codex', '--project', 'app'], wrong), {
    code: 0,
    stderr: /started once and does not answer: .*ASYNC_CRUD_MCP_HOME is/
  })
  t.match(JSON.parse((await home.call(['setup', 'codex', '--project', 'app', '--json'], wrong)).stdout), [
    { answers: false },
    {},
    {}
  ])
  t.match(JSON.parse((await home.call(['setup', 'codex', '--project', 'app', '--json'])).stdout), [
    { answers: true },
    {},
    {}
  ])
  const { url } = await startServer(t, home.path('app'))
  const http = ['--transport', 'http', '--url', `${url}/mcp`]
  t.match(await home.call(['setup', 'cursor', '--project', 'app', ...http]), {
    stdout: /The server answers\./,
    stderr: ''
  })
  const elsewhere = await startServer(t, makeTree(t).root)
  const other = ['--transport', 'http', '--url', `${elsewhere.url}/mcp`]
  t.match(await home.call(['setup', 'cursor', '--project', 'app', ...other]), {
    stdout: /^(?!.*The server answers)/,
    stderr: /serves .+, not app: start one on app/
  })
  t.match(await home.call(['doctor', '--dir', 'app']), { stdout: /names .+, where a server serves / })
  t.match(await home.call(['uninstall']), { code: 0, stdout: /launcher: .*async-crud-mcp\.cjs removed/ })
  const { 'app/.async-crud-mcp': _own, ...after } = home.snapshot()
  t.strictSame(
    Object.keys(after).filter((name) => !name.includes('.async-crud-mcp')),
    Object.keys(before)
  )
})

t.test('doctor starts what the files of a project name, and runs nothing else of it', async (t) => {
  const old = JSON.stringify({
    mcpServers: { 'async-crud-mcp': { command: 'npx', args: ['-y', 'async-crud-mcp', '--stdio', '--dir', '.'] } }
  })
  const hooks = {
    PreToolUse: [{ matcher: 'Edit', hooks: [{ type: 'command', command: 'async-crud-mcp hook claude-code' }] }]
  }
  const home = makeHome(t, {
    'app/f': '',
    'app/.mcp.json': old,
    'app/.claude/settings.json': JSON.stringify({ hooks })
  })
  const doctor = async () => {
    const { stdout } = await home.call(['doctor', '--dir', 'app', '--json'])
    const { findings } = JSON.parse(stdout) as {
      findings: { check: string; verdict: string; message: string; advice?: string }[]
    }
    return findings.filter(({ check }) => check === 'projects')
  }
  t.match(await doctor(), [
    {
      verdict: 'warn',
      message: /starts "npx -y async-crud-mcp .*the first to register it/,
      advice: /setup claude-code --project/
    },
    { verdict: 'warn', message: /hooks in .*settings\.json start another program/ }
  ])
  await home.call(['setup', 'claude-code', '--project', 'app', '--no-start'])
  t.match(await doctor(), [{ verdict: 'ok', message: /\.mcp\.json starts answers/ }])
  t.equal((await doctor()).length, 1)
  home.write(launcher, `require('node:fs').writeFileSync(${JSON.stringify(home.path('ran'))}, '')`)
  t.match(await doctor(), [{ verdict: 'warn', message: /not the launcher of this version, so it was not run/ }])
  t.notOk(existsSync(home.path('ran')))
  rmSync(home.path(launcher))
  t.match(await doctor(), [{ verdict: 'warn', message: /async-crud-mcp\.cjs, which is gone/ }])
})
