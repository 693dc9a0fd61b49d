// How long receipts are kept, and how many.
import t from 'tap'
import type { ReceiptBounds } from '../../../src/engine/receipts/receipt-entries.ts'
import { createReceipts } from '../../../src/engine/receipts/receipts.ts'
import { createFakeClock } from '../../fixtures/fake-clock.ts'

const { signal } = new AbortController()

function scene(options: Partial<ReceiptBounds> = {}) {
  const clock = createFakeClock()
  const receipts = createReceipts({
    keepMs: 1000,
    maxBytesPerAgent: 10_000,
    maxBytes: 30_000,
    now: () => clock.now(),
    ...options
  })
  /** @returns whether it was carried out, and not taken from a receipt */
  const make = (agentId: string, requestId: string) =>
    receipts.run({ operation: '', agentId, requestId, digest: '', isNamedByCaller: true }, signal, async (turn) => {
      if (turn.recorded() !== undefined) return false
      turn.record({ result: { status: 'ok' } })
      return true
    })
  return { clock, receipts, make }
}

t.test('a receipt is kept for its time, and then costs nothing', async (t) => {
  const { clock, receipts, make } = scene()
  await make('ann', 'r')
  clock.advance(999)
  t.equal(await make('ann', 'r'), false)
  clock.advance(1000)
  t.equal(await make('ann', 'other'), true)
  const { bytes } = receipts
  t.equal(await make('ann', 'r'), true, 'the time is over')
  clock.advance(1000)
  await make('ann', 'last')
  t.ok(receipts.bytes < 1.1 * bytes, 'only the last one is left')
})

t.test('an agent has room for so many bytes, and all of them together', async (t) => {
  const { receipts, make } = scene()
  await make('bob', 'kept')
  for (let count = 0; count < 1000; count += 1) {
    await make('ann', `r${count}`)
    if (receipts.bytes > 10_500) t.fail(`${receipts.bytes} bytes`)
  }
  for (let count = 0; count < 800; count += 1) await make(`agent ${count % 8}`, `r${count}`)
  t.ok(receipts.bytes <= 30_000, `${receipts.bytes} bytes`)
  t.equal(await make('agent 7', 'r799'), false)
  t.equal(await make('agent 7', 'r7'), true, 'the oldest of those that have many are forgotten')
  t.equal(await make('bob', 'kept'), false, 'no other agent has lost one')
})

t.test('the last answer of an agent is kept, however long it is', async (t) => {
  const { receipts } = scene({ maxBytesPerAgent: 500 })
  const request = { operation: '', agentId: 'ann', requestId: 'r', digest: '', isNamedByCaller: true }
  const make = () =>
    receipts.run(request, signal, async (turn) => {
      if (turn.recorded() !== undefined) return false
      for (let index = 0; index < 10; index += 1) turn.item(index).record({ result: { status: 'ok' } })
      return true
    })
  t.equal(await make(), true)
  t.equal(await make(), false)
})

t.test('of repeats that come at once one is carried out, however little room there is', async (t) => {
  const { receipts } = scene({ maxBytesPerAgent: 1, maxBytes: 1 })
  const underWay = new Set<string>()
  let made = 0
  let overlaps = 0
  const make = (requestId: string, steps: number) =>
    receipts.run(
      { operation: '', agentId: requestId, requestId, digest: '', isNamedByCaller: true },
      signal,
      async (turn) => {
        if (underWay.has(requestId)) overlaps += 1
        underWay.add(requestId)
        for (let step = 0; step < steps; step += 1) await Promise.resolve()
        underWay.delete(requestId)
        if (turn.recorded() !== undefined) return
        // Two attempts fail first, as by a timeout.
        if (steps > 2) made += 1
        if (steps > 2) turn.record({ result: { status: 'ok' } })
      }
    )
  const names = Array.from({ length: 50 }, (_, at) => `r${at}`)
  await Promise.all([0, 1, 2, 3, 4, 5].flatMap((steps) => names.map((name) => make(name, steps))))
  t.equal(overlaps, 0)
  t.equal(made, names.length)
  t.ok(receipts.bytes < 1000, `${receipts.bytes} bytes stay`)
})
