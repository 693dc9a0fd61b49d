// Nothing outside the roots is reached, whatever links say and however they change meanwhile.
import {
  accessSync,
  constants,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, parse, sep } from 'node:path'
import t from 'tap'
import { OperationError } from '../../../src/errors.ts'
import { attempt } from '../../../src/support/attempt.ts'
import { toEventFilter } from '../../../src/engine/events/event-filter.ts'
import { shownPath } from '../../../src/engine/notices/shown-path.ts'
import { createCommits } from '../../../src/engine/commit/commits.ts'
import { createFileStore } from '../../../src/engine/files/file-store.ts'
import { lockKey } from '../../../src/engine/files/lock-key.ts'
import { connect } from '../../fixtures/clients.ts'
import { startServer } from '../../fixtures/server.ts'
import { hooksOf, stepTo } from '../../fixtures/steps.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'

const openStore = (...roots: string[]) =>
  createFileStore({
    roots,
    maxFileBytes: 1_000_000,
    maxSyncBytes: 100_000,
    hardlinks: 'break',
    protectedPaths: ['**/.git', '**/.git/**', './kept/']
  })

const commitsOf = (store: ReturnType<typeof openStore>) =>
  createCommits(store, { maxFileBytes: 1_000_000, maxSyncBytes: 100_000, durability: 'rename' })

async function read(store: ReturnType<typeof openStore>, path: string): Promise<string> {
  const place = store.open(path, 'target')
  try {
    return (await store.read(place, path)).bytes.toString()
  } finally {
    place.close()
  }
}

const outside = { code: 'PATH_OUTSIDE_BASE' }

t.test('paths that leave the root by their names are refused', async (t) => {
  const tree = makeTree(t, {
    'root/a.txt': 'inside',
    'root/x/f': '',
    'root-sibling/secret.txt': 'secret',
    'secret.txt': 'secret'
  })
  const store = openStore(tree.path('root'))
  for (const path of [
    '../secret.txt',
    'x/../../secret.txt',
    'x/../../root-sibling/../root/a.txt',
    `${tree.path('root-sibling')}/../root/a.txt`,
    tree.path('secret.txt'),
    tree.path('root-sibling/secret.txt'),
    '/etc/passwd',
    '..'
  ]) {
    t.throws(() => store.resolve(path, 'target'), outside, path)
  }
  t.equal(await read(store, 'a.txt'), 'inside')
  t.equal(await read(store, 'x/../a.txt'), 'inside')
  t.equal(await read(store, tree.path('root/a.txt')), 'inside')
  t.equal(await read(store, 'x/../../root/a.txt'), 'inside', 'a path may come back by the way that it left')
  t.equal(await read(store, `${tree.path('root')}/../root/a.txt`), 'inside')
})

/** Every path of up to so many of these names, with and without a slash at the end. */
function pathsOf(names: readonly string[], length: number): string[] {
  let longest = ['']
  const all: string[] = []
  for (let count = 0; count < length; count += 1) {
    longest = longest.flatMap((start) => names.map((name) => (start === '' ? name : `${start}/${name}`)))
    all.push(...longest)
  }
  return all.flatMap((path) => [path, `${path}/`])
}

/** What the system itself reads there; undefined where it reads nothing, or something outside the root. */
function readAsSystem(root: string, path: string): string | undefined {
  try {
    const content = readFileSync(`${root}/${path}`, 'utf8')
    return `${realpathSync.native(`${root}/${path}`)}: ${content}`
  } catch {
    return undefined
  }
}

t.test('a path leads where the kernel says: ".." leaves the folder that was reached, links followed', async (t) => {
  const tree = makeTree(t, { 'root/dd/x': 'wrong', 'root/dd/one/x': 'right', 'root/dd/one/two/f': '', 'root/x': 'top' })
  const root = realpathSync.native(tree.path('root'))
  symlinkSync('one/two', tree.path('root/dd/ln'))
  symlinkSync(join(root, 'dd', 'one') + '/', tree.path('root/abs'))
  const store = openStore(root)
  let readable = 0
  for (const path of pathsOf(['dd', 'ln', 'abs', 'x', '..', 'missing'], 4)) {
    const real = readAsSystem(root, path)
    const isInside = real?.startsWith(`${root}/`) === true
    for (const spelling of [path, `${root}/${path}`]) {
      const ours = await read(store, spelling).then(
        (content) => `${store.resolve(spelling, 'target').path}: ${content}`,
        (error: unknown) => (error instanceof OperationError ? undefined : error)
      )
      if (ours !== (isInside ? real : undefined)) t.equal(ours, isInside ? real : undefined, spelling)
    }
    if (isInside) readable += 1
  }
  t.equal(await read(store, 'dd/ln/../x'), 'right')
  t.ok(readable > 5, `${readable} paths lead to a file`)
})

const drive = parse(tmpdir()).root
const cannotServe = !attempt(() => accessSync(drive, constants.R_OK | constants.W_OK)) && `${drive} is another user's`

t.test('a whole file system is a root like any other', { skip: cannotServe }, async (t) => {
  const tree = makeTree(t, { 'd/f': 'inside' })
  const path = realpathSync.native(tree.path('d/f'))
  const below = path.slice(drive.length).split(sep)
  const store = openStore(drive)
  t.teardown(() => store.close())
  for (const spelling of [path, below.join('/'), `${path.slice(0, -1)}../d/f`])
    t.equal(await read(store, spelling), 'inside')
  t.equal(store.resolve(path, 'target').path, path)
  t.equal(shownPath(path, store), below.join('/'))
  const pattern = `${[drive.replace(sep, ''), ...below.slice(0, -1)].join('/')}/*`
  const filter = toEventFilter({ types: undefined, paths: [pattern], agentId: undefined }, store)
  t.equal(filter.matchesPath?.(path), true)
  t.equal(filter.matchesPath?.(tree.path('g')), false)
})

t.test('a missing folder before "..", a file before it, and a slash at the end of a file are told', async (t) => {
  const tree = makeTree(t, { f: 'one', 'd/g': 'two' })
  symlinkSync('f/', tree.path('to-file-as-folder'))
  const store = openStore(tree.root)
  for (const [path, code, message] of [
    ['missing/../f', 'DIR_NOT_FOUND', /missing.*without "\.\."/],
    ['d/missing/../../f', 'DIR_NOT_FOUND', /d\/missing/],
    ['f/../d/g', 'NOT_A_FILE', /Not a directory: .*\/f,/],
    ['f/', 'NOT_A_FILE', /Not a directory/],
    ['d/', 'NOT_A_FILE', /slash.*d\/. Leave/],
    ['d/new/', 'NOT_A_FILE', /slash/],
    ['d/new/.', 'NOT_A_FILE', /slash/],
    ['to-file-as-folder/.', 'NOT_A_FILE', /Not a directory/]
  ] as const) {
    for (const reach of ['target', 'entry'] as const) t.throws(() => store.open(path, reach), { code, message }, path)
  }
  t.throws(() => store.open('to-file-as-folder', 'target'), { code: 'NOT_A_FILE' })
  t.equal(store.resolve('to-file-as-folder', 'entry').path, tree.path('to-file-as-folder'), 'the link itself is one')
})

t.test('no operation takes a path that means a folder, or cuts ".." out of one, for a file', async (t) => {
  const tree = makeTree(t, { f: 'one', 'd/g': 'two' })
  const { url } = await startServer(t, tree.root)
  const client = await connect(t, 'rest', url, 'tester')
  const hash = hashOf('one')
  const before = tree.all()
  for (const path of ['new/', 'f/', 'd/', 'new/.', 'new/../f', 'f/../f', 'new/../made']) {
    const error_code = path.startsWith('new/..') ? 'DIR_NOT_FOUND' : 'NOT_A_FILE'
    for (const [name, input] of [
      ['async_read', { path }],
      ['async_write', { path, content: 'x' }],
      ['async_append', { path, content: 'x', create_if_missing: true }],
      ['async_update', { path, expected_hash: hash, content: 'x' }],
      ['async_delete', { path }],
      ['async_rename', { old_path: path, new_path: 'h' }],
      ['async_rename', { old_path: 'f', new_path: path, overwrite: true }],
      ['async_status', { path }],
      ['lock_try', { filepaths: [path] }]
    ] as const)
      t.match(await client.call(name, input), { status: 'error', error_code }, `${name} ${path}`)
    t.match(await client.call('async_batch_write', { files: [{ path, content: 'x' }] }), {
      results: [{ status: 'error', error_code }]
    })
  }
  t.strictSame(tree.all(), before)
  t.equal(tree.read('f'), 'one')
  t.match(await client.call('async_list', { path: 'd/' }), { entries: [{ name: 'g' }] }, 'a folder may be listed so')
  t.match(await client.call('async_list', { path: 'd/../d/.' }), { entries: [{ name: 'g' }] })
  t.match(await client.call('async_list', { path: 'new/' }), { error_code: 'DIR_NOT_FOUND' })
})

t.test('a root named with ".." behind a link is the folder that the kernel means', async (t) => {
  const tree = makeTree(t, { 'dd/x': 'wrong', 'dd/one/x': 'right', 'dd/one/two/f': '' })
  symlinkSync('one/two', tree.path('dd/ln'))
  const store = openStore(`${tree.path('dd/ln')}/..`)
  t.equal(await read(store, 'x'), 'right')
  t.equal(await read(store, tree.path('dd/one/x')), 'right')
  t.throws(() => store.open(tree.path('dd/x'), 'target'), outside)
})

t.test('links that leave the root are refused, links inside it are followed', async (t) => {
  const tree = makeTree(t, { 'root/real/a.txt': 'inside', 'secret.txt': 'secret' })
  const link = (target: string, name: string) => symlinkSync(target, tree.path(`root/${name}`))
  link('../secret.txt', 'relative-out')
  link(tree.path('secret.txt'), 'absolute-out')
  link('..', 'parent-out')
  link('relative-out', 'chain-out')
  link('real', 'directory-in')
  link(tree.path('root/real/a.txt'), 'absolute-in')
  link('directory-in/../real/a.txt', 'winding-in')
  link('loop-b', 'loop-a')
  link('loop-a', 'loop-b')
  const store = openStore(tree.path('root'))
  for (const path of ['relative-out', 'absolute-out', 'parent-out/secret.txt', 'chain-out']) {
    t.throws(() => store.open(path, 'target'), outside, path)
  }
  for (const path of ['directory-in/a.txt', 'absolute-in', 'winding-in']) {
    t.equal(await read(store, path), 'inside', path)
    t.equal(store.resolve(path, 'target').path, store.resolve('real/a.txt', 'target').path, path)
  }
  t.throws(() => store.open('loop-a', 'target'), { code: 'ACCESS_DENIED' })
  t.equal(store.resolve('relative-out', 'entry').path, tree.path('root/relative-out'), 'the link itself lies inside')
})

t.test('a link from one root into another is followed', async (t) => {
  const tree = makeTree(t, { 'one/a.txt': 'one', 'two/b.txt': 'two' })
  symlinkSync('../two/b.txt', tree.path('one/to-two'))
  t.equal(await read(openStore(tree.path('one'), tree.path('two')), 'to-two'), 'two')
  t.throws(() => openStore(tree.path('one')).open('to-two', 'target'), outside)
})

t.test('a root reached through a link above it is the same root', async (t) => {
  const tree = makeTree(t, { 'real/root/a.txt': 'inside' })
  symlinkSync('real', tree.path('alias'))
  const store = openStore(tree.path('real/root'))
  t.equal(await read(store, tree.path('alias/root/a.txt')), 'inside')
  t.equal(await read(openStore(tree.path('alias/root')), tree.path('real/root/a.txt')), 'inside')
})

t.test('with no root every path is refused, with the way out', async (t) => {
  t.throws(() => openStore().open('a', 'target'), { code: 'PATH_OUTSIDE_BASE', message: /--dir/ })
})

t.test('a root that does not exist, or is a file, is an error at start', async (t) => {
  const tree = makeTree(t, { 'file.txt': '' })
  t.throws(() => openStore(tree.path('missing')), /does not exist/)
  t.throws(() => openStore(tree.path('file.txt')), /not a directory/)
})

t.test('roots that overlap are an error at start, also where a link hides it', async (t) => {
  const tree = makeTree(t, { 'one/deep/f': '', 'one-more/f': '' })
  symlinkSync(tree.path('one'), tree.path('link'))
  const one = tree.path('one')
  t.throws(() => openStore(one, tree.path('one/deep')), /overlap: .*deep lies in .*one, which already includes it/)
  t.throws(() => openStore(tree.path('one/deep'), one), /deep lies in .*one/)
  t.throws(() => openStore(one, tree.path('link')), /are one directory, name it once/)
  t.doesNotThrow(() => openStore(one, tree.path('one-more')))
})

t.test('own files are out of reach, protected ones out of reach of changes, look-alikes included', async (t) => {
  const tree = makeTree(t, { '.async-crud-mcp/state': 'own', '.git/config': 'git', 'a.txt': '' })
  symlinkSync('.git/config', tree.path('to-git'))
  const store = openStore(tree.root)
  for (const path of [
    '.async-crud-mcp/state',
    '.ASYNC-crud-mcp/x',
    '.async-crud-mcp',
    'd/.async-crud-mcp/x',
    '.async-crud-mcp-1-a-0123456789abcdef.tmp'
  ]) {
    t.throws(() => store.open(path, 'target'), { code: 'ACCESS_DENIED' }, path)
  }
  t.equal(await read(store, '.git/config'), 'git', 'reading is fine')
  const spellings = [
    '.git/config',
    '.GIT/config',
    '.git./config',
    '.g\u200bit/config',
    'sub/.git/hooks/x',
    'git~1/config',
    '.git',
    'to-git',
    '\uff0egit/config',
    'kept',
    'KEPT/f'
  ]
  for (const path of spellings) {
    const place = store.open(path, 'target')
    t.throws(() => store.checkWritable(place, path), { code: 'ACCESS_DENIED' }, path)
    place.close()
  }
})

t.test('all spellings of what may be one file share one lock key', async (t) => {
  t.equal(lockKey('/r/\u00c9a.txt'), lockKey('/r/e\u0301A.TXT'))
  t.equal(lockKey('/r/stra\u00dfe'), lockKey('/r/STRASSE'))
  t.equal(lockKey('/r/\ufb01le'), lockKey('/r/file'))
  t.not(lockKey('/r/a'), lockKey('/r/b'))
  const ascii = String.fromCharCode(...Array(128).keys())
  t.equal(lockKey(ascii), ascii.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC'))
  t.equal(lockKey('/r/A\u00e9'), lockKey('/r/a\u00c9'), 'with one other letter, too')
})

t.test('a hard link to a file outside is written by rename, so that the outside name keeps its bytes', async (t) => {
  const tree = makeTree(t, { 'outside.txt': 'outside' })
  mkdirSync(tree.path('root'))
  linkSync(tree.path('outside.txt'), tree.path('root/inside.txt'))
  const store = openStore(tree.path('root'))
  const place = store.open('inside.txt', 'target')
  const current = await store.read(place, 'inside.txt')
  await commitsOf(store).commit([stepTo(place, 'inside.txt', current, 'changed')], hooksOf())
  place.close()
  t.equal(tree.read('outside.txt'), 'outside')
  t.equal(tree.read('root/inside.txt'), 'changed')
})

t.test('a file that changes between reading and renaming is not overwritten', async (t) => {
  const tree = makeTree(t, { 'a.txt': 'one' })
  const store = openStore(tree.root)
  const swaps: [string, () => void][] = [
    ['in place, same length, same moment', () => writeFileSync(tree.path('a.txt'), 'two')],
    [
      'by rename, as editors do',
      () => {
        writeFileSync(tree.path('b.tmp'), 'six')
        renameSync(tree.path('b.tmp'), tree.path('a.txt'))
      }
    ],
    ['deleted', () => unlinkSync(tree.path('a.txt'))]
  ]
  for (const [title, change] of swaps) {
    tree.write('a.txt', 'one')
    const place = store.open('a.txt', 'target')
    const current = await store.read(place, 'a.txt')
    change()
    await t.rejects(
      commitsOf(store).commit([stepTo(place, 'a.txt', current, 'ours')], hooksOf()),
      /changed meanwhile/,
      title
    )
    place.close()
    t.strictSame(
      tree.all().filter((name) => name.endsWith('.tmp')),
      [],
      'no temporary file stays'
    )
  }
})

t.test("a name longer than the file system allows is the caller's fault", async (t) => {
  const tree = makeTree(t)
  const store = openStore(tree.root)
  t.throws(() => store.open(join('x'.repeat(300), 'a'), 'target'), { code: 'INVALID_REQUEST' })
})
