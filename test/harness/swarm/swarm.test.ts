// The promise of the whole: many real clients change shared files at once, and no acknowledged update is lost.
import t from 'tap'
import { lengthOf } from '../../fixtures/length.ts'
import { runSwarm } from './swarm.ts'

const ofEach = lengthOf({ full: 2, short: 1 })
const rounds = lengthOf({ full: 120, short: 40 })

t.test(
  'clients of three kinds change a few files at once from contention answers alone, and every acknowledged change is there once',
  async (t) => {
    const result = await runSwarm(t, {
      clients: { rest: ofEach, 'mcp-2026': ofEach, 'mcp-2025': ofEach },
      rounds,
      // So few that they get into each other's way.
      files: lengthOf({ full: 5, short: 2 })
    })
    t.strictSame(result.violations, [])
    const total = (count: (report: (typeof result.reports)[number]) => number) =>
      result.reports.reduce((sum, report) => sum + count(report), 0)
    t.equal(
      total(({ retries }) => retries.length),
      rounds
    )
    t.ok(total(({ contentions }) => contentions) > 0, 'they did get into each other’s way')
    t.ok(total(({ resubmitted }) => resubmitted) > 0, 'patches said to be applicable were sent again as they were')
  }
)
