// Processes of one tree start, stop, are killed and stand still at random, while agents hold, wait, renew, write and append through them.
import t from 'tap'
import { givenSeed, lengthOf } from '../../fixtures/length.ts'
import { cannotStop } from '../../fixtures/processes.ts'
import { checkRecord } from '../../harness/hand-over/check.ts'
import { runSchedule } from './fixtures/schedule.ts'

t.setTimeout(3_600_000)
const seed = givenSeed ?? Math.floor(Math.random() * 2 ** 31)
const schedules = lengthOf({ long: 200, full: 12, short: 1 })
/** At the same time, each on a tree of its own. */
const lanes = 2

t.test(
  `${schedules} schedules of five processes and 20 agents: each answer is true, and each change is made once (TEST_SEED=${seed})`,
  {
    skip: cannotStop,
    todo: 'in one of 12 schedules (TEST_SEED=711463539) an agent that had been told that it holds nothing was named as the holder for two seconds more; the reason is not found yet'
  },
  async (t) => {
    let done = 0
    const lane = async (first: number) => {
      for (let number = first; number < schedules; number += lanes) {
        const record = await runSchedule(t, { seed: seed + number * 1000 })
        const violations = checkRecord(record)
        t.strictSame(violations, [], `schedule ${seed + number * 1000}`)
        if (violations.length > 0) t.comment(record.logs.join('\n'))
        done += record.calls.length
      }
    }
    await Promise.all(Array.from({ length: Math.min(lanes, schedules) }, (_, first) => lane(first)))
    t.comment(`${done} calls`)
  }
)
