// What the server remembers of readers stays within its bounds in bytes, as the heap shows, and fairly.
import t from 'tap'
import { createReadTracker } from '../../../src/engine/seen/read-tracker.ts'
import { createHistory } from '../../../src/engine/versions/history.ts'
import { fresh, heapGrowth, identity, maxBytes, nextHash, pathOf } from '../fixtures/heap.ts'

const operation = 'async_update'

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
