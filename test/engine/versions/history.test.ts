// What the log lists of its files while it goes on.
import t from 'tap'
import { createHistory } from '../../../src/engine/versions/history.ts'
import { identity, nextHash } from '../fixtures/heap.ts'

t.test('a walk over all files misses none that is used meanwhile, and meets none twice', (t) => {
  const history = createHistory({ maxFiles: 10, maxVersions: 10, maxBytes: 1e6 })
  const names = ['/a', '/b', '/c', '/d', '/e']
  const change = (path: string) =>
    history.append({ agentId: 'ann', operation: 'async_update' }, [
      { path, now: { kind: 'file', hash: nextHash(), identity: identity() } }
    ])
  names.forEach(change)
  const met: string[] = []
  for (const path of history.paths()) {
    met.push(path)
    if (met.length === 2) for (const used of ['/a', '/c']) change(used)
  }
  t.strictSame(met.toSorted(), names)
  t.strictSame(history.paths().slice(0, 2), ['/c', '/a'], 'the most recently used first')
  t.end()
})
