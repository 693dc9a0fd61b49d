// Random programs of several agents on a few names, against a model of what each of their steps must do (model.ts).
import fc from 'fast-check'
import t from 'tap'
import { givenSeed, lengthOf } from '../../fixtures/length.ts'
import { startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'
import { createCaller, type Caller } from './caller.ts'
import { program } from './steps.ts'
import { runProgram } from './program.ts'
import { World } from './world.ts'

const programs = lengthOf({ long: 50_000, full: 1000, short: 100 })
/** An undo looks at all files that the server knows. */
const programsPerServer = 100
/** From the start of this file, as the test runner counts: without one a test has all night. */
const limitSeconds = Number(process.env['TAP_TIMEOUT'] ?? 43_200)
/** On a busy machine no further program begins after this time, and what has been found by the second is reported. */
const [runSeconds, reportSeconds] = [limitSeconds * 0.6, limitSeconds * 0.85]
t.setTimeout(limitSeconds * 1000)
const seed = givenSeed ?? Math.floor(Math.random() * 2 ** 31)

/** What must be among them: at least so many of a hundred programs, and half of that if there are few of them, for which chance counts more. */
const shares: Readonly<Record<string, number>> = {
  'change made': 100,
  'change late': 5,
  'change refused': 30,
  'undo known, ok, made': 10
}
/** The same for what is too rare to be found in a few programs. */
const rareShares: Readonly<Record<string, number>> = {
  'undo known, contention': 0.3,
  'undo open, ok, made': 1,
  'undo open, contention': 1
}
const [few, many] = [100, 1000]

t.test(`${programs} programs do what the model says (TEST_SEED=${seed})`, async (t) => {
  let number = 0
  let hasFailed = false
  const counts: Record<string, number> = {}
  let stage: { readonly root: string; readonly caller: Caller; readonly end: () => Promise<void> } | undefined
  const start = async () => {
    const endings: (() => unknown)[] = []
    const owner = { teardown: (ending: () => unknown) => void endings.unshift(ending) }
    const tree = makeTree(owner)
    const { url } = await startServer(owner, tree.root, {
      daemon: { log_level: 'silent' },
      crud: { durability: 'rename' },
      watcher: { enabled: false }
    })
    const caller = createCaller(url)
    const end = async () => {
      caller.close()
      for (const ending of endings) await ending()
    }
    return { root: tree.root, caller, end }
  }
  t.teardown(() => stage?.end())
  await fc.assert(
    fc.asyncProperty(program, async (program) => {
      if (number > 0 && !hasFailed && performance.now() > runSeconds * 1000) return
      number += 1
      if (number % programsPerServer === 1) {
        await stage?.end()
        stage = await start()
      }
      await runProgram(new World(stage!.root, stage!.caller, number, counts), program).catch((error: unknown) => {
        hasFailed = true
        throw error
      })
    }),
    { numRuns: programs, seed, interruptAfterTimeLimit: reportSeconds * 1000 - performance.now() }
  )
  const left = programs - number
  if (left > 0) t.pass(`${number} programs`, { skip: `there was no time for ${left} of ${programs}` })
  t.comment(JSON.stringify(counts))
  const expected = number < few ? {} : { ...shares, ...(number >= many && rareShares) }
  for (const [kind, share] of Object.entries(expected)) {
    const least = (number * share) / (number < many ? 200 : 100)
    t.ok((counts[kind] ?? 0) >= least, `${kind}: ${counts[kind] ?? 0}`)
  }
})
