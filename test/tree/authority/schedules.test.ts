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
  { skip: cannotStop },
  async (t) => {
    let done = 0
    const lane = async (first: number) => {
      for (let number = first; number < schedules; number += lanes) {
        const record = await runSchedule(t, { seed: seed + number * 1000 })
        const violations = checkRecord(record)
        t.strictSame(violations, [], `schedule ${seed + number * 1000}`)
        if (violations.length > 0) t.comment(record.logs.join('\n'))
        done += record.calls.length
        const took = record.calls.map(
          ({ sentAt, answeredAt = sentAt, timeoutMs = 0 }) => answeredAt - sentAt - timeoutMs
        )
        t.comment(`slowest call ${Math.round(Math.max(...took))} of ${Math.round(record.slackMs)} ms`)
      }
    }
    await Promise.all(Array.from({ length: Math.min(lanes, schedules) }, (_, first) => lane(first)))
    t.comment(`${done} calls`)
  }
)
