// Faults that were, or could be, in a lock manager, each as replacements in its compiled text.
import { deadlockMutants } from './deadlock-mutants.ts'
import { leaseMutants } from './lease-mutants.ts'
import { managerMutants } from './manager-mutants.ts'
import type { Mutant } from './mutant-loader.ts'
import { queueMutants } from './queue-mutants.ts'
import { tableMutants } from './table-mutants.ts'

export const mutants: readonly Mutant[] = [
  ...queueMutants,
  ...tableMutants,
  ...managerMutants,
  ...leaseMutants,
  ...deadlockMutants
]
