// The last look before a change: times that are too fresh to prove anything are not believed.
import { closeSync, openSync, statSync, utimesSync } from 'node:fs'
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
  const tree = makeTree(t, { f: 'one', other: 'one' })
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
  const [own, other] = [openSync(tree.path('f'), 'r'), openSync(tree.path('other'), 'r')]
  t.teardown(() => [own, other].forEach((fd) => closeSync(fd)))
  const look = (isTrusted: boolean, text: string, held?: number) => () => {
    const as = { bytes: Buffer.from(text), hash: hashOf(text), identity: { ...identity, isTrusted } }
    assertUnchanged(place, { ...version, ...as }, held)
  }
  for (const held of [undefined, own]) {
    t.doesNotThrow(look(false, 'one', held))
    for (const text of ['two', 'on', 'one ', '']) t.throws(look(false, text, held), /changed meanwhile/)
  }
  t.throws(look(false, 'one', other), /changed meanwhile/, 'a descriptor of another file with the same bytes')
  t.doesNotThrow(look(true, 'two'), 'trusted times are believed without reading')
  utimesSync(tree.path('f'), 1, 1)
  t.doesNotThrow(look(true, 'one'), 'touched, yet the same bytes')
  t.throws(look(true, 'two'), /changed meanwhile/)
})
