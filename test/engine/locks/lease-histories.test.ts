import { pathToFileURL } from 'node:url'
import t from 'tap'
import { checkInThread } from '../../harness/locks/lock-schedules.ts'
import { lengthOf } from '../../fixtures/length.ts'
import { installed } from '../../../src/support/installation.ts'

const histories = lengthOf({ full: 5000, short: 200 })
const managerUrl = pathToFileURL(installed('dist/src/engine/locks/lock-manager.js'))

t.test(
  `in ${histories} random histories of leases the table is as its rules say, and only waiters in a cycle are told so`,
  async (t) => {
    await checkInThread('histories', managerUrl, { numRuns: histories })
    t.pass('it is')
  }
)
