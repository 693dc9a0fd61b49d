// The checker of hand-overs finds faults that were put into the built program: a run in which it finds nothing means something.
import { readdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import { copyProgram } from '../../fixtures/installation.ts'
import { givenSeed, isFull, lengthOf } from '../../fixtures/length.ts'
import { checkRecord } from '../../harness/hand-over/check.ts'
import { runLeaveScene } from './fixtures/leave-scene.ts'

t.setTimeout(600_000)
const seed = givenSeed ?? Math.floor(Math.random() * 2 ** 31)
const scenes = lengthOf({ full: 20, short: 1 })
/** Each fault shows in nearly every scene; a busy machine may need another one. */
const maxScenes = 5

interface Seeded {
  readonly fault: string
  /** Each first text occurs exactly once in the bundle, and is replaced by the second. */
  readonly edits: readonly (readonly [from: string, to: string])[]
  /** One of the violations that it leads to. */
  readonly shows: RegExp
}

const seeded: readonly Seeded[] = [
  {
    fault: 'a process that leaves in good order does not write the end of the journal',
    edits: [['if (part.isFrozenByStop !== true) continue;', '']],
    shows: /names ann as the holder, which holds nothing/
  },
  {
    fault: 'connections are bound by calls, and not by the word of their process',
    edits: [['for (const connection of hello.connections) peer.connections.add(connection);', '']],
    shows: /^lost without a reason.*holder-.*the connection over which it was taken ended/s
  },
  {
    // To grant alone does no harm: a lease is in the journal, which the next process reads, before the waiter is told.
    fault: 'a process that leaves grants what its clients held after it has ended its journal',
    edits: [['app.persistence.beginStop();', 'app.persistence.abandon(); tree.endConnections();']],
    shows: /^two holders|^lost without a reason: lease \d+ of bob/
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

t.test(`${scenes} orderly leaves: each answer is true (TEST_SEED=${seed})`, async (t) => {
  for (let scene = 0; scene < scenes; scene += 1)
    t.strictSame(checkRecord(await runLeaveScene(t, { seed: seed + scene })), [], `scene ${seed + scene}`)
})

for (const fault of seeded) {
  t.test(
    `the checker finds that ${fault.fault}`,
    { skip: !isFull && 'takes minutes: npm run test:full' },
    async (t) => {
      const main = seedProgram(t, fault)
      const found: string[] = []
      const isFound = () => found.some((each) => fault.shows.test(each))
      for (let scene = 0; scene < maxScenes && !isFound(); scene += 1)
        found.push(...checkRecord(await runLeaveScene(t, { seed: seed + scene, main })))
      t.ok(isFound(), found.join('\n'))
      t.comment(found.join('\n'))
    }
  )
}
