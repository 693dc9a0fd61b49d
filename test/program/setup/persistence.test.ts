// With hooks, what the server keeps survives its restart: setup sets persistence.enabled, says so, and takes back only what it has set.
import { existsSync } from 'node:fs'
import t from 'tap'
import { makeHome, type Home } from '../../fixtures/home.ts'
import { startStdio } from '../../fixtures/stdio.ts'
import { makeTree } from '../../fixtures/tree.ts'

/** Where the user's settings are, and the folder that the system has for those of all programs. */
const [file, above] =
  process.platform === 'win32'
    ? ['AppData/Roaming/async-crud-mcp/Config/config.json', 'AppData/Roaming']
    : ['.config/async-crud-mcp/config.json', '.config']
const says =
  /^What the server keeps survives its restart from now on: persistence\.enabled is true in .*config\.json\.$/m

const setup = (home: Home, ...args: string[]) => home.call(['setup', ...args, '--no-start'])
const settings = (home: Home) => JSON.parse(home.read(file)) as Record<string, Record<string, unknown>>

t.test('the setting comes with the first hooks and goes with the last', async (t) => {
  const home = makeHome(t, { 'app/f': '', 'tree/f': '' })
  const before = home.snapshot()
  t.match(await setup(home, 'zed', '--dir', 'tree'), { code: 0 })
  t.match(await setup(home, 'cursor', '--dir', 'tree', '--no-hooks'), { code: 0 })
  t.notOk(existsSync(home.path(file)), 'without hooks it is not needed')
  await setup(home, 'zed', '--remove')
  await setup(home, 'cursor', '--remove')
  t.match((await setup(home, 'codex', '--project', 'app', '--dry-run')).stdout, /^\+.*"enabled": true/m)
  t.strictSame(home.snapshot(), before)
  t.match(await setup(home, 'codex', '--project', 'app'), { code: 0, stdout: says, stderr: '' })
  t.same(settings(home), { persistence: { enabled: true } })
  for (const args of [
    ['codex', '--project', 'app'],
    ['claude-code', '--dir', 'tree']
  ])
    t.notMatch((await setup(home, ...args)).stdout, /survives/, 'once')
  t.notMatch((await setup(home, 'codex', '--project', 'app', '--remove')).stdout, /persistence/)
  t.same(settings(home), { persistence: { enabled: true } }, 'the other client has hooks')
  t.match(await setup(home, 'claude-code', '--remove'), {
    code: 0,
    stdout: /persistence\.enabled, which setup had set, removed/
  })
  t.strictSame(home.snapshot(), before)
})

t.test('other settings stay byte for byte, and so does what the user has set', async (t) => {
  const own =
    '{\n  "_help": "mine",\n  "persistence": {\n    "_enabled": false\n  },\n  "daemon": { "port": 9000 }\n}\n'
  const home = makeHome(t, { 'app/f': '', [file]: own })
  await setup(home, 'gemini', '--project', 'app')
  t.match(settings(home), { persistence: { enabled: true, _enabled: false }, daemon: { port: 9000 } })
  home.write(file, home.read(file).replace('9000', '9001'))
  await setup(home, 'gemini', '--project', 'app', '--remove')
  t.equal(home.read(file), own.replace('9000', '9001'))
  for (const value of [true, false]) {
    const chosen = JSON.stringify({ persistence: { enabled: value } })
    home.write(file, chosen)
    const { stdout } = await setup(home, 'gemini', '--project', 'app')
    if (!value) t.match(stdout, /may end with its last process: .*config\.json sets persistence\.enabled to false/)
    await setup(home, 'gemini', '--project', 'app', '--remove')
    t.equal(home.read(file), chosen)
  }
  home.write(file, '{}')
  await setup(home, 'gemini', '--project', 'app')
  const off = home.read(file).replace('true', 'false')
  home.write(file, off)
  await setup(home, 'gemini', '--project', 'app', '--remove')
  t.equal(home.read(file), off, 'what the user has changed since is not taken back')
})

t.test('a file that cannot be changed is named, and nothing is half done', async (t) => {
  const home = makeHome(t, { 'app/f': '', [file]: '{' })
  const before = home.snapshot()
  t.match(await setup(home, 'cursor', '--project', 'app'), { code: 1, stderr: /config\.json.*JSON/ })
  t.strictSame(home.snapshot(), before)
  const inside = makeHome(t, { [`${above}/f`]: '' })
  const { code, stdout } = await setup(inside, 'cursor', '--dir', above)
  t.match({ code, stdout }, { code: 0, stdout: /config\.json lies inside the root .*(\.config|Roaming)/ })
  t.notOk(existsSync(inside.path(file)), 'agents could change it there')
})

t.test('uninstall takes the setting back', async (t) => {
  const home = makeHome(t, { 'app/f': '' })
  const before = home.snapshot()
  await setup(home, 'opencode', '--project', 'app')
  t.ok(existsSync(home.path(file)))
  t.match(await home.call(['uninstall']), { code: 0 })
  t.strictSame(home.snapshot(), before)
})

t.test('a process beside hooks keeps what it knows, whoever has set the client up', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const data = makeTree(t)
  const environment = { XDG_DATA_HOME: data.root, LOCALAPPDATA: data.root, ASYNC_CRUD_MCP_CONFIG: '' }
  const start = (...args: string[]) => startStdio(t, ['--stdio', '--dir', tree.root, ...args], { environment })
  const versions = async (program: ReturnType<typeof start>) => {
    const { result } = await program.call('async_history', { path: 'a.txt' })
    return (result?.['versions'] as unknown[] | undefined)?.length
  }
  const first = start('--tools', 'beside')
  await first.call('async_append', { path: 'a.txt', content: 'two\n' })
  const known = await versions(first)
  await first.end()
  const second = start('--tools', 'beside')
  t.equal(await versions(second), known)
  await second.end()
})
