// The promise of the whole: many real clients change shared files at once, and no acknowledged update is lost.
import t from 'tap'
import { runSwarm } from './swarm.ts'

t.test(
  'six clients of three kinds change five files at once from contention diffs alone, and every acknowledged change is there once',
  async (t) => {
    const result = await runSwarm(t, {
      clients: { rest: 2, 'mcp-2026': 2, 'mcp-2025': 2 },
      rounds: 120
    })
    t.strictSame(result.violations, [])
    const total = (count: (report: (typeof result.reports)[number]) => number) =>
      result.reports.reduce((sum, report) => sum + count(report), 0)
    t.equal(
      total(({ retries }) => retries.length),
      120
    )
    t.ok(total(({ contentions }) => contentions) > 0, 'they did get into each other’s way')
    t.ok(total(({ resubmitted }) => resubmitted) > 0, 'patches said to be applicable were sent again as they were')
  }
)
