// Texts made against the code that works on them, each against a few native passes over the same text.
import { createDiffer } from '../../src/engine/diff/differ.ts'
import { diffLines } from '../../src/engine/diff/hunks.ts'
import { countLines, splitLines } from '../../src/engine/diff/lines.ts'
import { applyPatches } from '../../src/engine/diff/patches.ts'
import { compileGlob } from '../../src/engine/files/glob/glob.ts'
import { seededRandom } from '../../test/engine/diff/fixtures/texts.ts'
import type { Bound, Sample } from './bound.ts'
import type { Owner } from '../owner.ts'
import { elapsedMs } from '../load/trials.ts'

/** Of the searches below; the linear part before and after them comes on top. */
const timeoutMs = 300

export function textBounds(owner: Owner): Bound[] {
  return [...lineBounds(), ...patchBounds(), ...hunkBounds(), ...differBounds(owner), globBound()]
}

function lineBounds(): Bound[] {
  return ['\n', '\r\n', '\r'].flatMap((terminator) => {
    const text = `${'x'.repeat(39)}${terminator}`.repeat(256 * 1024)
    const passes = () => text.split('\n').join('\n').split('\r').join('\r')
    const name = JSON.stringify(terminator)
    return [
      toBound(`split 10 MB at ${name}`, 'split and join', 10, passes, () => splitLines(text)),
      toBound(`count 10 MB by ${name}`, 'split and join', 10, passes, () => countLines(text))
    ]
  })
}

function patchBounds(): Bound[] {
  const text = 'a'.repeat(4_000_000)
  const half = 'a'.repeat(100_000)
  const needles = {
    'a needle that almost fits everywhere': `${half}b${half}`,
    'a needle that fits everywhere': half,
    'a needle of one character': 'a'
  }
  return Object.entries(needles).map(([what, old_string]) =>
    toBound(
      `${what}, 4 MB`,
      'split into characters',
      20,
      () => text.split(''),
      () => applyPatches(text, [{ old_string, new_string: '' }])
    )
  )
}

function hunkBounds(): Bound[] {
  const random = seededRandom(1)
  const lines = Array.from({ length: 10_000 }, (_, index) => `  line ${index}\n`)
  const indented = lines.map((line, index) => (index % 20 === 0 ? line : `    ${line}`))
  const wide = Array.from({ length: 200_000 }, (_, index) => `${index} ${'x'.repeat(45)}\n`)
  const digits = () => Array.from({ length: 1_000_000 }, () => `${random(5)}\n`)
  const same = Array.from({ length: 1_000_000 }, () => 'a\n')
  const diff = (base: string[], current: string[], ms: number) =>
    diffLines(base, current, { maxEditLength: 2_000, timeoutMs: ms })
  const unlike: Record<string, [string[], string[]]> = {
    'no line in common, 10 MB': [wide, wide.map((line) => `y${line}`)],
    'the same lines in another order, 10 MB': [wide, shuffled(wide)],
    'a million lines of five kinds': [digits(), digits()],
    'a million equal lines, some taken out': [same, same.slice(0, 900_000).with(0, 'b\n').with(450_000, 'c\n')]
  }
  const passes = (base: string[], current: string[]) => [
    new Set([...base, ...current]).size,
    base.join('') === current.join('')
  ]
  return [
    toBound(
      'diff of 10,000 lines indented anew',
      'lines into a set',
      20,
      () => new Set([...lines, ...indented]).size,
      () => diff(lines, indented, 10_000)
    ),
    ...Object.entries(unlike).map(([what, [base, current]]) =>
      toBound(
        `diff cut at ${timeoutMs} ms: ${what}`,
        'a line set, joined',
        15,
        () => passes(base, current),
        () => diff(base, current, timeoutMs),
        timeoutMs
      )
    )
  ]
}

/** How long the event loop is held up, against how long it takes in all. */
function differBounds(owner: Owner): Bound[] {
  const fail = (reason: unknown) => {
    throw new Error('no thread has answered: the figure would be that of a fallback', { cause: reason })
  }
  // The edit length ends the search. More time only keeps a busy machine from giving the thread up.
  const differ = createDiffer({ timeoutMs: 30_000, onFallback: fail })
  owner.teardown(() => differ.close())
  const lines = Array.from({ length: 250_000 }, (_, index) => `${index} ${'x'.repeat(32)}\n`)
  const base = lines.join('')
  const current = shuffled(lines).join('')
  const incoming = shuffled(lines.toReversed()).join('')
  const changed = base.replace('\n125000 ', '\n125000: ')
  return [
    {
      what: 'diff of one changed line in 10 MB',
      floor: 'both texts to bytes, compared',
      promised: 5,
      measure: async () => ({
        floor: await elapsedMs(() => Buffer.from(base).equals(Buffer.from(changed))),
        ours: await elapsedMs(() => differ.compare({ base, current: changed, format: 'json' }))
      })
    },
    {
      what: 'event loop held up by a diff of two unlike texts of 10 MB',
      floor: 'the whole diff',
      promised: 1 / 3,
      measure: () => holdUp(() => differ.compare({ base, current, format: 'json' }))
    },
    {
      what: 'event loop held up by a merge of three unlike texts of 10 MB',
      floor: 'the whole merge',
      promised: 1 / 3,
      measure: () => holdUp(() => differ.merge({ base, current, incoming }))
    }
  ]
}

function globBound(): Bound {
  const name = 'a'.repeat(255)
  const [hostile, harmless] = [compileGlob(`${'*a'.repeat(60)}b`), compileGlob('*b')]
  const often = (matches: (name: string) => boolean) => () => {
    for (let count = 0; count < 1000; count += 1) matches(name)
  }
  return toBound('a glob of sixty stars', 'a glob of one star', 20, often(harmless), often(hostile))
}

/** @param exceptMs what ours may take by agreement, and is not counted */
function toBound(
  what: string,
  floor: string,
  promised: number,
  least: () => unknown,
  ours: () => unknown,
  exceptMs = 0
): Bound {
  const measure = async () => ({
    floor: await elapsedMs(least),
    ours: Math.max(0, (await elapsedMs(ours)) - exceptMs)
  })
  return { what, floor, promised, measure }
}

/** The longest time between two turns of the event loop, and all of it. */
async function holdUp(run: () => Promise<unknown>): Promise<Sample> {
  let longest = 0
  let last = performance.now()
  let isOver = false
  const turn = () => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const floor = await elapsedMs(run)
  turn()
  isOver = true
  return { floor, ours: longest }
}

function shuffled(lines: readonly string[]): string[] {
  const random = seededRandom(7)
  return lines
    .map((line) => ({ line, key: random(1 << 30) }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ line }) => line)
}
