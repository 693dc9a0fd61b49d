// What the server remembers of files stays within its bounds in bytes, as the heap shows.
import t from 'tap'
import { createHistory } from '../../../src/engine/versions/history.ts'
import { fresh, heapGrowth, identity, maxBytes, nextHash, pathOf } from '../fixtures/heap.ts'

const operation = 'async_update'

t.test('histories of many versions by long names take no more memory than their bound', (t) => {
  const history = createHistory({ maxFiles: 100_000, maxVersions: 100, maxBytes })
  const { growth } = heapGrowth(() => {
    for (let file = 0; file < 400; file += 1) {
      for (let version = 0; version < 100; version += 1) {
        const author = { agentId: fresh(`agent ${version % 10} `.padEnd(200, 'n')), operation }
        history.append(author, [{ path: pathOf(file), now: { kind: 'file', hash: nextHash(), identity: identity() } }])
      }
    }
    return history
  })
  t.ok(history.bytes <= maxBytes)
  t.ok(growth < 1.25 * maxBytes, `${growth} bytes of heap, at most ${1.25 * maxBytes}`)
  t.ok(growth > 0.4 * maxBytes, `${growth}: the count is no exaggeration`)
  t.equal(history.versions(pathOf(399)).length, 100, 'the latest stay whole')
  t.strictSame(history.versions(pathOf(0)), [], 'the least recently used go first')
  t.end()
})

t.test('versions that are too old are dropped, but for the newest of a file that is there', (t) => {
  const clock = { now: 0 }
  const create = () => createHistory({ maxFiles: 10, maxVersions: 100, maxBytes, maxAgeMs: 1000, now: () => clock.now })
  const history = create()
  const author = { agentId: 'ann', operation }
  for (const at of [100, 600, 1100]) {
    clock.now = at
    for (const path of ['/f', '/gone'])
      history.append(author, [{ path, now: { kind: 'file', hash: nextHash(), identity: identity() } }])
    history.expire()
  }
  history.append(author, [{ path: '/gone', now: { kind: 'none' } }])
  const times = (path: string) => history.versions(path).map(({ at }) => at)
  t.same([times('/f'), history.forgottenAt], [[100, 600, 1100], undefined], 'none is older than the bound')
  const full = [...history.dump()].map((file) => ({ ...file, versions: [...file.versions] }))
  const { bytes } = history
  clock.now = 1300
  history.expire()
  t.same([times('/f'), times('/gone'), history.forgottenAt], [[600, 1100], [600, 1100, 1100], 100])
  t.ok(history.bytes < bytes)
  clock.now = 1700
  history.append(author, [{ path: '/f', now: { kind: 'file', hash: nextHash(), identity: identity() } }])
  t.same([times('/f'), history.forgottenAt], [[1100, 1700], 600], 'a new version is an occasion, too')
  clock.now = 9000
  history.expire()
  t.same([times('/f'), times('/gone'), history.forgottenAt], [[1700], [], 1100])
  const next = create()
  for (const file of full) next.restore(file)
  t.same(
    next.versions('/f').map(({ at }) => at),
    [1100],
    'a restart does not bring them back'
  )
  t.equal(next.forgottenAt, 1100)
  t.end()
})

t.test('files of one version by long paths take no more memory than their bound', (t) => {
  const history = createHistory({ maxFiles: 100_000, maxVersions: 100, maxBytes })
  const { growth } = heapGrowth(() => {
    for (let file = 0; file < 8000; file += 1)
      history.observe(fresh(pathOf(file, 1000)), { kind: 'file', hash: nextHash(), identity: identity() })
    return history
  })
  t.ok(growth < 1.25 * maxBytes, `${growth} bytes of heap, at most ${1.25 * maxBytes}`)
  t.ok(history.trackedFiles > 1000)
  t.end()
})
