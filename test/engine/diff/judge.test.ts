// The judgement of patches that come too late: `true` is a guarantee, `false` is caution.
import fc from 'fast-check'
import t from 'tap'
import { casesOf } from '../../fixtures/length.ts'
import type { Patch } from '../../../schemas/patches.ts'
import { judgePatches } from '../../../src/engine/diff/judge.ts'
import { applyPatches } from '../../../src/engine/diff/patches.ts'
import { holds, pair } from './fixtures/texts.ts'

const patch = (old_string: string, new_string: string, replace_all = false): Patch => ({
  old_string,
  new_string,
  replace_all
})
const judge = (base: string, current: string, patches: readonly Patch[], maxBytes = Infinity, timeoutMs = 60_000) =>
  judgePatches({ base, current, patches, contextLines: 3, maxBytes, bound: { maxEditLength: 2_000, timeoutMs } })
const lines = (...words: string[]) => words.map((word) => `${word}\n`).join('')
const base = lines('1', '2', '3', '4', 'five', '6', '7', '8', '9', '10', 'ELF', '12')

t.test('patches away from the change are applicable', async (t) => {
  t.strictSame(judge(base, base.replace('1\n', 'one\n'), [patch('ELF', 'elf'), patch('five', 'FIVE')]), {
    patches_applicable: true,
    conflicts: [],
    non_conflicting_patches: [0, 1],
    applicable_patches: [
      { patch_index: 0, start_line: 11, end_line: 11 },
      { patch_index: 1, start_line: 5, end_line: 5 }
    ]
  })
})

t.test('what is gone, repeated, or stands among changed lines is a conflict, with its lines in the base', async (t) => {
  const current = lines('1', '2', '3', '4', '5', '6', '7', '8', '9', 'TEN', 'ELF', '12', '6')
  t.strictSame(judge(base, current, [patch('4\nfive\n', 'x'), patch('1\n', 'y'), patch('ELF', 'z'), patch('6', 'w')]), {
    patches_applicable: false,
    conflicts: [
      { patch_index: 0, reason: 'not_found', base_start_line: 4, base_end_line: 5 },
      { patch_index: 2, reason: 'context_changed', base_start_line: 11, base_end_line: 11 },
      { patch_index: 3, reason: 'ambiguous', base_start_line: 6, base_end_line: 6 }
    ],
    non_conflicting_patches: [1],
    applicable_patches: [{ patch_index: 1, start_line: 1, end_line: 1 }]
  })
})

t.test('what never stood in the base once has no lines in it', async (t) => {
  t.strictSame(judge(base, `${base}new\n`, [patch('new', 'x'), patch('nowhere', 'x'), patch('1', 'x')]).conflicts, [
    { patch_index: 0, reason: 'context_changed' },
    { patch_index: 1, reason: 'not_found' },
    { patch_index: 2, reason: 'ambiguous' }
  ])
})

t.test('context is three lines on either side, and the rest of the line', async (t) => {
  const isApplicable = (from: string, to: string) =>
    judge(base, base.replace(from, to), [patch('LF', 'lf')]).patches_applicable
  t.equal(isApplicable('\n7\n', '\nseven\n'), true, 'four lines above')
  t.equal(isApplicable('\n8\n', '\neight\n'), false, 'three lines above')
  t.equal(isApplicable('\n12\n', '\ntwelve\n'), false, 'one line below')
  t.equal(isApplicable('ELF', 'WOLF'), false, 'the same line')
  t.equal(isApplicable('12\n', '12'), false, 'the final newline')
})

t.test('an edit of the same request is no change of context', async (t) => {
  const current = base.replace('1\n', 'one\n')
  const patches = [patch('9\n10', 'nine\nten'), patch('ELF', 'elf'), patch('ten\nelf', '10-11')]
  t.strictSame(judge(base, current, patches), {
    patches_applicable: true,
    conflicts: [],
    non_conflicting_patches: [0, 1, 2],
    // The last one finds what the first brings.
    applicable_patches: [
      { patch_index: 0, start_line: 9, end_line: 10 },
      { patch_index: 1, start_line: 11, end_line: 11 }
    ]
  })
})

t.test('a patch that fails is passed over, and changes no context for those behind it', async (t) => {
  const current = base.replace('five\n', '5\n').replace('6\n', '6\n6b\n6c\n6d\n')
  t.strictSame(judge(base, current, [patch('five', 'FIVE'), patch('ELF', 'elf')]), {
    patches_applicable: false,
    conflicts: [{ patch_index: 0, reason: 'not_found', base_start_line: 5, base_end_line: 5 }],
    non_conflicting_patches: [1],
    applicable_patches: [{ patch_index: 1, start_line: 14, end_line: 14 }]
  })
})

t.test('text that moved with the lines around it has not changed', async (t) => {
  const block = lines('a', 'b', 'c', 'target', 'd', 'e', 'f')
  t.equal(judge(base + block, block + base, [patch('target', 'x')]).patches_applicable, true)
})

t.test('replace_all is applicable where every place is as it was, and one more or fewer is caution', async (t) => {
  const all = [patch('1', 'one', true)]
  t.equal(judge(base, base.replace('five', '5'), all).patches_applicable, true)
  t.match(judge(base, base.replace('five', '1'), all), {
    patches_applicable: false,
    conflicts: [{ reason: 'context_changed', base_start_line: 1, base_end_line: 1 }]
  })
  t.match(judge(base, base, [patch('zzz', '', true)]), { conflicts: [{ reason: 'not_found' }] })
  const far = lines('x', '1', '2', '3', '4')
  t.equal(judge(far, `${far}x\n`, [patch('x', 'z', true)]).patches_applicable, false, 'one more, far away')
  t.equal(judge(`${far}x\n`, far, [patch('x', 'z', true)]).patches_applicable, false, 'one fewer, far away')
  const many = 'x\n'.repeat(2_000)
  t.equal(judge(many, `${many}y\n`, [patch('x', 'z', true)]).patches_applicable, false, 'too many places to compare')
})

t.test('where the text would become too large, or time is up, the patches are not applicable', async (t) => {
  const patches = [patch('five', 'FIVE FIVE'), patch('ELF', '')]
  t.equal(judge(base, `x${base}`, patches, base.length + 6).patches_applicable, true, 'just fits')
  t.strictSame(judge(base, `x${base}`, patches, base.length + 5), {
    patches_applicable: false,
    conflicts: [],
    non_conflicting_patches: [],
    applicable_patches: []
  })
  t.strictSame(judge(base, `x${base}`, patches, Infinity, -1), {
    patches_applicable: false,
    conflicts: [],
    non_conflicting_patches: [],
    applicable_patches: []
  })
})

const slice = fc.record({
  from: fc.nat(),
  length: fc.integer({ min: 1, max: 8 }),
  new_string: fc.constantFrom('', 'x', '\n', 'a\n', '$&'),
  replace_all: fc.boolean()
})
const requests = fc
  .record({ texts: pair(), slices: fc.array(slice, { minLength: 1, maxLength: 4 }) })
  .map(({ texts, slices }) => {
    // Mostly pieces of the base, as an agent would send them.
    const patches = slices.map(({ from, length, new_string, replace_all }) => {
      const at = texts.base.length === 0 ? 0 : from % texts.base.length
      return { old_string: texts.base.slice(at, at + length) || 'x', new_string, replace_all }
    })
    return { ...texts, patches }
  })

t.test('applicable patches succeed when they are sent again', async (t) => {
  let applicable = 0
  const property = fc.property(requests, ({ base, current, patches }) => {
    if (!judge(base, current, patches).patches_applicable) return true
    applicable++
    return 'text' in applyPatches(current, patches)
  })
  holds(t, property, 10_000)
  t.ok(applicable > casesOf(10_000) / 33, `${applicable} of them were applicable`)
})

t.test('every patch is either in conflict or without, and patches that fail on current are found out', async (t) => {
  const property = fc.property(requests, ({ base, current, patches }) => {
    const { conflicts, non_conflicting_patches, patches_applicable } = judge(base, current, patches)
    const judged = [...conflicts.map(({ patch_index }) => patch_index), ...non_conflicting_patches].sort(
      (a, b) => a - b
    )
    const fails = 'failure' in applyPatches(current, patches)
    const isFoundOut = !fails || conflicts.some(({ reason }) => reason !== 'context_changed')
    return (
      judged.join() === patches.map((_, index) => index).join() &&
      isFoundOut &&
      patches_applicable === (conflicts.length === 0)
    )
  })
  holds(t, property, 3_000)
})

t.test('on an unchanged text the patches that apply are without conflict', async (t) => {
  const property = fc.property(requests, ({ base, patches }) => {
    return judge(base, base, patches).patches_applicable === 'text' in applyPatches(base, patches)
  })
  holds(t, property, 3_000)
})
