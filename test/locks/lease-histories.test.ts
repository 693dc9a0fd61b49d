import t from 'tap'
import { checkInThread } from './lock-schedules.ts'

const managerUrl = new URL('../../src/locks/lock-manager.js', import.meta.url)

t.test(
  'in 5,000 random histories of leases the table is as its rules say, and only who waits in a circle is told so',
  async (t) => {
    await checkInThread('histories', managerUrl, { numRuns: 5000 })
    t.pass('it is')
  }
)
