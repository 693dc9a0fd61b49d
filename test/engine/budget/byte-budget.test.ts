// The bytes that calls work on: a call that finds no room waits for its turn, and none waits for ever.
import { PassThrough } from 'node:stream'
import t from 'tap'
import { createByteBudget } from '../../../src/engine/budget/byte-budget.ts'
import { CallWork } from '../../../src/engine/budget/work-budget.ts'

const megabyte = 1_048_576

function scene(maxWorkWaitMs = 60_000) {
  const budget = createByteBudget({ maxBytes: 16 * megabyte, maxWorkWaitMs })
  const abort = new AbortController()
  return { budget, abort, begin: () => new CallWork(budget.work, abort.signal) }
}

const isGranted = (turn: Promise<void> | undefined) => turn === undefined

t.test('work takes half of the budget; then calls go on in the order in which they came', async (t) => {
  const { budget, begin } = scene()
  const [first, second, third, fourth] = [begin(), begin(), begin(), begin()]
  t.ok(isGranted(first.reserve(4 * megabyte)))
  t.ok(isGranted(second.reserve(4 * megabyte)))
  const order: string[] = []
  const turns = [
    Promise.resolve(third.reserve(3 * megabyte)).then(() => order.push('third')),
    Promise.resolve(fourth.reserve(megabyte)).then(() => order.push('fourth'))
  ]
  t.match(budget.use, { work: 8 * megabyte, waiting: 2 })
  first.release()
  await Promise.all(turns)
  t.strictSame(order, ['third', 'fourth'])
  t.match(budget.use, { work: 8 * megabyte, work_peak: 8 * megabyte, waiting: 0 })
  for (const work of [first, second, third, fourth]) work.release()
  t.match(budget.use, { held: 0, work: 0 })
})

t.test('a newcomer that would fit does not overtake a waiter', async (t) => {
  const { begin } = scene()
  const [first, large, small] = [begin(), begin(), begin()]
  void first.reserve(5 * megabyte)
  const waiter = large.reserve(6 * megabyte)
  const newcomer = small.reserve(megabyte)
  t.notOk(isGranted(waiter))
  t.notOk(isGranted(newcomer))
  first.release()
  await Promise.all([waiter, newcomer])
})

t.test('one call goes on whatever it needs, and small requests have room beside it', async (t) => {
  const { budget, begin } = scene()
  const releases = [budget.take(6 * megabyte), budget.take(6 * megabyte)]
  const [one, another] = [begin(), begin()]
  t.ok(isGranted(one.reserve(40 * megabyte)))
  const waiter = another.reserve(megabyte)
  t.notOk(isGranted(waiter))
  budget.take(60_000)()
  t.throws(() => budget.take(4 * megabyte), { code: 'OVERLOADED' })
  one.release()
  await waiter
  another.release()
  for (const release of releases) release()
  t.match(budget.use, { held: 0, work: 0 })
})

t.test('a call that has its share gets more without waiting', async (t) => {
  const { begin } = scene()
  const [one, another] = [begin(), begin()]
  void one.reserve(4 * megabyte)
  void another.reserve(4 * megabyte)
  t.ok(isGranted(one.reserve(megabyte)))
  one.release()
  one.release()
  another.release()
})

t.test('a call that finds no room in time is told when to come back', async (t) => {
  const { budget, begin } = scene(0)
  const [one, another] = [begin(), begin()]
  void one.reserve(8 * megabyte)
  await t.rejects(async () => another.reserve(megabyte), {
    code: 'OVERLOADED',
    message: /max_work_wait_seconds.*send it again in 1 s/,
    details: { retry_after_seconds: 1 }
  })
  t.equal(budget.use.waiting, 0)
})

t.test('a call that is cancelled waits no longer', async (t) => {
  const { budget, abort, begin } = scene()
  void begin().reserve(8 * megabyte)
  const waiter = begin().reserve(megabyte)
  abort.abort()
  await t.rejects(async () => waiter, { code: 'CANCELLED' })
  t.equal(budget.use.waiting, 0)
})

t.test('answers that clients have not taken leave less room; a connection that takes nothing makes room', async (t) => {
  const { budget, begin } = scene(100)
  const [reader, idler] = [new PassThrough({ highWaterMark: 1 }), new PassThrough({ highWaterMark: 1 })]
  for (const output of [reader, idler]) {
    budget.work.watch(output, true)
    output.write(Buffer.alloc(5 * megabyte))
    output.write(Buffer.alloc(5 * megabyte))
  }
  const unread = budget.use.unsent
  t.ok(unread > 8 * megabyte)
  const refused = begin()
  await t.rejects(async () => refused.reserve(megabyte), { code: 'OVERLOADED' }, 'more is not taken on')
  reader.resume()
  while (!idler.destroyed)
    await begin()
      .reserve(megabyte)
      ?.catch(() => {})
  t.notOk(reader.destroyed, 'a client that takes its answers keeps its connection')
  const next = begin()
  await next.reserve(megabyte)
  t.equal(budget.use.unsent, 0)
})
