// What a look at a file lets the history say: never what was there before something newer, and always that a file is gone.
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, utimesSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { lockKey } from '../../../src/engine/files/lock-key.ts'
import type { FileVersion } from '../../../src/engine/files/read-file.ts'
import { CallWork } from '../../../src/engine/budget/work-budget.ts'
import { readVersion } from '../../../src/operations/change/file-version.ts'
import { examine, type Examination } from '../../../src/engine/watcher/examine.ts'
import { idle, lockSummary } from '../../fixtures/locks.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { makeScene, type Scene } from './fixtures/scene.ts'

/** Above crud.sync_io_max_bytes: read by the threads of the pool, over many turns. */
const large = `${'x'.repeat(79)}\n`.repeat(100_000)
const off = { enabled: false }

function put(tree: Scene['tree'], path: string, content: string): void {
  tree.write(`${path}.new`, content)
  renameSync(tree.path(`${path}.new`), tree.path(path))
}

/** As an operation does that holds the lock; the file is opened before this returns. */
async function look({ tree, server: { app } }: Scene): Promise<FileVersion> {
  const place = app.files.open(tree.path('f'), 'target')
  const { files, bases, history, requestBudget } = app
  const work = new CallWork(requestBudget.work, new AbortController().signal)
  return readVersion({ files, bases, history, work }, place, 'f').finally(() => {
    work.release()
    place.close()
  })
}

t.test('a read that ends after newer ones does not bring its version back', async (t) => {
  const scene = await makeScene(t, { f: 'one\n' }, off)
  const { bases, history } = scene.server.app
  await look(scene)
  put(scene.tree, 'f', large)
  const slow = look(scene)
  put(scene.tree, 'f', 'three\n')
  // Read without the pool, and so before the other one can come to its end.
  await look(scene)
  t.equal((await slow).hash, hashOf(large), 'its caller gets what it has read')
  t.ok(bases.has(hashOf(large)))
  const versions = history.versions(scene.tree.path('f')).map(({ hash }) => hash)
  t.strictSame(versions, [hashOf('one\n'), hashOf('three\n')])
})

t.test('of reads at the same time the one that has seen the newest is believed', async (t) => {
  const scene = await makeScene(t, { f: 'one\n' }, off)
  await look(scene)
  put(scene.tree, 'f', large)
  const older = look(scene)
  put(scene.tree, 'f', `${large}more\n`)
  await Promise.all([older, look(scene)])
  t.equal(scene.server.app.history.last(scene.tree.path('f'))?.hash, hashOf(`${large}more\n`))
})

t.test('nobody finds the file held while the watcher reads it', async (t) => {
  const { tree, server, ann, until } = await makeScene(t, { f: 'one\n' })
  await ann.call('async_read', { path: 'f' })
  const { history, locks } = server.app
  const expected = hashOf(large)
  const changed = until(() => true)
  tree.write('f', large)
  let turns = 0
  let held = 0
  for (; history.last(tree.path('f'))?.hash !== expected; turns += 1) {
    held += locks.status(lockKey(tree.path('f'))).holders.length
    await nextTurn()
  }
  t.equal((await changed).hash, expected)
  t.equal(held, 0, `in ${turns} turns`)
  t.strictSame(lockSummary(server), idle)
})

t.test('a folder in place of a file: whoever reads learns that the file is gone', async (t) => {
  const { tree, server, ann } = await makeScene(t, { f: 'one\n' }, off)
  await ann.call('async_read', { path: 'f' })
  rmSync(tree.path('f'))
  mkdirSync(tree.path('f'))
  t.match(await ann.call('async_read', { path: 'f' }), { error_code: 'NOT_A_FILE' })
  t.match(server.app.history.last(tree.path('f')), { hash: null, agentId: 'external' })
})

t.test('a file of unknown version renamed over a known one: the agent has taken that away', async (t) => {
  const { tree, server, ann } = await makeScene(t, { f: 'one\n', g: 'one\n', large: '' }, off)
  for (const path of ['f', 'g']) await ann.call('async_read', { path })
  symlinkSync('g', tree.path('link'))
  truncateSync(tree.path('large'), server.app.settings.current.crud.max_file_size_bytes + 1)
  for (const [from, to] of [
    ['link', 'f'],
    ['large', 'g']
  ]) {
    t.match(await ann.call('async_rename', { old_path: from, new_path: to, overwrite: true }), { status: 'ok' })
    const last = server.app.history.last(tree.path(to as string))
    t.match(last, { hash: null, agentId: 'ann', operation: 'async_rename' }, from as string)
  }
})

t.test('a time of writing is believed only where it is neither to come nor before the version before', async (t) => {
  const { tree, server, ann } = await makeScene(t, { f: 'one\n' }, off)
  const start = Date.now()
  await ann.call('async_read', { path: 'f' })
  for (const year of [1999, 2099]) {
    tree.write('f', `${year}\n`)
    utimesSync(tree.path('f'), new Date(year, 0, 1), new Date(year, 0, 1))
    await ann.call('async_read', { path: 'f' })
  }
  const times = server.app.history.versions(tree.path('f')).map(({ at }) => at)
  t.equal(times.length, 3)
  t.strictSame(
    times,
    times.toSorted((a, b) => a - b)
  )
  t.ok((times[0] as number) >= start && (times[2] as number) <= Date.now())
})

t.test('a file that was just emptied is about to be written, and is a version only if it stays so', async (t) => {
  const { tree, server, ann } = await makeScene(t, { f: 'one\n' })
  const { history, files, bases, locks } = server.app
  await ann.call('async_read', { path: 'f' })
  const path = tree.path('f')
  const hashes = () => history.versions(path).map(({ hash }) => hash)
  // On a machine that stood still in between it was not just emptied.
  for (let outcome: Examination | undefined; outcome === undefined;) {
    tree.write('f', '')
    const start = performance.now()
    const found = await examine(path, () => false, { history, files, bases, locks }, true)
    if (performance.now() - start < 500) outcome = found
    t.equal(outcome ?? 'busy', 'busy')
  }
  tree.write('f', 'two\n')
  await until(() => history.last(path)?.hash === hashOf('two\n'))
  t.strictSame(hashes(), [hashOf('one\n'), hashOf('two\n')])
  tree.write('f', '')
  await until(() => history.last(path)?.hash === hashOf(''))
})
