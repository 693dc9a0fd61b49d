// async-crud-mcp land: the commit is made by the user's own Git, once its test has passed on exactly its files.
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connect, type TestClient } from '../../fixtures/clients.ts'
import { startServer } from '../../fixtures/server.ts'
import { makeTree } from '../../fixtures/tree.ts'

t.setTimeout(600_000)
const program = join(process.cwd(), 'dist', 'main.cjs')
const base = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join('')

async function scene(t: Test, files: Record<string, string>) {
  const tree = makeTree(t, files)
  const git = (...args: string[]) => execFileSync('git', ['-C', tree.root, ...args], { encoding: 'utf8' })
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'Name')
  git('config', 'user.email', 'name@example.org')
  git('add', '-A')
  git('commit', '-qm', 'first')
  const { url } = await startServer(t, tree.root, { crud: { durability: 'rename' } })
  const [ann, bob] = [await connect(t, 'rest', url, 'ann'), await connect(t, 'rest', url, 'bob')]
  const land = (...args: string[]) => run(tree.root, 'land', ...args)
  const head = (path: string) => git('show', `HEAD:${path}`)
  return { tree, git, ann, bob, land, head }
}

function run(cwd: string, ...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [program, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

async function edit(client: TestClient, path: string, old_string: string, new_string: string) {
  const { hash } = await client.call('async_read', { path, limit: 0 })
  const patches = [{ old_string, new_string }]
  const answer = await client.call('async_update', { path, expected_hash: hash, patches })
  if (answer['status'] !== 'ok') throw new Error(JSON.stringify(answer))
}

t.test('the test runs on the files of the commit, and decides', async (t) => {
  const { tree, git, ann, bob, land, head } = await scene(t, { f: base, '.gitignore': 'node_modules\n' })
  mkdirSync(tree.path('node_modules/p'), { recursive: true })
  tree.write('node_modules/p/index.js', 'x')
  await edit(ann, 'f', 'line 3\n', 'ann 3\n')
  await edit(bob, 'f', 'line 9\n', 'bob 9\n')
  const failed = await land('--agent', 'ann', '--', 'sh', '-c', 'grep -q "bob 9" f')
  t.match(failed, { code: 1, err: /nothing was landed: sh -c .* ended with 1/ })
  t.equal(git('rev-list', '--count', 'HEAD').trim(), '1')
  t.same(readdirSync(tree.path('.async-crud-mcp/landing')), [], 'nothing of it is left')
  t.equal(git('worktree', 'list').trim().split('\n').length, 1)
  const passed = await land(
    '--agent',
    'ann',
    '-m',
    'By Ann',
    '--',
    'sh',
    '-c',
    'echo seen; grep "ann 3" f && ! grep "bob 9" f && test -f node_modules/p/index.js'
  )
  t.match(passed, { code: 0, out: /^seen\nann 3\n[0-9a-f]{12} on main: 1 file\n {2}f\n$/ })
  t.equal(head('f'), base.replace('line 3\n', 'ann 3\n'))
  t.equal(git('log', '-1', '--format=%an %B').trim(), 'Name By Ann\n\nAgent: ann')
  t.equal(git('status', '--porcelain').trim(), 'M f')
  t.match(await land('--agent', 'ann'), { code: 1, err: /There is nothing to land/ })
  const kept = await land('--agent', 'bob', '--keep', '--', 'false')
  const [, path = ''] = /files are in (\S+):/.exec(kept.err) ?? []
  t.ok(existsSync(join(path, 'f')), 'with --keep its files stay')
  git('worktree', 'remove', '--force', path)
})

t.test('a file that has become a folder, and a folder that has become a file', async (t) => {
  const { tree, git, ann, land, head } = await scene(t, { a: 'a\n', 'b/c': 'c\n', run: 'echo\n' })
  for (const path of ['a', 'b/c']) t.match(await ann.call('async_delete', { path }), { status: 'ok' })
  rmdirSync(tree.path('b'))
  for (const path of ['a/x', 'b'])
    t.match(await ann.call('async_write', { path, content: `${path}\n`, create_dirs: true }), { status: 'ok' })
  t.match(await land('--agent', 'ann', '--', 'sh', '-c', 'test -f a/x && test -f b && test -f run'), { code: 0 })
  t.same([head('a/x'), head('b')], ['a/x\n', 'b\n'])
  t.equal(git('ls-tree', '-r', '--name-only', 'HEAD').trim(), 'a/x\nb\nrun')
  t.equal(git('status', '--porcelain'), '')
})

t.test('hooks and filters run with the rights of the caller, and a hook can refuse', async (t) => {
  const { tree, git, ann, land } = await scene(t, { f: base, 'd.up': 'one\n', '.gitattributes': '*.up filter=up\n' })
  git('config', 'filter.up.clean', 'tr a-z A-Z')
  git('config', 'filter.up.smudge', 'tr A-Z a-z')
  git('add', '--renormalize', '.')
  git('commit', '-qm', 'filtered')
  const hook = tree.path('.git/hooks/commit-msg')
  tree.write('.git/hooks/commit-msg', '#!/bin/sh\ngrep -q good "$1" || { echo "no good message"; exit 1; }\n')
  chmodSync(hook, 0o755)
  await edit(ann, 'f', 'line 3\n', 'ann 3\n')
  await edit(ann, 'd.up', 'one\n', 'one\ntwo\n')
  t.match(await land('--agent', 'ann', '-m', 'bad'), { code: 1, err: /no good message/ })
  t.match(await land('--agent', 'ann', '-m', 'good'), { code: 0 })
  t.equal(git('cat-file', 'blob', 'HEAD:d.up'), 'ONE\nTWO\n', 'as the filter stores it')
  t.equal(git('status', '--porcelain'), '')
  await edit(ann, 'f', 'ann 3\n', 'ann 4\n')
  t.match(await land('--agent', 'ann', '-m', 'bad', '--no-verify'), { code: 0 })
  tree.write('.git/hooks/pre-commit', '#!/bin/sh\necho more >> f; git add f\n')
  chmodSync(tree.path('.git/hooks/pre-commit'), 0o755)
  await edit(ann, 'f', 'ann 4\n', 'ann 5\n')
  t.match(await land('--agent', 'ann', '-m', 'good'), { code: 1, err: /a hook of Git has changed the files/ })
})

t.test('the plan of one and of all', async (t) => {
  const { ann, bob, land } = await scene(t, { f: base, g: 'one\ntwo\n' })
  await edit(ann, 'f', 'line 3\n', 'ann 3\nann 3b\n')
  await ann.call('async_delete', { path: 'g' })
  await edit(bob, 'f', 'ann 3\nann 3b\n', 'ann 3\nbob 3\nann 3b\n')
  const all = await land('--plan')
  t.match(all, {
    code: 0,
    out: /^ann: 2 files, \+2 -3\n {2}f\n {2}g\nbob: 1 file, \+1 -0\n {2}f\n {2}f:4 rests on a change by ann\n$/
  })
  const { out } = await land('--plan', '--json', '--agent', 'bob')
  t.match(JSON.parse(out), { status: 'dependent', dependent: [{ path: 'f', start_line: 4, agent_id: 'ann' }] })
  t.match(await land('--agent', 'bob'), { code: 1, err: /f:4 rests on a change by ann/ })
  t.match(await land(), { code: 1, err: /whose changes\?/ })
})

t.test(
  'what is not taken is said by the plan and by the landing',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const { tree, git, ann, land } = await scene(t, { f: base })
    writeFileSync(Buffer.concat([Buffer.from(tree.path('hand')), Buffer.of(0xe9)]), 'by hand\n')
    await edit(ann, 'f', 'line 3\n', 'ann 3\n')
    const words = 'not taken, since the name is not UTF-8 (commit it with Git): hand\\xe9\n'
    for (const flags of [[], ['--agent', 'ann']]) {
      const { code, out } = await land('--plan', ...flags)
      t.equal(code, 0)
      t.ok(out.endsWith(words), out)
    }
    const { out } = await land('--plan', '--json')
    t.match(JSON.parse(out), { uncertain: [], unknown: [], unreachable: ['hand\\xe9'] })
    const landed = await land('--agent', 'ann', '-m', 'By Ann')
    t.equal(landed.code, 0)
    t.ok(landed.err.includes(words), landed.err)
    t.equal(git('ls-tree', '-r', '--name-only', 'HEAD'), 'f\n')
  }
)

t.test('eight agents land at once, and each gets its own commit', async (t) => {
  const { tree, git, land } = await scene(t, { f: base, g: base })
  const { url } = await startServer(t, tree.root, { crud: { durability: 'rename' } })
  const names = Array.from({ length: 8 }, (_, index) => `agent-${index}`)
  for (const [index, name] of names.entries()) {
    const client = await connect(t, 'rest', url, name)
    await edit(client, index % 2 === 0 ? 'f' : 'g', `line ${index + 3}\n`, `${name}\n`)
  }
  const landed = await Promise.all(names.map((name) => land('--agent', name, '-m', name, '--', 'true')))
  t.same(
    landed.map(({ code, err }) => (code === 0 ? 0 : err)),
    names.map(() => 0)
  )
  t.equal(git('status', '--porcelain'), '')
  for (const name of names) {
    const [commit = ''] = git('log', '--format=%H', '--fixed-strings', `--grep=Agent: ${name}`).trim().split('\n')
    const added = git('show', '-U0', '--format=', commit)
      .split('\n')
      .filter((line) => /^\+[^+]/.test(line))
    t.same(added, [`+${name}`])
  }
})

t.test('a detached HEAD, a locked index, and a missing identity', async (t) => {
  const { tree, git, ann, land } = await scene(t, { f: base })
  await edit(ann, 'f', 'line 3\n', 'ann 3\n')
  git('config', 'user.name', '')
  const nameless = await land('--agent', 'ann', '--', 'touch', tree.path('tested'))
  t.match(nameless, { code: 1, err: /git config user.name/ })
  t.notOk(existsSync(tree.path('tested')), 'the test does not run for nothing')
  git('config', 'user.name', 'Name')
  git('checkout', '-q', '--detach')
  tree.write('.git/index.lock', '')
  // Another Git lets it go once the test has run.
  const landed = land('--agent', 'ann', '--', 'sh', '-c', `rm ${tree.path('.git/index.lock')}`)
  t.match(await landed, { code: 0, out: /^[0-9a-f]{12} on a detached HEAD: 1 file\n/ })
  t.equal(git('rev-parse', '--abbrev-ref', 'HEAD').trim(), 'HEAD')
  t.equal(git('rev-list', '--count', 'main').trim(), '1')
  t.equal(git('status', '--porcelain'), '')
  await edit(ann, 'f', 'line 4\n', 'ann 4\n')
  const { out } = await land('--agent', 'ann', '--json', '--', 'echo', 'seen')
  t.match(JSON.parse(out), { status: 'ok', branch: null, paths: ['f'] })
  const none = await land('--agent', 'ann', '--json')
  t.match([none.code, JSON.parse(none.out)], [1, { status: 'nothing', message: /nothing to land/ }])
})
