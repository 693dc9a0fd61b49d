// async-crud-mcp land, killed right before or behind each of its calls of Git and of its test: there is no commit or the whole one, and
// the next landing goes on and removes what is left.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { killScene, landed, makeShims, pointsOf, realGit } from '../../fixtures/landing-kills.ts'
import { someOf } from '../../fixtures/length.ts'
import { programPath } from '../../fixtures/server.ts'
import { until } from '../../fixtures/until.ts'

t.setTimeout(3_600_000)

async function land(root: string, environment: Record<string, string> = {}, test: readonly string[] = []) {
  const args = [programPath, 'land', '--agent', 'ann', '-m', 'By Ann', ...test]
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, ...environment }, stdio: 'ignore' })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

/** @returns how many calls there were, and whether the commit was made */
async function landKilledAt(parent: Test, point: string) {
  const outcome = { calls: 0, isMade: false }
  await parent.test(`killed ${point}`, async (t) => {
    const scene = await killScene(t)
    const { tree, git, status } = scene
    const shims = makeShims(t, { git: `${realGit} "$@"`, check: 'grep -q ann f' })
    shims.arm(point)
    await land(tree.root, { PATH: shims.PATH }, ['--', 'check'])
    outcome.calls = shims.disarm()
    // What the server has begun it ends, though its caller is gone.
    await until(() => !existsSync(tree.path('.async-crud-mcp/landing.json')))
    git('fsck', '--strict')
    outcome.isMade = scene.isMade()
    t.same(status(), outcome.isMade ? [' M f'] : [' M f', ' D gone', '?? new/'], 'the index follows the branch')
    // A Git that was begun goes on for a moment, in the tree that nobody waits for.
    t.equal(await land(tree.root), outcome.isMade ? 1 : 0, 'the next landing goes on')
    t.equal(git('show', 'HEAD:f'), landed.f)
    t.ok(scene.isMade(), 'there is one commit')
    t.same(scene.listing(), landed.listing)
    t.same(status(), [' M f'])
    t.equal(tree.read('f'), 'ann\ntwo\nbob\n', 'the working tree is as it was')
    t.same(readdirSync(tree.path('.async-crud-mcp/landing')), [], 'no tree is left')
    t.equal(git('worktree', 'list').trim().split('\n').length, 1)
    git('fsck', '--strict')
  })
  return outcome
}

t.test('the command line, killed at each of its calls', async (t) => {
  const { calls, isMade } = await landKilledAt(t, 'never')
  t.ok(isMade)
  t.ok(calls > 8, `${calls} calls`)
  for (const point of someOf(pointsOf(calls), 4)) await landKilledAt(t, point)
})
