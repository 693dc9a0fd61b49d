// A flood of notices in a watched folder: most of them are passed over, and what has become of the files is known all the same.
import { createHook } from 'node:async_hooks'
import { renameSync } from 'node:fs'
import t, { type Test } from 'tap'
import { hashOf } from '../../fixtures/tree.ts'
import { makeScene } from './fixtures/scene.ts'

/** Counts how often the system's watches call back. */
function countNotices(t: Test): { count: number } {
  const watches = new Set<number>()
  const notices = { count: 0 }
  const hook = createHook({
    init: (id, type) => void (type === 'FSEVENTWRAP' && watches.add(id)),
    before: (id) => void (watches.has(id) && (notices.count += 1))
  }).enable()
  t.teardown(() => hook.disable())
  return notices
}

t.test(
  'of ten thousand notices in one turn a tenth is worked off, and the last change is known',
  { skip: process.platform !== 'linux' && 'counts notices of inotify' },
  async (t) => {
    const notices = countNotices(t)
    const { tree, server, ann, until } = await makeScene(t, { f: 'one\n', 'sub/g': 'one\n', busy: '', other: '' })
    await ann.call('async_batch_read', { files: [{ path: 'f' }, { path: 'sub/g' }] })
    // The watches are in place when this is noticed.
    const noticed = until(({ path }) => path === tree.path('f'))
    tree.write('f', 'two\n')
    await noticed
    const before = notices.count
    const last = until(({ path, hash }) => path === tree.path('f') && hash === hashOf('last\n'))
    // All in one turn: they wait in the system's queue, which has room for 16,384.
    for (let round = 0; round < 2500; round += 1) {
      renameSync(tree.path('busy'), tree.path('moved'))
      renameSync(tree.path('moved'), tree.path('busy'))
    }
    tree.write('other', 'last\n')
    renameSync(tree.path('other'), tree.path('f'))
    await last
    t.ok(notices.count - before < 1500, `${notices.count - before} notices were worked off`)
    t.equal(server.app.watcher?.watchedFolders, 2, 'the folder is watched again')

    const single = until(() => true)
    tree.write('f', 'single\n')
    t.match(await single, { hash: hashOf('single\n'), isBulk: false })
    const below = until(() => true)
    tree.write('sub/g', 'two\n')
    t.match(await below, { path: tree.path('sub/g') })
  }
)
