// The JSON form of the diff: what an agent needs to adjust its update without reading the file again.
import { Ajv } from 'ajv'
import fc from 'fast-check'
import t from 'tap'
import { Diff, type Change } from '../../../schemas/diff.ts'
import { compareTexts, toTask } from '../../../src/engine/diff/compare.ts'
import { splitLines } from '../../../src/engine/diff/lines.ts'
import { holds, pair } from './fixtures/texts.ts'

const options = {
  format: 'json' as const,
  contextLines: 3,
  maxDiffBytes: Infinity,
  bound: { maxEditLength: 1_000, timeoutMs: 10_000 }
}
const diffOf = (base: string, current: string, more: Partial<typeof options> = {}) =>
  compareTexts(toTask(base, current, { ...options, ...more })).diff!
const changesOf = (base: string, current: string, more: Partial<typeof options> = {}) =>
  diffOf(base, current, more).changes!

/** `count` different lines, numbered from `first`. */
const numbered = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => `line ${first + index}\n`).join('')

t.test('the three kinds of change of the specification (PRD 3.3)', async (t) => {
  const base = `${numbered(1, 9)}    old line 1\n    old line 2\n    old line 3\n${numbered(13, 13)}${numbered(26, 14)}    removed_line_1()\n    removed_line_2()\n    removed_line_3()\n${numbered(43, 5)}`
  const current = `${numbered(1, 9)}    new line 1\n    new line 2\n${numbered(13, 13)}    brand_new_line()\n${numbered(26, 14)}${numbered(43, 5)}`
  t.strictSame(diffOf(base, current, { contextLines: 1 }), {
    format: 'json',
    changes: [
      {
        type: 'modified',
        start_line: 10,
        end_line: 12,
        base_start_line: 10,
        current_start_line: 10,
        old_content: '    old line 1\n    old line 2\n    old line 3',
        new_content: '    new line 1\n    new line 2',
        context_before: 'line 9',
        context_after: 'line 13'
      },
      {
        type: 'added',
        start_line: 25,
        end_line: 25,
        base_start_line: 26,
        current_start_line: 25,
        new_content: '    brand_new_line()',
        context_before: 'line 25',
        context_after: 'line 26'
      },
      {
        type: 'removed',
        start_line: 40,
        end_line: 42,
        base_start_line: 40,
        current_start_line: 40,
        old_content: '    removed_line_1()\n    removed_line_2()\n    removed_line_3()',
        context_before: 'line 39',
        context_after: 'line 43'
      }
    ],
    summary: { lines_added: 1, lines_removed: 3, lines_modified: 3, regions_changed: 3 }
  })
})

t.test('context is what is unchanged nearby, and ends at the next change and at either end of the file', async (t) => {
  const base = 'a\nb\nc\nd\ne\nf\ng\nh\n'
  const [first, second] = changesOf(base, 'a\nb\nC\nd\ne\nF\ng\nh\n')
  t.strictSame([first!.context_before, first!.context_after], ['a\nb', 'd\ne'])
  t.strictSame([second!.context_before, second!.context_after], ['d\ne', 'g\nh'])
  const [only] = changesOf(base, 'a\nb\nc\nd\nE\nf\ng\nh\n', { contextLines: 1 })
  t.strictSame([only!.context_before, only!.context_after], ['d', 'f'])
  const [none] = changesOf(base, 'a\nb\nc\nd\nE\nf\ng\nh\n', { contextLines: 0 })
  t.strictSame([none!.context_before, none!.context_after], ['', ''])
})

t.test('context ends at a line too long to be a help', async (t) => {
  const long = 'x'.repeat(2_001)
  const [change] = changesOf(`${long}\nb\nc\nd\n${long}\n`, `${long}\nb\nC\nd\n${long}\n`)
  t.strictSame([change!.context_before, change!.context_after], ['b', 'd'])
})

t.test('a change of line ends or of the final newline alone says so', async (t) => {
  for (const [base, current] of [
    ['a\nb\n', 'a\r\nb\n'],
    ['a\nb', 'a\nb\n'],
    ['a\nb\n', 'a\nb'],
    ['a\rb', 'a\r\nb'],
    ['a\nb\n', 'a\rb\r']
  ] as const) {
    const [change] = changesOf(base, current)
    t.equal(change!.terminators_only, true, JSON.stringify([base, current]))
    t.equal(
      change!.old_content,
      change!.new_content?.replaceAll(/\r\n?/g, '\n').replaceAll('\n', base.includes('\n') ? '\n' : '\r')
    )
  }
  const [other] = changesOf('a\nb\n', 'a\r\nB\n')
  t.equal(other!.terminators_only, undefined)
  const [added] = changesOf('a\n', 'a\nb\n')
  t.equal(added!.terminators_only, undefined)
})

t.test('line numbers count from the start of the file, however much of it is equal', async (t) => {
  const [change] = changesOf(
    `${numbered(1, 5_000)}old\n${numbered(5_002, 5_000)}`,
    `${numbered(1, 5_000)}new\n${numbered(5_002, 5_000)}`
  )
  t.match(change!, { start_line: 5_001, end_line: 5_001, base_start_line: 5_001, current_start_line: 5_001 })
  t.equal(change!.context_before, 'line 4998\nline 4999\nline 5000')
  const [mixed] = changesOf(`1\r2\r\n3\n${numbered(4, 10)}x\n`, `1\r2\r\n3\n${numbered(4, 10)}y\n`)
  t.equal(mixed!.start_line, 14)
})

t.test('the changes applied to the base give current, but for the terminator of each last line', async (t) => {
  const contexts = fc.constantFrom(0, 1, 3)
  const property = fc.property(pair(20), contexts, ({ base, current }, contextLines) => {
    const changes = changesOf(base, current, { contextLines })
    return applyChanges(base, current, changes) === current
  })
  holds(t, property, 3_000)
})

/** Takes from `current` nothing but the terminators that contents leave out. */
function applyChanges(base: string, current: string, changes: readonly Change[]): string {
  const baseLines = splitLines(base)
  const currentLines = splitLines(current)
  const out: string[] = []
  let at = 1
  for (const { type, start_line, end_line, base_start_line, current_start_line, old_content, new_content } of changes) {
    while (at < base_start_line) out.push(baseLines[at++ - 1]!)
    if (current_start_line !== out.length + 1) return `current_start_line ${current_start_line} at ${out.length + 1}`
    if (type === 'added' ? start_line !== current_start_line : start_line !== base_start_line) return 'start_line'
    const oldLines = old_content === undefined ? [] : linesOf(old_content)
    const newLines = new_content === undefined ? [] : linesOf(new_content)
    if (end_line !== start_line + (type === 'added' ? newLines : oldLines).length - 1) return 'end_line'
    if (oldLines.some((line, index) => line !== baseLines[at - 1 + index] && index < oldLines.length - 1)) return 'old'
    at += oldLines.length
    const last = newLines.pop()
    out.push(...newLines)
    if (last !== undefined) out.push(last + /[\r\n]*$/.exec(currentLines[out.length]!)![0])
  }
  return [...out, ...baseLines.slice(at - 1)].join('')
}

/** The lines of a content whose last terminator is missing. */
function linesOf(content: string): string[] {
  const lines = splitLines(`${content}\r`)
  return lines.toSpliced(-1, 1, lines.at(-1)!.slice(0, -1))
}

t.test('every line that differs is in the summary once', async (t) => {
  const property = fc.property(pair(), ({ base, current }) => {
    const { changes, summary } = diffOf(base, current)
    const count = (type: string) =>
      changes!
        .filter((change) => change.type === type)
        .reduce((sum, { start_line, end_line }) => sum + end_line - start_line + 1, 0)
    return (
      summary.lines_added === count('added') &&
      summary.lines_removed === count('removed') &&
      summary.lines_modified === count('modified') &&
      summary.regions_changed === changes!.length
    )
  })
  holds(t, property, 1_000)
})

t.test('whatever the texts, the answer has the shape of the contract', async (t) => {
  const validate = new Ajv({ strict: false }).compile(Diff)
  holds(
    t,
    fc.property(pair(), ({ base, current }) => validate(diffOf(base, current))),
    500
  )
})

t.test('a coarse diff says so, and a diff beyond its limit is not given at all', async (t) => {
  const base = 'a\nb\nc\nd\n'
  const current = 'd\nc\nb\na\n'
  t.equal(diffOf(base, current, { bound: { maxEditLength: 1, timeoutMs: 1_000 } }).coarse, true)
  t.equal(diffOf(base, current).coarse, undefined)
  const bytes = Buffer.byteLength(JSON.stringify(diffOf('ä\n', 'ö\n')))
  t.strictSame(compareTexts(toTask('ä\n', 'ö\n', { ...options, maxDiffBytes: bytes })).tooLarge, false)
  t.strictSame(compareTexts(toTask('ä\n', 'ö\n', { ...options, maxDiffBytes: bytes - 1 })), {
    diff: null,
    tooLarge: true,
    coarse: false
  })
})
