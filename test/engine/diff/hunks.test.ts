// Hunks: true always, minimal where the bound allows it, and searched no further than it.
import { diffArrays } from 'diff'
import fc from 'fast-check'
import t from 'tap'
import { uniqueAnchors } from '../../../src/engine/diff/anchors.ts'
import { diffLines, type Hunk } from '../../../src/engine/diff/hunks.ts'
import { splitLines } from '../../../src/engine/diff/lines.ts'
import { longestCommonRuns } from '../../../src/engine/diff/myers.ts'
import { lengthOf } from '../../fixtures/length.ts'
import { applyHunks, holds, pair, seededRandom } from './fixtures/texts.ts'

const generous = { maxEditLength: 10_000, timeoutMs: 10_000 }

t.test('the hunks applied to the base give current, in order and apart, under any bound', async (t) => {
  holds(
    t,
    fc.property(
      pair(),
      fc.constantFrom(0, 1, 2, 4, 10_000),
      fc.boolean(),
      ({ base, current }, maxEditLength, minimalOnly) => {
        const [baseLines, currentLines] = [splitLines(base), splitLines(current)]
        const { hunks } = diffLines(baseLines, currentLines, { maxEditLength, timeoutMs: 10_000, minimalOnly })
        return applyHunks(baseLines, currentLines, hunks) === current && areApart(hunks)
      }
    ),
    5_000
  )
})

t.test('the search finds what an independent one finds, within the same bound', async (t) => {
  const elements = fc.array(fc.nat(5), { maxLength: 30 })
  const property = fc.property(elements, elements, fc.constantFrom(3, 100), (base, current, maxEditLength) => {
    const components = diffArrays(base, current, { maxEditLength })
    const length = components?.reduce((sum, { added, removed, count }) => (added || removed ? sum : sum + count), 0)
    const runs = longestCommonRuns(base, current, maxEditLength, Infinity)
    const isCommon = runs?.every(({ base: from, current: to, length }) =>
      base.slice(from, from + length).every((element, index) => element === current[to + index])
    )
    return runs?.reduce((sum, { length }) => sum + length, 0) === length && isCommon !== false
  })
  holds(t, property, 5_000)
  t.equal(longestCommonRuns([1, 2, 3], [3, 2, 1], 100, -1), undefined, 'at the deadline')
})

function areApart(hunks: readonly Hunk[]): boolean {
  return hunks.every((hunk, index) => {
    const before = hunks[index - 1]
    const isEmpty = hunk.baseStart === hunk.baseEnd && hunk.currentStart === hunk.currentEnd
    return !isEmpty && (!before || (before.baseEnd < hunk.baseStart && before.currentEnd < hunk.currentStart))
  })
}

t.test('within the bound no smaller diff exists', async (t) => {
  holds(
    t,
    fc.property(pair(10), ({ base, current }) => {
      const [baseLines, currentLines] = [splitLines(base), splitLines(current)]
      const { hunks, coarse } = diffLines(baseLines, currentLines, generous)
      return !coarse && editLength(hunks) === smallestEditLength(baseLines, currentLines)
    }),
    2_000
  )
})

function editLength(hunks: readonly Hunk[]): number {
  return hunks.reduce((sum, hunk) => sum + hunk.baseEnd - hunk.baseStart + hunk.currentEnd - hunk.currentStart, 0)
}

/** By the table of the textbook, without any of our shortcuts. */
function smallestEditLength(base: readonly string[], current: readonly string[]): number {
  let row = current.map((_, index) => index).concat(current.length)
  for (const [index, line] of base.entries()) {
    const next = [index + 1]
    for (const [at, other] of current.entries()) {
      next.push(line === other ? row[at]! : 1 + Math.min(row[at + 1]!, next[at]!))
    }
    row = next
  }
  return row[current.length]!
}

t.test('equal texts have no hunk, and an empty side one', async (t) => {
  t.strictSame(diffLines(['a\n'], ['a\n'], generous), { hunks: [], coarse: false })
  t.strictSame(diffLines([], [], generous), { hunks: [], coarse: false })
  const hunks = [{ baseStart: 0, baseEnd: 0, currentStart: 0, currentEnd: 2 }]
  t.strictSame(diffLines([], ['a\n', 'b'], generous), { hunks, coarse: false })
})

t.test('a block moved beyond the bound is coarse, yet held together by the lines that stand once', async (t) => {
  const lines = Array.from({ length: 3_000 }, (_, index) => (index % 3 === 0 ? '}\n' : `line ${index}\n`))
  const moved = [...lines.slice(0, 100), ...lines.slice(1_100), ...lines.slice(100, 1_100)]
  const { hunks, coarse } = diffLines(lines, moved, { maxEditLength: 50, timeoutMs: 10_000 })
  t.equal(applyHunks(lines, moved, hunks), moved.join(''))
  t.equal(coarse, true)
  t.ok(editLength(hunks) <= 2 * 1_000 + 10, `${editLength(hunks)} lines instead of 2,000`)
})

t.test('without any effort allowed there is one hunk between the common start and end', async (t) => {
  const { hunks, coarse } = diffLines(['a', 'x', 'b', 'y', 'c'], ['a', 'y', 'b', 'x', 'c'], {
    maxEditLength: 0,
    timeoutMs: 0
  })
  t.strictSame(
    { hunks, coarse },
    { hunks: [{ baseStart: 1, baseEnd: 4, currentStart: 1, currentEnd: 4 }], coarse: true }
  )
})

t.test('two unlike large texts, and ones of very many lines, get true hunks within the bound', async (t) => {
  const random = seededRandom(1)
  // In full 10 MB, and a million lines.
  const wide = Array.from(
    { length: lengthOf({ full: 200_000, short: 40_000 }) },
    (_, index) => `${index} ${'x'.repeat(45)}\n`
  )
  const digits = (count: number) => Array.from({ length: count }, () => `${random(5)}\n`)
  const many = lengthOf({ full: 1_000_000, short: 200_000 })
  const same = Array.from({ length: many }, () => 'a\n')
  const cases: [string, string[], string[], boolean][] = [
    ['long lines, no line in common', wide, wide.map((line) => `y${line}`), false],
    ['long lines, the same lines in another order', wide, shuffled(wide, random), true],
    ['lines of five kinds', digits(many), digits(many), true],
    [
      'equal lines against nine tenths of them with two others',
      same,
      same
        .slice(0, many * 0.9)
        .with(0, 'b\n')
        .with(many * 0.45, 'c\n'),
      true
    ]
  ]
  for (const [title, base, current, isCoarse] of cases) {
    const { hunks, coarse } = diffLines(base, current, { maxEditLength: 2_000, timeoutMs: 300 })
    t.equal(coarse, isCoarse, title)
    t.ok(applyHunks(base, current, hunks) === current.join(''), `${title}: ${hunks.length} hunks, true`)
  }
})

function shuffled(lines: readonly string[], random: (below: number) => number): string[] {
  const result = [...lines]
  for (let at = result.length - 1; at > 0; at--) {
    const other = random(at + 1)
    ;[result[at], result[other]] = [result[other]!, result[at]!]
  }
  return result
}

t.test('10,000 lines indented anew but for some need no search: no changed line is on both sides', async (t) => {
  const lines = Array.from({ length: 10_000 }, (_, index) => `  line ${index}\n`)
  const indented = lines.map((line, index) => (index % 20 === 0 ? line : `    ${line}`))
  // The least effort that is allowed finds what is minimal.
  const { hunks, coarse } = diffLines(lines, indented, { maxEditLength: 1, timeoutMs: 10_000 })
  t.strictSame({ regions: hunks.length, coarse }, { regions: 500, coarse: false })
})

/** How often the clock is looked at meanwhile. Each look moves it by one millisecond, so that it depends on no machine. */
function looksAtClock(run: () => void): number {
  const clock = performance
  let looks = 0
  globalThis.performance = Object.create(clock, { now: { value: () => (looks += 1) } }) as typeof performance
  try {
    run()
    return looks
  } finally {
    globalThis.performance = clock
  }
}

t.test('the search ends when its time is up', async (t) => {
  const lines = Array.from({ length: 2_000 }, (_, index) => `line ${index}\n`)
  const other = shuffled(lines, seededRandom(2))
  // Each number of edits that is tried looks at the clock once, and so does each gap between the anchors, of which there are 83.
  const search = (timeoutMs: number) => diffLines(lines, other, { maxEditLength: 1_000_000, timeoutMs })
  const whole = looksAtClock(() => t.equal(search(10_000).coarse, false))
  t.ok(whole > 1_000, `${whole} looks`)
  for (const timeoutMs of [0, 20, 200]) {
    const cut = looksAtClock(() => t.equal(search(timeoutMs).coarse, true))
    t.ok(cut < timeoutMs + 100, `${cut} looks within ${timeoutMs} ms`)
  }
})

t.test('the anchors of a coarse diff stand once on either side, as many as keep their order', async (t) => {
  t.strictSame(uniqueAnchors([1, 9, 2, 9, 3, 4, 5], [9, 4, 1, 2, 5, 9, 9, 3]), [
    { base: 0, current: 2 },
    { base: 2, current: 3 },
    { base: 6, current: 4 }
  ])
  t.strictSame(uniqueAnchors([1, 1], [1]), [])
})
