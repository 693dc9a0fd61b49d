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
