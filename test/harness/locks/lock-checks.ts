// All that is checked of a mutant of the lock manager, in the order in which mutants die soonest.
import { checkHistories } from './lease-histories.ts'
import { lockProperties } from './lock-properties.ts'
import { checkSchedules } from './lock-schedules.ts'
import type { LockProperty } from './lock-world.ts'

/** A fixed seed: whether a mutant dies must not be left to chance. */
const parameters = { numRuns: 30, seed: 8, endOnFailure: true }

export const lockChecks: readonly LockProperty[] = [
  ...lockProperties.filter(({ isLong }) => isLong !== true),
  { title: 'random histories', check: (create) => checkHistories(create, parameters) },
  { title: 'random schedules', check: (create) => checkSchedules(create, parameters) },
  ...lockProperties.filter(({ isLong }) => isLong === true)
]
