// The unified form of the diff: the real `patch` turns the base into the very bytes of current with it.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { compareTexts, toTask } from '../../../src/engine/diff/compare.ts'
import { lengthOf } from '../../fixtures/length.ts'
import { pair } from './fixtures/texts.ts'

const unified = (base: string, current: string, contextLines = 3) => {
  const bound = { maxEditLength: 1_000, timeoutMs: 10_000 }
  return compareTexts(toTask(base, current, { format: 'unified', contextLines, maxDiffBytes: Infinity, bound })).diff!
}

t.test('a diff has a header, sections with three lines of context, and a summary', async (t) => {
  const lines = Array.from({ length: 30 }, (_, index) => `${index + 1}\n`)
  const current = lines.toSpliced(24, 0, 'new\n').toSpliced(9, 1, 'ten\n').toSpliced(2, 1)
  t.strictSame(unified(lines.join(''), current.join('')), {
    format: 'unified',
    content: [
      '--- expected',
      '+++ current',
      '@@ -1,13 +1,12 @@',
      ' 1\n 2\n-3\n 4\n 5\n 6\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13',
      '@@ -22,6 +21,7 @@',
      ' 22\n 23\n 24\n+new\n 25\n 26\n 27',
      ''
    ].join('\n'),
    summary: { lines_added: 1, lines_removed: 1, lines_modified: 1, regions_changed: 3 }
  })
})

t.test('a missing final newline is marked, on the side that misses it', async (t) => {
  const marker = '\\ No newline at end of file\n'
  t.equal(unified('a', 'a\n').content, `--- expected\n+++ current\n@@ -1 +1 @@\n-a\n${marker}+a\n`)
  t.equal(unified('a\n', 'a').content, `--- expected\n+++ current\n@@ -1 +1 @@\n-a\n+a\n${marker}`)
  t.equal(unified('a\nb', 'A\nb').content, `--- expected\n+++ current\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n${marker}`)
})

t.test('an empty side is line 0, and equal texts have no diff', async (t) => {
  t.equal(unified('', 'a\n').content, '--- expected\n+++ current\n@@ -0,0 +1 @@\n+a\n')
  t.equal(unified('a\n', '').content, '--- expected\n+++ current\n@@ -1 +0,0 @@\n-a\n')
  t.equal(unified('a\n', 'a\n').content, '')
})

t.test(
  'a lone \\r ends no line of a unified diff, so that a change beside one takes the line up to the next \\n',
  async (t) => {
    t.equal(
      unified('1\n2\r3\r4\n5\n', '1\n2\rx\r4\n5\n', 1).content,
      '--- expected\n+++ current\n@@ -1,3 +1,3 @@\n 1\n-2\r3\r4\n+2\rx\r4\n 5\n'
    )
  }
)

const hasPatch = spawnSync('patch', ['--version']).status === 0
const skip =
  !hasPatch && 'The program `patch` is missing, so that the unified diff is NOT tested: apt-get install patch'

t.test('`patch` turns the base into the bytes of current, for generated pairs', { skip }, async (t) => {
  const folder = t.testdir()
  const count = lengthOf({ full: 500, short: 150 })
  const different = pair(40).filter(({ base, current }) => base !== current)
  const cases = fc.sample(fc.record({ texts: different, contextLines: fc.constantFrom(0, 1, 2, 3, 3, 3) }), count)
  const words = (text: string) =>
    text
      .split(/[\r\n]+/)
      .join(' ')
      .trim()
  const inTerminatorsOnly = cases.filter(({ texts }) => words(texts.base) === words(texts.current))
  t.ok(inTerminatorsOnly.length >= count / 10, `${inTerminatorsOnly.length} pairs differ in terminators only`)
  for (const [index, { texts, contextLines }] of cases.entries()) {
    writeFileSync(join(folder, `${index}.file`), texts.base)
    writeFileSync(join(folder, `${index}.diff`), unified(texts.base, texts.current, contextLines).content!)
  }
  // One shell for all of them. No fuzz is allowed, and a section found elsewhere than it says would be reported.
  const script = `i=0; while [ $i -lt ${count} ]; do patch --binary --fuzz=0 $i.file $i.diff || echo "failed: $i"; i=$((i+1)); done`
  const { stdout, stderr } = spawnSync('sh', ['-c', script], { cwd: folder, encoding: 'utf8' })
  const complaints = `${stdout}${stderr}`
    .split('\n')
    .filter((line) => line !== '' && !/^patching file '?\d+\.file'?$/.test(line))
  t.strictSame(complaints, [])
  const wrong = cases.filter(
    ({ texts }, index) => readFileSync(join(folder, `${index}.file`), 'utf8') !== texts.current
  )
  t.strictSame(wrong, [])
})
