// Every rule over every way to change a file: a table whose cells are calls, or reasons why a rule does not apply.
import t from 'tap'
import { changeKinds } from '../../../schemas/transaction.ts'
import { operations } from '../../../src/operations/index.ts'
import { isFull } from '../../fixtures/length.ts'
import { createCase } from './case.ts'
import { linkRules } from './link-rules.ts'
import { printed, type Results } from './printed.ts'
import type { Cell, Rule } from './rule.ts'
import { fileRules } from './file-rules.ts'
import { keptRules } from './kept-rules.ts'
import { leaseRules } from './lease-rules.ts'
import { recordRules } from './record-rules.ts'
import { textRules } from './text-rules.ts'
import { versionRules } from './version-rules.ts'
import type { Way } from './way.ts'
import { ways, type WayName } from './ways.ts'
import { createWorlds } from './world.ts'

const rules: readonly Rule[] = [
  ...versionRules,
  ...leaseRules,
  ...fileRules,
  ...linkRules,
  ...textRules,
  ...recordRules,
  ...keptRules
]

const open = createWorlds(t)
const names = Object.keys(ways) as WayName[]
const results: Results = new Map()

function cellOf(rule: Rule, name: WayName): Cell {
  const way: Way = ways[name]
  return rule.special?.[name] ?? rule.cells[way.kind](way)
}

/** In the short form a rule is tried over every second way of each kind, the next rule over the others. */
function isTried(at: number, name: WayName): boolean {
  const alike = names.filter((other) => ways[other].kind === ways[name].kind)
  return isFull || alike.length === 1 || (alike.indexOf(name) + at) % 2 === 0
}

for (const [at, rule] of rules.entries())
  t.test(rule.title, async (t) => {
    const row = new Map<string, string>()
    results.set(rule.title, row)
    for (const name of names) {
      const cell = cellOf(rule, name)
      if ('reason' in cell) {
        row.set(name, cell.reason)
        continue
      }
      if (!isTried(at, name)) {
        row.set(name, 'In full: npm run test:full')
        continue
      }
      row.set(name, 'FAILED')
      await t.test(name, async (t) => {
        await cell(createCase(t, ways[name], await open(rule.world ?? 'plain')))
        if (t.passing()) row.set(name, 'ok')
      })
    }
  })

t.test('no way to change a file is without a column', async (t) => {
  const columns = names.join()
  const changing = operations.filter(({ annotations }) => !annotations.readOnlyHint).map(({ name }) => name)
  const ofLeases = changing.filter((name) => name.startsWith('lock_'))
  const others: readonly string[] = ['async_transaction', 'async_batch_write', 'async_batch_update', 'native_hook']
  // The steps of an isolated command, which has a suite of its own (program/run/isolated).
  const ofLayers = changing.filter((name) => name.startsWith('layer_'))
  // They change a repository, and no file (operations/landing).
  const ofLandings = changing.filter((name) => name.startsWith('land'))
  const elsewhere = [...ofLeases, ...ofLayers, ...ofLandings, ...others]
  t.strictSame(
    changing.filter((name) => !elsewhere.includes(name) && !columns.includes(name)),
    []
  )
  t.strictSame(
    changeKinds.filter((kind) => !columns.includes(`transaction: ${kind}`)),
    []
  )
  const world = await open('plain')
  for (const method of ['POST', 'MOVE', 'PROPFIND'])
    t.equal((await world.http(method, 'files/f', {})).status, 405, method)
})

t.test('no cell is empty', async (t) => {
  t.equal(results.size, rules.length)
  for (const [title, row] of results) t.strictSame([...row.keys()], names, title)
  for (const line of printed(results, names)) t.comment(line)
})
