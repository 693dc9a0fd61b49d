// Work that serves all who ask for it at the same time.
import t from 'tap'
import { createSharedRounds } from '../../src/support/shared-rounds.ts'

/** Rounds of which the test decides the ends. */
function scene() {
  const rounds = createSharedRounds<number>()
  const begun: { end: (result: number) => void; fail: (error: Error) => void; signal: AbortSignal }[] = []
  const waiting: (() => void)[] = []
  return {
    begun,
    ask: (signal?: AbortSignal, key = 'key') =>
      rounds.ask(
        key,
        (signal) =>
          new Promise((resolve, reject) => {
            begun.push({ end: resolve, fail: reject, signal })
            for (const go of waiting.splice(0)) go()
          }),
        signal
      ),
    untilBegun: async (count: number) => {
      while (begun.length < count) await new Promise<void>((resolve) => void waiting.push(resolve))
    }
  }
}

t.test('who asks before a round begins shares it, who asks later has the next one', async (t) => {
  const { begun, ask, untilBegun } = scene()
  const first = [ask(), ask(), ask()]
  await untilBegun(1)
  const second = [ask(), ask()]
  begun[0]?.end(1)
  t.strictSame(await Promise.all(first), [1, 1, 1])
  await untilBegun(2)
  const third = ask()
  begun[1]?.end(2)
  t.strictSame(await Promise.all(second), [2, 2])
  await untilBegun(3)
  begun[2]?.end(3)
  t.equal(await third, 3)
  t.equal(begun.length, 3)
})

t.test('other work does not wait', async (t) => {
  const { begun, ask, untilBegun } = scene()
  const [one, other] = [ask(undefined, 'one'), ask(undefined, 'other')]
  await untilBegun(2)
  begun[1]?.end(2)
  t.equal(await other, 2)
  begun[0]?.end(1)
  t.equal(await one, 1)
})

t.test('a round that fails fails for its askers alone', async (t) => {
  const { begun, ask, untilBegun } = scene()
  const first = Promise.allSettled([ask(), ask()])
  await untilBegun(1)
  const second = ask()
  begun[0]?.fail(new Error('no'))
  t.strictSame(
    (await first).map(({ status }) => status),
    ['rejected', 'rejected']
  )
  await untilBegun(2)
  begun[1]?.end(2)
  t.equal(await second, 2)
})

t.test('an asker that gives up ends its own wait, and the last one ends the work', async (t) => {
  const { begun, ask, untilBegun } = scene()
  const [early, late] = [new AbortController(), new AbortController()]
  const [leaving, staying] = [ask(early.signal), ask(late.signal)]
  await untilBegun(1)
  early.abort()
  await t.rejects(leaving, { name: 'AbortError' })
  t.equal(begun[0]?.signal.aborted, false)
  late.abort()
  await t.rejects(staying, { name: 'AbortError' })
  t.equal(begun[0]?.signal.aborted, true)
  const next = ask()
  begun[0]?.fail(new Error('given up'))
  await untilBegun(2)
  begun[1]?.end(2)
  t.equal(await next, 2)
})

t.test('work whose askers have all given up before it begins is not begun', async (t) => {
  const { begun, ask, untilBegun } = scene()
  const gone = new AbortController()
  const first = ask(gone.signal)
  gone.abort()
  await t.rejects(first, { name: 'AbortError' })
  const second = ask()
  await untilBegun(1)
  begun[0]?.end(1)
  t.equal(await second, 1)
  t.equal(begun.length, 1)
})
