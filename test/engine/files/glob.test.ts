// Globs behave as picomatch's, yet in time linear in the name.
import fc from 'fast-check'
import picomatch from 'picomatch'
import t from 'tap'
import { OperationError } from '../../../src/errors.ts'
import { compileGlob } from '../../../src/engine/files/glob/glob.ts'
import { casesOf } from '../../fixtures/length.ts'

const name = fc
  .string({ unit: fc.constantFrom('a', 'b', '.', '1', '-'), minLength: 1, maxLength: 4 })
  .filter((text) => !/^\.+$/.test(text))
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
const piece = fc.constantFrom('a', 'b', '.', '1', '*', '?', '[ab]', '[^a]', '[a-c]', '{a,b}', '{a,b1}', '-')
const segment = fc.oneof(
  { weight: 1, arbitrary: fc.constant('**') },
  { weight: 4, arbitrary: fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join('')) }
)
const pattern = fc
  .array(segment, { minLength: 1, maxLength: 4 })
  .map((segments) => segments.join('/'))
  // Adjacent stars outside a whole segment, and segments of dots alone, mean different things in different matchers;
  // and picomatch lets `a/**` match `a` itself, yet not `*/**` match it.
  .filter(
    (text) =>
      !/[^/]\*\*|\*\*[^/]/.test(text) &&
      !/(^|\/)\.+(\/|$)/.test(text) &&
      !text.includes('**/**') &&
      !text.endsWith('*/**')
  )

/** Its fast paths are not its own rules: by them alone `*.*` does not match `a.`, though `b/*.*` matches `b/a.`. */
const options = { dot: true, fastpaths: false }

t.test('a pattern with a slash matches the same relative paths as picomatch with dot: true', async (t) => {
  fc.assert(
    fc.property(pattern, path, (glob, text) => {
      fc.pre(glob.includes('/') || glob.includes('**'))
      return compileGlob(glob)(text) === picomatch.isMatch(text, glob, { ...options, strictSlashes: false })
    }),
    { numRuns: casesOf(20_000) }
  )
  t.pass(`${casesOf(20_000)} generated pairs agree`)
})

t.test('a pattern without a slash is matched against the last name, at every depth', async (t) => {
  fc.assert(
    fc.property(pattern, path, (glob, text) => {
      fc.pre(!glob.includes('/') && !glob.includes('**'))
      return compileGlob(glob)(text) === picomatch.isMatch(text.split('/').at(-1) as string, glob, options)
    }),
    { numRuns: casesOf(5_000) }
  )
  t.ok(compileGlob('*.ts')('src/deep/a.ts'))
  t.notOk(compileGlob('*.ts')('src/a.ts.md'))
})

t.test('common patterns', async (t) => {
  const cases: [string, string, boolean][] = [
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'src/deep/a.ts', true],
    ['src/**', 'src', true],
    ['src/**', 'src/a/b', true],
    ['src/**', 'srcs/a', false],
    ['src/*', 'src/a/b', false],
    ['{src,test}/**/*.{ts,js}', 'test/a/b.js', true],
    ['file{1..3}.txt', 'file2.txt', true],
    ['file{1..3}.txt', 'file4.txt', false],
    ['{a..c}', 'b', true],
    ['[!a]b', 'cb', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['a\\{b', 'a{b', true],
    ['a\\[b', 'a[b', true],
    ['a}b]', 'a}b]', true],
    ['.*', '.env', true],
    ['*', '.env', true],
    ['caf\u00e9?', 'caf\u00e9\u{1f600}', true],
    ['\u{1f600}*', '\u{1f600}a', true],
    ['[\u{1f600}-\u{1f602}]', '\u{1f601}', true],
    ['[!\u{1f600}]', '\u{1f600}', false],
    ['[!\u{1f600}]', '/', false],
    ['{1..100}-{1..100}x', '37-99x', true],
    ['{1..100}-{1..100}x', '37-101x', false]
  ]
  for (const [glob, text, expected] of cases) t.equal(compileGlob(glob)(text), expected, `${glob} on ${text}`)
})

t.test('a pattern that makes a backtracking matcher hang is answered, in so many steps a character', async (t) => {
  const matches = compileGlob(`${'*a'.repeat(60)}b`)
  // A backtracking matcher has 2^60 ways to go, and would not end.
  t.notOk(matches('a'.repeat(255)))
  t.ok(matches('a'.repeat(60) + 'b'))
  t.ok(matches.steps < 64, `${matches.steps} steps`)
})

t.test('patterns and names of any length cost so much a character and no more', async (t) => {
  const hostile = compileGlob(`**/${'*a'.repeat(126)}`)
  t.ok(hostile.steps < 64, `${hostile.steps} steps for the longest pattern of stars`)
  t.ok(compileGlob('src/**/*.ts').steps < 16)
  t.ok(compileGlob('{1..100}{1..100}').steps < 4096)
  t.ok(hostile(`${'b/'.repeat(1000)}${'a'.repeat(1000)}`))
  t.notOk(hostile(`${'a'.repeat(125)}/${'a'.repeat(125)}`))
})

t.test('what cannot be compiled is INVALID_PATTERN', async (t) => {
  for (const glob of [
    'a'.repeat(257),
    '+(a|b)',
    '{1..1000}',
    '[[:alpha:]]',
    '[a-',
    '[z-a]',
    '{a,b',
    '{a,{b,{c,{d,{e,{f,{g,{h,{i,{j,k}}}}}}}}}}'
  ]) {
    t.throws(() => compileGlob(glob), OperationError, glob.slice(0, 20))
  }
})
