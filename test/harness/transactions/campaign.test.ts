// Many agents with transactions over overlapping files: in some order, one after the other, they would have seen and made the same.
import t from 'tap'
import type { LockList } from '../../../schemas/lock-list.ts'
import { connect, transports } from '../../fixtures/clients.ts'
import { givenSeed, lengthOf } from '../../fixtures/length.ts'
import { createRandom } from '../../fixtures/random.ts'
import { programAsOverRest, startProgram } from '../../fixtures/server.ts'
import { hashOf, makeTree } from '../../fixtures/tree.ts'
import { paths, runAgent, textOf, type Log } from './agent.ts'
import { findOrder, type Act, type Version } from './serial-order.ts'

t.setTimeout(3_600_000)
const seed = givenSeed ?? Math.floor(Math.random() * 2 ** 31)

/** From `sentAt` on it takes 5 ms. */
function act(agent: string, sentAt: number, saw: Record<string, Version>, made: Record<string, Version> = {}): Act {
  const [seen, left] = [new Map(Object.entries(saw)), new Map(Object.entries(made))]
  return { agent, name: `act ${sentAt}`, sentAt, answeredAt: sentAt + 5, saw: seen, made: left }
}

const start = new Map<string, Version>([
  ['a', 'a0'],
  ['b', 'b0']
])

t.test('the checker finds an order if there is one', async (t) => {
  const sound: readonly (readonly [string, Act[]])[] = [
    ['nothing', []],
    ['one after the other', [act('ann', 0, { a: 'a0' }, { a: 'a1' }), act('bob', 10, { a: 'a1' }, { a: 'a2' })]],
    ['at once, and the later answer first', [act('ann', 0, { a: 'a1' }), act('bob', 4, { a: 'a0' }, { a: 'a1' })]],
    [
      'a file that goes and comes twice, so that the first choice is wrong',
      [
        act('ann', 0, { a: 'a0' }, { a: null }),
        act('bob', 1, { a: null }, { a: 'b' }),
        act('cid', 2, { a: null, b: 'b0' }, { a: 'c', b: 'b1' }),
        act('dan', 3, { a: 'c' }, { a: null }),
        act('eve', 7, { a: 'b', b: 'b1' })
      ]
    ]
  ]
  for (const [title, acts] of sound) t.ok('end' in findOrder(start, acts), title)
  const { end } = findOrder(start, sound[1]![1]) as { end: Map<string, Version> }
  t.same(
    [...end],
    [
      ['a', 'a2'],
      ['b', 'b0']
    ]
  )
})

t.test('the checker says so if there is none', async (t) => {
  const broken: readonly (readonly [string, Act[]])[] = [
    ['a lost update', [act('ann', 0, { a: 'a0' }, { a: 'a1' }), act('bob', 1, { a: 'a0' }, { a: 'a2' })]],
    ['half of a transaction', [act('ann', 0, { a: 'a0' }, { a: 'a1', b: 'b1' }), act('bob', 1, { a: 'a1', b: 'b0' })]],
    [
      'two that each miss the other (write skew)',
      [act('ann', 0, { a: 'a0', b: 'b0' }, { a: 'a1' }), act('bob', 1, { a: 'a0', b: 'b0' }, { b: 'b1' })]
    ],
    ['what was there before an answer', [act('ann', 0, { a: 'a0' }, { a: 'a1' }), act('bob', 6, { a: 'a0' })]],
    ['what has never been', [act('ann', 0, { a: 'a9' })]],
    [
      'readers that see two changes in two orders',
      [
        act('ann', 0, { a: 'a0' }, { a: 'a1' }),
        act('bob', 0, { b: 'b0' }, { b: 'b1' }),
        act('cid', 1, { a: 'a1', b: 'b0' }),
        act('dan', 1, { a: 'a0', b: 'b1' })
      ]
    ]
  ]
  for (const [title, acts] of broken) t.match(findOrder(start, acts), { stuck: /no act can come next: \w/ }, title)
})

const agents = 20
const rounds = lengthOf({ long: 10_000, full: 400, short: 120 })

t.test(
  `${rounds} transactions of ${agents} agents over ${paths.length} files are serialisable (TEST_SEED=${seed})`,
  async (t) => {
    const files = Object.fromEntries(paths.map((path) => [path, textOf(path)]))
    const tree = makeTree(t, files)
    const { url } = await startProgram(t, ['--dir', tree.root], {
      ...programAsOverRest,
      ASYNC_CRUD_MCP_CRUD__DURABILITY: 'rename'
    })
    const log: Log = { acts: [], counts: {}, problems: [] }
    let begun = 0
    const next = () => (begun < rounds ? (begun += 1) : undefined)
    await Promise.all(
      Array.from({ length: agents }, async (_, index) => {
        const agent = `agent-${index}`
        const client = await connect(t, transports[index % transports.length]!, url, agent)
        await runAgent(agent, client, log, { random: createRandom(seed + index), next })
      })
    )
    const { acts, counts, problems } = log
    t.comment(JSON.stringify(counts))
    t.same(problems, [])
    const order = findOrder(new Map(paths.map((path) => [path, hashOf(files[path]!)])), acts)
    if ('stuck' in order) {
      t.fail(order.stuck)
      return
    }
    const isThere = new Set(tree.all())
    for (const path of paths)
      t.equal(
        isThere.has(path) ? hashOf(tree.bytes(path)) : null,
        order.end.get(path),
        `${path} is as that order leaves it`
      )
    t.same(
      [...isThere].filter((name) => !paths.includes(name)),
      [],
      'nothing is left'
    )
    const { counts: locks } = (await (await fetch(`${url}/locks`)).json()) as LockList
    t.same(locks, { files: 0, read: 0, write: 0, leases: 0, waiting: 0 })
    t.ok(acts.some(({ name, made }) => name.startsWith('transaction') && made.size > 1))
  }
)
