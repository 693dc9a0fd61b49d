import t from 'tap'
import { checkInThread } from './lock-schedules.ts'

const managerUrl = new URL('../../src/locks/lock-manager.js', import.meta.url)

t.test(
  'in 5,000 random schedules nobody holds beside a writer, overtakes, is stuck, or leaves anything behind',
  async (t) => {
    await checkInThread('schedules', managerUrl, { numRuns: 5000 })
    t.pass('it holds')
  }
)
