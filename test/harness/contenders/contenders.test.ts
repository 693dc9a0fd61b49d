// The promise of leases as a whole: whatever many agents do and wherever they crash, the locks and the files stay right.
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { transports } from '../../fixtures/clients.ts'
import { checkHistory } from './checks.ts'
import { runContenders } from './contenders.ts'
import { countEvents } from './counts.ts'
import type { History } from './history.ts'
import { givenSeed, lengthOf } from '../../fixtures/length.ts'

const seconds = lengthOf({ full: 60, short: 2 })
const agents = lengthOf({ full: 40, short: 12 })
/** To start a process takes longer than all that an agent does in a short campaign. */
const crewSize = lengthOf({ full: 1, short: 4 })
/** The more agents one crash ends, the longer the others have to get into each other's way. */
const crashMs = { least: lengthOf({ full: 300, short: 1000 }), most: lengthOf({ full: 1500, short: 2000 }) }
const seed = givenSeed ?? Date.now() % 1_000_000
/** Start, end and the check itself, on a machine that has other things to do. */
const marginSeconds = 450

t.setTimeout((seconds + marginSeconds) * 1000)

t.test(
  `${agents} agents that lock, wait, write and crash at random never hold together, wait in line, and lose no write`,
  { timeout: (seconds + marginSeconds) * 1000 },
  async (t) => {
    t.comment(`TEST_SEED=${seed}, ${seconds} s`)
    const isEnough = (history: History) => missing(countEvents(history)).length === 0
    const { history, failures } = await runContenders(t, {
      agents,
      crewSize,
      crashMs,
      files: Math.ceil(agents / 3.5),
      seconds,
      seed,
      isEnough
    })
    const counts = countEvents(history)
    for (const [what, count] of Object.entries(counts)) t.comment(`${what}: ${count}`)
    const violations = checkHistory(history)
    t.strictSame(violations.slice(0, 20), [])
    if (violations.length > 0) t.comment(`all that was seen: ${keep(history)}`)
    t.strictSame(failures, [], 'the server logged no failure')
    for (const transport of transports)
      t.ok(
        history.agents.some((agent) => agent.transport === transport && agent.calls.length > 0),
        `${transport} took part`
      )
    t.strictSame(missing(counts), [], 'everything did happen')
  }
)

/** What has not happened: a run without it proves nothing about it. */
function missing(counts: Readonly<Record<string, number>>): string[] {
  return Object.keys(counts).filter((what) => counts[what] === 0 && !what.endsWith(' in ms'))
}

/** For whoever looks for the cause: another run with the same seed will not be the same. */
function keep(history: History): string {
  const path = join(tmpdir(), `contenders-${seed}.json`)
  writeFileSync(path, JSON.stringify(history))
  return path
}
