// async-crud-mcp land, killed right before or behind each of its calls of Git and of its test: there is no commit or the whole one, and
// the next landing goes on and removes what is left.
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { programPath, startOneProgram } from '../../fixtures/server.ts'
import { edit } from '../../fixtures/landing.ts'
import { connect } from '../../fixtures/clients.ts'
import { someOf } from '../../fixtures/length.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

t.setTimeout(3_600_000)
const realGit = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()

/** Programs that count their calls, and kill their caller at the one that a file names: before or behind what they do. */
function shims(t: Test): Tree {
  const folder = makeTree(t)
  for (const [name, act] of [
    ['git', `${realGit} "$@"`],
    ['check', 'grep -q ann f']
  ]) {
    folder.write(
      name!,
      `#!/bin/sh
dir=${folder.root}
echo "$@" >> "$dir/calls"
n=$(wc -l < "$dir/calls")
[ "$n before" = "$(cat "$dir/armed")" ] && kill -9 $PPID && exit 1
${act}
code=$?
[ "$n behind" = "$(cat "$dir/armed")" ] && kill -9 $PPID
exit $code
`
    )
    chmodSync(folder.path(name!), 0o755)
  }
  return folder
}

async function land(root: string, PATH: string, test: readonly string[] = []) {
  const args = [programPath, 'land', '--agent', 'ann', '-m', 'By Ann', ...test]
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, PATH }, stdio: 'ignore' })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

/** @returns how many calls there were, and whether the commit was made */
async function landKilledAt(parent: Test, point: string) {
  const outcome = { calls: 0, isMade: false }
  await parent.test(`killed ${point}`, async (t) => {
    const tree = makeTree(t, { f: 'one\ntwo\nthree\n', gone: 'gone\n' })
    const folder = shims(t)
    const usual = process.env['PATH'] ?? ''
    const git = (...args: string[]) => execFileSync(realGit, ['-C', tree.root, ...args], { encoding: 'utf8' })
    git('init', '-q', '-b', 'main')
    git('config', 'user.name', 'Name')
    git('config', 'user.email', 'name@example.org')
    git('add', '-A')
    git('commit', '-qm', 'first')
    const server = await startOneProgram(t, ['--dir', tree.root])
    const ann = await connect(t, 'rest', server.url, 'ann')
    const bob = await connect(t, 'rest', server.url, 'bob')
    await edit(ann, 'f', 'one', 'ann')
    await edit(bob, 'f', 'three', 'bob')
    await ann.call('async_delete', { path: 'gone' })
    await ann.call('async_write', { path: 'new/n', content: 'new\n' })
    writeFileSync(folder.path('armed'), point)
    await land(tree.root, `${folder.root}:${usual}`, ['--', 'check'])
    outcome.calls = readFileSync(folder.path('calls'), 'utf8').trim().split('\n').length
    // What the server has begun it ends, though its caller is gone.
    await until(() => !existsSync(tree.path('.async-crud-mcp/landing.json')))
    git('fsck', '--strict')
    outcome.isMade = git('rev-list', '--count', 'HEAD').trim() === '2'
    const status = () => git('status', '--porcelain').trimEnd().split('\n')
    t.same(status(), outcome.isMade ? [' M f'] : [' M f', ' D gone', '?? new/'], 'the index follows the branch')
    // A Git that was begun goes on for a moment, in the tree that nobody waits for.
    t.equal(await land(tree.root, usual), outcome.isMade ? 1 : 0, 'the next landing goes on')
    t.equal(git('show', 'HEAD:f'), 'ann\ntwo\nthree\n')
    t.equal(git('rev-list', '--count', 'HEAD').trim(), '2')
    t.same(git('ls-tree', '-r', '--name-only', 'HEAD').trim().split('\n'), ['f', 'new/n'])
    t.same(status(), [' M f'])
    t.equal(tree.read('f'), 'ann\ntwo\nbob\n', 'the working tree is as it was')
    t.same(readdirSync(tree.path('.async-crud-mcp/landing')), [], 'no tree is left')
    t.equal(git('worktree', 'list').trim().split('\n').length, 1)
    git('fsck', '--strict')
    rmSync(folder.path('armed'))
  })
  return outcome
}

t.test('the command line, killed at each of its calls', async (t) => {
  const { calls, isMade } = await landKilledAt(t, 'never')
  t.ok(isMade)
  t.ok(calls > 8, `${calls} calls`)
  const points = Array.from({ length: calls }, (_, index) => [`${index + 1} before`, `${index + 1} behind`]).flat()
  for (const point of someOf(points, 8)) await landKilledAt(t, point)
})
