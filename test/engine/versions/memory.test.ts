// What the server remembers of files and readers stays within its bounds in bytes, as the heap shows, and fairly.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { FileIdentity } from '../../../src/engine/files/identity.ts'
import { createHistory } from '../../../src/engine/versions/history.ts'
import { createReadTracker } from '../../../src/engine/seen/read-tracker.ts'

const maxBytes = 4 * 1_048_576
const operation = 'async_update'
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

let counter = 0
/** A string of its own, as each request brings one. */
const fresh = (text: string): string => Buffer.from(text).toString()
const nextHash = (): string => fresh(`sha256:${(counter += 1).toString(16).padStart(64, '0')}`)
const identity = (): FileIdentity => ({
  dev: BigInt(counter) << 40n,
  ino: BigInt(counter) << 41n,
  size: BigInt(counter),
  mtimeNs: BigInt(counter) << 50n,
  ctimeNs: BigInt(counter) << 51n,
  isTrusted: true
})

function heapGrowth(fill: () => object): { kept: object; growth: number } {
  collect()
  const before = process.memoryUsage().heapUsed
  const kept = fill()
  collect()
  return { kept, growth: process.memoryUsage().heapUsed - before }
}

const pathOf = (index: number, length = 60): string => fresh(`/tree/${String(index).padEnd(length, 'p')}`)

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

function scene() {
  const history = createHistory({ maxFiles: 100_000, maxVersions: 100, maxBytes: 1e9 })
  return { history, reads: createReadTracker(history, { maxViews: 100_000, maxBytes }) }
}

type Scene = ReturnType<typeof scene>

function read({ history, reads }: Scene, agentId: string, path: string): void {
  const known = history.known(path)?.hash
  const hash = known ?? nextHash()
  if (known === undefined) history.observe(path, { kind: 'file', hash, identity: identity() })
  reads.recordRead(fresh(agentId), { path: fresh(path), given: fresh(path), hash })
}

t.test('views of long paths take no more memory than their bound', (t) => {
  const here = scene()
  const paths = Array.from({ length: 4000 }, (_, index) => pathOf(index, 3900))
  for (const path of paths) here.history.observe(path, { kind: 'file', hash: nextHash(), identity: identity() })
  const { growth } = heapGrowth(() => {
    for (const path of paths) read(here, 'ann', path)
    return here.reads
  })
  t.ok(here.reads.bytes <= maxBytes)
  t.ok(growth < 1.25 * maxBytes, `${growth} bytes of heap, at most ${1.25 * maxBytes}`)
  t.end()
})

t.test('views of short paths are counted as what they take', (t) => {
  const here = scene()
  const paths = Array.from({ length: 20_000 }, (_, index) => pathOf(index))
  for (const path of paths) here.history.observe(path, { kind: 'file', hash: nextHash(), identity: identity() })
  const { growth } = heapGrowth(() => {
    for (const path of paths) read(here, 'ann', path)
    return here.reads
  })
  t.ok(growth < 1.25 * maxBytes, `${growth} bytes of heap, at most ${1.25 * maxBytes}`)
  t.ok(growth > 0.4 * maxBytes, `${growth}: the count is no exaggeration`)
  t.end()
})

const mine = Array.from({ length: 50 }, (_, index) => pathOf(1_000_000 + index))

function remembers({ reads }: Scene): boolean {
  return mine.every((path) => reads.knownHash('bob', path) !== undefined)
}

const floods: [string, (here: Scene) => void][] = [
  [
    'views',
    (here) => {
      for (let index = 0; index < 20_000; index += 1) read(here, 'greedy', pathOf(index))
    }
  ],
  [
    'names with one view each',
    (here) => {
      for (let index = 0; index < 20_000; index += 1) read(here, `greedy ${index}`, pathOf(index % 1000))
    }
  ],
  [
    'ranges of lines',
    (here) => {
      for (let index = 0; index < 1000; index += 1) {
        read(here, 'greedy', pathOf(index))
        const hash = here.history.known(pathOf(index))!.hash
        for (let line = 1; line < 400; line += 4) {
          const lines = { start: line, end: line + 1 }
          here.reads.recordRead('greedy', { path: pathOf(index), given: pathOf(index), hash, lines })
        }
      }
    }
  ]
]

for (const [what, flood] of floods) {
  t.test(`a flood of ${what} costs no other agent what is remembered of its reads`, (t) => {
    const here = scene()
    for (const path of mine) read(here, 'bob', path)
    flood(here)
    t.ok(here.reads.bytes <= maxBytes)
    t.ok(remembers(here))
    here.history.append({ agentId: 'greedy', operation }, [
      { path: mine[0]!, now: { kind: 'file', hash: nextHash(), identity: identity() } }
    ])
    t.equal(here.reads.unreported.count('bob'), 1, 'and it gets its notices')
    t.end()
  })
}

t.test('a forgotten view is as if the agent had never read the file', (t) => {
  const here = scene()
  for (let index = 0; index < 20_000; index += 1) read(here, 'ann', pathOf(index))
  const first = pathOf(0)
  t.equal(here.reads.knownHash('ann', first), undefined)
  t.equal(here.reads.seenOf('ann', first, here.history.known(first)!.hash), undefined)
  here.history.append({ agentId: 'bob', operation }, [
    { path: first, now: { kind: 'file', hash: nextHash(), identity: identity() } }
  ])
  t.equal(here.reads.unreported.count('ann'), 0)
  read(here, 'ann', first)
  t.equal(here.reads.knownHash('ann', first), here.history.known(first)!.hash)
  t.end()
})
