// Every spelling of a path that agents send: understood, or refused with what to pass instead, and never a new name by mistake.
import { mkdirSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { connect, type Answer } from '../fixtures/clients.ts'
import { startServer } from '../fixtures/server.ts'
import { makeTree, type Tree } from '../fixtures/tree.ts'

const isPosix = process.platform !== 'win32'
const composed = 'caf\u00e9.txt'
const decomposed = composed.normalize('NFD')

async function start(t: Test) {
  const tree = makeTree(t, { 'src/a b.ts': 'spaced\n', 'src/x.ts': 'text\n', [decomposed]: 'form\n' })
  const server = await startServer(t, tree.root)
  const post = async (name: string, body: object): Promise<Answer> => {
    const response = await fetch(`${server.url}/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-id': 'ann' },
      body: JSON.stringify(body)
    })
    return (await response.json()) as Answer
  }
  return { tree, server, post }
}

/** Each means `src/x.ts`, or the other file that is named. */
const understood: readonly (readonly [name: string, spell: (tree: Tree) => string, file?: string])[] = [
  ['relative', () => 'src/x.ts'],
  ['with a dot', () => './src/./x.ts'],
  ['with two slashes', () => 'src//x.ts'],
  ['absolute', (tree) => tree.path('src/x.ts')],
  ['file:///', (tree) => pathToFileURL(tree.path('src/x.ts')).href],
  ['file://localhost/', (tree) => `file://localhost${pathToFileURL(tree.path('src/x.ts')).pathname}`],
  ['file:/', (tree) => `file:${pathToFileURL(tree.path('src/x.ts')).pathname}`],
  ['FILE:///', (tree) => `FILE://${pathToFileURL(tree.path('src/x.ts')).pathname}`],
  ['an escape in an address', (tree) => pathToFileURL(tree.path('src/a b.ts')).href, 'src/a b.ts'],
  ['another normal form', () => composed, decomposed]
]

/** With what to pass instead, if the answer says it. */
const refused: readonly (readonly [name: string, spell: (tree: Tree) => string, instead?: string])[] = [
  ['an address on another host', (tree) => `file://elsewhere${tree.path('src/new.ts')}`],
  ['a relative address', () => 'file:src/new.ts'],
  ['a place in an address', (tree) => `file://${tree.path('src/new.ts')}#L3`],
  ['a query in an address', (tree) => `file://${tree.path('src/new.ts')}?x=1`],
  ['a line in an address', (tree) => `file://${tree.path('src/new.ts')}:3`],
  ['an escaped slash in an address', (tree) => `file://${tree.root}/src%2Fnew.ts`],
  ['an address of the server', () => 'http://127.0.0.1:8720/files/src/new.ts'],
  ['an address of an editor', (tree) => `vscode://file${tree.path('src/new.ts')}`],
  ['a home folder', () => '~/src/new.ts'],
  ['a home folder of a user', () => '~ann/src/new.ts'],
  ['white space before it', () => ' src/new.ts', 'src/new.ts'],
  ['white space behind it', () => 'src/new.ts ', 'src/new.ts'],
  ['a line end behind it', () => 'src/new.ts\n', 'src/new.ts'],
  ['a line end of Windows behind it', () => 'src/new.ts\r\n', 'src/new.ts'],
  ['a no-break space before it', () => '\u00a0src/new.ts', 'src/new.ts'],
  ['a byte order mark before it', () => '\ufeffsrc/new.ts', 'src/new.ts'],
  ['two paths', () => 'src/new.ts\nsrc/x.ts'],
  ['white space at the end of a folder', () => 'new /x.ts', 'new/x.ts'],
  ['white space at the start of a name', () => 'src/ new.ts', 'src/new.ts'],
  ['double quotes', () => '"src/new.ts"', 'src/new.ts'],
  ['single quotes', () => "'src/new.ts'", 'src/new.ts'],
  ['backticks', () => '`src/new.ts`', 'src/new.ts'],
  ['typographic quotes', () => '\u201csrc/new.ts\u201d', 'src/new.ts'],
  ['one quote', () => 'src/new.ts"', 'src/new.ts'],
  ['angle brackets', () => '<src/new.ts>', 'src/new.ts'],
  ['a mention', () => '@src/new.ts', 'src/new.ts'],
  ['a line', () => 'src/new.ts:12', 'src/new.ts'],
  ['a line and a column', () => 'src/new.ts:12:5', 'src/new.ts'],
  ['lines', () => 'src/new.ts:12-20', 'src/new.ts'],
  ['lines of an address', () => 'src/new.ts#L12-L20', 'src/new.ts'],
  ['a line of a compiler', () => 'src/new.ts(12,5)', 'src/new.ts'],
  ['a colon', () => 'src/new.ts:', 'src/new.ts'],
  ['percent-encoding', () => 'src/n%20w.ts', 'src/n w.ts'],
  ['percent-encoding beyond ASCII', () => 'src/n%C3%A9.ts', 'src/n\u00e9.ts'],
  ['a dot at the end', () => 'src/new.ts.', 'src/new.ts'],
  ['an ellipsis', () => 'src/...'],
  ['a folder', () => 'src/new/'],
  ...(isPosix
    ? ([
        ['backslashes', () => 'src\\new.ts', 'src/new.ts'],
        ['an escape of a shell', () => 'src/n\\ w.ts', 'src/n w.ts'],
        ['a drive', () => 'C:\\src\\new.ts'],
        ['a drive with slashes', () => 'c:/src/new.ts'],
        ['an address in the file routes', () => '/files/src/new.ts'],
        ['a folder of MSYS', () => '/c/src/new.ts']
      ] as const)
    : [])
]

/** New names that only look unusual. */
const taken = [
  '.env',
  '..x',
  'a:b.txt',
  '[id].tsx',
  '(group)/page.tsx',
  '@types/node.d.ts',
  'report (1).txt',
  '~x',
  'x~'
]
const alsoTaken = [
  'it\u2019s.txt',
  '#x#',
  '100%',
  'a,b',
  'x y',
  '\u65e5\u672c\u8a9e.md',
  'Src/x.ts',
  'b/src/x.ts',
  'X.TS'
]

for (const [name, spell, file = 'src/x.ts'] of understood) {
  t.test(`a path ${name} means the file: a lease guards it, and every call reaches it`, async (t) => {
    const { tree, post } = await start(t)
    const path = spell(tree)
    t.match(await post('lock_try', { filepaths: [path] }), { results: [{ acquired: true }] })
    t.match(await post('lock_status', { filepaths: [file] }), { results: [{ holder: 'ann' }] }, 'leased')
    t.match(await post('async_append', { path, content: 'more\n' }), { status: 'ok' })
    t.match(tree.read(file), /more/)
    t.match(await post('async_read', { path }), { status: 'ok', content: tree.read(file) })
    t.match(await post('async_history', { path: file }), { versions: [{ agent_id: 'ann' }, {}] })
    t.match((await post('async_history', { path }))['versions'].length, 2)
    t.match(await post('async_status', { path }), { status: 'ok', exists: true })
    t.match(await post('lock_release', { filepaths: [path] }), { results: [{ released: true }] })
    t.match(await post('lock_status', { filepaths: [file] }), { results: [{ holder: null }] })
    t.match(await post('async_delete', { path }), { status: 'ok' })
    t.notOk(tree.all().includes(file))
  })
}

for (const [name, spell, instead] of refused) {
  t.test(`a path with ${name} is refused by every call, with what to pass`, async (t) => {
    const { tree, post } = await start(t)
    const path = spell(tree)
    const before = tree.all()
    const calls: readonly (readonly [string, object])[] = [
      ['lock_try', { filepaths: [path] }],
      ['async_write', { path, content: 'x' }],
      ['async_append', { path, content: 'x', create_if_missing: true }],
      ['async_rename', { old_path: 'src/x.ts', new_path: path }],
      ['async_read', { path }],
      ['async_transaction', { changes: [{ operation: 'write', path, content: 'x' }] }]
    ]
    for (const [operation, input] of calls) {
      const answer = await post(operation, input)
      t.match(answer['error_code'], /^(INVALID_REQUEST|PATH_OUTSIDE_BASE|NOT_A_FILE)$/, operation)
      if (instead !== undefined) t.match(answer['message'], `Pass ${JSON.stringify(instead)}.`, operation)
    }
    const batch = await post('async_batch_write', { files: [{ path, content: 'x' }] })
    t.match(batch, { results: [{ status: 'error' }] })
    t.match(await post('lock_status', { filepaths: [path] }), { results: [{ holder: null }] })
    t.same(tree.all(), before, 'nothing was made')
  })
}

t.test('names that only look unusual can be taken', async (t) => {
  const { tree, post } = await start(t)
  for (const path of [...taken, ...alsoTaken]) {
    t.match(await post('async_write', { path, content: path }), { status: 'ok' }, path)
    t.equal(tree.read(path), path)
  }
})

t.test(
  'a file that is there is reached by its own name, however it looks, and can be restored',
  { skip: !isPosix },
  async (t) => {
    const { tree, post } = await start(t)
    const odd = refused.map(([, spell]) => spell(tree)).filter((path) => !/^\/|\/$|^file:\/\//.test(path))
    for (const path of [' ', '"', ...odd]) {
      tree.write(path, 'old')
      t.match(await post('lock_try', { filepaths: [path] }), { results: [{ acquired: true }] }, path)
      const { hash } = await post('async_read', { path })
      t.match(await post('async_update', { path, expected_hash: hash, content: 'new' }), { status: 'ok' }, path)
      t.equal(tree.read(path), 'new')
      t.match(await post('async_delete', { path }), { status: 'ok' }, path)
      t.match(await post('async_restore', { path, hash }), { status: 'ok' }, path)
      t.equal(tree.read(path), 'old')
      await post('lock_release_all', {})
    }
    mkdirSync(tree.path(' odd'))
    t.match(
      await post('async_write', { path: ' odd/new.ts', content: 'x' }),
      { status: 'ok' },
      'in a folder that is there'
    )
  }
)

t.test('an address from resources/list is taken by every operation, and leases it', async (t) => {
  const { tree, server, post } = await start(t)
  await post('async_read', { path: 'src/a b.ts' })
  const client = await connect(t, 'mcp-2025', server.url, 'bea')
  const uri = pathToFileURL(tree.path('src/a b.ts')).href
  t.match(await client.call('lock_try', { filepaths: [uri] }), { results: [{ acquired: true }] })
  const write = await post('async_update', {
    path: 'src/a b.ts',
    content: 'x',
    timeout: 0,
    expected_hash: `sha256:${'0'.repeat(64)}`
  })
  t.match(write, { error_code: 'LOCK_TIMEOUT' })
})

t.test('patterns and paths of event streams are refused as addresses, and understood as paths', async (t) => {
  const { tree, server, post } = await start(t)
  t.match(await post('async_list', { path: '.', pattern: `file://${tree.root}/**` }), { error_code: 'INVALID_PATTERN' })
  const query = (path: string) => `${server.url}/events?path=${encodeURIComponent(path)}`
  t.equal((await fetch(query(`file://${tree.root}/src/*`))).status, 400)
  t.equal((await fetch(query('src/x.ts:12'))).status, 400)
  const following = await fetch(query(`file://${tree.root}/src`))
  t.equal(following.status, 200)
  await following.body?.cancel()
})

t.test('a hook takes ~ for the home folder, as its tool does, and no odd path is an error of the server', async (t) => {
  const { tree, server } = await start(t)
  const hook = async (event: string, file_path: string) => {
    const response = await fetch(`${server.url}/hooks/claude-code`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-wait-seconds': '0' },
      body: JSON.stringify({
        hook_event_name: event,
        session_id: 's',
        cwd: '/',
        tool_name: 'Write',
        tool_input: { file_path, content: 'x' }
      })
    })
    return { status: response.status, text: await response.text() }
  }
  for (const path of [`${tree.root}/a\0b`, `${tree.root}/src/x.ts:12`, '\0', '~\0', `file://${tree.root}/src/x.ts`])
    for (const event of ['PreToolUse', 'PostToolUse']) t.equal((await hook(event, path)).status, 200, path)
  const { HOME = '' } = process.env
  t.teardown(() => (process.env['HOME'] = HOME))
  process.env['HOME'] = tree.root
  const bea = await connect(t, 'rest', server.url, 'bea')
  await bea.call('lock_try', { filepaths: ['src/x.ts'] })
  t.match(await hook('PreToolUse', '~/src/x.ts'), { text: /deny.*bea/ })
})
