// A landing whose server is killed right before or behind each of its calls of Git: there is no commit or the whole one, and the next goes on.
import { existsSync } from 'node:fs'
import t, { type Test } from 'tap'
import { killScene, landed, makeShims, pointsOf, realGit } from '../../fixtures/landing-kills.ts'
import { someOf } from '../../fixtures/length.ts'
import { until } from '../../fixtures/until.ts'

t.setTimeout(3_600_000)

/** @returns how many calls there were, and whether the commit was made */
async function landKilledAt(parent: Test, point: string) {
  const outcome = { calls: 0, isMade: false }
  await parent.test(`killed ${point}`, async (t) => {
    const shims = makeShims(t, { git: `${realGit} "$@"` })
    const { PATH } = shims
    const scene = await killScene(t, { PATH, ASYNC_CRUD_MCP_PERSISTENCE__ENABLED: 'true' })
    const { tree, bob, git } = scene
    shims.arm(point)
    const answer = await bob.call('land', { agent: 'ann' }).catch(() => undefined)
    outcome.calls = shims.disarm()
    if (answer === undefined) {
      const again = await scene.start()
      // The next server ends what was begun, without being asked.
      await until(() => !existsSync(tree.path('.async-crud-mcp/landing.json')))
      await fetch(`${again.url}/locks`)
    }
    git('fsck', '--strict')
    const isMade = scene.isMade()
    t.same(scene.listing(), isMade ? landed.listing : ['100644 f', '100644 gone'])
    t.equal(git('show', 'HEAD:f'), isMade ? landed.f : 'one\ntwo\nthree\n')
    t.same(scene.status(), isMade ? [' M f'] : [' M f', ' D gone', '?? new/'], 'the index follows the branch')
    t.equal(tree.read('f'), 'ann\ntwo\nbob\n', 'the working tree is as it was')
    outcome.isMade = isMade
  })
  return outcome
}

t.test('a landing, killed at each of its calls of Git', async (t) => {
  const { calls, isMade } = await landKilledAt(t, 'never')
  t.ok(isMade)
  t.ok(calls > 8, `${calls} calls of Git`)
  const made: boolean[] = []
  for (const point of someOf(pointsOf(calls), 5)) made.push((await landKilledAt(t, point)).isMade)
  // A run may have a call more than the first one: then the last of these points still lies before the commit.
  for (let call = calls + 1; !made.includes(true); call += 1)
    made.push((await landKilledAt(t, `${call} behind`)).isMade)
  t.ok(made.includes(true) && made.includes(false), `kills on both sides of the commit: ${calls} calls, ${made.join()}`)
})
