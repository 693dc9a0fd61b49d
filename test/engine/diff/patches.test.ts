// Patches: what they do, and what their author is told when one of them cannot be applied.
import fc from 'fast-check'
import t from 'tap'
import type { Patch } from '../../../schemas/patches.ts'
import { occurrences } from '../../../src/engine/diff/occurrences.ts'
import { describeFailure, type PatchFailure } from '../../../src/engine/diff/patch-failure.ts'
import { applyPatches } from '../../../src/engine/diff/patches.ts'
import { casesOf, lengthOf } from '../../fixtures/length.ts'
import { holds, text } from './fixtures/texts.ts'

const patch = (old_string: string, new_string: string, replace_all?: boolean): Patch => ({
  old_string,
  new_string,
  ...(replace_all !== undefined && { replace_all })
})

function failureOf(text: string, ...patches: Patch[]): PatchFailure {
  const result = applyPatches(text, patches)
  if ('text' in result) throw new Error(`It succeeded: ${result.text}`)
  return result.failure
}

t.test('patches are applied in order to the running text', async (t) => {
  t.strictSame(applyPatches('one two', [patch('one', 'two-one'), patch('two-one', 'three')]), { text: 'three two' })
  t.strictSame(applyPatches('abc', [patch('b', ''), patch('ac', 'x')]), { text: 'x' })
  t.strictSame(applyPatches('abc', []), { text: 'abc' })
})

t.test('"$" in new_string is literal', async (t) => {
  const dollars = "$& $1 $$ $` $' $<name>"
  t.strictSame(applyPatches('a b a', [patch('b', dollars)]), { text: `a ${dollars} a` })
  t.strictSame(applyPatches('a b a', [patch('a', dollars, true)]), { text: `${dollars} b ${dollars}` })
})

t.test('an old_string that occurs several times is refused with the count and the lines', async (t) => {
  t.strictSame(failureOf('x\ny x\r\nz\rx', patch('z', 'y'), patch('x', 'y')), {
    patch_index: 1,
    reason: 'ambiguous',
    count: 3,
    lines: [1, 2, 4]
  })
  t.match(failureOf('aaa', patch('aa', 'b')), { reason: 'ambiguous', count: 2 }, 'overlapping places are two places')
  t.strictSame(
    failureOf('x\n'.repeat(1_000), patch('x', 'y')),
    { patch_index: 0, reason: 'ambiguous', count: 1_000, lines: Array.from({ length: 20 }, (_, index) => index + 1) },
    '20 lines at most'
  )
  t.match(failureOf('x x', patch('x', 'y', false)), { reason: 'ambiguous' }, 'replace_all: false is the default')
})

t.test('replace_all replaces every occurrence, from the left where they overlap', async (t) => {
  t.strictSame(applyPatches('a b a', [patch('a', 'aa', true)]), { text: 'aa b aa' })
  t.strictSame(applyPatches('aaaaa', [patch('aa', 'b', true)]), { text: 'bba' })
  t.match(failureOf('b', patch('a', '', true)), { reason: 'not_found', patch_index: 0 })
  const many = `x${'ab'.repeat(20_000)}`
  t.strictSame(applyPatches(many, [patch('a', 'xyz', true)]), { text: many.replaceAll('a', 'xyz') })
})

t.test('a single patch does what replacing the one occurrence does, and fails for any other number', async (t) => {
  const property = fc.property(text(), text(1), text(1), (text, old_string, new_string) => {
    if (old_string === '') return true
    const result = applyPatches(text, [{ old_string, new_string }])
    const first = text.indexOf(old_string)
    if (first === -1) return 'failure' in result && result.failure.reason === 'not_found'
    if (text.indexOf(old_string, first + 1) !== -1) return 'failure' in result && result.failure.reason === 'ambiguous'
    return 'text' in result && result.text === text.slice(0, first) + new_string + text.slice(first + old_string.length)
  })
  holds(t, property, 2_000)
})

t.test('a patch that would make the text larger than the limit is refused before anything is built', async (t) => {
  const bomb = patch('a', 'b'.repeat(1_000_000), true)
  t.strictSame(applyPatches('a'.repeat(1_000_000), [bomb]), { failure: { patch_index: 0, reason: 'too_large' } })
  t.strictSame(applyPatches('a', [patch('a', 'äää')], 6), { text: 'äää' })
  t.strictSame(applyPatches('a', [patch('a', 'äää')], 5), { failure: { patch_index: 0, reason: 'too_large' } })
  t.match(describeFailure({ patch_index: 0, reason: 'too_large' }), /^patches\[0\]: .*larger than the limit/)
})

t.test('an old_string that is not there is answered with the nearest lines and how they differ', async (t) => {
  const file = 'first\r\n  if (a) {\r\n    return  B\r\n  }\r\nlast\r\n'
  const nearest = (text: string, old_string: string) => {
    const failure = failureOf(text, patch(old_string, ''))
    if (failure.reason !== 'not_found' || failure.nearest === undefined) return undefined
    // Of these, the next tests.
    const { first_difference, patch: offer, ...rest } = failure.nearest
    t.ok(first_difference, old_string)
    // Without the indent and with its line break, it would leave two lines joined.
    t.equal(offer !== undefined, rest.difference !== 'text' && !old_string.startsWith('if (A)'), old_string)
    return rest
  }
  const lines = { start_line: 2, end_line: 3, text: '  if (a) {\r\n    return  B' }
  t.strictSame(nearest(file, '  if (a) {\n    return  B\n'), { ...lines, difference: 'line_ends' })
  t.strictSame(nearest(file, 'if (a) {\n\treturn B'), { ...lines, difference: 'whitespace' })
  t.strictSame(nearest(file, '  IF (a) {\n    return  b'), { ...lines, difference: 'case' })
  t.strictSame(nearest(file, 'if (A) {\n  return b\n'), { ...lines, difference: 'whitespace_and_case' })
  t.strictSame(nearest(file, '  if (a) {\n    return  C\n  }\n'), {
    start_line: 2,
    end_line: 4,
    difference: 'text',
    text: '  if (a) {\r\n    return  B\r\n  }'
  })
  t.strictSame(nearest('a = 1\nconst timeout = 45\n', 'const timeout = 30'), {
    start_line: 2,
    end_line: 2,
    difference: 'text',
    text: 'const timeout = 45'
  })
  t.equal(nearest('nothing\nlike\nit\n', 'quite different'), undefined)
  t.equal(nearest('', 'a'), undefined)
  t.equal(nearest('a\n', ' \n '), undefined)
})

t.test('the nearest lines shown are ten at most and 1,000 characters at most, and said to be clipped', async (t) => {
  const file = Array.from({ length: 30 }, (_, index) => `    line ${index}\n`).join('')
  const shown = file.split('\n').slice(0, 10).join('\n')
  t.strictSame(failureOf(file, patch(file.replaceAll('    ', '  '), '')), {
    patch_index: 0,
    reason: 'not_found',
    nearest: {
      start_line: 1,
      end_line: 30,
      difference: 'whitespace',
      text: shown,
      clipped: true,
      first_difference: { line: 1, column: 3, found: 'U+0020 SPACE', wanted: 'U+006C "l"' },
      patch: { start_line: 1, end_line: 30, expected_lines: file.replace(/\n$/, ''), new_content: '' }
    }
  })
  t.strictSame(failureOf(`${'x '.repeat(5_000)}\n`, patch('x'.repeat(5_000), '')), {
    patch_index: 0,
    reason: 'not_found',
    nearest: {
      start_line: 1,
      end_line: 1,
      difference: 'whitespace',
      text: 'x '.repeat(500),
      clipped: true,
      first_difference: { line: 1, column: 2, found: 'U+0020 SPACE', wanted: 'U+0078 "x"' }
    }
  })
})

t.test('of several places the nearest is the one with most of the lines in their order', async (t) => {
  const file = 'if (a) {\n  one()\n}\n\nif (a) {\n  one()\n  two()\n  three()\n}\n\n  two()\n'
  t.match(failureOf(file, patch('if (a) {\n  one()\n  2()\n  three()\n}\n', '')), {
    nearest: { start_line: 5, end_line: 9, difference: 'text' }
  })
})

t.test('in a large file the nearest lines are found as well', async (t) => {
  const file = Array.from({ length: 40_000 }, (_, index) => `    call(${index})\r\n`).join('')
  t.match(failureOf(file, patch('call(30000)\ncall(30001)\n', '')), {
    nearest: { start_line: 30_001, end_line: 30_002, difference: 'whitespace' }
  })
  t.match(failureOf(file, patch('    call(30000)\n    call(30001)\n', '')), {
    nearest: { start_line: 30_001, end_line: 30_002, difference: 'line_ends' }
  })
  t.match(failureOf(file, patch('call(30000)\ncall(x)\n', '')), {
    nearest: { start_line: 30_001, end_line: 30_002, difference: 'text' }
  })
})

const nearly: readonly (readonly [
  title: string,
  text: string,
  old_string: string,
  new_string: string,
  difference: readonly [line: number, column: number, found: string, wanted: string],
  result: string
])[] = [
  [
    'a no-break space',
    'a\nlet\u00a0x = 1\n',
    'let x',
    'var x',
    [2, 4, 'U+00A0 NO-BREAK SPACE', 'U+0020 SPACE'],
    'a\nvar x = 1\n'
  ],
  [
    'quotes',
    'say(“hi”)\n',
    'say("hi")',
    'say("ho")',
    [1, 5, 'U+201C LEFT DOUBLE QUOTATION MARK', 'U+0022 QUOTATION MARK'],
    'say("ho")\n'
  ],
  [
    'an apostrophe',
    "it's\n",
    'it’s',
    'it is',
    [1, 3, 'U+0027 APOSTROPHE', 'U+2019 RIGHT SINGLE QUOTATION MARK'],
    'it is\n'
  ],
  ['a dash and an ellipsis', 'a – b …\n', 'a - b ...', 'c', [1, 3, 'U+2013 EN DASH', 'U+002D HYPHEN-MINUS'], 'c\n'],
  ['another normal form', '😀 cafe\u0301!\n', 'café', 'tea', [1, 6, 'U+0065 "e"', 'U+00E9 "é"'], '😀 tea!\n'],
  ['the other normal form', 'café!\n', 'cafe\u0301', 'tea', [1, 4, 'U+00E9 "é"', 'U+0065 "e"'], 'tea!\n'],
  [
    'tabs',
    '\tif (x) {\n\t\ty()\n',
    '    if (x) {\n        y()',
    '\tz()',
    [1, 1, 'U+0009 TAB', 'U+0020 SPACE'],
    '\tz()\n'
  ],
  ['a zero-width space', 'a\u200bb c\n', 'ab', 'x', [1, 2, 'U+200B ZERO WIDTH SPACE', 'U+0062 "b"'], 'x c\n'],
  [
    'a zero-width space in the string',
    'ab c\n',
    '\u200bab',
    'x',
    [1, 1, 'U+0061 "a"', 'U+200B ZERO WIDTH SPACE'],
    'x c\n'
  ],
  [
    'line ends',
    'a\r\nb\r\nc\r\n',
    'a\nb\n',
    'x\ny\nz\n',
    [1, 2, 'U+000D CARRIAGE RETURN', 'U+000A LINE FEED'],
    'x\r\ny\r\nz\r\nc\r\n'
  ],
  [
    'line ends within lines',
    'a b\r\nc d\r\n',
    'b\nc',
    'x\ny',
    [1, 4, 'U+000D CARRIAGE RETURN', 'U+000A LINE FEED'],
    'a x\r\ny d\r\n'
  ],
  ['case', 'a Foo\n', 'foo', 'bar', [1, 3, 'U+0046 "F"', 'U+0066 "f"'], 'a bar\n'],
  ['a full-width letter', 'Ａ = 1\n', 'A = 1', 'B = 1', [1, 1, 'U+FF21 "Ａ"', 'U+0041 "A"'], 'B = 1\n'],
  ['blanks at the end', 'a\n  b  \nc\n', '  b\nc\n', 'x\n', [2, 4, 'U+0020 SPACE', 'U+000A LINE FEED'], 'a\nx\n'],
  ['the last line', 'a\nb\u00a0c', 'b c', '', [2, 2, 'U+00A0 NO-BREAK SPACE', 'U+0020 SPACE'], 'a\n']
]

t.test('a text that is nearly there: the difference is named, and the patch by lines makes the change', async (t) => {
  for (const mark of ['', '\uFEFF'])
    for (const [title, body, old_string, new_string, [line, column, found, wanted], result] of nearly) {
      const text = mark + body
      const failure = failureOf(text, patch(old_string, new_string))
      if (failure.reason !== 'not_found' || failure.nearest?.patch === undefined) {
        t.fail(title, { failure })
        continue
      }
      const { first_difference, patch: offer } = failure.nearest
      t.strictSame(first_difference, { line, column, found, wanted }, title)
      t.strictSame(applyPatches(text, [offer]), { text: mark + result }, title)
      t.match(
        describeFailure(failure),
        `line ${line}, column ${column} has ${found}, old_string has ${wanted}. `,
        title
      )
    }
})

t.test('no patch by lines is offered where the place is in doubt, or another change would be made', async (t) => {
  const offered = (text: string, ...patches: Patch[]) => {
    const failure = failureOf(text, ...patches)
    t.equal(failure.reason, 'not_found')
    return failure.reason === 'not_found' ? failure.nearest?.patch : undefined
  }
  t.type(offered('a\u00a0b\n', patch('a b', 'x')), Object)
  t.equal(offered('a\u00a0b\na\u00a0b\n', patch('a b', 'x')), undefined, 'two places')
  t.equal(offered('c\na\u00a0b\n', patch('c', 'd'), patch('a b', 'x')), undefined, 'line numbers of no version')
  t.equal(offered('a\u00a0b\n', { ...patch('a b', 'x'), replace_all: true }), undefined, 'all places')
  t.equal(offered('a\u00a0b\nc\n', patch('a b\n', 'x')), undefined, 'two lines become one')
  t.equal(offered('a\u00a0b\n', patch('a b\n\n', 'x')), undefined, 'a line break that is not there')
  t.equal(offered('a\u00a0b\n', patch('a b', 'x'.repeat(5_000))), undefined, 'too long')
  t.equal(offered('аb = 1\n', patch('ab = 1', 'x')), undefined, 'a letter of another script')
})

t.test(
  'a string that is like a part of a text, character by character, is found there and replaced there',
  async (t) => {
    const odd = fc.constantFrom('a', 'B', ' ', '\t', '\u00a0', '\n', '\r\n', '“', 'é', 'e\u0301', '\u200b', '–', '😀')
    const plain: Record<string, string> = {
      '\u00a0': ' ',
      '\t': ' ',
      '\r\n': '\n',
      '“': '"',
      é: 'e\u0301',
      '\u200b': '',
      '–': '-'
    }
    const property = fc.property(
      fc.array(odd, { minLength: 1, maxLength: 12 }),
      fc.nat(11),
      fc.nat(11),
      (parts, one, other) => {
        const [from, to] = [Math.min(one, other), Math.max(one, other) + 1]
        const text = parts.join('')
        const old_string = parts
          .slice(from, to)
          .map((part) => plain[part] ?? part)
          .join('')
        if (old_string.trim() === '' || text.includes(old_string)) return
        const failure = failureOf(text, patch(old_string, 'X'))
        if (failure.reason !== 'not_found' || failure.nearest?.patch === undefined) return
        const result = applyPatches(text, [failure.nearest.patch])
        if (!('text' in result)) throw new Error(JSON.stringify({ text, old_string, result }))
        // What is around it stays; blanks beside it count as part of it or not.
        const [before = '', after = ''] = result.text.split('X')
        t.ok(text.startsWith(before) && text.endsWith(after), JSON.stringify({ text, old_string, result }))
        const replaced = text.slice(before.length, text.length - after.length)
        const fold = (value: string) =>
          value
            .normalize('NFKD')
            .replace(/\u200b|\s/g, '')
            .replace(/“/g, '"')
            .replace(/–/g, '-')
        t.equal(fold(replaced).toLowerCase(), fold(old_string).toLowerCase(), JSON.stringify({ text, old_string }))
      }
    )
    fc.assert(property, { numRuns: casesOf(20_000) })
  }
)

t.test('the failure in words says what happened, where, and what to do', async (t) => {
  t.equal(
    describeFailure(failureOf('a\nx\nx\n', patch('a', 'b'), patch('x', 'y'))),
    'patches[1]: old_string occurs 2 times, starting at lines 2, 3 (counted with the earlier patches applied). Make it longer until it is unique, or set replace_all.'
  )
  t.equal(
    describeFailure(failureOf('a\n  x\n', patch('\tx', 'y'))),
    'patches[0]: old_string does not occur in the text. The nearest is line 2: "  x". They differ from old_string only in whitespace: line 2, column 1 has U+0020 SPACE, old_string has U+0009 TAB. Copy old_string from the file exactly. Or send details.nearest.patch in place of this patch, without other patches by text: it makes this change by lines.'
  )
  t.equal(
    describeFailure(failureOf('a\n', patch('xyz', 'y'))),
    'patches[0]: old_string does not occur in the text. The text has nothing similar: read the file again.'
  )
})

t.test(
  'what is sought in a text made against the search is told of, in linear time or this would not end',
  async (t) => {
    const many = lengthOf({ full: 4_000_000, short: 1_000_000 })
    const as = 'a'.repeat(many)
    const halves = 'a'.repeat(100_000)
    const cases: [string, Patch, object][] = [
      ['a needle that almost fits everywhere', patch(`${halves}b${halves}`, ''), { reason: 'not_found' }],
      ['a needle that fits everywhere', patch(halves, ''), { reason: 'ambiguous', count: many - 99_999 }],
      ['a needle of one character', patch('a', ''), { reason: 'ambiguous', count: many }]
    ]
    for (const [title, patch, failure] of cases) t.match(applyPatches(as, [patch]), { failure }, title)
  }
)

t.test('both ways of searching find the same places', async (t) => {
  // A text of 100,000 characters times a needle of 6,000 is beyond what the native search is given.
  const needle = 'ab'.repeat(3_000)
  const rest = 'c'.repeat(100_000)
  for (const text of [
    needle + rest,
    `${rest}${needle}abab${rest}aab${needle}`,
    `${rest}${needle.slice(1)}`,
    needle + needle + rest
  ]) {
    for (const overlap of ['overlapping', 'disjoint'] as const) {
      const step = overlap === 'overlapping' ? 1 : needle.length
      const expected: number[] = []
      for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + step)) expected.push(at)
      t.strictSame([...occurrences(text, needle, overlap)], expected)
    }
  }
})
