// async_list: what a pattern means, names that are not UTF-8, pages of one moment; and an answer that is not whole is no answer.
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { lengthOf } from '../fixtures/length.ts'
import { connect, type Answer } from '../fixtures/clients.ts'
import { withoutPrivilege } from '../fixtures/file-editing.ts'
import { startServer } from '../fixtures/server.ts'
import { startStdio } from '../fixtures/stdio.ts'
import { makeTree } from '../fixtures/tree.ts'

async function scene(t: Test, names: readonly string[]) {
  const tree = makeTree(t, Object.fromEntries(names.map((name) => [name, ''])))
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  const list = (input: object) => client.call('async_list', { path: '.', ...input })
  return { tree, client, list, names: async (input: object) => namesOf(await list(input)) }
}

function namesOf({ entries }: Answer): string[] {
  return (entries as { name: string }[]).map(({ name }) => name)
}

t.test('a pattern is looked for as deep as it reaches, in every spelling', async (t) => {
  const files = ['top.py', 'sub/a.py', 'sub/b.txt', 'sub/deep/c.py', 'other/d.py', '.git/hooks/e.py', '.git/config']
  const { tree, list, names } = await scene(t, files)
  const cases: [pattern: string, found: string[]][] = [
    ['*.py', ['top.py']],
    ['./*.py', ['top.py']],
    ['././/*.py', ['top.py']],
    ['sub/*.py', ['sub/a.py']],
    ['sub//*.py', ['sub/a.py']],
    ['./sub/./*.py', ['sub/a.py']],
    ['*/*.py', ['other/d.py', 'sub/a.py']],
    ['**/*.py', ['other/d.py', 'sub/a.py', 'sub/deep/c.py', 'top.py']],
    ['sub/**', ['sub', 'sub/a.py', 'sub/b.txt', 'sub/deep', 'sub/deep/c.py']],
    ['{sub/deep,other}/*.py', ['other/d.py', 'sub/deep/c.py']],
    ['sub/', ['sub']],
    ['*/', ['other', 'sub']],
    ['**/deep/', ['sub/deep']],
    ['top.py/', []],
    [`${tree.root}/sub/*.py`, ['sub/a.py']],
    [`${tree.root}/*.py`, ['top.py']],
    ['.git/*', ['.git/config', '.git/hooks']],
    ['{.git,sub}/**/*.py', ['.git/hooks/e.py', 'sub/a.py', 'sub/deep/c.py']]
  ]
  for (const [pattern, found] of cases) t.strictSame(await names({ pattern }), found, pattern)
  t.strictSame(await names({ path: 'sub', pattern: `${tree.root}/sub/deep/*` }), ['deep/c.py'])
  t.strictSame(await names({ recursive: true, pattern: '*.py' }), ['other/d.py', 'sub/a.py', 'sub/deep/c.py', 'top.py'])
  t.match(await list({ path: 'sub', pattern: `${tree.root}/other/*` }), {
    error_code: 'INVALID_PATTERN',
    message: /not below the listed folder .*sub: .*other\/\*\. Make it relative to path\./
  })
})

t.test('a pattern that cannot be meant is INVALID_PATTERN with what to do', async (t) => {
  const { list } = await scene(t, ['a'])
  const cases: [pattern: string, advice: RegExp][] = [
    ['[a-', /\[ that no \] closes.*\\\[/],
    ['a[]', /\[ that no \] closes/],
    ['[z-a]', /range from a higher to a lower/],
    ['{a,b', /\{ that no \} closes.*\\\{/],
    ['../*', /Pass the folder as path/],
    ['sub/../*', /Pass the folder as path/],
    ['{../a,b}', /Pass the folder as path/],
    ['.', /Pass the folder as path/],
    ['./', /Pass the folder as path/],
    ['/', /not below the listed folder/],
    ['/elsewhere/*.py', /Make it relative to path/]
  ]
  for (const [pattern, message] of cases)
    t.match(await list({ pattern }), { error_code: 'INVALID_PATTERN', message }, pattern)
})

t.test('.git is in a recursive listing only where the path or the pattern names it', async (t) => {
  const { names } = await scene(t, ['.git/config', 'sub/.git', 'sub/.gitignore', 'f'])
  t.strictSame(await names({}), ['.git', 'f', 'sub'], 'a folder shows what is in it')
  t.strictSame(await names({ recursive: true }), ['f', 'sub', 'sub/.gitignore'])
  t.strictSame(await names({ pattern: '**/*' }), ['f', 'sub', 'sub/.gitignore'])
  t.strictSame(await names({ path: '.git', recursive: true }), ['config'])
  t.strictSame(await names({ recursive: true, pattern: '.git' }), ['.git', 'sub/.git'])
  t.strictSame(await names({ pattern: '**/.git' }), ['.git', 'sub/.git'])
})

const raw = (...parts: (string | number)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))))
const skip = process.platform !== 'linux' && 'names are UTF-8 here'

t.test('names that are not UTF-8 are listed in an escaped form that no other name has', { skip }, async (t) => {
  const { tree, client, list } = await scene(t, ['a\\xff', 'a\ufffd', 'z'])
  writeFileSync(raw(tree.root, '/a', 0xff), 'raw')
  writeFileSync(raw(tree.root, '/a', 0xff, '\\', '\u00e9'), '')
  mkdirSync(raw(tree.root, '/d', 0xc3))
  writeFileSync(raw(tree.root, '/d', 0xc3, '/f'), '')
  writeFileSync(raw(tree.root, '/d', 0xc3, '/.gitignore'), 'f\n')
  const shown = async (input: object) => {
    const answer = await list(input)
    const entries = answer['entries'] as { name: string; name_escaped?: boolean }[]
    return entries.map(({ name, name_escaped }) => (name_escaped === true ? { escaped: name } : name))
  }
  const all = [
    'a\\xff',
    'a\ufffd',
    { escaped: 'a\\xff' },
    { escaped: 'a\\xff\\\\\u00e9' },
    { escaped: 'd\\xc3' },
    { escaped: 'd\\xc3/.gitignore' },
    { escaped: 'd\\xc3/f' },
    'z'
  ]
  t.strictSame(await shown({ recursive: true }), all, 'in byte order')
  t.strictSame(await shown({ recursive: true, ignore: true }), all.toSpliced(6, 1))
  t.strictSame(await shown({ pattern: 'a?' }), ['a\ufffd', { escaped: 'a\\xff' }])
  const paged: unknown[] = []
  let cursor: string | undefined
  do {
    const input: object = { recursive: true, limit: 1, ...(cursor !== undefined && { cursor }) }
    paged.push(...(await shown(input)))
    cursor = (await list(input))['next_cursor'] as string | undefined
  } while (cursor !== undefined)
  t.strictSame(paged, all, 'page by page')

  writeFileSync(tree.path('a\ufffd'), 'look-alike')
  t.match(
    await client.call('async_read', { path: 'a\ufffd' }),
    { content: 'look-alike' },
    'a name that contains U+FFFD'
  )
  rmSync(tree.path('a\\xff'))
  for (const path of ['a\\xff', 'd\\xc3/f'])
    t.match(await client.call('async_read', { path }), {
      error_code: 'INVALID_REQUEST',
      message: /a byte that is not UTF-8/
    })
  t.match(await list({ path: 'd\\xc3' }), { error_code: 'INVALID_REQUEST', message: /a byte that is not UTF-8/ })

  const { files } = await client.call('list_files')
  t.match(
    (files as Answer[]).map(({ name, readable, lines }) => [name, readable, lines]),
    [
      ['a\ufffd', false, 1],
      ['a\\xff', false, -1],
      ['a\\xff\\\\\u00e9', false, -1],
      ['z', true, 0]
    ]
  )
})

t.test('a listing that cannot be whole is refused', { skip: process.platform === 'win32' }, async (t) => {
  // One descriptor a level, beside those that the program starts with.
  const depth = 400
  const deep = Array.from({ length: depth }, () => 'd').join('/')
  const tree = makeTree(t, { [`${deep}/f`]: '' })
  const through = ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh']
  const program = startStdio(t, ['--dir', tree.root, '--transport', 'stdio'], { through })
  const { result } = await program.call('async_list', { path: 'd/d/d', recursive: false })
  t.match(result, { status: 'ok', total_entries: 1 })
  const { error } = await program.call('async_list', { path: '.', recursive: true })
  t.match(error, { data: { error_code: 'OVERLOADED', message: /too many open files/ } })
})

t.test(
  'directories that the system denies are named',
  { skip: withoutPrivilege === undefined && 'root passes over modes here' },
  async (t) => {
    const tree = makeTree(t, { 'open/f': '', 'shut/f': '', 'open/shut/f': '' })
    for (const name of ['shut', 'open/shut']) chmodSync(tree.path(name), 0)
    t.teardown(() => ['shut', 'open/shut'].forEach((name) => chmodSync(tree.path(name), 0o700)))
    const args = ['--dir', tree.root, '--transport', 'stdio']
    const program = startStdio(t, args, { through: withoutPrivilege ?? [] })
    const { result } = await program.call('async_list', { path: '.', pattern: '**/f' })
    t.match(result, { status: 'ok', total_entries: 1, unreadable_directories: ['open/shut', 'shut'] })
    const whole = await program.call('async_list', { path: 'open', pattern: '*' })
    t.equal((whole.result as Answer)['unreadable_directories'], undefined)
  }
)

t.test('pages are of one moment, and a cursor outlives what is kept of it', async (t) => {
  const files = Array.from({ length: 40 }, (_, index) => `d/${String(index).padStart(2, '0')}`)
  const { tree, list } = await scene(t, files)
  const page = (cursor?: unknown) => list({ path: 'd', limit: 10, ...(cursor !== undefined && { cursor }) })
  const first = await page()
  tree.write('d/15-new', '')
  rmSync(tree.path('d/16'))
  const second = await page(first['next_cursor'])
  t.strictSame(namesOf(second), ['10', '11', '12', '13', '14', '15', '17', '18', '19'], 'without what is gone')
  t.equal(second['total_entries'], 40)
  t.equal((await page())['total_entries'], 40, 'a first page is a new look')
  t.ok(namesOf(await page(first['next_cursor'])).includes('15-new'), 'which the next pages follow')

  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url)
  const other = await client.call('async_list', { path: 'd', limit: 10, cursor: second['next_cursor'] })
  t.strictSame(namesOf(other)[0], '20', 'another server goes on behind the cursor')

  renameSync(tree.path('d'), tree.path('gone'))
  t.match(await page(first['next_cursor']), { error_code: 'DIR_NOT_FOUND' })
})

t.test('the names of a large folder are sorted by their bytes', async (t) => {
  const odd = ['\u{1f600}', '\uffee', '\ue000', 'é']
  const count = lengthOf({ full: 5000, short: 1500 })
  const { names } = await scene(
    t,
    Array.from({ length: count }, (_, index) => `${odd[index % odd.length]}${(index * 7919) % count}`)
  )
  const found = await names({ limit: 100_000 })
  const sorted = found.map((name) => Buffer.from(name)).sort((a, b) => Buffer.compare(a, b))
  t.equal(found.length, count)
  t.strictSame(found, sorted.map(String))
})

t.test('a cursor belongs to its query: any other would skip entries without a sign', async (t) => {
  const { client, tree } = await scene(t, ['a.md', 'b.ts', 'c.md', 'd.ts', 'sub/a.md', 'sub/b.md', 'sub/c.md'])
  const list = async (input: object) => client.call('async_list', { path: '.', limit: 1, ...input })
  const { next_cursor: cursor } = await list({ pattern: '*.ts' })
  t.match(await list({ pattern: '*.ts', cursor, limit: 5, include_hashes: true }), { entries: [{ name: 'd.ts' }] })
  for (const other of [
    {},
    { pattern: '*.md' },
    { pattern: '*.ts', recursive: true },
    { pattern: '*.ts', ignore: true },
    { pattern: '*.ts', path: 'sub' }
  ])
    t.match(await list({ ...other, cursor }), { error_code: 'INVALID_REQUEST', message: /same parameters/ })

  for (const name of ['a.md', 'b.ts'])
    for (const agent_id of ['ann', 'bob'])
      await client.call('async_append', { path: name, content: 'x', agent_id, change_set: `of ${agent_id}` })
  t.equal(tree.read('a.md'), 'xx')
  const history = async (input: object) => client.call('async_history', { limit: 1, ...input })
  const { next_cursor: next } = await history({ by_agent: 'ann' })
  t.match(await history({ by_agent: 'ann', cursor: next, limit: 9 }), { versions: [{ path: 'a.md', agent_id: 'ann' }] })
  for (const other of [
    {},
    { by_agent: 'bob' },
    { by_agent: 'ann', path: 'a.md' },
    { by_agent: 'ann', change_set: 'of ann' }
  ])
    t.match(await history({ ...other, cursor: next }), { error_code: 'INVALID_REQUEST', message: /same parameters/ })
})
