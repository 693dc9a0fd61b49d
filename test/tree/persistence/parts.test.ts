// What is kept, at the level of its parts: on real files, without a server.
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createBases } from '../../../src/engine/versions/bases.ts'
import { createFileStore } from '../../../src/engine/files/file-store.ts'
import { createHistory } from '../../../src/engine/versions/history.ts'
import type { FileHistory } from '../../../src/engine/versions/kept-history.ts'
import type { FileIdentity } from '../../../src/engine/files/identity.ts'
import { systemClock } from '../../../src/engine/locks/clock.ts'
import { createLockManager } from '../../../src/engine/locks/lock-manager.ts'
import { createLostLeases } from '../../../src/engine/leases/lost-leases.ts'
import { createHistoryPart } from '../../../src/tree/persistence/history-part.ts'
import { createJournal } from '../../../src/tree/persistence/journal.ts'
import { createLeasePart } from '../../../src/tree/persistence/lease-part.ts'
import { createKeptBases, type KeptBases } from '../../../src/tree/persistence/kept-bases.ts'
import type { PersistedPart } from '../../../src/tree/persistence/part.ts'
import { scan, toJson } from '../../../src/tree/persistence/records.ts'
import { createRevalidation } from '../../../src/tree/persistence/revalidate.ts'
import { createState, type State, type StateOptions } from '../../../src/tree/persistence/state.ts'
import { examine } from '../../../src/engine/watcher/examine.ts'
import { makeFolder } from '../../../src/support/make-folder.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'

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

async function openState(
  t: Test,
  path: string,
  parts: readonly PersistedPart[] = [],
  options: Partial<StateOptions> = {}
): Promise<Opened> {
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
  const state = createState({
    path,
    tree,
    makeFolder: () => makeFolder(dirname(path)),
    isAway: () => false,
    parts,
    bases,
    debounceMs: 5,
    graceMs: 0,
    log,
    onTrouble: set,
    onRestored,
    ...options
  })
  t.teardown(() => state.abandon())
  await state.open()
  return { state, bases, troubles, restored }
}

t.test('a root that goes while the state is being synced takes along what is noted afterwards', async (t) => {
  const files = makeTree(t, { 'root/f': '' })
  const [root, moved] = [files.path('root'), files.path('moved')]
  let notify: Parameters<PersistedPart['onChange']>[0] = () => {}
  const part: PersistedPart = {
    name: 'part',
    isNeededAtOnce: true,
    dump: () => [],
    restore: () => {},
    onChange(told) {
      notify = told
      return () => {}
    }
  }
  let syncs = 0
  let failed: Promise<unknown> | undefined
  const { troubles } = await openState(t, join(root, 'state'), [part], {
    isAway: () => !existsSync(root),
    bases: {
      ...createKeptBases(files.path('bases'), { maxBytes: 1, maxAgeMs: 1, debounceMs: 5, onTrouble: () => {} }),
      async sync() {
        syncs += 1
        if (syncs > 1) return
        renameSync(root, moved)
        failed = readFile(join(root, 'state'))
        await failed
      }
    }
  })
  const journal = () => readFileSync(join(existsSync(moved) ? moved : root, 'state'), 'utf8')
  notify({ key: 1, records: () => ['before'], isUrgent: true })
  await until(() => failed !== undefined)
  await t.rejects(failed as Promise<unknown>, { code: 'ENOENT' })
  await setImmediate()
  notify({ key: 2, records: () => ['away'], isUrgent: true })
  t.match(journal(), 'away')
  t.same([...troubles], [])
  renameSync(moved, root)
  await until(() => syncs === 2)
  t.match(journal(), /before[^]*away/)
})

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

    const history = createHistory({ maxFiles: 100_000, maxVersions: 10, maxBytes: 1e9 })
    const { state, restored } = await openState(t, path, [createHistoryPart(history)])
    const author = { agentId: 'bob', operation: 'async_update' }
    history.observe('same', { kind: 'file', hash: hashOf('same'), identity })
    history.append(author, [{ path: 'a', now: { kind: 'file', hash: hashOf('two'), identity } }])
    history.append(author, [{ path: 'same', now: { kind: 'file', hash: hashOf('other'), identity } }])
    t.notOk(history.versions('f0').length > 0 && history.versions('f9999').length > 0, 'it is being restored')
    const killed = readFileSync(path)
    history.append(author, [{ path: 'a', now: { kind: 'file', hash: hashOf('three'), identity } }])
    await restored
    history.append(author, [{ path: 'a', now: { kind: 'file', hash: hashOf('four'), identity } }])
    history.append(author, [{ path: 'same', now: { kind: 'file', hash: hashOf('another'), identity } }])
    await state.close()

    const readBack = async (bytes: Buffer) => {
      const again = createHistory({ maxFiles: 100_000, maxVersions: 10, maxBytes: 1e9 })
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

t.test(
  'what leases need is restored when the state is open, and other calls wait for the rest no longer than its time',
  async (t) => {
    const path = makeTree(t).path('state')
    const steps: string[] = []
    let finish = () => {}
    const slow = new Promise<void>((resolve) => (finish = resolve))
    const partOf = (name: string, isNeededAtOnce: boolean, restore: () => void | Promise<void>): PersistedPart => {
      return { name, isNeededAtOnce, dump: () => [], restore, onChange: () => () => {} }
    }
    const leases = partOf('lease', true, () => void steps.push('leases'))
    const versions = partOf('history', false, async () => {
      await slow
      steps.push('versions')
    })
    const { state, restored } = await openState(t, path, [versions, leases])
    // The time that is waited for keeps no process alive.
    const alive = setInterval(() => {}, 1000)
    t.teardown(() => clearInterval(alive))
    t.strictSame(steps, ['leases'])
    await state.settled()
    t.strictSame(steps, ['leases'], 'its time is over')
    finish()
    await restored
    await state.settled()
    t.strictSame(steps, ['leases', 'versions'])
  }
)

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Where the bytes behind a hash lie in the end. */
function basePath(path: string, hash: string): string {
  return join(`${path}.bases`, hash.slice(7, 9), hash.slice(9))
}

const [one, two] = [Buffer.from('one\n'), Buffer.from('two\n')]
/** More than is written at once. */
const large = Buffer.from(Array.from({ length: 200_000 }, (_, number) => `line ${number}\n`).join(''))

t.test('bytes that cannot be stored are stored once that works, and with each time they are handed out', async (t) => {
  const path = makeTree(t).path('state')
  const { bases, troubles } = await openState(t, path)
  const memory = createBases({ maxBytes: 100_000_000 })
  memory.attach(bases)
  rmSync(`${path}.bases`, { recursive: true })
  writeFileSync(`${path}.bases`, 'in the way')
  const many = Array.from({ length: 30 }, (_, number) => Buffer.alloc(1_000_000, `${number}`))
  for (const bytes of [one, ...many]) memory.keep(hashOf(bytes), bytes)
  await until(() => troubles.has('bases'))
  rmSync(`${path}.bases`)
  await until(() => !troubles.has('bases'))
  t.ok(existsSync(basePath(path, hashOf(one))), 'by itself')
  const left = many.filter((bytes) => !existsSync(basePath(path, hashOf(bytes))))
  t.ok(left.length > 0, 'not all of them have waited')
  for (const bytes of left) memory.keep(hashOf(bytes), bytes)
  await until(() => left.every((bytes) => existsSync(basePath(path, hashOf(bytes)))))
  t.strictSame([...troubles], [])
})

t.test('where the folder goes away while bytes are kept, those and later ones are kept in the next', async (t) => {
  const folder = makeTree(t).path('kept')
  const path = join(folder, 'state')
  const history = createHistory({ maxFiles: 10, maxVersions: 10, maxBytes: 1e9 })
  const { bases, state, troubles } = await openState(t, path, [createHistoryPart(history)])
  bases.put(hashOf(one), one)
  rmSync(folder, { recursive: true })
  history.observe('a', { kind: 'file', hash: hashOf(one), identity })
  await until(() => existsSync(path) && troubles.size === 0)
  bases.put(hashOf(two), two)
  await state.close()
  const again = await openState(t, path)
  t.strictSame(await again.bases.get(hashOf(one)), one)
  t.strictSame(await again.bases.get(hashOf(two)), two)
})

t.test('bytes handed out again are not dropped for their age', async (t) => {
  const path = makeTree(t).path('state')
  const first = await openState(t, path)
  for (const bytes of [one, two]) first.bases.put(hashOf(bytes), bytes)
  const stored = [one, two].map((bytes) => basePath(path, hashOf(bytes))) as [string, string]
  await until(() => stored.every((each) => existsSync(each)))
  const long = new Date(Date.now() - 29.9 * 86_400_000)
  for (const each of stored) utimesSync(each, long, long)
  const since = Date.now()
  first.bases.put(hashOf(one), one)
  const { mtimeMs } = statSync(stored[0])
  // The kernel's own clock goes by ticks.
  t.ok(mtimeMs > since - 1000)
  first.bases.put(hashOf(one), one)
  t.equal(statSync(stored[0]).mtimeMs, mtimeMs, 'once a day is enough')
  await first.state.close()
  utimesSync(stored[1], long, new Date(Date.now() - 31 * 86_400_000))
  await openState(t, path)
  await until(() => !existsSync(stored[1]))
  t.ok(existsSync(stored[0]))
})

t.test('a clean stop waits for large bytes that are being stored', async (t) => {
  const path = makeTree(t).path('state')
  const { bases, state } = await openState(t, path)
  bases.put(hashOf(large), large)
  t.notOk(existsSync(basePath(path, hashOf(large))))
  await state.close()
  t.ok(existsSync(basePath(path, hashOf(large))))
})

t.test('what is no file among those of the state is passed over, and the others are taken up', async (t) => {
  const path = makeTree(t).path('state')
  const first = await openState(t, path)
  first.bases.put(hashOf(one), one)
  const stored = basePath(path, hashOf(one))
  await until(() => existsSync(stored))
  first.bases.put(hashOf(two), two)
  await first.state.close()
  rmSync(stored)
  const folder = `${path}.bases`
  const outside = makeTree(t, { secret: one }).path('secret')
  execFileSync('mkfifo', [stored, join(folder, 'fresh-77'), `${path}.new`])
  symlinkSync(outside, join(folder, 'fresh-78'))
  mkdirSync(join(folder, 'fresh-79'))
  writeFileSync(join(folder, 'fresh-99999999999999999999'), 'odd')
  writeFileSync(join(folder, 'fresh-999999999999999'), 'odd')
  writeFileSync(join(folder, 'zz'), 'no folder')

  const history = createHistory({ maxFiles: 10, maxVersions: 10, maxBytes: 1e9 })
  const { bases, state, troubles } = await openState(t, path, [createHistoryPart(history)])
  t.strictSame(await bases.get(hashOf(two)), two)
  t.equal(await bases.get(hashOf(one)), undefined)
  symlinkSync(outside, stored)
  t.equal(await bases.get(hashOf(one)), undefined)
  execFileSync('mkfifo', [stored])
  bases.put(hashOf(one), one)
  await until(() => statSync(stored).isFile())
  t.strictSame(await bases.get(hashOf(one)), one)
  rmSync(path)
  history.observe('a', { kind: 'file', hash: hashOf(one), identity })
  await until(() => existsSync(path) && troubles.size === 0)
  await state.close()
  t.equal(readFileSync(outside, 'utf8'), 'one\n')
  t.equal(scan(readFileSync(path), tree).count, 1)
})

t.test('where the clock was set back, a lease lasts no longer than it had left when it was written', (t) => {
  const makeProcess = () => {
    const locks = createLockManager()
    return { locks, part: createLeasePart({ locks, lostLeases: createLostLeases(60_000), log }) }
  }
  const [before, after] = [makeProcess(), makeProcess()]
  const options = { operation: 'lock_try', agentId: 'ann', ttlMs: 60_000, timeoutMs: 0, graceMs: 0 }
  const { lease } = before.locks.leases.request({ key: '/f', path: '/f', mode: 'exclusive' }, options)
  const [record] = [...before.part.dump()] as Record<'acquiredAt' | 'expiresAt' | 'writtenAt', number>[]
  const hourMs = 3_600_000
  const { acquiredAt = 0, expiresAt = 0, writtenAt = 0 } = record ?? {}
  const renewed = { ...record, acquiredAt: acquiredAt - hourMs }
  const ahead = { ...renewed, expiresAt: expiresAt + hourMs, writtenAt: writtenAt + hourMs }
  void after.part.restore([ahead])
  const [restored] = [...after.locks.leases.all()]
  t.equal(restored?.fencingToken, lease?.fencingToken)
  t.ok(restored && restored.expiresAt <= systemClock.now() + 60_000)
  t.end()
})

t.test('a change that the watcher finds while the histories are restored is told with the others', async (t) => {
  const files = makeTree(t, { 'a.txt': 'two', 'b.txt': 'two' })
  const [a, b] = [files.path('a.txt'), files.path('b.txt')]
  const history = createHistory({ maxFiles: 10, maxVersions: 10, maxBytes: 1e9 })
  const locks = createLockManager()
  const store = createFileStore({
    roots: [files.root],
    maxFileBytes: 1000,
    maxSyncBytes: 1000,
    hardlinks: 'break',
    protectedPaths: []
  })
  const logged: object[] = []
  const parts = {
    files: store,
    bases: createBases({ maxBytes: 1000 }),
    history,
    locks,
    log: { ...log, info: (fields: object) => void logged.push(fields) }
  }
  const check = createRevalidation(parts, new AbortController().signal)
  for (const path of [a, b]) {
    const version = {
      hash: hashOf('one'),
      at: 1,
      seq: 1,
      agentId: 'ann',
      operation: 'async_write',
      isFirstSight: false
    }
    history.restore({ path, versions: [version] })
  }
  // As the watcher does, before the rest of the state is there.
  await examine(a, () => false, parts)
  await check.run([a, b])
  t.strictSame(logged, [{ count: 2, paths: [a, b] }])
})

const update = { agentId: 'ann', operation: 'async_transaction' }

t.test('a change of several files is read back whole or not at all, whatever its size', async (t) => {
  const create = () => createHistory({ maxFiles: 10_000, maxVersions: 10, maxBytes: 1e9 })
  const before = create()
  const path = makeTree(t).path('state')
  const { state, restored } = await openState(t, path, [createHistoryPart(before)])
  await restored
  const names = Array.from({ length: 1000 }, (_, number) => `f${number}`)
  before.append(update, [{ path: 'first', now: { kind: 'file', hash: hashOf('one'), identity } }])
  const small = readFileSync(path).length
  before.append(
    update,
    names.map((name) => ({ path: name, now: { kind: 'file', hash: hashOf(name), identity } }))
  )
  const bytes = readFileSync(path)
  state.abandon()
  const lines = bytes.subarray(small).toString().trimEnd().split('\n')
  t.ok(lines.length > 1 && lines.every((line) => line.length < 66_000), `${lines.length} records`)
  const readBack = async (some: Buffer) => {
    const again = create()
    await createHistoryPart(again).restore(scan(some, tree).records('history'))
    return again
  }
  const whole = await readBack(bytes)
  t.equal(whole.trackedFiles, 1001)
  const [one, other] = ['f0', 'f999'].map((name) => whole.versions(name).at(-1))
  t.type(one?.entry, 'number')
  t.equal(one?.entry, other?.entry, 'as one change')
  for (const cut of [1, lines.at(-1)!.length + 1, bytes.length - small - 1]) {
    const torn = await readBack(bytes.subarray(0, bytes.length - cut))
    t.equal(torn.trackedFiles, 1, `without its last ${cut} bytes`)
  }
})

t.test('the versions of a transaction that an earlier form of the journal names are one change', async (t) => {
  const history = createHistory({ maxFiles: 10, maxVersions: 10, maxBytes: 1e9 })
  const version = { ...update, isFirstSight: false, at: 1, group: 7 }
  const records = ['a', 'b'].map((path, index) => ({
    path,
    versions: [{ ...version, hash: hashOf(path), seq: 7 + index }]
  }))
  await createHistoryPart(history).restore(records)
  t.match([history.last('a'), history.last('b')], [{ entry: 7 }, { entry: 7 }])
})

t.test('who made versions that were dropped is known after a restart, whatever their number', async (t) => {
  const create = () => createHistory({ maxFiles: 10, maxVersions: 2, maxUncommitted: 250, maxBytes: 1e9 })
  const [before, dumped, noted] = [create(), create(), create()]
  const part = createHistoryPart(before)
  const records: unknown[] = []
  part.onChange(({ records: made }) => records.push(...made()))
  for (let number = 0; number < 300; number += 1) {
    const author = { agentId: number === 20 ? 'bob' : 'ann', operation: 'async_write' }
    before.append(author, [{ path: '/f', now: { kind: 'file', hash: hashOf(`${number}`), identity } }])
  }
  await createHistoryPart(dumped).restore([...part.dump()])
  await createHistoryPart(noted).restore(records)
  const knownBy = (of: typeof before) => [of.versions('/f').length, of.versions('/f')[0]?.hash, of.forgotten('/f')]
  for (const one of [before, dumped, noted])
    t.same(knownBy(one), [250, hashOf('50'), { hash: hashOf('49'), agents: ['ann', 'bob'] }])
  dumped.commit('/f', dumped.newest)
  t.same(knownBy(dumped), [2, hashOf('298'), { hash: hashOf('297'), agents: [] }])
})

t.test('that versions were dropped is known after a restart', async (t) => {
  const create = () => createHistory({ maxFiles: 10, maxVersions: 2, maxBytes: 1e9 })
  const identity = { dev: 1n, ino: 1n, size: 1n, mtimeNs: 1n, ctimeNs: 1n, birthtimeNs: 1n, isTrusted: true }
  const [before, dumped, noted] = [create(), create(), create()]
  const part = createHistoryPart(before)
  const records: unknown[] = []
  part.onChange(({ records: made }) => records.push(...made()))
  for (const text of ['one', 'two', 'three'])
    before.append({ agentId: 'ann', operation: 'async_update' }, [
      { path: '/f', now: { kind: 'file', hash: hashOf(text), identity } }
    ])
  t.type(before.forgottenAt, 'number')
  await createHistoryPart(dumped).restore([...part.dump()])
  await createHistoryPart(noted).restore(records)
  t.same([dumped.forgottenAt, noted.forgottenAt], [before.forgottenAt, before.forgottenAt])
})
