// `npm run prove`: its claims name what is there, and it says so if a check fails or a control passes.
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { installed } from '../../src/support/installation.ts'

interface Result {
  readonly problems: string
  readonly tests: readonly { readonly verdict: string; readonly title: string }[]
}

interface Control {
  readonly tests?: RegExp
  readonly in?: string
  readonly edits?: readonly (readonly [from: string, to: string])[]
}

interface Claim {
  readonly claim: string
  readonly file: string
  readonly control: Control
}

interface Row {
  readonly check: string
  readonly control: string
}

const load = async <Module>(name: string) =>
  (await import(pathToFileURL(installed(`scripts/${name}.mjs`)).href)) as Module
const { claims } = await load<{ claims: readonly Claim[] }>('prove/claims')
const { filesWith } = await load<{ filesWith: (text: string) => string[] }>('prove/faulty-copy')
const { bundledTest } = await load<{ bundledTest: (name: string) => string | undefined }>('test-file')
const { judgeCheck, judgeControl, isShown } = await load<{
  judgeCheck: (claim: { control: Control }, result: Result) => string
  judgeControl: (claim: { control: Control }, result: Result) => string
  isShown: (row: Row) => boolean
}>('prove/judge')

t.test('each claim names test files that there are, and faults for texts that the program has', async (t) => {
  for (const { claim, file, control } of claims) {
    for (const name of [file, ...(control.in === undefined ? [] : [control.in])]) t.ok(bundledTest(name), name)
    t.ok(control.tests !== undefined || control.edits !== undefined, `${claim} has a control`)
    for (const [text] of control.edits ?? []) t.ok(filesWith(text).length >= 2, claim)
  }
  t.throws(() => filesWith('what no program has'), { message: /must name what it is now/ })
})

t.test('a check that fails and a control that passes are said, and what was not run is neither', async (t) => {
  const claim = { control: { tests: /^control/ } }
  const judge = (problems: string, ...tests: [verdict: string, title: string][]): Row => {
    const result = { problems, tests: tests.map(([verdict, title]) => ({ verdict, title })) }
    return { check: judgeCheck(claim, result), control: judgeControl(claim, result) }
  }
  const rows: readonly (readonly [Row, Row, boolean])[] = [
    [judge('', ['ok', 'check'], ['ok', 'control']), { check: 'held', control: 'failed' }, true],
    [judge('x', ['not ok', 'check'], ['ok', 'control']), { check: 'FAILED', control: 'failed' }, false],
    [judge('x', ['ok', 'check'], ['not ok', 'control']), { check: 'held', control: 'PASSED' }, false],
    [judge('x'), { check: 'FAILED', control: 'PASSED' }, false],
    [judge('ended', ['ok', 'check'], ['ok', 'control']), { check: 'FAILED', control: 'failed' }, false],
    [
      judge('', ['ok', 'check'], ['ok', 'control # SKIP needs root']),
      { check: 'held', control: 'not run: needs root' },
      true
    ]
  ]
  for (const [row, expected, isGood] of rows) {
    t.strictSame(row, expected)
    t.equal(isShown(row), isGood)
  }
})
