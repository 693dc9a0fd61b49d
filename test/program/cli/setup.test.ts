// setup <client>: our entry goes into a file of somebody else's, and comes out again, without a byte of the rest changing.
import { chmodSync, cpSync, lstatSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { execFile } from 'node:child_process'
import { join, relative } from 'node:path'
import { isDeepStrictEqual, promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { parse as parseJsonc } from 'jsonc-parser'
import { parse as parseToml } from 'smol-toml'
import fc from 'fast-check'
import t from 'tap'
import { installed } from '../../../src/support/installation.ts'
import type { ClientName } from '../../../src/program/setup/client-names.ts'
import { clients, serverName, type UserEnvironment } from '../../../src/program/setup/clients.ts'
import { addEntry, removeEntry } from '../../../src/program/setup/entry.ts'
import { hookCommand, hookLocations } from '../../../src/program/setup/hooks.ts'
import { createJournal } from '../../../src/program/setup/journal.ts'
import { findClient, serverLocation, stdioLaunch } from '../../../src/program/setup/options.ts'
import { planAddition, planRemoval } from '../../../src/program/setup/plan.ts'
import { createHookTarget, createServerTarget, isOurEntry } from '../../../src/program/setup/targets.ts'
import { readUserFile } from '../../../src/program/setup/user-file.ts'
import { makeFolder, makeHome } from '../../fixtures/home.ts'
import { copyProgram } from '../../fixtures/installation.ts'
import { programPath } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'

const jsonWithComments = `// servers of the team
{
\t"mcpServers": { // keep sorted
\t\t/* the old one */
\t\t"files": { "command": "files", "args": ["--all"], },
\t\t"search": { "url": "https://search.example/mcp" }, // the last
\t},
\t"other": [1, 2, 3,],
}
`
const strictJson = '{"numStartups":7,"mcpServers":{"files":{"command":"files"}},"projects":{"/a":{"x":[]}}}'
const toml = `# mine
model = "o9"

[mcp_servers.files] # local
command = "files"
args = [
  "[mcp_servers.async-crud-mcp]", # only looks like a table
]

[profiles.fast]
model = "small"`

/** What the users of each client may have there already. */
const existing: Record<string, string> = {
  '.claude.json': strictJson,
  '.config/Claude/claude_desktop_config.json': '{\r\n    "theme": "dark",\r\n    "mcpServers": {}\r\n}\r\n',
  '.cursor/mcp.json': jsonWithComments,
  '.config/Code/User/mcp.json': '\uFEFF{\n  // nothing yet\n}\n',
  '.codex/config.toml': toml,
  '.gemini/settings.json': '{\n  // mine\n  "theme": "x"\n}\n',
  '.codeium/windsurf/mcp_config.json': strictJson,
  '.config/zed/settings.json': '// Zed\n{\n  "vim_mode": true,\n}\n',
  '.config/opencode/opencode.json': '{"$schema": "https://opencode.ai/config.json"}'
}

const layouts: Record<string, Record<string, string>> = {
  'files with comments, other servers and every layout': existing,
  'empty files': Object.fromEntries(Object.keys(existing).map((name) => [name, name.endsWith('json') ? '{}' : ''])),
  'files with byte order marks': Object.fromEntries(
    Object.entries(existing).map(([name, text]) => [name, `\uFEFF${text.replace('\uFEFF', '')}`])
  ),
  'blank files': Object.fromEntries(Object.keys(existing).map((name) => [name, '\n'])),
  'no files': {}
}

for (const [situation, files] of Object.entries(layouts)) {
  t.test(`all clients are set up in ${situation}, twice is once, and every byte comes back`, (t) => {
    const home = makeHome(t, files)
    const user: UserEnvironment = { platform: 'linux', home: home.root, environment: {} }
    const journal = createJournal(home.path('data'))
    for (const client of clients) {
      const place = serverLocation(client, stdioLaunch([home.root]), user)
      const before = home.snapshot()
      const old = readUserFile(place.file).text
      const withMark = old.startsWith('\uFEFF')
      const plan = planAddition(place, journal, isOurEntry)
      t.strictSame(home.snapshot(), before, 'planning changes nothing')
      plan.apply()
      const { text } = readUserFile(place.file)
      t.equal(text, plan.after)
      const kept = place.refusesMark === true ? old.replace('\uFEFF', '') : old
      t.ok(isSubsequence(kept, text), 'every byte of before is still there')
      t.equal(text.startsWith('\uFEFF'), withMark && place.refusesMark !== true)
      const args = [programPath, '--transport', 'stdio', '--dir', home.root]
      t.match(
        place.target.current(place.target.parse(text.replace('\uFEFF', ''))),
        client.name === 'opencode'
          ? { type: 'local', command: [process.execPath, ...args] }
          : { command: process.execPath, args }
      )
      const after = home.snapshot()
      const again = planAddition(place, journal, isOurEntry)
      again.apply()
      t.equal(again.isChange, false)
      t.strictSame(home.snapshot(), after, 'a second time changes nothing')
      planRemoval(place, journal, isOurEntry).apply()
      if (kept !== old) home.write(relative(home.root, place.file), old)
      t.strictSame(home.snapshot(), before, `${client.name} is as it was`)
      t.equal(planRemoval(place, journal, isOurEntry).isChange, false)
    }
    t.end()
  })
}

t.test('a byte order mark goes if the client refuses the file with it, and setup says so', async (t) => {
  const [settings, hooks, config] = ['.gemini/settings.json', '.codex/hooks.json', '.codex/config.toml'] as const
  const files = { [settings]: '\uFEFF{"theme": "x"}', [hooks]: '\uFEFF{"hooks": {}}', [config]: '\uFEFFmodel = "o9"\n' }
  const home = makeHome(t, { 'tree/f': 'x', ...files })
  const args = ['--dir', 'tree', '--no-start']
  const remark = (name: string) => `${home.path(name)} began with a byte order mark, with which the client refuses it`
  const gemini = await home.call(['setup', 'gemini', ...args])
  t.match(gemini, { code: 0, stdout: remark(settings) })
  t.match(home.read(settings), /^\{[^]*"theme": "x"/)
  const codex = await home.call(['setup', 'codex', ...args])
  t.match(codex, { code: 0, stdout: remark(hooks) })
  t.notMatch(codex.stdout, remark(config), 'it reads this one')
  t.match([home.read(hooks).at(0), home.read(config).at(0)], ['{', '\uFEFF'])
  home.write(settings, `\uFEFF${home.read(settings)}`)
  t.match(await home.call(['setup', 'gemini', ...args]), { stdout: remark(settings) }, 'of an entry that stands, too')
  t.notMatch((await home.call(['setup', 'gemini', ...args])).stdout, 'byte order mark', 'only once')
})

t.test('the command shows the change, makes it and takes it back', async (t) => {
  await Promise.all(
    ['cursor', 'codex'].map(async (name) => {
      const home = makeHome(t, { 'tree/f': 'x', ...existing })
      const before = home.snapshot()
      const run = (args: string[]) => (name === 'cursor' ? home.run(args) : home.call(args))
      const shown = await run(['setup', name, '--dir', 'tree', '--dry-run'])
      t.match(shown, { code: 0, stdout: /^\+.*async-crud-mcp/m, stderr: '' })
      t.notMatch(shown.stdout, '\u001B', 'no colours where nobody looks')
      t.strictSame(home.snapshot(), before, '--dry-run changes nothing')
      t.match(await run(['setup', name, '--dir', 'tree']), { code: 0, stdout: /entry written/, stderr: '' })
      t.match(await run(['setup', name, '--dir', 'tree']), { code: 0, stdout: /already set up/ })
      t.match(await run(['setup', name, '--remove']), { code: 0, stdout: /entry removed[^]*to work without it/ })
      t.strictSame(home.snapshot(), before, `${name} is as it was`)
    })
  )
})

/** Each of the first text's characters occurs in the second, in this order. */
function isSubsequence(part: string, whole: string): boolean {
  let at = 0
  for (const character of whole) if (character === part[at]) at += 1
  return at === part.length
}

t.test('what others add and change after us stays when our entry goes', (t) => {
  const cursor = clients.find(({ name }) => name === 'cursor')
  if (cursor === undefined) throw new Error('no cursor')
  const target = createServerTarget(cursor, { command: 'node', args: ['main.js'] })
  const { text, inserted } = addEntry('{}', target)
  const changed = text.replace('    }\n  }', '    },\n    "late": { "command": "x" } // mine\n  }')
  const rest = removeEntry(changed, target, inserted)
  t.strictSame(parseJsonc(rest), { mcpServers: { late: { command: 'x' } } })
  t.match(rest, '// mine')
  const moved = createServerTarget(cursor, { command: 'node', args: ['other.js'] })
  const again = addEntry(text, moved, inserted)
  t.equal(removeEntry(again.text, moved, again.inserted), '{}', 'a changed entry still leaves no trace')
  const reordered = '{"mcpServers": {"a": {}, /* one */ "async-crud-mcp": {"command": "node"}, "b": {}}}'
  t.equal(removeEntry(reordered, target), '{"mcpServers": {"a": {}, /* one */  "b": {}}}')
  t.equal(
    removeEntry('{\n  "mcpServers": {\n    "a": {}, // one\n    "async-crud-mcp": {}\n  }\n}', target),
    '{\n  "mcpServers": {\n    "a": {} // one\n  }\n}'
  )
  t.equal(removeEntry('{"mcpServers": {"a": {}, "async-crud-mcp": {},}}', target), '{"mcpServers": {"a": {}, }}')
  t.end()
})

t.test('whatever stands in a file, and however it is laid out, an entry comes and goes without a trace', (t) => {
  const [claude] = clients
  if (claude === undefined) throw new Error('no client')
  const target = createServerTarget(claude, { command: 'node', args: ['main.js', '--dir', '/a'] })
  const servers = fc.dictionary(
    fc.constantFrom('a', 'b', 'c'),
    fc.json({ maxDepth: 1 }).map((text) => JSON.parse(text) as unknown)
  )
  const others = fc.dictionary(
    fc.constantFrom('x', 'y', 'z'),
    fc.json({ maxDepth: 2 }).map((text) => JSON.parse(text) as unknown)
  )
  const layout = fc.record({
    unit: fc.constantFrom('', '  ', '    ', '\t'),
    lineEnd: fc.constantFrom('\n', '\r\n'),
    isFirst: fc.boolean(),
    tail: fc.constantFrom('', '\n', '\n\n')
  })
  const toPlain = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown
  const property = fc.property(others, fc.option(servers), layout, (rest, ours, { unit, lineEnd, isFirst, tail }) => {
    const container = ours === null ? {} : { mcpServers: ours }
    const data = isFirst ? { ...container, ...rest } : { ...rest, ...container }
    const text = (JSON.stringify(data, undefined, unit) + tail).replaceAll('\n', lineEnd)
    const { text: after, inserted } = addEntry(text, target)
    const isClean = !text.includes('\r\n') || !/[^\r]\n/.test(after)
    const expected = { ...data, mcpServers: { ...ours, [serverName]: target.value } }
    return (
      isClean &&
      removeEntry(after, target, inserted) === text &&
      isDeepStrictEqual(JSON.parse(after), toPlain(expected)) &&
      isDeepStrictEqual(JSON.parse(removeEntry(after, target)), toPlain({ ...data, mcpServers: ours ?? {} }))
    )
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 500 }))
  t.end()
})

t.test('an entry that was put in the place of ours is not taken out', (t) => {
  const home = makeHome(t, { '.cursor/mcp.json': '{}' })
  const user: UserEnvironment = { platform: 'linux', home: home.root, environment: {} }
  const journal = createJournal(home.path('data'))
  const place = serverLocation(findClient('cursor'), stdioLaunch([home.root]), user)
  planAddition(place, journal, isOurEntry).apply()
  home.write('.cursor/mcp.json', '{"mcpServers": {"async-crud-mcp": {"command": "mine"}}}')
  t.throws(() => planAddition(place, journal, isOurEntry), /setup did not write/)
  t.equal(planRemoval(place, journal, isOurEntry).isChange, false)
  t.end()
})

t.test('what a client writes between our look and our change is not lost', (t) => {
  const home = makeHome(t, { '.claude.json': '{}' })
  const user: UserEnvironment = { platform: 'linux', home: home.root, environment: {} }
  const journal = createJournal(home.path('data'))
  const place = serverLocation(findClient('claude-code'), stdioLaunch([home.root]), user)
  const plan = planAddition(place, journal, isOurEntry)
  home.write('.claude.json', '{"new": 1}')
  t.throws(() => plan.apply(), /\.claude\.json was changed by another program meanwhile: run this again/)
  t.equal(home.read('.claude.json'), '{"new": 1}')
  t.strictSame(home.all(), ['.claude.json'], 'nothing temporary is left, and nothing recorded')
  planAddition(place, journal, isOurEntry).apply()
  const removal = planRemoval(place, journal, isOurEntry)
  home.write('.claude.json', `${home.read('.claude.json')} `)
  t.throws(() => removal.apply(), /changed by another program/)
  t.end()
})

t.test('a table of Codex with subtables is replaced and removed whole, comments of the next table stay', (t) => {
  const codex = clients.find(({ name }) => name === 'codex')
  if (codex === undefined) throw new Error('no codex')
  const target = createServerTarget(codex, { command: 'node', args: ['a "b" \\ c'] })
  const text = `[mcp_servers."async-crud-mcp"]\ncommand = "old"\n\n[mcp_servers.async-crud-mcp.env]\nA = "1"\n\n# the next\n[x]\ny = 1\n`
  t.equal(removeEntry(text, target), `\n# the next\n[x]\ny = 1\n`)
  const { text: replaced } = addEntry(text, target)
  t.same(parseToml(replaced), {
    mcp_servers: { 'async-crud-mcp': { command: 'node', args: ['a "b" \\ c'] } },
    x: { y: 1 }
  })
  t.throws(
    () => addEntry('mcp_servers = { a = { command = "x" } }\n', target),
    /TOML|touching/,
    'an inline table cannot be added to'
  )
  t.end()
})

t.test('a file that cannot be read as what it should be is refused and left alone', async (t) => {
  const broken: [string, string, string, RegExp][] = [
    ['claude-code', '.claude.json', '{"a": 1, // no comments here\n}', /claude\.json is not valid JSON: .* line 1/],
    ['claude-code', '.claude.json', '{\n"a": 1,\n}', /is not valid JSON/],
    ['claude-desktop', '.config/Claude/claude_desktop_config.json', '{"mcpServers": ', /is not valid JSON/],
    ['cursor', '.cursor/mcp.json', '[]', /is not a JSON object/],
    ['cursor', '.cursor/mcp.json', '{"mcpServers": []}', /no object at mcpServers/],
    ['cursor', '.cursor/mcp.json', '{"mcpServers": {}, "mcpServers": {}}', /two entries "mcpServers"/],
    [
      'cursor',
      '.cursor/mcp.json',
      '{"mcpServers": {"async-crud-mcp": {"command": "mine"}}}',
      /setup did not write.*--force/
    ],
    ['vscode', '.config/Code/User/mcp.json', '{"servers": {"a": }}', /is not valid JSON/],
    ['codex', '.codex/config.toml', 'model = \n', /is not valid TOML/],
    ['codex', '.codex/config.toml', 'mcp_servers = { a = { command = "x" } }\n', /add the entry by hand|TOML/]
  ]
  for (const [name, file, text, message] of broken) {
    const home = makeHome(t, { [file]: text })
    const before = home.snapshot()
    const user: UserEnvironment = { platform: 'linux', home: home.root, environment: {} }
    const client = findClient(name)
    const place = serverLocation(client, stdioLaunch([home.root]), user)
    t.throws(() => planAddition(place, createJournal(home.path('data')), isOurEntry), { message })
    t.strictSame(home.snapshot(), before)
  }
  const refused = makeHome(t, { '.cursor/mcp.json': '{' })
  const { code, stdout, stderr } = await refused.run(['setup', 'cursor', '--dir', '.'])
  t.match({ code, stdout, stderr }, { code: 1, stdout: '', stderr: /mcp\.json is not valid JSON/ })
  t.equal(stderr.trimEnd().split('\n').length, 1, 'one line')
  t.equal(refused.read('.cursor/mcp.json'), '{')
  const home = makeHome(t, { '.cursor/mcp.json': '{"mcpServers": {"async-crud-mcp": {"command": "mine"}}}' })
  t.match(await home.run(['setup', 'cursor', '--dir', '.', '--force']), { code: 0 })
  t.match(home.read('.cursor/mcp.json'), /"async-crud-mcp": \{\s*"type": "stdio"/)
})

t.test('wrong arguments are one clear line and exit 1', async (t) => {
  const home = makeHome(t)
  const cases: [string[], RegExp][] = [
    [['setup'], /missing required argument 'client'/],
    [['setup', 'emacs'], /Allowed choices are claude-code, claude-desktop/],
    [['setup', 'cursor'], /no root: pass --dir/],
    [['setup', 'cursor', '--dir', 'nothing'], /root nothing is not a directory/],
    [['setup', 'cursor', '--dir', '.', '--guard'], /unknown option '--guard'/],
    [
      ['setup', 'claude-desktop', '--project', '.'],
      /no configuration for one project: pass --dir <folder> in place of --project/
    ],
    [['setup', 'claude-desktop', '--transport', 'http', '--dir', '.'], /use --transport stdio/],
    [['setup', 'cursor', '--transport', 'http', '--token-env', 'a secret'], /name of an environment variable/],
    [
      ['setup', 'cursor', '--transport', 'http', '--dir', '.', '--url', 'box:8720'],
      /--url box:8720: expected an address/
    ]
  ]
  const ended = await Promise.all(cases.map(([args]) => home.call(args)))
  cases.forEach(([args, message], index) => {
    t.match(ended[index], { code: 1, stdout: '', stderr: message }, args.join(' '))
    t.equal(ended[index]?.stderr.trimEnd().split('\n').length, 1)
  })
  t.strictSame(home.all(), [])
})

t.test('a linked dotfile stays a link, and its file keeps its mode', async (t) => {
  const home = makeHome(t, { 'dotfiles/cursor.json': '{ "mcpServers": {} }\n', 'tree/f': '' })
  makeFolder(home, '.cursor')
  symlinkSync('../dotfiles/cursor.json', home.path('.cursor/mcp.json'))
  chmodSync(home.path('dotfiles/cursor.json'), 0o640)
  const before = home.snapshot()
  t.match(await home.call(['setup', 'cursor', '--dir', 'tree', '--no-start']), { code: 0 })
  t.ok(lstatSync(home.path('.cursor/mcp.json')).isSymbolicLink())
  t.equal(statSync(home.path('dotfiles/cursor.json')).mode & 0o777, 0o640)
  t.match(home.read('dotfiles/cursor.json'), 'async-crud-mcp')
  t.match(await home.call(['setup', 'cursor', '--remove']), { code: 0 })
  t.strictSame(home.snapshot(), before)
})

t.test('the files of one project, and those over HTTP', async (t) => {
  const home = makeHome(t, {
    'app/f': '',
    'app/.claude/settings.json':
      '{\n  "hooks": {\n    "PreToolUse": [\n      { "matcher": "Bash", "hooks": [] }\n    ]\n  }\n}\n'
  })
  const before = home.snapshot()
  const url = 'http://127.0.0.1:8731/mcp'
  const http = ['--transport', 'http', '--url', url, '--token-env', 'CRUD_TOKEN']
  t.match(await home.call(['setup', 'claude-code', '--project', 'app', ...http]), {
    code: 0,
    stderr: /no server answers at/
  })
  for (const name of ['cursor', 'vscode', 'codex'])
    t.match(await home.call(['setup', name, '--project', 'app', ...http]), { code: 0 })
  const json = (name: string) => JSON.parse(home.read(name)) as unknown
  const beside = `${url}?tools=beside`
  t.strictSame(json('app/.mcp.json'), {
    mcpServers: { 'async-crud-mcp': { type: 'http', url: beside, headers: { Authorization: 'Bearer ${CRUD_TOKEN}' } } }
  })
  t.strictSame(json('app/.cursor/mcp.json'), {
    mcpServers: { 'async-crud-mcp': { url: beside, headers: { Authorization: 'Bearer ${env:CRUD_TOKEN}' } } }
  })
  t.strictSame(json('app/.vscode/mcp.json'), {
    servers: { 'async-crud-mcp': { type: 'http', url, headers: { Authorization: 'Bearer ${env:CRUD_TOKEN}' } } }
  })
  t.same(parseToml(home.read('app/.codex/config.toml')), {
    mcp_servers: { 'async-crud-mcp': { url: beside, bearer_token_env_var: 'CRUD_TOKEN' } }
  })
  const { hooks } = json('app/.claude/settings.json') as {
    hooks: { PreToolUse: { matcher: string; hooks: { command: string }[] }[] }
  }
  t.match(hooks.PreToolUse, [
    {
      matcher: 'Edit|Write|MultiEdit|NotebookEdit',
      hooks: [{ type: 'command', command: /^node -e ".*" hook claude-code$/, timeout: 70 }]
    },
    { matcher: 'Bash' }
  ])
  t.match(await home.call(['setup', 'claude-code', '--project', 'app', ...http]), {
    stdout: /(?:already set up\n.*){3}/
  })
  t.match(await home.run(['setup', 'claude-code', '--project', 'app', '--remove']), { code: 0 })
  for (const name of ['cursor', 'vscode', 'codex'])
    t.match(await home.call(['setup', name, '--project', 'app', '--remove']), { code: 0 })
  t.strictSame(home.snapshot(), before)
})

t.test('--print and --json answer a script, and the printed command is a server', async (t) => {
  const home = makeHome(t, { 'tree/a.txt': 'one\n' })
  const printed = await home.run(['setup', 'cursor', '--dir', 'tree', '--print'])
  t.match(printed, { code: 0, stderr: /Add this to .*\.cursor\/mcp\.json$/m })
  t.match(await home.call(['setup', 'codex', '--project', 'tree', '--print']), {
    stderr: /\.codex\/config\.toml\. It starts \.mcp\/async-crud-mcp\.cjs, which setup writes without --print/
  })
  const { mcpServers } = JSON.parse(printed.stdout) as {
    mcpServers: Record<string, { command: string; args: string[] }>
  }
  const { command = '', args = [] } = mcpServers[serverName] ?? {}
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  t.teardown(() => client.close())
  await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore', env: home.environment }))
  t.match(await client.callTool({ name: 'async_read', arguments: { path: 'a.txt' } }), {
    structuredContent: { content: /^one/ }
  })
  const done = await home.run(['setup', 'cursor', '--dir', 'tree', '--json'])
  t.strictSame(JSON.parse(done.stdout), [
    { client: 'cursor', file: home.path('.cursor/mcp.json'), changed: true, dry_run: false, answers: true },
    { client: 'cursor', file: home.path('.cursor/hooks.json'), changed: true, dry_run: false },
    { client: 'cursor', file: home.path('.config/async-crud-mcp/config.json'), changed: true, dry_run: false }
  ])
})

const mac = { platform: 'darwin', home: '/Users/ann', environment: {} } as const
const windows = {
  platform: 'win32',
  home: 'C:\\Users\\ann',
  environment: { APPDATA: 'C:\\Users\\ann\\AppData\\Roaming' }
} as const

t.test('the files of each client on each platform', (t) => {
  const fileOf = (name: string, place: UserEnvironment) =>
    clients.find((client) => client.name === name)?.userFile(place)
  const linux = {
    platform: 'linux',
    home: '/home/ann',
    environment: { XDG_CONFIG_HOME: '/c', CODEX_HOME: '/x', CLAUDE_CONFIG_DIR: '/k' }
  } as const
  t.equal(fileOf('claude-desktop', mac), '/Users/ann/Library/Application Support/Claude/claude_desktop_config.json')
  t.equal(fileOf('claude-desktop', windows), 'C:\\Users\\ann\\AppData\\Roaming\\Claude\\claude_desktop_config.json')
  t.equal(fileOf('claude-desktop', linux), '/c/Claude/claude_desktop_config.json')
  t.equal(fileOf('vscode', mac), '/Users/ann/Library/Application Support/Code/User/mcp.json')
  t.equal(fileOf('vscode', windows), 'C:\\Users\\ann\\AppData\\Roaming\\Code\\User\\mcp.json')
  t.equal(fileOf('vscode', linux), '/c/Code/User/mcp.json')
  t.equal(fileOf('cursor', windows), 'C:\\Users\\ann\\.cursor\\mcp.json')
  t.equal(fileOf('claude-code', mac), '/Users/ann/.claude.json')
  t.equal(fileOf('claude-code', linux), '/k/.claude.json')
  t.equal(fileOf('codex', mac), '/Users/ann/.codex/config.toml')
  t.equal(fileOf('codex', linux), '/x/config.toml')
  t.end()
})

t.test('the files and commands of hooks on each platform', (t) => {
  const fileOf = (name: ClientName, user: UserEnvironment) => hookLocations(name, user)[0]?.file
  t.equal(fileOf('claude-code', windows), 'C:\\Users\\ann\\.claude\\settings.json')
  t.equal(fileOf('codex', windows), 'C:\\Users\\ann\\.codex\\hooks.json')
  t.equal(fileOf('gemini', windows), 'C:\\Users\\ann\\.gemini\\settings.json')
  t.equal(fileOf('cursor', windows), 'C:\\Users\\ann\\.cursor\\hooks.json')
  t.equal(fileOf('opencode', windows), 'C:\\Users\\ann\\.config\\opencode\\plugin\\async-crud-mcp.js')
  t.equal(fileOf('claude-code', mac), '/Users/ann/.claude/settings.json')
  t.equal(fileOf('opencode', mac), '/Users/ann/.config/opencode/plugin/async-crud-mcp.js')
  const onWindows = ['C:\\Program Files\\nodejs\\node.exe', 'C:\\Users\\Ann Lee\\main.cjs', 'hook', 'gemini']
  t.equal(hookCommand(onWindows, 'win32'), 'node "C:/Users/Ann Lee/main.cjs" hook gemini')
  t.equal(hookCommand(['C:\\n\\node.exe', 'C:\\n\\main.cjs'], 'win32'), 'node C:/n/main.cjs')
  t.equal(hookCommand(['/opt/my node', "/it's/main.cjs", 'hook'], 'darwin'), `'/opt/my node' '/it'\\''s/main.cjs' hook`)
  t.equal(hookCommand(['async-crud-mcp', 'hook', 'codex'], 'win32'), 'async-crud-mcp hook codex')
  t.end()
})

const hookTarget = (command: string) =>
  createHookTarget('PreToolUse', { matcher: 'Edit', hooks: [{ type: 'command', command }] })

t.test('hooks come with the entry of each client that has some, and go with it', async (t) => {
  const home = makeHome(t, {
    'tree/f': '',
    '.claude/settings.json':
      '{ "hooks": { "PreToolUse": [{ "hooks": [{ "command": "async-crud-mcp guard" }] }], "Stop": [] } }',
    '.gemini/settings.json': existing['.gemini/settings.json'] ?? '',
    '.cursor/hooks.json': '{\n  "version": 1,\n  "hooks": { "stop": [{ "command": "x" }] }\n}\n'
  })
  const before = home.snapshot()
  const json = (name: string) => parseJsonc(home.read(name)) as { version?: number; hooks: Record<string, unknown[]> }
  const names = ['claude-code', 'codex', 'gemini', 'cursor', 'opencode']
  for (const name of names) {
    const shown = await home.call(['setup', name, '--dir', 'tree', '--dry-run'])
    t.match(shown.stdout, name === 'opencode' ? /^\+.*tool\.execute\.before/m : /^\+.*hook /m, `${name}: shown`)
    t.match(await home.call(['setup', name, '--dir', 'tree', '--no-start']), { code: 0, stderr: '' })
    const again = await home.call(['setup', name, '--dir', 'tree', '--no-start'])
    t.match(again.stdout, /already set up/)
    t.notMatch(again.stdout, /written/, `${name}: twice is once`)
  }
  const claude = json('.claude/settings.json').hooks
  t.equal(claude['PreToolUse']?.length, 1, 'the guard has made room')
  t.same(Object.keys(claude).sort(), [
    'PermissionDenied',
    'PostToolUse',
    'PostToolUseFailure',
    'PreToolUse',
    'SessionEnd',
    'Stop',
    'SubagentStop',
    'UserPromptSubmit'
  ])
  t.match(json('.gemini/settings.json'), {
    theme: 'x',
    hooks: { BeforeTool: [{ matcher: 'write_file|replace|run_shell_command' }] }
  })
  t.match(json('.cursor/hooks.json'), {
    version: 1,
    hooks: { stop: [{ command: 'x' }], preToolUse: [{ matcher: 'Write|Shell' }] }
  })
  t.match(json('.codex/hooks.json').hooks, {
    PreToolUse: [{ matcher: 'apply_patch|Bash' }],
    SubagentStop: [{}],
    SessionEnd: [{}]
  })
  const plugin = promisify(execFile)(process.execPath, [
    '--check',
    home.path('.config/opencode/plugin/async-crud-mcp.js')
  ])
  t.same(await plugin, { stdout: '', stderr: '' }, 'the plugin is a program')
  for (const name of names) t.match(await home.call(['setup', name, '--remove']), { code: 0 })
  const after = home.snapshot()
  t.same(Object.keys(after).sort(), Object.keys(before).sort())
  t.equal(
    home.read('.cursor/hooks.json'),
    '{\n  "version": 1,\n  "hooks": { "stop": [{ "command": "x" }] }\n}\n',
    'byte for byte'
  )
  t.equal(home.read('.gemini/settings.json'), existing['.gemini/settings.json'])
})

t.test('what goes into the files of a user is said to be for all projects, before it is done', async (t) => {
  const home = makeHome(t, { 'app/f': '', '.codeium/f': '' })
  const user = await home.call(['setup', 'claude-code', '--dir', 'app', '--no-start'])
  t.match(
    user.stdout,
    /^This is for all projects: .*tools and hooks of this one tree\. .*--project <folder>\.\n[^]*written/
  )
  t.notMatch((await home.call(['setup', 'claude-code', '--dir', 'app', '--no-start'])).stdout, /all projects/, 'once')
  const shown = await home.call(['setup', 'cursor', '--dir', 'app', '--no-hooks', '--dry-run'])
  t.match(shown.stdout, /^This is for all projects: .*gets the tools of this one tree\./)
  const windsurf = await home.call(['setup', 'windsurf', '--dir', 'app', '--no-start'])
  t.match(windsurf.stdout, /gets the tools of this one tree\. Windsurf has no file for one project\.\n/)
  for (const args of [
    ['cursor', '--project', 'app'],
    ['cursor', '--project', 'app', '--remove']
  ])
    t.notMatch((await home.call(['setup', ...args, '--no-start'])).stdout, /all projects/)
})

t.test('of an installation in the cache of npx setup says that npm may clear it', async (t) => {
  const cache = makeTree(t)
  const program = cache.path('_npx/1/node_modules/async-crud-mcp')
  cpSync(copyProgram(t).root, program, { recursive: true, verbatimSymlinks: true })
  const home = makeHome(t, { 'app/f': '' }, join(program, 'dist/main.cjs'))
  const args = ['setup', 'claude-code', '--project', 'app']
  const remark = /in the cache of npx, which npm may clear: install it/
  t.match(await home.run(args), { code: 0, stdout: remark, stderr: '' })
  t.notMatch((await home.run([...args, '--remove'])).stdout, remark)
})

t.test('what a team shares names no path of this machine', async (t) => {
  const home = makeHome(t, { 'app/f': '' })
  for (const name of ['claude-code', 'cursor', 'vscode', 'codex', 'gemini', 'zed', 'opencode'])
    t.match(await home.call(['setup', name, '--project', 'app', '--no-start']), { code: 0 })
  const written = Object.keys(home.snapshot()).filter((name) => name.startsWith('app/') && name !== 'app/f')
  t.ok(written.length >= 11)
  for (const name of written.filter((file) => /\w\.\w+$/.test(file))) {
    t.notMatch(home.read(name), home.root, name)
    t.notMatch(home.read(name), installed('dist'), name)
  }
  t.match(home.read('app/.mcp.json'), '"--stdio"')
})

t.test('an entry of a clone is ours, by the file that it starts', (t) => {
  for (const main of ['/p/dist/main.cjs', 'C:\\p\\dist\\main.cjs']) {
    t.ok(isOurEntry({ command: 'node', args: [main, '--transport', 'stdio'] }), main)
    const { text, inserted } = addEntry('{}', hookTarget(`node ${main} hook claude-code`))
    t.equal(removeEntry(text, hookTarget('node /elsewhere/dist/main.cjs guard'), inserted), '{}', main)
  }
  t.notOk(isOurEntry({ command: 'node', args: ['/p/main.cjs'] }), 'somebody else may have a file of that name')
  t.end()
})

t.test('the guard joins other hooks, and a group that somebody has put together is left alone', (t) => {
  const target = hookTarget('node /p/dist/main.cjs hook claude-code')
  const text = readFileSync(installed('docs/native-tools.md'), 'utf8')
  const block = JSON.parse(/```json\n([^]*?)```/.exec(text)?.[1] ?? '') as object
  t.notOk(addEntry(JSON.stringify(block), target).inserted, 'the one of the page on the guard is replaced, not doubled')
  const mixed =
    '{"hooks":{"PreToolUse":[{"matcher":"Edit","hooks":[{"command":"async-crud-mcp guard"},{"command":"other"}]}]}}'
  const added = addEntry(mixed, target)
  t.equal(removeEntry(added.text, target, added.inserted), mixed)
  t.equal(removeEntry(mixed, target), mixed)
  t.end()
})
