// The last look before a change: times that are too fresh to prove anything are not believed.
import { statSync, utimesSync } from 'node:fs'
import t from 'tap'
import { assertUnchanged } from '../../../src/engine/commit/preconditions.ts'
import { createFileStore } from '../../../src/engine/files/file-store.ts'
import { identityOf } from '../../../src/engine/files/identity.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'

t.test('a file that changed within 50 ms before it was read is not trusted by its times', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const stat = statSync(tree.path('f'), { bigint: true })
  const changedAt = Number(stat.ctimeNs / 1_000_000n)
  t.equal(identityOf(stat, changedAt + 49).isTrusted, false)
  t.equal(identityOf(stat, changedAt + 52).isTrusted, true)
  t.equal(identityOf(stat, changedAt - 1000).isTrusted, false, 'nor one whose clock is ahead')
})

t.test('where the times cannot tell, the bytes do', async (t) => {
  const tree = makeTree(t, { f: 'one' })
  const store = createFileStore({
    roots: [tree.root],
    maxFileBytes: 1000,
    maxSyncBytes: 1000,
    hardlinks: 'break',
    protectedPaths: []
  })
  const place = store.open('f', 'target')
  t.teardown(() => place.close())
  const version = await store.read(place, 'f')
  const identity = identityOf(statSync(tree.path('f'), { bigint: true }))
  const look = (isTrusted: boolean, hash: string) => () =>
    assertUnchanged(place, { ...version, hash, identity: { ...identity, isTrusted } })
  t.doesNotThrow(look(false, hashOf('one')))
  t.throws(look(false, hashOf('two')), /changed meanwhile/)
  t.doesNotThrow(look(true, hashOf('two')), 'trusted times are believed without reading')
  utimesSync(tree.path('f'), 1, 1)
  t.doesNotThrow(look(true, hashOf('one')), 'touched, yet the same bytes')
  t.throws(look(true, hashOf('two')), /changed meanwhile/)
})
