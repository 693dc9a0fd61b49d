import t from 'tap'
import { checkInThread } from './lock-schedules.ts'
import { lengthOf } from '../fixtures/length.ts'

const histories = lengthOf({ full: 5000, short: 200 })
const managerUrl = new URL('../../src/locks/lock-manager.js', import.meta.url)

t.test(
  `in ${histories} random histories of leases the table is as its rules say, and only waiters in a cycle are told so`,
  async (t) => {
    await checkInThread('histories', managerUrl, { numRuns: histories })
    t.pass('it is')
  }
)
