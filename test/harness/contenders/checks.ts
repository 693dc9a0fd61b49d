// What must hold after the contenders are done. Each violation is one sentence.
import { checkDeadlocks } from './check-deadlocks.ts'
import { checkEnds } from './check-ends.ts'
import { checkFiles } from './check-files.ts'
import { checkHolders } from './check-holders.ts'
import { checkLifetimes } from './check-lifetimes.ts'
import { checkOrder } from './check-order.ts'
import type { History } from './history.ts'
import { findLeases } from './leases.ts'

export function checkHistory(history: History): string[] {
  const leases = history.agents.flatMap(findLeases)
  return [
    ...checkHolders(history, leases),
    ...checkOrder(history, leases),
    ...checkDeadlocks(history),
    ...checkLifetimes(history, leases),
    ...checkFiles(history, leases),
    ...checkEnds(history)
  ]
}
