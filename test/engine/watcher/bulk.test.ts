// Very many changes at once are one; and what the system does not tell is found by looking.
import { execFile, spawnSync } from 'node:child_process'
import { appendFileSync, rmSync, utimesSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import type { Config } from '../../../src/config/config.ts'
import type { BulkChange } from '../../../src/engine/watcher/bursts.ts'
import type { TreeEvent } from '../../../src/engine/events/tree-event.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'
import { makeScene, type Scene } from './fixtures/scene.ts'

const count = 600
const first = 'd0/f0'
const names = Array.from({ length: count }, (_, index) => `d${index % 7}/f${index}`)

interface Options {
  readonly watcher?: Partial<Config['watcher']>
  readonly crud?: Partial<Config['crud']>
  readonly prepare?: (scene: Scene) => void
}

async function manyFiles(t: { teardown(fn: () => unknown): void }, { watcher, crud, prepare }: Options = {}) {
  const files = Object.fromEntries(names.map((name) => [name, 'one\n']))
  const scene = await makeScene(t, files, { bulk_files: 100, ...watcher }, crud)
  prepare?.(scene)
  for (let index = 0; index < count; index += 100) {
    const files = names.slice(index, index + 100).map((path) => ({ path }))
    await scene.ann.call('async_batch_read', { files })
  }
  return scene
}

interface Reported {
  /** Paths of changes that are told one by one. */
  readonly single: string[]
  /** When each of them was told, in milliseconds. */
  readonly times: number[]
  /** Paths of those that are told at once. */
  readonly bulk: string[]
  readonly summaries: BulkChange[]
}

/** All that is told of changes until each file has had one. */
function follow({ server: { app } }: Scene): Promise<Reported> {
  const reported: Reported = { single: [], times: [], bulk: [], summaries: [] }
  const stop = app.history.onEntry(({ steps, isBulk }) => {
    for (const { path } of steps) {
      if (!isBulk) reported.times.push(performance.now())
      ;(isBulk ? reported.bulk : reported.single).push(path)
    }
  })
  return new Promise((resolve) => {
    const stopBulk = app.watcher?.onBulk((summary) => {
      reported.summaries.push(summary)
      if (reported.single.length + summed(reported) < count) return
      stop()
      stopBulk?.()
      resolve(reported)
    })
  })
}

function summed({ summaries }: Reported): number {
  return summaries.reduce((sum, { count }) => sum + count, 0)
}

/** Those of these moments that have more than 99 others in the second before them. */
function tooSoon(times: readonly number[]): number[] {
  return times.filter((time, index) => time - (times[index - 100] ?? -Infinity) < 1000)
}

const git = ['-c', 'user.name=ann', '-c', 'user.email=ann@example.org', '-c', 'core.autocrlf=false']
const skip = spawnSync('git', ['--version']).error !== undefined && 'no git here'

/** Two commits, of which the first is checked out. */
function commitTwice({ tree, run }: Scene): void {
  run('git', ...git, 'init', '-q')
  run('git', ...git, 'add', '.')
  run('git', ...git, 'commit', '-qm', 'one')
  run('git', 'tag', 'one')
  for (const name of names) tree.write(name, 'two\n')
  rmSync(tree.path(first))
  run('git', ...git, 'commit', '-qam', 'two')
  run('git', 'tag', 'two')
  run('git', 'checkout', '-q', 'one')
}

t.test('a checkout of many files is one change in bulk, of which each file has its version', { skip }, async (t) => {
  const scene = await manyFiles(t, { prepare: commitTwice })
  const events: TreeEvent[] = []
  const following = scene.server.app.events.follow({ types: new Set(['file_changed']) }, (event) => events.push(event))
  const reported = follow(scene)
  // The server runs on meanwhile, so that it learns of them bit by bit.
  await promisify(execFile)('git', ['checkout', '-q', 'two'], { cwd: scene.tree.root })
  const { single, times, bulk, summaries } = await reported
  // On a machine under load a checkout comes so slowly that it is a few changes first.
  t.same(tooSoon(times), [], 'no more than 100 in a second are told one by one')
  t.ok(summaries.length < 4, `told at once: ${summaries.map(({ count }) => count).join(', ')}`)
  t.equal(summaries[0]?.examples.length, 5)
  for (const path of summaries[0]?.examples ?? []) t.ok(bulk.includes(path))
  t.equal(new Set([...single, ...bulk]).size, count)
  // Events are told in a later turn.
  await until(() => events.length >= single.length + summaries.length)
  following.end()
  t.equal(events.length, single.length + summaries.length, 'as many events')
  t.match(events.at(-1), { bulk: true, agent_id: 'external', count: summaries.at(-1)?.count })

  const { history } = scene.server.app
  t.ok(names.slice(1).every((name) => history.known(scene.tree.path(name))?.hash === hashOf('two\n')))
  t.equal(history.versions(scene.tree.path(first)).at(-1)?.hash, null)
  t.ok(scene.server.log.some((line) => line.includes('many files were changed from outside')))

  const alone = scene.until(() => true)
  scene.tree.write('d1/f1', 'three\n')
  t.equal((await alone).isBulk, false, 'afterwards a single change is one again')
})

t.test('changes that come while others are examined are counted with those', async (t) => {
  // Each read lets the notices of the later changes in.
  const scene = await manyFiles(t, { crud: { sync_io_max_bytes: 0 }, watcher: { debounce_ms: 1 } })
  const [early, late] = [names.slice(0, 100), names.slice(100, 130)]
  const alone: number[] = []
  let told = 0
  const all = scene.until(({ isBulk }) => {
    if (told === 0) for (const name of late) scene.tree.write(name, 'two\n')
    if (!isBulk) alone.push(performance.now())
    told += 1
    return told === early.length + late.length
  })
  for (const name of early) scene.tree.write(name, 'two\n')
  await all
  t.same(tooSoon(alone), [])
})

t.test('a burst ends though some file never stops changing', async (t) => {
  const files = names.slice(0, 60)
  const initial = Object.fromEntries([...files, 'log', 'alone'].map((name) => [name, 'one\n']))
  const { tree, server, ann, until } = await makeScene(t, initial, { bulk_files: 30 })
  await ann.call('async_batch_read', { files: Object.keys(initial).map((path) => ({ path })) })
  const { history, watcher } = server.app
  const grow = () => appendFileSync(tree.path('log'), 'more\n')
  t.teardown(history.onEntry(({ steps: [{ path }] }) => path === tree.path('log') && grow()))
  const growing = until(({ path }) => path === tree.path('log'))
  grow()
  await growing
  const many = new Promise<BulkChange>((resolve) => watcher?.onBulk(resolve))
  for (const name of files) tree.write(name, 'two\n')
  t.ok((await many).count >= files.length)
  const alone = until(({ path }) => path === tree.path('alone'))
  tree.write('alone', 'two\n')
  t.equal((await alone).isBulk, false, 'a single change is one again')
})

t.test('up to the setting, changes are told one by one', async (t) => {
  const scene = await manyFiles(t, { watcher: { bulk_files: count } })
  let seen = 0
  const all = scene.until(({ isBulk }) => {
    seen += isBulk ? 0 : 1
    return seen === count
  })
  for (const name of names) scene.tree.write(name, 'two\n')
  await all
})

t.test(
  'what the system does not tell is found by the rescan, without a change of size or time of writing',
  async (t) => {
    const scene = await makeScene(t, { 'a/f': 'one\n' }, { rescan_seconds: 0.1, debounce_ms: 60_000 })
    const { tree, ann, until } = scene
    await ann.call('async_read', { path: 'a/f' })
    const before = new Date(2026, 0, 1)
    const first = until(() => true)
    tree.write('a/f', 'two\n')
    utimesSync(tree.path('a/f'), before, before)
    t.equal((await first).hash, hashOf('two\n'))
    const second = until(() => true)
    tree.write('a/f', 'six\n')
    utimesSync(tree.path('a/f'), before, before)
    t.equal((await second).hash, hashOf('six\n'))
    const gone = until(() => true)
    rmSync(tree.path('a/f'))
    t.equal((await gone).hash, null)
  }
)

t.test('more files than are remembered leave no watch behind', async (t) => {
  const files = { 'a/f': '', 'b/f': '', 'c/d/f': '', 'e/f': '' }
  const { server, tree, ann, until } = await makeScene(t, files, {}, { max_history_files: 2 })
  for (const path of Object.keys(files)) await ann.call('async_read', { path })
  const changed = until(() => true)
  tree.write('e/f', 'two\n')
  await changed
  t.equal(server.app.history.trackedFiles, 2)
  t.equal(server.app.watcher?.watchedFolders, 4, 'the root, c, c/d and e')
})
