import assert from 'node:assert/strict'
import t from 'tap'
import { lengthOf } from '../../fixtures/length.ts'
import { checkHistories } from '../../harness/locks/lease-histories.ts'
import { lockProperties } from '../../harness/locks/lock-properties.ts'
import { checkSchedules } from '../../harness/locks/lock-schedules.ts'
import { createMutantLoader } from '../../harness/locks/mutant-loader.ts'
import { mutants } from '../../harness/locks/mutants.ts'

const loader = createMutantLoader()
t.teardown(() => loader.remove())

t.test('an unchanged copy of the lock manager passes every property', async (t) => {
  const { createLockManager } = await import(loader.write().href)
  for (const { check } of lockProperties) await check(createLockManager)
  // Files of their own check many more, of the lock manager itself.
  const numRuns = lengthOf({ full: 100, short: 20 })
  await checkSchedules(createLockManager, { numRuns })
  await checkHistories(createLockManager, { numRuns })
  t.pass('it does')
})

for (const mutant of mutants) {
  t.test(`it is noticed if ${mutant.fault}`, async (t) => {
    const property = lockProperties.find(({ title }) => title === mutant.breaks)
    assert(property, `No property has the title "${mutant.breaks}"`)
    const { createLockManager } = await import(loader.write(mutant).href)
    await t.rejects(property.check(createLockManager), property.title)
    // A fixed seed, and one that is quick: whether chance finds a known fault must not itself be left to chance.
    const parameters = { numRuns: 5000, seed: mutant.seed ?? 8, endOnFailure: true }
    if (mutant.foundBySchedules === true) await t.rejects(checkSchedules(createLockManager, parameters), 'schedules')
    if (mutant.foundByHistories === true) await t.rejects(checkHistories(createLockManager, parameters), 'histories')
  })
}

t.test('every property is needed to notice some fault', async (t) => {
  const needed = new Set(mutants.map(({ breaks }) => breaks))
  const idle = lockProperties.filter(({ title }) => !needed.has(title)).map(({ title }) => title)
  t.same(idle, [])
})
