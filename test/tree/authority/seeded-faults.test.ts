// The checker of hand-overs finds faults that were put into the built program: a run in which it finds nothing means something.
import { readdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import { copyProgram } from '../../fixtures/installation.ts'
import { isFull } from '../../fixtures/length.ts'
import { cannotStop } from '../../fixtures/processes.ts'
import { checkRecord } from '../../harness/hand-over/check.ts'
import type { End } from './fixtures/members.ts'
import { runSchedule } from './fixtures/schedule.ts'

t.setTimeout(3_600_000)
const maxSchedules = 40

interface Seeded {
  readonly fault: string
  /** Each first text occurs exactly once in the bundle, and is replaced by the second. */
  readonly edits: readonly (readonly [from: string, to: string])[]
  /** One of the violations that it leads to. */
  readonly shows: RegExp
  readonly ends?: readonly End[]
}

const skipJournalsEnd = ['if (part.isFrozenByStop !== true) continue;', ''] as const
const orderly: readonly End[] = ['stdin', 'SIGTERM']

const seeded: readonly Seeded[] = [
  {
    fault: 'a process that leaves in good order does not write the end of the journal',
    edits: [skipJournalsEnd],
    shows: /which holds nothing|^lost without a reason|^two holders/,
    ends: orderly
  },
  {
    fault: 'connections are bound by calls, and not by the word of their process',
    edits: [['for (const connection of hello.connections) peer.connections.add(connection);', '']],
    shows: /^lost without a reason.*the connection over which it was taken ended/s
  },
  {
    fault: 'a process that leaves ends the leases of its clients first, and grants what that frees',
    edits: [skipJournalsEnd, ['app.persistence.beginStop();', 'app.persistence.beginStop(); tree.endConnections();']],
    shows: /^two holders|^lost without a reason/,
    ends: orderly
  }
]

/** @returns what Node runs */
function seedProgram(t: Test, { fault, edits }: Seeded): string {
  const copy = copyProgram(t)
  const chunks = readdirSync(copy.path('dist/chunks')).filter((name) => name.endsWith('.cjs'))
  for (const [from, to] of edits) {
    const parts = ['dist/main.cjs', ...chunks.map((name) => `dist/chunks/${name}`)]
    const found = parts.filter((part) => copy.read(part).includes(from))
    t.equal(found.length, 1, `one part of the program has ${from} (${fault})`)
    const [part = ''] = found
    const text = copy.read(part)
    t.equal(text.split(from).length, 2, 'once')
    copy.write(
      part,
      text.replace(from, () => to)
    )
  }
  return copy.main
}

for (const fault of seeded) {
  t.test(
    `the checker finds that ${fault.fault}`,
    {
      skip: cannotStop || (!isFull && 'takes minutes: npm run test:full'),
      // 40 schedules have not found the first; the others were not run to their end.
      todo: 'schedules that bring a call into the moment of a leave'
    },
    async (t) => {
      const main = seedProgram(t, fault)
      const { ends } = fault
      const found: string[] = []
      for (let seed = 1; seed <= maxSchedules && !found.some((each) => fault.shows.test(each)); seed += 1)
        found.push(...checkRecord(await runSchedule(t, { seed: seed * 1000, main, ...(ends && { ends }) })))
      t.ok(
        found.some((each) => fault.shows.test(each)),
        found.join('\n')
      )
      t.comment(found.slice(0, 3).join('\n'))
    }
  )
}
