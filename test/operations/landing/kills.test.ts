// A landing whose server is killed right before or behind each of its calls of Git: there is no commit or the whole one, and the next goes on.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connect } from '../../fixtures/clients.ts'
import { someOf } from '../../fixtures/length.ts'
import { startOneProgram } from '../../fixtures/server.ts'
import { makeTree, type Tree } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

t.setTimeout(3_600_000)
const realGit = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()

/** A `git` that counts its calls below a folder, and kills its caller at the one that a file names: before or behind the real one. */
function shim(folder: Tree): string {
  folder.write(
    'git',
    `#!/bin/sh
dir=${folder.root}
[ -f "$dir/armed" ] || exec ${realGit} "$@"
echo "$@" >> "$dir/calls"
n=$(wc -l < "$dir/calls")
[ "$n before" = "$(cat "$dir/armed")" ] && kill -9 $PPID && exit 1
${realGit} "$@"
code=$?
[ "$n behind" = "$(cat "$dir/armed")" ] && kill -9 $PPID
exit $code
`
  )
  chmodSync(folder.path('git'), 0o755)
  return folder.root
}

interface Outcome {
  readonly calls: number
  readonly isMade: boolean
}

async function landKilledAt(parent: Test, point: string): Promise<Outcome> {
  let outcome: Outcome = { calls: 0, isMade: false }
  await parent.test(`killed ${point}`, async (t) => {
    const tree = makeTree(t, { f: 'one\ntwo\nthree\n', gone: 'gone\n' })
    const folder = makeTree(t)
    const path = `${shim(folder)}:${process.env['PATH']}`
    const git = (...args: string[]) => execFileSync(realGit, ['-C', tree.root, ...args], { encoding: 'utf8' })
    git('init', '-q', '-b', 'main')
    git('config', 'user.name', 'Name')
    git('config', 'user.email', 'name@example.org')
    git('add', '-A')
    git('commit', '-qm', 'first')
    const start = () =>
      startOneProgram(t, ['--dir', tree.root], { PATH: path, ASYNC_CRUD_MCP_PERSISTENCE__ENABLED: 'true' })
    const server = await start()
    const ann = await connect(t, 'rest', server.url, 'ann')
    const bob = await connect(t, 'rest', server.url, 'bob')
    for (const [client, old_string, new_string] of [
      [ann, 'one', 'ann'],
      [bob, 'three', 'bob']
    ] as const) {
      const { hash } = await client.call('async_read', { path: 'f', limit: 0 })
      await client.call('async_update', { path: 'f', expected_hash: hash, patches: [{ old_string, new_string }] })
    }
    await ann.call('async_delete', { path: 'gone' })
    await ann.call('async_write', { path: 'new/n', content: 'new\n' })
    writeFileSync(folder.path('armed'), point)
    const answer = await bob.call('land', { agent: 'ann' }).catch(() => undefined)
    const calls = readFileSync(folder.path('calls'), 'utf8').trim().split('\n').length
    execFileSync('rm', [folder.path('armed')])
    if (answer === undefined) {
      const again = await start()
      // The next server ends what was begun, without being asked.
      await until(() => !existsSync(join(tree.root, '.async-crud-mcp', 'landing.json')))
      await fetch(`${again.url}/locks`)
    }
    git('fsck', '--strict')
    const isMade = git('rev-list', '--count', 'HEAD').trim() === '2'
    const status = git('status', '--porcelain').trimEnd().split('\n')
    const whole = ['100644 f', '100644 new/n']
    const tree1 = git('ls-tree', '-r', '--format=%(objectmode) %(path)', 'HEAD').trim().split('\n')
    t.same(tree1, isMade ? whole : ['100644 f', '100644 gone'])
    t.equal(git('show', 'HEAD:f'), isMade ? 'ann\ntwo\nthree\n' : 'one\ntwo\nthree\n')
    t.same(status, isMade ? [' M f'] : [' M f', ' D gone', '?? new/'], 'the index follows the branch')
    t.equal(tree.read('f'), 'ann\ntwo\nbob\n', 'the working tree is as it was')
    outcome = { calls, isMade }
  })
  return outcome
}

t.test('a landing, killed at each of its calls of Git', async (t) => {
  const { calls, isMade } = await landKilledAt(t, 'never')
  t.ok(isMade)
  t.ok(calls > 8, `${calls} calls of Git`)
  const points = Array.from({ length: calls }, (_, index) => [`${index + 1} before`, `${index + 1} behind`]).flat()
  const made: boolean[] = []
  for (const point of someOf(points, 10)) made.push((await landKilledAt(t, point)).isMade)
  t.ok(made.includes(true) && made.includes(false), 'kills on both sides of the commit')
})
