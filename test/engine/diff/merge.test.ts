// The three-way merge: nothing lost, nothing guessed, and the same as git where both find no conflict.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { jsonFormOf } from '../../../src/engine/diff/json-form.ts'
import { splitLines } from '../../../src/engine/diff/lines.ts'
import { mergeTexts } from '../../../src/engine/diff/merge.ts'
import { gitMergeMinimal, gitMerges, hasGit, replayCases, type ThreeTexts } from '../../fixtures/git-merges.ts'
import { casesOf, lengthOf } from '../../fixtures/length.ts'
import { installed } from '../../../src/support/installation.ts'
import { seededRandom } from './fixtures/texts.ts'
import type { MergeResult, MergeTask } from '../../../src/engine/diff/merge-result.ts'

const generous = { maxEditLength: 10_000, timeoutMs: 10_000 }

function merge(base: string, current: string, incoming: string, more: Partial<MergeTask> = {}): MergeResult {
  return mergeTexts({ base, current, incoming, bound: generous, maxConflictBytes: 1e6, ...more })
}

const lines = (...words: string[]) => words.map((word) => `${word}\n`).join('')
const letters = (word: string) => lines(...word.split(''))
const base = lines('1', '2', '3', '4', '5', '6', '7', '8', '9')
const conflict = (...texts: [string, string, string]) => {
  const result = merge(...texts)
  return 'text' in result ? result.text : result.conflicts
}

t.test('changes that do not touch are both taken', async (t) => {
  t.strictSame(merge(base, base.replace('2', 'two'), base.replace('8', 'eight')), {
    text: base.replace('2', 'two').replace('8', 'eight'),
    coarse: false
  })
  t.match(merge(base, `0\n${base}`, `${base}10\n`), { text: `0\n${base}10\n` }, 'added at the ends')
  t.match(merge(base, base.replace('2\n', ''), base.replace('4\n', '')), {
    text: lines('1', '3', '5', '6', '7', '8', '9')
  })
  t.match(merge('a\nb\nc\n', 'x\nb\nc\n', 'a\nb\ny\n'), { text: 'x\nb\ny\n' }, 'one unchanged line is enough')
})

t.test('what both have changed alike is taken once', async (t) => {
  const same = base.replace('5', 'five')
  t.match(merge(base, same, same), { text: same })
  t.match(merge(base, same.replace('1', 'one'), same.replace('9', 'nine')), {
    text: same.replace('1', 'one').replace('9', 'nine')
  })
  t.match(merge(base, base.replace('5\n', '5\nnew\n'), base.replace('5\n', '5\nnew\n').replace('1', 'one')), {
    text: base.replace('5\n', '5\nnew\n').replace('1', 'one')
  })
})

t.test('lines that both sides add beside a change are not taken twice, however they could be matched', async (t) => {
  const added = '\nfunction added() {\n  return 1\n}\n'
  t.type(conflict('x\n}\n', `x\n}\n${added}`, `y\n}\n${added}`), Array)
  const functions = Array.from({ length: 100 }, (_, index) => `function f${index}() {\n  call(${index})\n}\n`).join('')
  const changed = functions.replaceAll('call', 'callAll')
  for (const maxEditLength of [2, 2_000]) {
    const bound = { maxEditLength, timeoutMs: 1_000 }
    t.match(merge(functions, functions + added, changed + added, { bound }), { conflicts: Array }, `${maxEditLength}`)
  }
  t.match(merge('x\n}\n', `x\n}\n${added}`, `y\n}\nother\n`), { conflicts: Array })
  t.match(merge('x\n}\nz\n', `x\n}\nz\n${added}`, 'y\n}\nz\n'), { text: `y\n}\nz\n${added}` })
})

t.test('a side that has changed nothing leaves the other as it is', async (t) => {
  t.match(merge(base, base, 'x'), { text: 'x' })
  t.match(merge(base, 'x', base), { text: 'x' })
  t.match(merge('', 'x', ''), { text: 'x' })
})

t.test('changes of one line, or of neighbouring ones, conflict, with the lines of all three', async (t) => {
  t.strictSame(merge(base, base.replace('5', 'five'), base.replace('5', 'cinq')), {
    conflicts: [
      {
        reason: 'overlap',
        base: { start_line: 5, end_line: 5, content: '5\n' },
        current: { start_line: 5, end_line: 5, content: 'five\n' },
        incoming: { start_line: 5, end_line: 5, content: 'cinq\n' }
      }
    ],
    further: 0,
    hasContents: true,
    coarse: false
  })
  t.match(conflict(base, base.replace('1\n', '').replace('5', 'five\nand a half'), base.replace('6', 'six')), [
    {
      base: { start_line: 5, end_line: 6, content: '5\n6\n' },
      current: { start_line: 4, end_line: 6, content: 'five\nand a half\n6\n' },
      incoming: { start_line: 5, end_line: 6, content: '5\nsix\n' }
    }
  ])
})

t.test('two insertions at one place conflict, and so does one beside a change', async (t) => {
  t.match(conflict(base, base.replace('5\n', '5\na\n'), base.replace('5\n', '5\nb\n')), [
    {
      base: { start_line: 6, end_line: 5, content: '' },
      current: { start_line: 6, end_line: 6, content: 'a\n' },
      incoming: { start_line: 6, end_line: 6, content: 'b\n' }
    }
  ])
  t.match(conflict(base, `${base}a\n`, `${base}b\n`), [{ base: { start_line: 10, end_line: 9 } }], 'at the end')
  t.match(conflict(base, base.replace('5\n', '5\na\n'), base.replace('6\n', '')), [{ base: { start_line: 6 } }])
})

t.test('line ends and the final newline are part of the lines', async (t) => {
  const crlf = base.replaceAll('\n', '\r\n')
  t.match(merge(crlf, crlf.replace('2', 'two'), crlf.replace('8', 'eight')), {
    text: crlf.replace('2', 'two').replace('8', 'eight')
  })
  t.match(conflict(base, crlf, base.replace('5', 'five')), [
    { reason: 'overlap', base: { start_line: 1, end_line: 9 } }
  ])
  t.match(merge(base, base.replace('2\n', '2\r\n'), base.replace('8', 'eight')), {
    text: base.replace('2\n', '2\r\n').replace('8', 'eight')
  })
  const open = base.slice(0, -1)
  t.match(merge(open, open.replace('2', 'two'), open.replace('5', 'five')), {
    text: open.replace('2', 'two').replace('5', 'five')
  })
  t.match(merge(base, open, base.replace('2', 'two')), { text: open.replace('2', 'two') })
  t.match(conflict(base, open, `${base}10\n`), [{ current: { start_line: 9, end_line: 9, content: '9' } }])
  const bom = `\uFEFF${base}`
  t.match(merge(bom, base, bom.replace('5', 'five')), { text: base.replace('5', 'five') })
  const old = 'a\rb\rc\rd\re\r'
  t.match(
    merge(old, old.replace('a', 'A'), old.replace('e', 'E')),
    { text: 'A\rb\rc\rd\rE\r' },
    'a lone \\r ends a line'
  )
})

t.test('a change that could belong to one of several like places is not guessed', async (t) => {
  // The inserted copy could be the first or the second; the other side changed the one there was.
  const block = lines('begin', 'one', 'two', 'three', 'end')
  t.type(conflict(block, block + block, block.replace('two', '2')), Array)
  // Compared from the start the removed lines are others than compared from the end.
  t.type(conflict(letters('WXWYYU'), letters('WXYYU'), letters('WXY')), Array)
  // The removed lines slide down, as with git: so they do not touch the other change.
  t.match(merge(letters('aVWV'), letters('aV'), letters('VWV')), { text: 'V\n' })
  // Where the change lies outside of all the places, they do not matter.
  const calls = lines('start', 'f', '{', '}', '', 'g', '{', '}')
  const longer = calls.replace('}\n\ng', '}\n\nh\n{\n}\n\ng')
  t.match(merge(calls, longer, calls.replace('start', 'begin')), { text: longer.replace('start', 'begin') })
})

t.test('JSON that would not be JSON any more, or name a property twice, is a conflict', async (t) => {
  const items = lines('[', '1', ',', '2', ',', '3', ',', '4', ']')
  const wrapped = items.replace('3\n', '{"k":[\n3\n').replace('4\n', '4\n]}\n')
  const nested = items.replace('2\n', '[\n2\n').replace('3\n', '3\n]\n')
  t.match(merge(items, wrapped, nested), {
    conflicts: [{ reason: 'invalid_json', base: { start_line: 4, end_line: 8 }, current: { end_line: 10 } }]
  })
  t.match(merge(`${items}x\n`, `${wrapped}x\n`, `${nested}x\n`), { text: /x\n$/ }, 'the inputs are none')

  const json = '{\n  "a": 1,\n  "b": 2,\n  "c": ":"\n}\n'
  const first = json.replace('{\n', '{\n  "n": 1,\n')
  const last = json.replace('":"', '":",\n  "n": 2')
  t.match(merge(json, first, last), { conflicts: [{ reason: 'invalid_json', base: { start_line: 2 } }] })
  t.match(merge(json, first, last.replace('"n"', '"\\u006e"')), { conflicts: [{}] }, 'a name that is written otherwise')
  t.match(merge(`\uFEFF${json}`, `\uFEFF${first}`, `\uFEFF${last}`), { conflicts: [{}] }, 'with a BOM')
  t.match(merge(json, first, last.replace('"n"', '"m"')), { text: /"n": 1[^]*"m": 2/ })
  const comment = `/* so: { */\n${json}`
  t.match(merge(comment, `/* so: { */\n${first}`, `/* so: { */\n${last}`), { conflicts: [{}] }, 'with comments')
  t.match(
    merge(json, json.replace('1', '1 // one'), json.replace('":"', '4')),
    { text: /one/ },
    'one side has comments'
  )
  const loose = json.replace('":"', '":",')
  t.match(
    merge(loose, loose.replace('1', '0'), loose.replace('":",\n', '":",\n  "d": 4,\n')),
    { text: /0/ },
    'a last comma'
  )

  const twice = json.replace('"b": 2', '"a": 2')
  t.match(merge(twice, twice.replace('1', '0'), twice.replace('":"', '4')), { text: /0[^]*4/ }, 'as before')
  const bothAdd = [twice, twice.replace('{\n', '{\n  "n": 1,\n'), twice.replace('":"', '":",\n  "n": 2')] as const
  t.match(merge(...bothAdd), { conflicts: [{ reason: 'invalid_json' }] }, 'one more than before')
  const spaced = twice.replace('2,', '2,\n  "z": 0,')
  const mended = spaced.replace('"a": 2', '"b": 2').replace('{\n', '{\n  "n": 1,\n')
  const alsoAdds = spaced.replace('":"', '":",\n  "n": 2')
  t.match(merge(spaced, mended, alsoAdds), { conflicts: [{ reason: 'invalid_json' }] }, 'another one than before')
})

t.test(
  'any JSON that two sides change at random is JSON after a clean merge, and no name is in one object twice',
  async (t) => {
    const name = fc.constantFrom('a', 'b', 'c', 'd:', '"', '{', '__proto__')
    const { value: document } = fc.letrec<{ value: unknown; leaf: unknown; object: object; array: unknown[] }>(
      (tie) => ({
        value: fc.oneof({ maxDepth: 3, withCrossShrink: true }, tie('leaf'), tie('object'), tie('array')),
        leaf: fc.constantFrom(null, true, 0, -1.5e3, '', '":', '\\', '[{,'),
        object: fc.dictionary(name, tie('value'), { maxKeys: 5, noNullPrototype: false }),
        array: fc.array(tie('value'), { maxLength: 4 })
      })
    )
    const edit = fc.record({
      at: fc.nat(),
      kind: fc.constantFrom('add', 'remove', 'replace', 'swap'),
      name,
      value: document
    })
    const cases = fc.tuple(fc.dictionary(name, document, { minKeys: 2 }), fc.array(edit), fc.array(edit), fc.boolean())
    let merged = 0
    const property = fc.property(cases, ([base, mine, others, isLoose]) => {
      const write = (value: unknown) => `${isLoose ? '// so\n' : ''}${JSON.stringify(value, null, 1)}\n`
      const [current, incoming] = [mine, others].map((edits) => write(edits.reduce(edited, structuredClone(base))))
      const result = merge(write(base), current!, incoming!)
      if (!('text' in result)) return
      merged++
      const text = result.text.replace('// so\n', '')
      // Each property is written on a line of its own.
      const written = text.split('\n').filter((line) => /^\s*"(?:[^"\\]|\\.)*":/.test(line)).length
      t.equal(countProperties(JSON.parse(text)), written, text)
    })
    fc.assert(property, { numRuns: casesOf(20_000) })
    t.ok(merged > casesOf(2_000), `${merged} were merged`)
  }
)

interface Edit {
  readonly at: number
  readonly kind: string
  readonly name: string
  readonly value: unknown
}

/** The document with one of its objects or arrays changed. */
function edited(document: unknown, { at, kind, name, value }: Edit): unknown {
  const places: object[] = []
  const visit = (node: unknown) => {
    if (typeof node !== 'object' || node === null) return
    places.push(node)
    Object.values(node).forEach(visit)
  }
  visit(document)
  const place = places[at % places.length]
  if (place === undefined) return document
  const entries = Object.entries(place).filter(([key]) => key !== name || kind !== 'add')
  const index = entries.length === 0 ? 0 : at % entries.length
  if (kind === 'add') entries.splice(index, 0, [name, value])
  else if (kind === 'swap') entries.push(...entries.splice(index, 1))
  else
    entries.splice(
      index,
      1,
      ...(kind === 'remove' ? [] : entries.slice(index, index + 1).map(([key]) => [key, value] as [string, unknown]))
    )
  if (Array.isArray(place)) place.splice(0, place.length, ...entries.map(([, item]) => item))
  else {
    for (const key of Object.keys(place)) Reflect.deleteProperty(place, key)
    for (const [key, item] of entries)
      Object.defineProperty(place, key, { value: item, enumerable: true, configurable: true, writable: true })
  }
  return document
}

function countProperties(node: unknown): number {
  if (typeof node !== 'object' || node === null) return 0
  const inner = Object.values(node).reduce((sum: number, item) => sum + countProperties(item), 0)
  return inner + (Array.isArray(node) ? 0 : Object.keys(node).length)
}

t.test('what is JSON, and in which form, is what a parser says', async (t) => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"a"',
    '"\\n"',
    '"\\x"',
    '1',
    '01',
    '-',
    '1e5',
    'true',
    'nul',
    ' ',
    '\n',
    '"'
  )
  const property = fc.property(fc.array(piece, { maxLength: 9 }), (pieces) => {
    const text = pieces.join('')
    t.equal(jsonFormOf(text)?.liberty === 0, isJson(text), text)
  })
  fc.assert(property, { numRuns: casesOf(200_000) })
  fc.assert(
    fc.property(fc.json(), (text) => t.match(jsonFormOf(text), { liberty: 0 }, text)),
    { numRuns: casesOf(5_000) }
  )
  for (const [text, liberty] of [
    ['/**/1//', 1],
    ['[1,]', 2],
    ['{"a":1,/**/}', 2],
    ['{,}', undefined],
    ['[,]', undefined],
    ['[1,,]', undefined],
    ['{"a":,}', undefined],
    ['/* [1]', undefined],
    ['[1] /', undefined],
    ['', undefined]
  ] as const)
    t.equal(jsonFormOf(text)?.liberty, liberty, text)
  t.match(jsonFormOf('['.repeat(1e6) + ']'.repeat(1e6)), { liberty: 0 }, 'however deep')
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

t.test('contents of conflicts are left out where they take too much, and so are conflicts', async (t) => {
  const many = Array.from({ length: 100 }, (_, index) => `${index}\n`)
  const odd = (word: string) => many.map((line, index) => (index % 2 === 1 ? `${word} ${line}` : line)).join('')
  t.match(merge(many.join(''), odd('a'), odd('b'), { maxConflictBytes: 100_000 }), {
    conflicts: { length: 50 },
    further: 0,
    hasContents: true
  })
  const few = merge(many.join(''), odd('a'.repeat(50)), odd('b'), { maxConflictBytes: 2_000 })
  t.match(few, { conflicts: { length: 10 }, further: 40, hasContents: false })
  t.notOk('text' in few || few.conflicts.some(({ base }) => base.content !== undefined))
})

t.test('coarse differences conflict sooner, and are never wrong', async (t) => {
  const random = seededRandom(5)
  let clean = 0
  for (let round = 0; round < 300; round++) {
    const texts = threeTexts(random)
    const coarse = merge(texts.base, texts.current, texts.incoming, { bound: { maxEditLength: 1, timeoutMs: 1_000 } })
    if (!('text' in coarse)) continue
    clean++
    if (lostLine(texts, coarse.text) !== undefined) t.fail(JSON.stringify(texts))
  }
  t.ok(clean > 30, `${clean} were clean`)
  const bound = { maxEditLength: 0, timeoutMs: 0 }
  t.match(merge(base, base.replace('2', 'b').replace('8', 'h'), base.replace('3', 'c'), { bound }), { coarse: true })
})

/** A base and two versions of it: some lines are unlike all others, most occur several times. */
function threeTexts(random: (below: number) => number): ThreeTexts {
  let unique = 0
  const line = () => (random(3) === 0 ? `unique ${unique++}\n` : `${'abcd'[random(4)]}\n`)
  const lines = Array.from({ length: 2 + random(30) }, line)
  const change = () => {
    const changed = [...lines]
    for (let edits = 1 + random(3); edits > 0; edits--) {
      changed.splice(random(changed.length + 1), random(3), ...Array.from({ length: random(3) }, line))
    }
    return changed
  }
  return { base: lines.join(''), current: change().join(''), incoming: change().join('') }
}

/**
 * A line that a clean merge has lost, or brought back. Judged by the lines that occur once: each stays that both sides have
 * kept or one has added, each goes that one has removed; and those of a side keep their order.
 */
function lostLine({ base, current, incoming }: ThreeTexts, merged: string): string | undefined {
  const [before, mine, theirs, after] = [base, current, incoming, merged].map(uniqueLines) as [
    string[],
    string[],
    string[],
    string[]
  ]
  for (const line of new Set([...before, ...mine, ...theirs])) {
    const isExpected = before.includes(line) ? mine.includes(line) && theirs.includes(line) : true
    if (after.includes(line) !== isExpected) return line
  }
  for (const side of [mine, theirs]) {
    const kept = side.filter((line) => after.includes(line))
    const inMerged = after.filter((line) => kept.includes(line))
    if (kept.join() !== inMerged.join()) return `the order: ${kept.join()} became ${inMerged.join()}`
  }
  const known = new Set([base, current, incoming].flatMap(splitLines))
  return splitLines(merged).find((line) => !known.has(line))
}

const uniqueLines = (text: string) => splitLines(text).filter((line) => line.startsWith('unique'))

t.test('generated cases: no line is lost, and the sides may be swapped', async (t) => {
  const random = seededRandom(20_261_121)
  const cases = Array.from({ length: lengthOf({ full: 2_000, short: 500 }) }, () => threeTexts(random))
  const results = cases.map(({ base, current, incoming }) => merge(base, current, incoming))
  let clean = 0
  for (const [index, texts] of cases.entries()) {
    const result = results[index]!
    const swapped = merge(texts.base, texts.incoming, texts.current)
    if ('text' in result) {
      clean++
      const lost = lostLine(texts, result.text)
      if (lost !== undefined) t.fail(`lost ${JSON.stringify(lost)} in ${JSON.stringify(texts)}`)
      if (!('text' in swapped) || swapped.text !== result.text) t.fail(`not symmetric: ${JSON.stringify(texts)}`)
    } else {
      const turned = result.conflicts.map(({ current, incoming, ...rest }) => ({
        ...rest,
        current: incoming,
        incoming: current
      }))
      if ('text' in swapped) t.fail(`not symmetric: ${JSON.stringify(texts)}`)
      else if (JSON.stringify(sorted(swapped.conflicts)) !== JSON.stringify(sorted(turned)))
        t.fail(`not symmetric: ${JSON.stringify(texts)}`)
    }
  }
  t.ok(clean > cases.length * 0.3 && clean < cases.length * 0.95, `${clean} were clean`)
})

const withoutGit = hasGit() ? false : 'there is no git to compare with'

t.test('generated cases merge as git merges them', { skip: withoutGit }, async (t) => {
  const random = seededRandom(612)
  const cases = Array.from({ length: lengthOf({ full: 500, short: 80 }) }, () => threeTexts(random))
  compareWithGit(t, cases)
})

function sorted(conflicts: readonly object[]): unknown[] {
  return conflicts.map((conflict) => Object.entries(conflict).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Where both are clean, byte for byte; where git is not, neither are we, unless its own smallest diffs give what we give. */
function compareWithGit(t: Test, cases: readonly ThreeTexts[]): void {
  const counts = { bothClean: 0, onlyGit: 0, onlyOurs: 0 }
  for (const [index, merged] of gitMerges(cases).entries()) {
    const { base, current, incoming } = cases[index]!
    const result = merge(base, current, incoming)
    const text = 'text' in result ? result.text : undefined
    if (text !== undefined && merged === undefined) {
      counts.onlyOurs++
      if (gitMergeMinimal(cases[index]!) !== text) t.fail(`git conflicts: ${JSON.stringify(cases[index])}`)
    } else if (text !== undefined) {
      counts.bothClean++
      if (text !== merged) t.fail(`git merges otherwise: ${JSON.stringify(cases[index])}`)
    } else if (merged !== undefined) counts.onlyGit++
  }
  t.ok(counts.bothClean > cases.length / 5, JSON.stringify(counts))
  t.ok(counts.onlyGit < counts.bothClean / 10, 'seldom a conflict where git has none')
}

const history = hasGit() ? replayCases(installed(''), lengthOf({ full: 60, short: 25 }), 1) : []
const withoutHistory = history.length < 20 ? 'there is no history of this repository here to replay' : false

t.test(
  'commits of this repository, made side by side, merge as git merges them',
  { skip: withoutHistory },
  async (t) => {
    compareWithGit(t, history)
  }
)

t.test('of texts unlike in every line the conflicts are coarse', async (t) => {
  const random = seededRandom(3)
  const text = () =>
    Array.from({ length: lengthOf({ full: 60_000, short: 20_000 }) }, () => `line ${random(20_000)}\n`).join('')
  const [base, current, incoming] = [text(), text(), text()]
  const bound = { maxEditLength: 2_000, timeoutMs: 400 }
  t.match(merge(base, current, incoming, { bound }), { coarse: true, conflicts: Array })
})
