// The differ: small comparisons at once, large ones on a thread, an answer within the bound whatever happens.
import type { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { lengthOf } from '../../fixtures/length.ts'
import { turnsDuring } from '../../fixtures/turns.ts'
import { createDiffer, type DifferOptions } from '../../../src/engine/diff/differ.ts'
import { applyPatches } from '../../../src/engine/diff/patches.ts'
import { pair, seededRandom } from './fixtures/texts.ts'

const threads: Worker[] = []
process.on('worker', (thread) => threads.push(thread))

function differ(t: Test, options: DifferOptions = {}) {
  const fallbacks: unknown[] = []
  // The search is cut by what is asked of it, and never by the time that a busy machine takes for it.
  const created = createDiffer({ timeoutMs: 60_000, onFallback: (reason) => fallbacks.push(reason), ...options })
  t.teardown(() => created.close())
  threads.length = 0
  return { ...created, fallbacks }
}

/** Lines of 40 characters: of some megabytes, in full of 10 MB. */
const manyLines = lengthOf({ full: 250_000, short: 60_000 })

/** Far more than a job gives the event loop that runs on it, far fewer than one gives while a thread works for seconds. */
const leastTurns = 20

/** `count` different lines of about `width` characters. */
const numbered = (count: number, width = 40) =>
  Array.from({ length: count }, (_, index) => `${index} ${'x'.repeat(width - 8)}\n`)

/** The same lines in another order: nothing that is fast finds a small diff. */
function shuffled(lines: readonly string[]): string[] {
  const random = seededRandom(7)
  return lines
    .map((line) => ({ line, key: random(1 << 30) }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ line }) => line)
}

t.test(
  'a small comparison, and a small change in a large file, need no thread and no turn of the event loop',
  async (t) => {
    const { compare, apply } = differ(t)
    const large = numbered(manyLines).join('')
    const small = await compare({
      base: 'a\nb\n',
      current: 'a\nc\n',
      format: 'json',
      patches: [{ old_string: 'a', new_string: 'x' }]
    })
    t.match(small, {
      tooLarge: false,
      coarse: false,
      judgement: { patches_applicable: false, conflicts: [{ reason: 'context_changed' }] }
    })
    const changed = large.replace('\n50000 ', '\n50000: ')
    const turns = await turnsDuring(async () => {
      const { diff } = await compare({ base: large, current: changed, format: 'json' })
      t.equal(diff!.changes![0]!.start_line, 50_001)
    })
    t.equal(turns, 0, 'answered at once')
    t.strictSame(await apply({ text: 'a', patches: [{ old_string: 'a', new_string: 'b' }] }), { text: 'b' })
    t.equal(threads.length, 0)
  }
)

t.test('a thread gives the same answer as the event loop', async (t) => {
  const here = differ(t)
  const formats = fc.constantFrom('json' as const, 'unified' as const)
  const cases = fc.sample(
    fc.record({ texts: pair(30), format: formats }).map(({ texts, format }) => ({ ...texts, format })),
    100
  )
  const inputs = cases.map((texts) => ({
    ...texts,
    patches: [{ old_string: texts.base.slice(0, 3) || 'x', new_string: 'y' }]
  }))
  const answers = await Promise.all(inputs.map((input) => here.compare(input)))
  // Forgets threads: the event loop's own time may have been up, on a busy machine.
  const there = differ(t, { inlineMaxBytes: -1 })
  for (const [index, input] of inputs.entries()) t.strictSame(await there.compare(input), answers[index])
  t.equal(threads.length, 1)
  t.strictSame(there.fallbacks, [])
})

t.test('patches for a large text are applied on a thread, to the same effect', async (t) => {
  const { apply, fallbacks } = differ(t)
  const text = numbered(50_000).join('')
  for (const old_string of ['\n40000 ', '\n4 x', 'nowhere', 'xx']) {
    const patches = [{ old_string, new_string: 'y' }]
    t.strictSame(await apply({ text, patches }), applyPatches(text, patches))
  }
  t.equal(threads.length, 1)
  t.strictSame(fallbacks, [])
})

t.test('two unlike texts of megabytes are compared on a thread, and the event loop goes on meanwhile', async (t) => {
  const { compare } = differ(t)
  const lines = numbered(manyLines)
  const base = lines.join('')
  const current = shuffled(lines).join('')
  const answered: string[] = []
  const turns = await turnsDuring(async () => {
    const large = compare({ base, current, format: 'json', isWhole: true })
    const small = compare({ base: 'a', current: 'b', format: 'json' })
    void large.then(() => answered.push('large'))
    void small.then(() => answered.push('small'))
    t.strictSame(await large, { diff: null, tooLarge: true, coarse: true })
  })
  t.strictSame(answered, ['small', 'large'])
  t.ok(turns >= leastTurns, `${turns} turns`)
  t.equal(threads.length, 1, 'on a thread')
})

t.test('a diff larger than its limit only names lines, and is not given if it was to be whole', async (t) => {
  const { compare } = differ(t, { maxDiffBytes: 1_000 })
  const current = numbered(100).join('')
  for (const format of ['json', 'unified'] as const) {
    const whole = await compare({ base: 'a\n', current, format, isWhole: true })
    t.match(whole, { diff: null, tooLarge: true, coarse: false })
    const lines = [{ start_line: 1, end_line: 100 }]
    t.match(await compare({ base: 'a\n', current, format }), { diff: { format: 'lines', lines }, tooLarge: false })
  }
  t.match(await compare({ base: 'a\n', current: 'b\n', format: 'json' }), { tooLarge: false })
})

t.test('a comparison too hard for the event loop is minimal nevertheless, on a thread', async (t) => {
  const { compare } = differ(t)
  const lines = numbered(600)
  const moved = [...lines.slice(300), ...lines.slice(0, 300)]
  const { diff, coarse } = await compare({ base: lines.join(''), current: moved.join(''), format: 'json' })
  t.equal(coarse, false)
  t.equal(diff!.summary.regions_changed, 2)
  t.equal(threads.length, 1)
})

t.test('a cancelled comparison rejects with the reason of its signal, running, waiting or not begun', async (t) => {
  const { compare, apply, fallbacks } = differ(t, { maxWorkers: 1, timeoutMs: 60_000, maxEditLength: 1_000_000 })
  const lines = numbered(20_000)
  const input = { base: lines.join(''), current: shuffled(lines).join(''), format: 'json' as const }
  const reason = new Error('gone')
  const cancel = new AbortController()
  const leave = new AbortController()
  const started = new Promise((resolve) => process.once('worker', (thread) => thread.once('online', resolve)))
  const running = compare({ ...input, signal: cancel.signal })
  const waiting = compare({ ...input, signal: cancel.signal })
  const leaving = compare({ ...input, signal: leave.signal })
  const behind = compare({
    base: 'a\n'.repeat(100_000),
    current: 'b\n'.repeat(100_000),
    format: 'json',
    isWhole: true
  })
  await started
  leave.abort(reason)
  await t.rejects(leaving, reason, 'while another is running')
  cancel.abort(reason)
  await t.rejects(running, reason)
  await t.rejects(waiting, reason)
  await t.rejects(compare({ ...input, signal: cancel.signal }), reason)
  await t.rejects(apply({ text: '', patches: [], signal: cancel.signal }), reason)
  t.match(await behind, { tooLarge: true, coarse: false }, 'whoever waits behind them gets an answer')
  t.strictSame(fallbacks, [])
})

const swap = { base: ['a\n', ...numbered(3_000), 'z\n'].join(''), current: ['b\n', ...numbered(3_000), 'y\n'].join('') }

t.test('where too many wait, the rest are answered at once, coarsely and truly', async (t) => {
  const { compare, fallbacks } = differ(t, { maxWorkers: 1, maxDiffBytes: 10_000_000 })
  const answers = await Promise.all(Array.from({ length: 12 }, () => compare({ ...swap, format: 'unified' })))
  t.equal(fallbacks.length, 3, 'one runs, eight wait')
  t.equal(answers.filter(({ coarse }) => coarse).length, 3)
  t.strictSame(new Set(answers.map(({ diff }) => diff!.summary.regions_changed)), new Set([1, 2]))
})

t.test('where a thread dies, the answer is coarse, and the next one has a new thread', async (t) => {
  const { compare, fallbacks } = differ(t, { timeoutMs: 60_000, maxEditLength: 1_000_000, maxDiffBytes: 10_000_000 })
  const lines = numbered(20_000)
  await compare({ ...swap, format: 'json' })
  const hard = compare({ base: lines.join(''), current: shuffled(lines).join(''), format: 'json' })
  // Large work begins in a round of the event loop of its own.
  await new Promise(setImmediate)
  await threads[0]!.terminate()
  t.match(await hard, { coarse: true, diff: { summary: { regions_changed: 1 } } })
  t.equal(fallbacks.length, 1)
  t.match(await compare({ ...swap, format: 'json' }), { coarse: false, diff: { summary: { regions_changed: 2 } } })
  t.equal(threads.length, 2)
})

t.test('closing answers what is under way, coarsely, and later comparisons too', async (t) => {
  const { compare, apply, close, fallbacks } = differ(t, {
    maxWorkers: 1,
    maxDiffBytes: 10_000_000,
    timeoutMs: 60_000,
    maxEditLength: 1_000_000
  })
  const lines = numbered(20_000)
  const online = new Promise((resolve) => process.once('worker', (thread) => thread.once('online', resolve)))
  const hard = { base: lines.join(''), current: shuffled(lines).join(''), format: 'json' as const }
  const patches = [{ old_string: '\n7 ', new_string: '\nseven ' }]
  const underWay = [compare(hard), compare(hard), compare({ ...hard, patches })]
  await online
  await close()
  t.strictSame(
    threads.map(({ threadId }) => threadId),
    [-1],
    'the thread has ended'
  )
  for (const answer of await Promise.all(underWay)) t.match(answer, { coarse: true, diff: { coarse: true } })
  t.match(await compare({ ...swap, format: 'json', patches }), {
    coarse: true,
    judgement: { patches_applicable: true }
  })
  t.match(await compare({ base: 'a', current: 'b', format: 'json' }), { coarse: false })
  t.ok(fallbacks.length >= 4)
  t.match(await apply({ text: hard.base.repeat(2), patches: [{ old_string: 'nowhere', new_string: '' }] }), {
    failure: { reason: 'not_found' }
  })
  const thousand = Array.from({ length: 500 }, () => [
    { old_string: 'x', new_string: 'y', replace_all: true },
    { old_string: 'y', new_string: 'x', replace_all: true }
  ]).flat()
  await t.rejects(apply({ text: hard.base, patches: thousand }), {
    code: 'OVERLOADED'
  })
  await close()
})

t.test('small merges need no thread; a thread gives the same answer', async (t) => {
  const here = differ(t)
  const small = { base: 'a\nb\nc\n', current: 'x\nb\nc\n', incoming: 'a\nb\ny\n' }
  t.strictSame(await here.merge(small), { text: 'x\nb\ny\n', coarse: false })
  t.equal(threads.length, 0)
  const cases = fc.sample(fc.tuple(pair(30), pair(30)), 100)
  const results = []
  for (const [{ base, current }, { current: incoming }] of cases) {
    results.push(await here.merge({ base, current, incoming }))
  }
  const there = differ(t, { inlineMaxBytes: -1 })
  for (const [index, [{ base, current }, { current: incoming }]] of cases.entries()) {
    t.strictSame(await there.merge({ base, current, incoming }), results[index])
  }
  t.equal(threads.length, 1)
  t.strictSame([...here.fallbacks, ...there.fallbacks], [])
})

t.test('unlike texts of megabytes are merged, or not, on a thread, and the event loop goes on meanwhile', async (t) => {
  const { merge } = differ(t)
  const lines = numbered(manyLines)
  const base = lines.join('')
  const current = shuffled(lines).join('')
  const incoming = shuffled(lines.toReversed()).join('')
  const turns = await turnsDuring(async () => {
    t.match(await merge({ base, current, incoming }), {
      coarse: true,
      hasContents: false
    })
  })
  t.ok(turns >= leastTurns, `${turns} turns`)
  t.equal(threads.length, 1, 'on a thread')
})

t.test(
  'where no thread answers, a merge is coarse, or of too large a text left undone; an abort is its own reason',
  async (t) => {
    const { merge, close } = differ(t)
    const lines = numbered(10_000)
    const text = lines.join('')
    const changed = (at: number) => lines.with(at, 'changed\n').join('')
    const input = { base: text, current: changed(100), incoming: changed(9_000) }
    const reason = new Error('gone')
    await t.rejects(merge({ ...input, signal: AbortSignal.abort(reason) }), reason)
    const abort = new AbortController()
    const running = merge({ ...input, signal: abort.signal })
    abort.abort(reason)
    await t.rejects(running, reason)
    await close()
    t.match(await merge(input), { text: lines.with(100, 'changed\n').with(9_000, 'changed\n').join('') })
    const twice = lines.with(200, 'changed too\n').with(300, 'and again\n').join('')
    t.match(await merge({ ...input, base: twice, incoming: text, current: lines.with(200, 'x\n').join('') }), {
      coarse: true,
      conflicts: [{ base: { start_line: 201 } }]
    })
    const large = text.repeat(8)
    t.match(await merge({ ...input, base: large, current: `${large}x`, incoming: `y${large}` }), {
      conflicts: { length: 0 },
      coarse: true
    })
  }
)
