// Patches by lines: numbers mean the text as it is before, and every byte of other lines stays.
import fc from 'fast-check'
import t from 'tap'
import { casesOf } from '../../fixtures/length.ts'
import type { LinePatch } from '../../../schemas/patches.ts'
import { judgePatches } from '../../../src/engine/diff/judge.ts'
import { describeFailure } from '../../../src/engine/diff/patch-failure.ts'
import { applyPatches } from '../../../src/engine/diff/patches.ts'
import { splitLines } from '../../../src/engine/diff/lines.ts'
import { holds, pair } from './fixtures/texts.ts'

const patch = (start_line: number, end_line: number, new_content: string, expected_lines?: string): LinePatch => ({
  start_line,
  end_line,
  new_content,
  ...(expected_lines !== undefined && { expected_lines })
})

const apply = (text: string, ...patches: LinePatch[]) => {
  const result = applyPatches(text, patches)
  return 'text' in result ? result.text : describeFailure(result.failure)
}

const text = 'a\nb\nc\nd\n'

t.test('lines are replaced, deleted and inserted', async (t) => {
  t.equal(apply(text, patch(2, 3, 'x')), 'a\nx\nd\n')
  t.equal(apply(text, patch(2, 3, 'x\ny\nz\n')), 'a\nx\ny\nz\nd\n')
  t.equal(apply(text, patch(1, 4, '')), '')
  t.equal(apply(text, patch(2, 2, '')), 'a\nc\nd\n')
  t.equal(apply(text, patch(1, 0, 'x')), 'x\na\nb\nc\nd\n', 'before the first line')
  t.equal(apply(text, patch(5, 4, 'x')), 'a\nb\nc\nd\nx\n', 'behind the last line')
  t.equal(apply(text, patch(3, 2, '\n')), 'a\nb\n\nc\nd\n', 'an empty line')
  t.equal(apply('', patch(1, 0, 'x')), 'x')
})

t.test('the numbers of all patches mean the text before any of them, in whatever order they come', async (t) => {
  t.equal(apply(text, patch(4, 4, 'D'), patch(1, 1, 'A\nAA'), patch(3, 3, '')), 'A\nAA\nb\nD\n')
  t.equal(apply(text, patch(2, 2, 'B'), patch(2, 1, 'x'), patch(2, 1, 'y')), 'a\nx\ny\nB\nc\nd\n', 'insertions first')
  t.equal(apply(text, patch(2, 2, ''), patch(3, 2, 'x')), 'a\nx\nc\nd\n')
})

t.test('line ends stay, and what is put in takes that of its place', async (t) => {
  const mixed = 'a\r\nb\rc\nd'
  t.equal(apply(mixed, patch(1, 1, 'x')), 'x\r\nb\rc\nd')
  t.equal(apply(mixed, patch(2, 2, 'x')), 'a\r\nx\rc\nd')
  t.equal(apply(mixed, patch(1, 2, 'x\ny')), 'x\ny\rc\nd', 'only the last one is missing')
  t.equal(apply(mixed, patch(4, 4, 'x')), 'a\r\nb\rc\nx', 'the final line break stays away')
  t.equal(apply(mixed, patch(4, 4, 'x\n')), 'a\r\nb\rc\nx\n', 'unless it is brought')
  t.equal(apply(mixed, patch(5, 4, 'x')), 'a\r\nb\rc\nd\nx', 'a line that others follow has an end')
  t.equal(apply(mixed, patch(2, 1, 'x')), 'a\r\nx\r\nb\rc\nd', 'that of the line before')
  t.equal(apply(mixed, patch(1, 0, 'x')), 'x\r\na\r\nb\rc\nd', 'or of the line behind')
  t.equal(apply('a\n\nb\n', patch(1, 1, 'x\r')), 'x\r\n\nb\n', 'two line ends do not become one')
})

t.test('what cannot be meant is refused, with what to do instead', async (t) => {
  t.match(apply(text, patch(3, 1, 'x')), 'patches[0]: end_line lies before start_line.')
  t.match(
    apply(text, patch(1, 1, 'x'), patch(4, 5, 'x')),
    'patches[1]: the version has lines 1 to 4. To add lines after'
  )
  t.match(apply(text, patch(6, 5, 'x')), 'patches[0]: the version has lines 1 to 4.')
  t.match(apply('', patch(1, 1, 'x')), 'patches[0]: the version has no lines. Insert with start_line 1 and end_line 0.')
  t.match(apply(text, patch(2, 1, '')), 'patches[0]: new_content is empty, and there are no lines to replace.')
  t.match(apply(text, patch(2, 3, 'x'), patch(3, 4, 'y')), 'patches[1]: its lines overlap those of patches[0].')
  t.match(apply(text, patch(3, 2, 'x'), patch(2, 3, 'y')), 'patches[0]: its lines overlap those of patches[1].')
  t.strictSame(applyPatches(text, [patch(1, 1, 'xx')], 8), { failure: { patch_index: 0, reason: 'too_large' } })
  t.strictSame(applyPatches(text, [patch(1, 1, 'xx')], 9), { text: 'xx\nb\nc\nd\n' })
  t.strictSame(
    applyPatches(text, [patch(1, 1, '\u20ac')], 9),
    { failure: { patch_index: 0, reason: 'too_large' } },
    'UTF-8'
  )
})

t.test('expected_lines must stand there; line ends may differ', async (t) => {
  t.equal(apply(text, patch(2, 3, 'x', 'b\nc')), 'a\nx\nd\n')
  t.equal(apply(text, patch(2, 3, 'x', 'b\r\nc\n')), 'a\nx\nd\n')
  t.match(
    apply(text, patch(2, 3, 'x', 'c\nd')),
    'patches[0]: expected_lines does not match the file: lines 2-3 are "b\\nc".'
  )
  t.match(apply(text, patch(2, 2, 'x', 'b\nc')), 'line 2 is "b"')
  t.match(apply(text, patch(2, 2, 'x', 'b ')), 'line 2 is "b"', 'blanks count')
  t.equal(apply('a\n\nb\n', patch(2, 2, 'x', '\n')), 'a\nx\nb\n', 'an empty line')
  t.match(apply(text, patch(2, 1, 'x', 'b')), 'it inserts, so leave out expected_lines')
  t.match(apply('y\n'.repeat(50), patch(1, 50, 'x', 'z')), / and more\. Correct/)
})

const judge = (base: string, current: string, ...patches: LinePatch[]) =>
  judgePatches({
    base,
    current,
    patches,
    contextLines: 3,
    maxBytes: Infinity,
    bound: { maxEditLength: 2_000, timeoutMs: 10_000 }
  })
const long = Array.from({ length: 30 }, (_, index) => `${index + 1}\n`).join('')

t.test('sent again they apply where the same numbers still mean the same lines', async (t) => {
  t.strictSame(judge(long, long.replace('25\n', 'x\ny\n'), patch(10, 11, 'z')), {
    patches_applicable: true,
    conflicts: [],
    non_conflicting_patches: [0],
    applicable_patches: [{ patch_index: 0, start_line: 10, end_line: 11 }]
  })
  const current = long.replace('5\n', '5\nnew\n').replace('20\n', 'x\n')
  const patches = [patch(1, 1, 'a'), patch(12, 13, 'b'), patch(20, 20, 'c'), patch(22, 22, 'd'), patch(4, 5, 'e')]
  t.strictSame(judge(long, current, ...patches, patch(29, 31, 'f'), patch(10, 9, 'g')), {
    patches_applicable: false,
    conflicts: [
      { patch_index: 1, reason: 'lines_moved', base_start_line: 12, base_end_line: 13 },
      { patch_index: 2, reason: 'lines_changed', base_start_line: 20, base_end_line: 20 },
      { patch_index: 3, reason: 'context_changed', base_start_line: 22, base_end_line: 22 },
      { patch_index: 4, reason: 'lines_changed', base_start_line: 4, base_end_line: 5 },
      { patch_index: 5, reason: 'not_found' },
      { patch_index: 6, reason: 'lines_moved', base_start_line: 10, base_end_line: 9 }
    ],
    non_conflicting_patches: [0],
    applicable_patches: [
      { patch_index: 0, start_line: 1, end_line: 1 },
      { patch_index: 1, start_line: 13, end_line: 14 },
      { patch_index: 6, start_line: 11, end_line: 10 }
    ]
  })
})

const requests = fc
  .record({
    texts: pair(20),
    places: fc.array(fc.record({ at: fc.nat(), count: fc.nat(3), content: fc.constantFrom('', 'new', 'n\nm\r\n') }), {
      minLength: 1,
      maxLength: 3
    })
  })
  .map(({ texts, places }) => {
    const total = splitLines(texts.base).length
    const patches = places.map(({ at, count, content }) => {
      const start = 1 + (at % (total + 1))
      return patch(start, Math.min(total, start + count - 1), content)
    })
    return { ...texts, patches }
  })

t.test('whatever is judged applicable means the same lines of both texts', async (t) => {
  let applicable = 0
  const property = fc.property(requests, ({ base, current, patches }) => {
    const [before, after] = [splitLines(base), splitLines(current)]
    const judgement = judge(base, current, ...patches)
    const isSame = judgement.applicable_patches.every(({ patch_index, start_line, end_line }) => {
      const meant = patches[patch_index]!
      const was = before.slice(meant.start_line - 1, meant.end_line).join('')
      return after.slice(start_line - 1, end_line).join('') === was
    })
    if (judgement.patches_applicable) applicable++
    return isSame && (!judgement.patches_applicable || 'text' in applyPatches(current, patches))
  })
  holds(t, property, 5_000)
  t.ok(applicable > casesOf(5_000) / 50, `${applicable} were applicable`)
})

t.test('lines that are not as expected show the first character that differs', async (t) => {
  const expected = (expected_lines: string) => applyPatches('a\nb\u00a0c \r\nd\n', [patch(2, 3, '', expected_lines)])
  const at = (line: number, column: number, found: string, wanted: string) => ({ line, column, found, wanted })
  for (const [lines, difference] of [
    ['b c \nd', at(2, 2, 'U+00A0 NO-BREAK SPACE', 'U+0020 SPACE')],
    ['b\u00a0c\nd', at(2, 4, 'U+0020 SPACE', 'U+000A LINE FEED')],
    ['b\u00a0c \nde', at(3, 2, 'U+000A LINE FEED', 'U+0065 "e"')],
    ['b\u00a0c ', undefined]
  ] as const) {
    const result = expected(lines)
    if (!('failure' in result) || result.failure.reason !== 'unexpected_lines') throw new Error(lines)
    t.strictSame(result.failure.first_difference, difference, lines)
  }
})
