// The sessions of the README and of the tutorial, pasted as they are, do what they say.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t from 'tap'
import { installed } from '../../../src/support/installation.ts'
import { operations } from '../../../src/operations/index.ts'
import { toolSets, toolsNamed } from '../../../schemas/tool-sets.ts'
import { countTokens, o200kPerToken } from '../../../bench/tokens.ts'
import { connect, connectModern, type Answer } from '../../fixtures/clients.ts'
import { startProgram, startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'

const project = pathToFileURL(installed('./'))
const readme = readFileSync(new URL('README.md', project), 'utf8')
const clients = readFileSync(new URL('docs/clients.md', project), 'utf8')
const guard = readFileSync(new URL('docs/native-tools.md', project), 'utf8')

const tutorial = readFileSync(new URL('docs/tutorial.md', project), 'utf8')

const [session = '', leases = '', readers = '', several = '', lines = '', plain = ''] = tutorial.split('\n## ').slice(1)
const [, firstSession = ''] = readme.split('\n## A first session with curl\n')

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'plugins/README.md',
  ...readdirSync(new URL('docs/', project), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
]

function blocksOf(section: string): string[] {
  return [...section.matchAll(/```sh\n([^]*?)```/g)].map((match) => match[1] as string)
}

async function run(script: string): Promise<string> {
  return (await promisify(execFile)('bash', ['-euc', script], { cwd: fileURLToPath(project) })).stdout
}

const parse = (text: string | undefined) => JSON.parse(text ?? '') as Answer
/** The answer that is printed in a section. */
const promisedIn = (section: string) => parse(/```json\n([^]*?)```/.exec(section)?.[1])

t.test('the first session of the README does what it says', async (t) => {
  const tree = makeTree(t)
  const [prepare = '', calls = ''] = blocksOf(firstSession).map((block) => block.replaceAll('/tmp/demo', tree.root))
  await run(prepare.replace(/npm start.*/, ''))
  const { url } = await startProgram(t, ['--dir', tree.root])
  const [ann, bob] = (await run(calls.replaceAll('http://127.0.0.1:8720', url))).split('\n')
  t.match(parse(ann), { status: 'ok' })
  t.match(parse(bob), promisedIn(readme), 'the answer is the one that is printed')
})

t.test('the sessions of the tutorial do what they say', async (t) => {
  const tree = makeTree(t)
  const [first = [], leased = [], reading = [], together = [], byLine = []] = [
    session,
    leases,
    readers,
    several,
    lines
  ].map((section) => blocksOf(section).map((block) => block.replaceAll('/tmp/demo', tree.root)))
  const [prepare = '', ...calls] = first
  const [edits = '', stdio = '', ...untested] = byLine
  t.strictSame(untested, [])
  await run(prepare.replace(/npm start.*/, ''))
  const { url } = await startProgram(t, ['--dir', tree.root])
  const [call = ''] = (calls[0] ?? '').split('\n')
  const outputs = async (script: readonly string[]) =>
    (await run(script.join('\n').replaceAll('http://127.0.0.1:8720', url))).split('\n')

  const [read, ann, late, bob, ...file] = await outputs(calls)
  t.match(parse(read), { status: 'ok', content: 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n' })
  t.match(parse(ann), { status: 'ok' })
  t.match(parse(late), promisedIn(session), "Bob's answer is the one that is printed")
  t.match(parse(bob), { status: 'ok' })
  t.equal(file.join('\n'), 'one\nzwei\nthree\nfour\nfive\nsix\nseven\nacht\n')

  const [taken, timeout, status, all, own, released, append] = await outputs([call, ...leased])
  t.match(parse(taken), { all_acquired: true, results: [{ filepath: 'list.txt' }, { filepath: 'plan.txt' }] })
  t.match(parse(timeout), promisedIn(leases), "Bob's answer is the one that is printed")
  t.match(parse(timeout), { message: /within 1 s\. Agent ann has leased it .* with the note "numbering the list"/ })
  t.match(parse(status), { results: [{ held_by_me: false, holder: 'ann' }, { holder: 'ann' }] })
  t.match(parse(all), { counts: { files: 2, leases: 2, waiting: 0 }, files: [{ holders: [{ agent_id: 'ann' }] }, {}] })
  t.match(parse(own), { status: 'ok', path: 'plan.txt' })
  t.match(parse(released), { all_released: true })
  t.match(parse(append), { status: 'ok', path: 'list.txt' })

  const [written, bobs, notice, merged, ...rest] = await outputs([call, ...reading])
  t.match([parse(written), parse(bobs)], [{ status: 'ok' }, { status: 'ok' }])
  t.match(parse(notice), promisedIn(readers), 'what Ann is told is what is printed')
  t.match(parse(merged), { status: 'ok', merged: true, diff: { summary: { regions_changed: 2 } } })
  const [history, restored] = rest.slice(7)
  t.match(rest.slice(0, 7), ['parser: ann', 'printer: carl', 'checker: ann', 'tests: ann', 'bench: ann', 'docs: ann'])
  t.equal(rest[6], 'release: bob')
  t.match(parse(history).versions, [{ agent_id: 'ann' }, { agent_id: 'external' }, { agent_id: 'bob' }, {}])
  t.match(parse(restored), { status: 'ok', changed: true })

  const [asOfOne, bare, late2, ...undone] = await outputs([call, ...together])
  t.match(parse(asOfOne), { status: 'ok', results: [{ status: 'ok' }, { status: 'ok' }, { status: 'ok' }] })
  t.match(parse(bare), { status: 'ok' })
  t.match(parse(late2), promisedIn(several), "Ann's answer is the one that is printed")
  t.equal(parse(late2)['contentions'].length, 1)
  t.same(
    undone.slice(0, 3),
    ['import { Config } from "./config"', 'export const app = new Config()', 'export const name = "demo"'],
    'nothing is changed'
  )
  const [renamed, appendedTo, back, ...now] = undone.slice(3)
  t.match(parse(renamed), { status: 'ok', change_set: 'Settings', changes: [{}, {}, { changed: true }] })
  t.match(parse(appendedTo), { status: 'ok' })
  t.match(parse(back), { status: 'ok', undone: 3, files: [{}, {}, {}], conflicts: [] })
  t.equal(now.join('\n'), /```ts\n([^]*?)```/.exec(several)?.[1])

  const [listed, range, edited, appended, created, ...files] = await outputs([call, edits])
  t.match(parse(listed), { files: [{ name: 'list.txt', lines: 9 }, { name: 'plan.txt' }, {}], total_count: 3 })
  t.strictSame(parse(range), {
    content: 'zwei\nthree',
    total_lines: 9,
    range_requested: { start_line: 2, end_line: 3 }
  })
  t.match(parse(edited), { success: true, lines_modified: 3, new_total_lines: 9 })
  t.match(parse(appended), { lines_modified: 1, new_total_lines: 10 })
  t.match(parse(created), { file_created: true, new_total_lines: 1 })
  t.equal(files.join('\n'), 'uno\nzwei\nbetween\nthree\nfive\nsix\nseven\nacht\nnine\nten\nwrite the report\n')

  t.strictSame(parse(await run(stdio)), {
    jsonrpc: '2.0',
    id: 1,
    result: { content: 'write the report', total_lines: 1 }
  })

  const output = (await outputs(blocksOf(plain).map((block) => block.replaceAll('/tmp/demo', tree.root)))).join('\n')
  t.equal(
    output,
    [
      '201',
      'colors.txt\nlist.txt\nplan.txt\nsrc/\ntasks.txt\ntodo.txt',
      'red\ngreen\nblue\nwhite',
      'green',
      '428',
      '200',
      `${/```diff\n([^]*?)\n```/.exec(plain)?.[1]}`,
      '200',
      '200',
      'crimson\nlime\nblue\nsnow',
      '200',
      ''
    ].join('\n')
  )
})

t.test('the commands of the page on leases do what they say', async (t) => {
  const tree = makeTree(t, { 'list.txt': 'one\n' })
  const { url } = await startServer(t, tree.root)
  const [call = ''] = (blocksOf(session)[1] ?? '').split('\n')
  const page = readFileSync(new URL('docs/leases.md', project), 'utf8')
  const script = [call, ...blocksOf(page)].join('\n').replaceAll('http://127.0.0.1:8720', url)
  const [taken, waited, appended, renewed, released, broken] = (await run(script)).split('\n')
  t.match(parse(taken), { all_acquired: true })
  t.match(parse(waited), { results: [{ acquired: false, holder: 'ann', holder_note: 'numbering the list' }] })
  t.match(parse(appended), { status: 'ok' })
  t.match(parse(renewed), { all_renewed: true })
  t.match(parse(released), { count: 2 })
  t.match(parse(broken), { status: 'ok', count: 0 })
})

t.test('an MCP client that starts the server itself as the page on clients says finds the tools', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one\n' })
  const block = /itself, over stdio[^]*?```json\n([^]*?)```/.exec(clients)?.[1] ?? ''
  const { mcpServers } = JSON.parse(block) as { mcpServers: Record<string, { command: string; args: string[] }> }
  const { command = '', args = [] } = mcpServers['async-crud-mcp'] ?? {}
  const real = args.map((arg) =>
    arg.replace('/path/to/async-crud-mcp', fileURLToPath(project)).replace('/path/to/your/project', tree.root)
  )
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  t.teardown(() => client.close())
  await client.connect(
    new StdioClientTransport({ command, args: real, env: { ASYNC_CRUD_MCP_CONFIG: '' }, stderr: 'ignore' })
  )
  t.match(await client.callTool({ name: 'async_read', arguments: { path: 'a.txt' } }), {
    structuredContent: { content: 'one\n', total_lines: 1 }
  })
})

t.test('the hook of the page on the guard refuses a native edit of a file that another agent has leased', async (t) => {
  const tree = makeTree(t, { 'list.txt': 'one\n' })
  const { url } = await startProgram(t, ['--dir', tree.root])
  await (await connect(t, 'rest', url, 'ann')).call('lock_try', { filepaths: ['list.txt'], note: 'numbering' })
  const block = /```json\n([^]*?)```/.exec(guard)?.[1] ?? ''
  const { hooks } = JSON.parse(block) as { hooks: { PreToolUse: { matcher: string; hooks: { command: string }[] }[] } }
  const [{ matcher, hooks: [hook] } = { matcher: '', hooks: [] }] = hooks.PreToolUse
  t.match('Edit', new RegExp(matcher))
  const command = hook?.command.replace('/path/to/async-crud-mcp/', fileURLToPath(project)) ?? ''
  const input = { hook_event_name: 'PreToolUse', cwd: tree.root, tool_name: 'Edit' }
  const asked = JSON.stringify({ ...input, tool_input: { file_path: tree.path('list.txt') } })
  t.match(parse(await run(`${command} <<'END'\n${asked}\nEND`)), {
    hookSpecificOutput: { permissionDecision: 'deny', permissionDecisionReason: /ann.*numbering/s }
  })
})

t.test(
  'the first screen of the README has the project form first, the board with its picture, and one way by hand',
  (t) => {
    const [screen = ''] = readme.split('\n## ')
    t.match(screen, /setup claude-code --project [^]*claude mcp add [^]*\/board>[^]*!\[The board/)
    t.equal(readme.split('claude mcp add').length, 2, 'it is named once')
    t.equal(screen.match(/A lease ends[^.]*\./g)?.length, 1, 'one sentence says how leases end')
    t.end()
  }
)

t.test('every operation is in the README, and every link of the documents leads to a file and a heading', async (t) => {
  for (const { name } of operations) t.ok(readme.includes(`\`${name}\``), `${name} is in the README`)
  for (const page of pages) {
    const place = new URL(page, project)
    for (const [link, target, heading] of readFileSync(place, 'utf8').matchAll(/\]\((?!http)([^)#]*)#?([^)]*)\)/g)) {
      const path = new URL(String(target), place)
      const stats = statSync(path, { throwIfNoEntry: false })
      t.ok(stats, `${page}: ${link}`)
      if (stats?.isFile() && heading !== '') t.ok(headingsOf(path).includes(String(heading)), `${page}: ${link}`)
    }
  }
})

/** The headings of a page, as links name them. */
function headingsOf(page: URL): string[] {
  const text = readFileSync(page, 'utf8').replaceAll(/^```[^]*?^```$/gm, '')
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-')
  )
}

t.test('README, pages and help name the same sets of tools, with the tools and tokens that they have', async (t) => {
  const names = Object.keys(toolSets)
  const page = readFileSync(new URL('docs/clients.md', project), 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)`(?: \(default\))? \| (.+) \| ([\d,]+) \|$/gm)]
  t.strictSame(
    rows.map(([, name]) => name),
    names
  )
  for (const [, name = '', tools = '', tokens = ''] of rows) {
    const words = [...tools.matchAll(/`(\w+)`/g)].map(([, word = '']) => word)
    const all = [...toolsNamed(names)]
    const meant = tools.startsWith('everything but')
      ? all.filter((tool) => !toolsNamed(words).has(tool))
      : toolsNamed(words)
    t.same(new Set(meant), toolsNamed([name]), name)
    const { root } = makeTree(t)
    const client = await connectModern((await startServer(t, root)).url, 'ann', `?tools=${name}`)
    const shown = (await client.listTools()).tools.map(({ _meta, ...tool }) => tool)
    const counted = countTokens(JSON.stringify({ tools: shown })) * o200kPerToken
    await client.close()
    t.ok(Math.abs(Number(tokens.replace(',', '')) / counted - 1) < 0.05, `${name}: ${tokens}, counted ${counted}`)
  }
  const inOrder = names.join(', ')
  t.match(readme.replaceAll('`', '').replaceAll('\n', ' '), inOrder)
  t.match(readFileSync(new URL('docs/configuration.md', project), 'utf8'), inOrder)
  t.match((await run('node dist/main.cjs --help')).replaceAll(/\s+/g, ' '), inOrder)
})

// zsh takes `#` for a word when it is typed, and the apostrophe of a comment for an open quotation.
t.test('no command of the documents has a comment', async (t) => {
  for (const page of pages) {
    const commands = blocksOf(readFileSync(new URL(page, project), 'utf8')).flatMap((block) => block.split('\n'))
    const comments = commands.filter((line) => /(^|\s)#/.test(line))
    t.strictSame(comments, [], page)
  }
})

t.test('every path that the page on the architecture names exists, and has the functions named beside it', (t) => {
  const page = readFileSync(new URL('docs/architecture.md', project), 'utf8')
  const paths = [...page.matchAll(/`([^`/\s]+\/[^`\s]*)`/g)].map(([, path = '']) => path)
  t.ok(paths.length > 20)
  for (const path of paths) t.ok(statSync(new URL(path, project), { throwIfNoEntry: false }), path)
  const named = [...page.matchAll(/((?:`#?\w+`(?:, | and )?)+) in `([^`]+\.ts)`/g)]
  t.ok(named.length > 40)
  for (const [, names = '', path = ''] of named) {
    const text = readFileSync(new URL(path, project), 'utf8')
    for (const [, name = ''] of names.matchAll(/`([^`]+)`/g))
      t.match(
        text,
        new RegExp(`(?:function\\*?|const|class) ${name}\\b|^ +(?:async )?${name}\\(`, 'm'),
        `${name} in ${path}`
      )
  }
  const [, table = ''] = page.split('## Where is it done?\n')
  const rows = table.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
  for (const row of rows.slice(1)) t.match(row, /`[^`]+\/[^`]*`/, row)
  t.end()
})
