// What a run of the benchmarks is asked for, and what it makes of its figures.
import t from 'tap'
import { fillPlaces } from '../../bench/docs.ts'
import { describeGrowth } from '../../bench/growth.ts'
import { parseArguments } from '../../bench/options.ts'
import { medianRatio } from '../../bench/statistics.ts'
import { sortTargets, verdict, type Target } from '../../bench/targets.ts'

t.test('the command line names benchmarks, and flags that hold for all of them', async (t) => {
  const known = ['load', 'replay', 'targets']
  t.match(parseArguments(['replay=/r', 'load', '--seconds', '0.5', '--agents', '20'], known), [
    { name: 'replay', options: { argument: '/r', seconds: 0.5, agents: 20 } },
    { name: 'load', options: { argument: undefined, seconds: 0.5, agents: 20 } }
  ])
  t.match(
    parseArguments(['--seconds', '2'], known, ['load']),
    [{ name: 'load', options: { seconds: 2 } }],
    'those wanted if none is named'
  )
  t.throws(() => parseArguments(['lod'], known), { message: 'unknown benchmark: lod. Known: load, replay, targets' })
  t.throws(() => parseArguments(['load', '--seconds', '0'], known), { message: /--seconds takes a number above 0/ })
  t.throws(() => parseArguments(['load', '--hours', '1'], known), { message: /--hours/ })
})

t.test('growth is named by the two largest sizes', async (t) => {
  const of = (...costs: number[]) => describeGrowth(costs.map((cost, index) => ({ size: 10 ** (index + 1), cost })))
  t.equal(of(5, 9, 10), 'flat')
  t.equal(of(50, 60, 600), 'linear', 'what each call costs anyway hides it at first')
  t.equal(of(1, 10, 31.6), 'below linear (power 0.5)')
  t.equal(of(1, 1, 100), 'above linear (power 2.0)')
  t.equal(of(1), '-')
})

t.test('a ratio is taken within each round before the median', async (t) => {
  t.equal(medianRatio([10, 100, 30], [5, 50, 10]), 2)
})

t.test('missed targets come first, the furthest missed before the others, and those not measured last', async (t) => {
  const met: Target = { what: 'met', measured: 2, wanted: { atLeast: 2 } }
  const near: Target = { what: 'near', measured: 1.1, wanted: { atMost: 1 } }
  const far: Target = { what: 'far', measured: 0.2, wanted: { atLeast: 0.5 } }
  const below: Target = { what: 'below zero', measured: -2, wanted: { atMost: 100 }, unit: 'ms' }
  const open: Target = { what: 'open', measured: NaN, wanted: { atMost: 1 } }
  const sorted = sortTargets([open, below, met, near, far])
  t.strictSame(
    sorted.map(({ what }) => what),
    ['far', 'near', 'met', 'below zero', 'open']
  )
  t.strictSame(sorted.map(verdict), ['missed', 'missed', 'met', 'met', 'not measured'])
})

t.test('tables go to the places of their part in the pages, one with a place of its own only there', async (t) => {
  const before = [
    'a\n<!-- bench: hot-path / read -->\nold\n<!-- end -->\nb\n',
    'c\n<!-- bench: hot-path -->\n<!-- end -->\n<!-- bench: load -->\nkept\n<!-- end -->\n'
  ]
  const tables = [
    { title: 'read', text: '| 1 |' },
    { title: 'update', text: '| 2 |' }
  ]
  const { texts, count } = fillPlaces(before, 'hot-path', tables)
  t.strictSame(texts, [
    'a\n<!-- bench: hot-path / read -->\n\n| 1 |\n\n<!-- end -->\nb\n',
    'c\n<!-- bench: hot-path -->\n\n### update\n\n| 2 |\n\n<!-- end -->\n<!-- bench: load -->\nkept\n<!-- end -->\n'
  ])
  t.equal(count, 2)
  t.strictSame(fillPlaces(texts, 'hot-path', tables).texts, texts, 'again')
})
