// `npm run mutants`: what it says of Stryker's results, and that the reasons it has name code that there is.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { installed } from '../../src/support/installation.ts'

interface Survivor {
  readonly file: string
  readonly code: string
  readonly becomes: string
  readonly reason: string
}

interface Mutant {
  readonly fileName: string
  readonly status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage'
  readonly replacement: string
  readonly location: Readonly<Record<'start' | 'end', { readonly line: number; readonly column: number }>>
}

interface Verdict {
  readonly lines: readonly string[]
  readonly passed: number
  readonly failed: number
}

const load = async <Module>(name: string) =>
  (await import(pathToFileURL(installed(`scripts/mutants/${name}.mjs`)).href)) as Module
const { survivors } = await load<{ survivors: readonly Survivor[] }>('survivors')
const { judgeMutants } = await load<{
  judgeMutants: (results: readonly Mutant[], survivors: readonly Survivor[], read: () => string) => Verdict
}>('judge')

t.test('each mutant that may live names code of its file', async (t) => {
  const bare = (text: string) => text.replaceAll(/\s/g, '')
  for (const { file, code } of survivors)
    t.ok(bare(readFileSync(installed(`src/engine/locks/${file}.ts`), 'utf8')).includes(bare(code)), `${file}: ${code}`)
})

t.test(
  'a mutant that lives fails unless it has a reason, whatever the white space, and so does a reason too many',
  async (t) => {
    const text = 'function f(a) {\n  if (a   >\n0) return 1\n}\n'
    const place = { start: { line: 2, column: 7 }, end: { line: 3, column: 2 } }
    const mutant = (status: Mutant['status'], replacement: string): Mutant => ({
      fileName: installed('src/engine/locks/f.ts'),
      status,
      replacement,
      location: place
    })
    const mutants = [mutant('Killed', 'false'), mutant('Timeout', 'true'), mutant('Survived', 'a >= 0')]
    const reason = { file: 'f', code: 'if (a > 0)', becomes: 'a>=0', reason: 'test' }
    const judge = (results: readonly Mutant[], ...reasons: readonly Survivor[]) =>
      judgeMutants(results, reasons, () => text)
    t.match(judge(mutants, reason), { passed: 3, failed: 0, lines: ['3 mutants: 2 died, 1 live for a reason'] })
    const unknown = [
      { ...reason, becomes: 'true' },
      { ...reason, code: 'return 1' },
      { ...reason, file: 'g' }
    ]
    for (const other of unknown) {
      const { passed, failed, lines } = judge(mutants, other)
      t.strictSame([passed, failed], [2, 2])
      t.equal(lines[0], 'lives: src/engine/locks/f.ts:2: a > 0  =>  a >= 0')
      t.match(lines[1], /survivors\.mjs names what does not live/)
    }
    t.match(judge([mutant('NoCoverage', 'true')]).lines[0], /\(NoCoverage\)$/)
  }
)
