// What only Windows has: names that it does not take, and files that another program holds open.
// And the list of the test files that pass there.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, renameSync } from 'node:fs'
import { createInterface } from 'node:readline'
import t from 'tap'
import { findRefusedByWindows } from '../../src/engine/files/system-names.ts'
import { installed } from '../../src/support/installation.ts'
import { readText } from '../../src/support/read-text.ts'
import { onSystem } from '../fixtures/preload.ts'
import { post } from '../fixtures/processes.ts'
import { startOneProgram } from '../fixtures/server.ts'
import { hashOf, makeTree, withSlashes } from '../fixtures/tree.ts'
import { until } from '../fixtures/until.ts'

const elsewhere = process.platform !== 'win32' && 'it is of Windows: npm run test:wine'

const long = 'x'.repeat(256)
const refused = [
  'nul',
  'NUL.txt',
  'a/con/b',
  'com1',
  'lpt\u00b2.log',
  'aux .c',
  'a.',
  'd./f',
  'b ',
  'f:s',
  'f::$DATA',
  'C:\\d\\f:s',
  'x?',
  'x*',
  'x<y',
  'x|y',
  'x"y',
  'x\u0007y',
  long
]
const taken = [
  'null',
  'console',
  'com10',
  'a/.env',
  '..',
  './x',
  '../x',
  'C:\\d\\f',
  'C:/d/f',
  'a b',
  ' x',
  'x.tar.gz',
  long.slice(1)
]

t.test('names that Windows does not take, or takes for another file, are told apart', async (t) => {
  for (const path of refused) t.ok(findRefusedByWindows(path), path)
  for (const path of taken) t.equal(findRefusedByWindows(path), undefined, path)
})

t.test('no call reads or makes a file of a name that Windows does not take', { skip: elsewhere }, async (t) => {
  const tree = makeTree(t, { f: 'text\n' })
  const { url } = await startOneProgram(t, ['--dir', tree.root])
  const answer = { status: 'error', error_code: 'INVALID_REQUEST', message: /(Pass|Choose another name|Ask for)/ }
  for (const path of refused) {
    t.match(await post(url, 'async_write', { path, content: 'x' }), answer, path)
    t.match(await post(url, 'async_read', { path }), answer, path)
    t.match(await post(url, 'async_rename', { old_path: 'f', new_path: path }), answer, path)
    t.match(await post(url, 'lock_try', { filepaths: [path], agent_id: 'ann' }), answer, path)
  }
  t.match(await post(url, 'async_append', { path: 'file.ts:12', content: 'x' }), { message: /Pass "file\.ts"/ })
  t.strictSame(tree.all(), ['f'])
})

t.test('each test file is listed once, to pass on Windows or with the reason why not', async (t) => {
  const listed = readText(installed('test/platforms/windows.txt')).split(/\r?\n/)
  const names = listed.filter((line) => !/^(#|$)/.test(line)).map((line) => line.replace(/:.*/, ''))
  const files = (readdirSync(installed('test'), { recursive: true }) as string[]).map(withSlashes)
  const tests = files.filter((file) => file.endsWith('.test.ts')).map((file) => file.replace('.test.ts', ''))
  t.strictSame(names.toSorted(), tests.toSorted())
})

/** Holds a file open for a moment, again and again, and says so each time. */
const reader = `
  const fs = require('node:fs')
  setInterval(() => {
    const fd = fs.openSync(process.argv[1], 'r')
    console.log('open')
    setTimeout(() => fs.closeSync(fd), 20)
  }, 50)`

t.test('updates of a file that a reader opens again and again are made', { skip: elsewhere }, async (t) => {
  const tree = makeTree(t, { f: '0\n' })
  const { url } = await startOneProgram(t, ['--dir', tree.root])
  const child = spawn(process.execPath, ['-e', reader, tree.path('f')], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  await once(createInterface({ input: child.stdout }), 'line')
  let content = '0\n'
  for (let round = 1; round <= 50; round += 1) {
    const next = `${round}\n`
    t.match(
      await post(url, 'async_update', { path: 'f', expected_hash: hashOf(content), content: next }),
      { status: 'ok' },
      next
    )
    content = next
  }
  t.equal(tree.read('f'), content)
})

/** Writes down which calls were made. */
const noted = (log: string) => `
  const { renameSync, fsync } = fs
  const note = (text) => fs.appendFileSync(${JSON.stringify(log)}, text + '\\n')
  fs.renameSync = (from, to) => (renameSync(from, to), note('named'))
  fs.fsync = (fd, done) => fsync(fd, (error) => (note('synced'), done(error)))`

t.test('a file is synced once more when it has its name, since no folder is', { skip: elsewhere }, async (t) => {
  const tree = makeTree(t, { f: 'one\n', g: 'one\n', h: 'one\n' })
  const log = makeTree(t).path('log')
  const { url } = await startOneProgram(t, ['--dir', tree.root], {}, onSystem(noted(log)))
  const count = () => readFileSync(log, 'utf8').split('named').at(-1)?.split('synced').length ?? 0
  const update = { path: 'f', expected_hash: hashOf('one\n'), content: 'two\n' }
  t.match(await post(url, 'async_update', update), { status: 'ok' })
  t.ok(count() > 1)
  t.match(await post(url, 'async_rename', { old_path: 'f', new_path: 'e' }), { status: 'ok' })
  t.ok(count() > 1)
  const changes = ['g', 'h'].map((path) => ({ operation: 'append', path, content: 'two\n' }))
  t.match(await post(url, 'async_transaction', { changes }), { status: 'ok' })
  t.ok(count() > 2, 'each file of a transaction')
})

t.test('a file has one history and one lock, in whatever letters it is spelt', { skip: elsewhere }, async (t) => {
  const tree = makeTree(t, { 'Dir/File.txt': 'one\n' })
  const { url } = await startOneProgram(t, ['--dir', tree.root])
  const ok = { status: 'ok' }
  const { hash } = await post(url, 'async_read', { path: 'Dir/File.txt' })
  t.match(await post(url, 'async_update', { path: 'dir/FILE.txt', expected_hash: hash, content: 'two\n' }), ok)
  t.match(await post(url, 'async_append', { path: tree.path('DIR/file.TXT').toUpperCase(), content: 'three\n' }), ok)
  for (const path of ['Dir/File.txt', 'DIR/FILE.TXT'])
    t.equal((await post(url, 'async_history', { path }))['versions'].length, 3, path)
  const all = (await post(url, 'async_history', {}))['versions'] as { path: string }[]
  t.strictSame([...new Set(all.map(({ path }) => path))], ['Dir/File.txt'])
  t.match(await post(url, 'lock_try', { filepaths: ['dir/file.txt'], agent_id: 'ann' }), {
    results: [{ acquired: true }]
  })
  t.match(await post(url, 'lock_status', { filepaths: ['Dir/File.txt'], agent_id: 'bob' }), {
    results: [{ holder: 'ann' }]
  })
  t.match(await post(url, 'lock_release_all', { agent_id: 'ann' }), ok)
  t.match(await post(url, 'async_write', { path: 'DIR/new/File.txt', content: 'new\n' }), {
    ...ok,
    path: 'DIR/new/File.txt'
  })
  t.match(await post(url, 'async_history', { path: 'Dir/New/File.txt' }), { versions: [{ operation: 'async_write' }] })
  // Wine keeps the former letters.
  const renamed = await post(url, 'async_rename', { old_path: 'dir/FILE.txt', new_path: 'Dir/file.txt' })
  t.match(renamed, { ...ok, changed: readdirSync(tree.path('Dir')).includes('file.txt') })
  t.match(await post(url, 'async_rename', { old_path: 'Dir/File.txt', new_path: 'Dir/x' }), ok)
  t.match(await post(url, 'async_rename', { old_path: 'dir/x', new_path: 'Dir/file.txt' }), ok)
  t.equal(tree.read('Dir/file.txt'), 'two\nthree\n')
  t.ok(tree.all().includes('Dir/file.txt'))
})

/** Writes down what is watched. */
const watched = (log: string) => `
  const { watch } = fs
  fs.watch = (path, ...rest) => (fs.appendFileSync(${JSON.stringify(log)}, path + '\\n'), watch(path, ...rest))`

t.test(
  'one watch tells of all folders of a tree: below no other one is a folder open',
  { skip: elsewhere },
  async (t) => {
    const tree = makeTree(t, { 'a/b/c/f': 'one\n', 'a/g': 'one\n', 'd/h': 'one\n', i: 'one\n' })
    const log = makeTree(t).path('log')
    const environment = { ASYNC_CRUD_MCP_WATCHER__RESCAN_SECONDS: '0' }
    const { url } = await startOneProgram(t, ['--dir', tree.root], environment, onSystem(watched(log)))
    for (const path of ['a/b/c/f', 'a/g', 'd/h', 'i'])
      t.match(await post(url, 'async_read', { path }), { status: 'ok' })
    /** The log alone is asked, not the file. */
    const isKnown = (path: string, hash: string | null) => async () => {
      const { versions } = (await post(url, 'async_history', {})) as { versions: Record<string, unknown>[] }
      return versions.find((version) => version['path'] === path)?.['hash'] === hash
    }
    tree.write('a/b/c/f', 'two\n')
    await until(isKnown('a/b/c/f', hashOf('two\n')))
    renameSync(tree.path('a/b'), tree.path('a/z'))
    await until(isKnown('a/b/c/f', null))
    renameSync(tree.path('a/z'), tree.path('a/b'))
    await until(isKnown('a/b/c/f', hashOf('two\n')))
    tree.write('a/b/c/f', 'three\n')
    await until(isKnown('a/b/c/f', hashOf('three\n')))
    tree.write('i', 'two\n')
    await until(isKnown('i', hashOf('two\n')))
    t.strictSame([...new Set(readFileSync(log, 'utf8').trim().split('\n'))], [tree.root])
  }
)
