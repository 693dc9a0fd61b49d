import { pathToFileURL } from 'node:url'
import t from 'tap'
import { checkInThread } from '../../harness/locks/lock-schedules.ts'
import { lengthOf } from '../../fixtures/length.ts'
import { installed } from '../../../src/support/installation.ts'

const schedules = lengthOf({ full: 5000, short: 200 })
const managerUrl = pathToFileURL(installed('dist/src/engine/locks/lock-manager.js'))

t.test(
  `in ${schedules} random schedules no request is granted beside a writer, overtakes, is stuck, or leaves anything behind`,
  async (t) => {
    await checkInThread('schedules', managerUrl, { numRuns: schedules })
    t.pass('it holds')
  }
)
