// What other programs do to files in use is noticed without a call, and is theirs.
import {
  appendFileSync,
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync
} from 'node:fs'
import t from 'tap'
import { holdLock, idle, lockSummary } from '../../fixtures/locks.ts'
import type { TestServer } from '../../fixtures/server.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { makeScene } from './fixtures/scene.ts'

t.test('a change from outside is a version of its own, with its bytes kept, before anybody looks', async (t) => {
  const { tree, server, ann, until } = await makeScene(t, { 'a/b/f': 'one\n' })
  await ann.call('async_read', { path: 'a/b/f' })
  const changed = until(() => true)
  tree.write('a/b/f', 'two\n')
  t.match(await changed, {
    path: tree.path('a/b/f'),
    hash: hashOf('two\n'),
    previousHash: hashOf('one\n'),
    agentId: 'external',
    operation: 'external',
    isBulk: false
  })
  t.equal((await server.app.bases.get(hashOf('two\n')))?.toString(), 'two\n')
  t.strictSame(lockSummary(server), idle)
})

t.test('a removal, a new file under the old name, and a change of name are noticed', async (t) => {
  const { tree, ann, until } = await makeScene(t, { f: 'one\n' })
  await ann.call('async_read', { path: 'f' })
  const steps: [string, () => void, string | null][] = [
    ['removed', () => rmSync(tree.path('f')), null],
    ['created again', () => tree.write('f', 'two\n'), hashOf('two\n')],
    ['moved away', () => renameSync(tree.path('f'), tree.path('g')), null],
    ['moved back', () => renameSync(tree.path('g'), tree.path('f')), hashOf('two\n')],
    ['a link in its place', () => replaceByLink(tree.path('f')), null]
  ]
  for (const [what, act, hash] of steps) {
    const changed = until(() => true)
    act()
    t.equal((await changed).hash, hash, what)
  }
})

function replaceByLink(path: string): void {
  renameSync(path, `${path}.real`)
  symlinkSync(`${path}.real`, path)
}

t.test('folders that go, come back, change their names or are replaced take their files with them', async (t) => {
  const { tree, ann, until, run } = await makeScene(t, { 'a/b/f': 'one\n', 'x/b/f': 'other\n' })
  await ann.call('async_read', { path: 'a/b/f' })
  const steps: [string, () => void, string | null][] = [
    ['removed', () => rmSync(tree.path('a'), { recursive: true }), null],
    ['made again', () => tree.write('a/b/f', 'two\n'), hashOf('two\n')],
    ['then changed', () => tree.write('a/b/f', 'three\n'), hashOf('three\n')],
    ['the one above moved away', () => renameSync(tree.path('a'), tree.path('z')), null],
    ['another one in its place', () => renameSync(tree.path('x'), tree.path('a')), hashOf('other\n')],
    ['changed in there', () => appendFileSync(tree.path('a/b/f'), 'x'), hashOf('other\nx')],
    ['a file in place of the folder', () => run('sh', '-c', 'rm -r a && echo > a'), null]
  ]
  for (const [what, act, hash] of steps) {
    const changed = until(() => true)
    act()
    t.equal((await changed).hash, hash, what)
  }
})

t.test('files that nobody has used are neither read nor watched', async (t) => {
  const { tree, server, ann, until } = await makeScene(t, { 'a/f': 'one\n', 'b/g': 'other\n', 'a/h': 'third\n' })
  t.equal(server.app.watcher?.watchedFolders, 0)
  await ann.call('async_read', { path: 'a/f' })
  const changed = until(() => true)
  tree.write('b/g', 'changed\n')
  tree.write('a/h', 'changed\n')
  tree.write('a/f', 'changed\n')
  t.equal((await changed).path, tree.path('a/f'))
  t.equal(server.app.watcher?.watchedFolders, 2, 'the root and the folder of the file')
  t.strictSame([...server.app.history.paths()], [tree.path('a/f')])
})

t.test('a file reached through a linked folder is watched where it is', async (t) => {
  const { tree, ann, until } = await makeScene(t, { 'real/f': 'one\n' })
  symlinkSync('real', tree.path('link'))
  await ann.call('async_read', { path: 'link/f' })
  const changed = until(() => true)
  tree.write('link/f', 'two\n')
  t.match(await changed, { path: tree.path('real/f'), hash: hashOf('two\n') })
})

t.test('a folder that a link to its new place has replaced takes its files with it', async (t) => {
  const { tree, server, ann, until } = await makeScene(t, { 'a/b/f': 'one\n' })
  // Until its times are old enough to tell by themselves that it is the same file.
  do await ann.call('async_read', { path: 'a/b/f' })
  while (server.app.history.known(tree.path('a/b/f'))?.identity?.isTrusted !== true)
  const gone = until(() => true)
  renameSync(tree.path('a'), tree.path('z'))
  symlinkSync('z', tree.path('a'))
  t.match(await gone, { path: tree.path('a/b/f'), hash: null })
  const back = until(() => true)
  rmSync(tree.path('a'))
  renameSync(tree.path('z'), tree.path('a'))
  t.match(await back, { path: tree.path('a/b/f'), hash: hashOf('one\n') })
})

t.test('a save that comes in two writes is seen as it ends', async (t) => {
  const { tree, ann, until } = await makeScene(t, { f: 'one\n' }, { debounce_ms: 20 })
  await ann.call('async_read', { path: 'f' })
  const fd = openSync(tree.path('f'), 'r+')
  const half = until(({ hash }) => hash === hashOf('TWO\n'))
  writeSync(fd, 'TWO\n', 0)
  fsyncSync(fd)
  await half
  const whole = until(({ hash }) => hash === hashOf('TWO\nand more\n'))
  writeSync(fd, 'and more\n', 4)
  closeSync(fd)
  t.match(await whole, { previousHash: hashOf('TWO\n'), agentId: 'external' })
})

t.test('several steps of one save are one change', async (t) => {
  const { tree, server, ann, until } = await makeScene(t, { f: 'one\n' })
  const { hash } = await ann.call('async_read', { path: 'f' })
  const changed = until(() => true)
  truncateSync(tree.path('f'))
  appendFileSync(tree.path('f'), 'two\n')
  writeFileSync(tree.path('f.tmp'), 'three\n')
  renameSync(tree.path('f.tmp'), tree.path('f'))
  t.equal((await changed).hash, hashOf('three\n'))
  t.equal(server.app.history.since(tree.path('f'), hash as string, true).length, 1)
})

t.test('a held file is left alone until it is free, and a lease keeps nobody from noticing', async (t) => {
  const { tree, server, ann, until } = await makeScene(t, { f: 'one\n', g: 'one\n' }, { debounce_ms: 0 })
  for (const path of ['f', 'g']) await ann.call('async_read', { path })
  await ann.call('lock_try', { filepaths: ['g'], agent_id: 'ann' })
  const held = await holdLock(server, tree.path('f'))
  const other = until(({ path }) => path === tree.path('g'))
  tree.write('f', 'two\n')
  tree.write('g', 'two\n')
  await other
  t.equal(server.app.history.known(tree.path('f'))?.hash, hashOf('one\n'))
  t.equal(server.app.locks.summary().waiting, 0, 'it does not stand in the queue')
  const changed = until(({ path }) => path === tree.path('f'))
  held.release()
  t.equal((await changed).hash, hashOf('two\n'))
})

t.test('what cannot be read, or is too large, is left to whoever uses it', async (t) => {
  const { tree, server, ann, until } = await makeScene(t, { f: 'one\n', g: 'one\n', 'h/i': 'one\n' })
  for (const path of ['f', 'g', 'h/i']) await ann.call('async_read', { path })
  truncateSync(tree.path('f'), server.app.settings.current.crud.max_file_size_bytes + 1)
  chmodSync(tree.path('h'), 0)
  t.teardown(() => chmodSync(tree.path('h'), 0o700))
  const changed = until(({ path }) => path === tree.path('g'))
  tree.write('g', 'two\n')
  await changed
  t.equal(server.app.history.known(tree.path('f'))?.hash, hashOf('one\n'))
  t.match(await ann.call('async_read', { path: 'f' }), { error_code: 'FILE_TOO_LARGE' })
})

t.test('a root that is removed stops nothing, and its files are not taken for removed one by one', async (t) => {
  const { tree, server, ann } = await makeScene(t, { 'a/f': 'one\n' }, { rescan_seconds: 0.05 })
  await ann.call('async_read', { path: 'a/f' })
  await watching(server, 2)
  renameSync(tree.root, `${tree.root}.away`)
  t.teardown(() => rmSync(`${tree.root}.away`, { recursive: true, force: true }))
  await watching(server, 0)
  t.equal(server.app.history.known(tree.path('a/f'))?.hash, hashOf('one\n'))
  mkdirSync(tree.root)
  t.match(await (await fetch(`${server.url}/health`)).json(), { watcher: { tracked_files: 1 } })
})

/** Resolves when so many folders are watched. */
async function watching({ app }: TestServer, count: number): Promise<void> {
  await until(() => app.watcher?.watchedFolders === count)
}

t.test('switched off, it watches nothing, and health says so', async (t) => {
  const { server, ann } = await makeScene(t, { f: 'one\n' }, { enabled: false })
  await ann.call('async_read', { path: 'f' })
  t.match(await (await fetch(`${server.url}/health`)).json(), {
    status: 'healthy',
    degraded: [],
    watcher: { state: 'off', watched_directories: 0, tracked_files: 1 }
  })
})
