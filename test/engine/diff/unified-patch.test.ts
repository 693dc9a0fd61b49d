// A unified diff as a change: what the server's own diffs and real `diff -u` give is applied exactly, and nothing is guessed.
import fc from 'fast-check'
import t from 'tap'
import { compareTexts, toTask } from '../../../src/engine/diff/compare.ts'
import { createBudget } from '../../../src/engine/diff/budget.ts'
import { applyUnified, describeUnifiedFailure, judgeUnified } from '../../../src/engine/diff/unified-patch.ts'
import { pair } from './fixtures/texts.ts'

const outOfBudget = { message: 'The work exceeds its limit.' }

const apply = (text: string, unifiedDiff: string, maxBytes = Infinity) => applyUnified({ text, unifiedDiff, maxBytes })
const lines = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => `${from + at}\n`).join('')

function diffOf(base: string, current: string, contextLines = 3): string {
  const bound = { maxEditLength: 1_000, timeoutMs: 10_000 }
  const task = toTask(base, current, { format: 'unified', contextLines, maxDiffBytes: Infinity, bound })
  return compareTexts(task).diff?.content ?? ''
}

t.test('every diff that the server shows, applied to its base, gives its current text', async (t) => {
  fc.assert(
    fc.property(pair(), ({ base, current }) => {
      const diff = diffOf(base, current)
      if (diff !== '') t.strictSame(apply(base, diff), { text: current })
    }),
    { numRuns: 300 }
  )
})

t.test('hunks are found where their lines have moved to, in their order', async (t) => {
  const base = lines(1, 40)
  const diff = diffOf(base, base.replace('\n5\n', '\nfive\n').replace('\n30\n', '\nthirty\n'))
  const moved = `0\n00\n${lines(1, 15)}x\ny\n${lines(16, 40)}`
  t.strictSame(apply(moved, diff), { text: moved.replace('\n5\n', '\nfive\n').replace('\n30\n', '\nthirty\n') })
  t.strictSame(apply(lines(3, 40), diffOf(lines(1, 40), lines(1, 40).replace('\n20\n', '\n'))), {
    text: lines(3, 40).replace('\n20\n', '\n')
  })
})

t.test('the first hunk that does not apply is named and shown, and nothing is applied', async (t) => {
  const base = lines(1, 60)
  const current = base.replace('\n10\n', '\nten\n').replace('\n30\n', '\nthirty\n').replace('\n50\n', '\nfifty\n')
  const diff = diffOf(base, current)
  for (const [index, changed] of ['11', '31', '51'].entries()) {
    const result = apply(base.replace(`\n${changed}\n`, '\nother\n'), diff)
    t.match(result, { failure: { reason: 'not_found', hunk_index: index, hunks: 3 } })
    if (!('failure' in result)) return
    t.match(result.failure, { hunk: new RegExp(`^@@ -\\d+,7 [^]*\n ${changed}\n`) })
    t.match(describeUnifiedFailure(result.failure), `hunk ${index + 1} of 3 (@@ -`)
  }
})

t.test('line ends and byte order marks that only the diff, or only the file, has are no obstacle', async (t) => {
  const diff = diffOf('a\nb\nc\n', 'a\nB\nc\n')
  t.strictSame(apply('a\r\nb\r\nc\r\n', diff), { text: 'a\r\nB\r\nc\r\n' })
  t.strictSame(apply('a\nb\nc\n', diff.replaceAll('\n', '\r\n')), { text: 'a\nB\nc\n' })
  t.strictSame(apply('\uFEFFa\nb\nc\n', diff), { text: '\uFEFFa\nB\nc\n' })
  t.strictSame(apply('\uFEFFa\nb\n', diffOf('\uFEFFa\nb\n', 'A\nb\n')), { text: 'A\nb\n' }, 'a diff of the bytes')
})

t.test('what the library would take and change another way than meant is refused', async (t) => {
  const loose = '@@ -2,0 +3 @@\n+x\n'
  t.strictSame(apply('a\nb\nc\n', loose), { text: 'a\nb\nx\nc\n' }, 'at its line, as patch does')
  t.match(apply('a\n', loose), { failure: { reason: 'no_context', hunk_index: 0, line: 1 } }, 'beyond the end')
  const moved = `@@ -1 +1 @@\n-b\n+B\n${loose}`
  t.match(
    apply('a\nb\nc\n', moved),
    { failure: { reason: 'no_context', hunk_index: 1, line: 4 } },
    'behind one that moved'
  )
  t.match(judgeUnified({ text: 'a\nb\nc\n', unifiedDiff: loose, maxBytes: Infinity }), {
    patches_applicable: false,
    conflicts: [{ patch_index: 0, reason: 'context_changed', base_start_line: 3, base_end_line: 2 }]
  })
  t.strictSame(apply('', '@@ -0,0 +1 @@\n+x\n'), { text: 'x\n' })
  const hunk = '@@ -1,2 +1,2 @@\n-a\n+A\n b\n'
  t.match(apply('a\nb\na\nb\n', hunk + hunk), { failure: { reason: 'overlap', hunk_index: 1 } })
  t.match(apply('a\n', '--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n--- c\n+++ c\n@@ -1 +1 @@\n-c\n+d\n'), {
    failure: { reason: 'several_files', files: 2 }
  })
  for (const text of ['no diff', '--- a\n+++ b\n', '\n'])
    t.match(apply('a\n', text), { failure: { reason: /no_hunks|malformed/ } }, JSON.stringify(text))
  t.match(apply('a\n', '@@ -1,5 +1 @@\n-a\n+b\n'), { failure: { reason: 'malformed', fault: /./ } })
  t.match(apply('a\n', diffOf('a\n', 'abc\n'), 3), { failure: { reason: 'too_large' } })
  t.strictSame(apply('a\n', diffOf('a\n', 'abc\n'), 4), { text: 'abc\n' })
})

t.test('a hunk that is nowhere, or far beyond the end, costs no more than the budget', async (t) => {
  const text = 'x\n'.repeat(20_000)
  const hunks = Array.from({ length: 2_000 }, (_, at) => `@@ -${at * 5 + 1},2 +${at * 5 + 1},2 @@\n x\n-y\n+z\n`).join(
    ''
  )
  t.throws(() => applyUnified({ text, unifiedDiff: hunks, maxBytes: Infinity }, createBudget(2_000_000)), outOfBudget)
  const far = '@@ -900000000000000,2 +1,1 @@\n x\n-x\n'
  t.throws(() => applyUnified({ text, unifiedDiff: far, maxBytes: Infinity }, createBudget(1_000_000)), outOfBudget)
})
