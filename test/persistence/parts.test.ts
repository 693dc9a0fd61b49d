// What is kept, at the level of its parts: on real files, without a server.
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createHistory, type FileHistory } from '../../src/files/history.ts'
import type { FileIdentity } from '../../src/files/identity.ts'
import { createHistoryPart } from '../../src/persistence/history-part.ts'
import { createJournal } from '../../src/persistence/journal.ts'
import { createKeptBases, type KeptBases } from '../../src/persistence/kept-bases.ts'
import type { PersistedPart } from '../../src/persistence/part.ts'
import { scan, toJson } from '../../src/persistence/records.ts'
import { createState, type State } from '../../src/persistence/state.ts'
import { hashOf, makeTree } from '../fixtures/tree.ts'

const tree = '/some/tree'
const identity = { mtimeNs: 0n } as FileIdentity
const log = { info() {}, warn() {}, error() {} } as unknown as Parameters<typeof createState>[0]['log']

interface Opened {
  readonly state: State
  readonly bases: KeptBases
  /** By what they are about, as they stand. */
  readonly troubles: Map<string, string>
  readonly restored: Promise<void>
}

async function openState(t: Test, path: string, parts: readonly PersistedPart[] = []): Promise<Opened> {
  const troubles = new Map<string, string>()
  const set = (about: string, message: string | undefined) =>
    message === undefined ? troubles.delete(about) : troubles.set(about, message)
  const bases = createKeptBases(`${path}.bases`, {
    maxBytes: 100_000_000,
    maxAgeMs: 30 * 86_400_000,
    debounceMs: 5,
    onTrouble: (error) => set('bases', error?.message)
  })
  let onRestored = () => {}
  const restored = new Promise<void>((resolve) => (onRestored = resolve))
  const state = createState({ path, tree, parts, bases, debounceMs: 5, log, onTrouble: set, onRestored })
  t.teardown(() => state.abandon())
  await state.open()
  return { state, bases, troubles, restored }
}

t.test(
  'a change made while the history is restored is in the journal at once, and after the versions before it',
  async (t) => {
    const path = makeTree(t).path('state')
    const journal = createJournal(path, tree)
    journal.open()
    const by = { agentId: 'ann', operation: 'async_write', isFirstSight: false, at: 1 }
    const versions = (name: string) => [{ ...by, hash: hashOf(name), seq: 1 }]
    const names = ['a', 'same', ...Array.from({ length: 10_000 }, (_, number) => `f${number}`)]
    await journal.rewrite(names.map((name) => toJson('history', { path: name, versions: versions(name) })))
    journal.close()

    const history = createHistory({ maxFiles: 100_000, maxVersions: 10 })
    const { state, restored } = await openState(t, path, [createHistoryPart(history)])
    const author = { agentId: 'bob', operation: 'async_update' }
    history.record('same', hashOf('same'), identity)
    history.record('a', hashOf('two'), identity, { author })
    history.record('same', hashOf('other'), identity, { author })
    t.notOk(history.versions('f0').length > 0 && history.versions('f9999').length > 0, 'it is being restored')
    const killed = readFileSync(path)
    history.record('a', hashOf('three'), identity, { author })
    await restored
    history.record('a', hashOf('four'), identity, { author })
    history.record('same', hashOf('another'), identity, { author })
    await state.close()

    const readBack = async (bytes: Buffer) => {
      const again = createHistory({ maxFiles: 100_000, maxVersions: 10 })
      const part = createHistoryPart(again)
      await part.restore(scan(bytes, tree).records('history') as Iterable<FileHistory>)
      return (name: string) => again.versions(name).map(({ hash }) => hash)
    }
    const afterKill = await readBack(killed)
    t.strictSame(afterKill('a'), ['a', 'two'].map(hashOf))
    t.strictSame(afterKill('same'), ['same', 'other'].map(hashOf))
    const afterStop = await readBack(readFileSync(path))
    t.strictSame(afterStop('a'), ['a', 'two', 'three', 'four'].map(hashOf))
    t.strictSame(afterStop('same'), ['same', 'other', 'another'].map(hashOf))
    t.strictSame(afterStop('f7'), [hashOf('f7')])
  }
)
