// run --isolated, through the real program on real overlays: what goes over, what does not, and what is in the way.
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { cannotIsolate, isolatedTree, picture, pictureAfter, serveIsolated, users } from '../../fixtures/isolated.ts'
import { makeCommitted } from '../../fixtures/repository.ts'
import { hashOf } from '../../fixtures/tree.ts'
import { until } from '../../fixtures/until.ts'

const lines = (...all: string[]) => `${all.join('\n')}\n`
const text = lines('one', 'two', 'three', 'four', 'five', 'six', 'seven')

const files = {
  'a.txt': text,
  'b.txt': text,
  'src/c.txt': 'c\n',
  'src/d.txt': 'd\n',
  'old/e.txt': 'e\n',
  'old/deep/f.txt': 'f\n',
  'gone/g.txt': 'g\n',
  'gone/h.txt': 'h\n',
  'run.sh': 'echo\n',
  module: 'm\n',
  'package/1': '1\n',
  'package/in/2': '2\n',
  turned: 't\n',
  '.gitignore': 'build\n*.log\n',
  'build/out/1': '1\n',
  'build/2': '2\n',
  'build/3': '3\n',
  'x.log': 'x\n'
}

/** Everything that a command can do to a tree. */
const everything = `
sed -i s/two/TWO/ a.txt
rm b.txt src/c.txt
mkdir -p new/deep/er empty/in
echo n > new/deep/er/n.txt
mv old moved
mv src/d.txt src/D.txt
chmod 755 run.sh
ln -s a.txt link
ln -s nowhere/at/all dangling
rm -r gone && mkdir gone && echo again > gone/g.txt
rm module && mkdir -p module/deep && echo i > module/index && echo d > module/deep/d
rm -r package && echo p > package
rm turned && mkdir turned
chmod 700 src
printf 'bin\\0ary\\377' > binary
: > nothing
mkdir -p build/more && echo m > build/more/m && echo 11 > build/out/1 && rm build/2
rm -r build/out && mkdir build/out && echo o > build/out/o
rm x.log && echo y > y.log
chmod 600 build/3
`

t.test('run --isolated', { skip: cannotIsolate }, async (t) => {
  for (const { user, skip } of users) {
    const who = user === undefined ? '' : ', as a user who is not root'
    t.test(`makes of the tree what the command makes of it${who}`, { skip }, (t) => makesAll(t, user))
    t.test(`merges with what others did meanwhile, or changes nothing${who}`, { skip }, (t) => mergesOrNot(t, user))
    t.test(`cannot write to Git's folders, nor see the server's own${who}`, { skip }, (t) => keepsGit(t, user))
  }

  for (const { user, skip } of users.filter((one) => one.user !== undefined))
    t.test('makes folders that are closed to the user itself', { skip }, async (t) => {
      const { root, isolated } = await isolatedTree(t, files, { user })
      const script =
        'mkdir -p shut/build/in && echo 1 > shut/build/in/1 && echo 2 > shut/2 && chmod 555 shut/build/in shut/build shut src'
      const wanted = pictureAfter(t, root, script)
      const ended = await isolated(script)
      t.match(ended, { code: 0, stderr: /^async-crud-mcp: 1 file changed, 1 ignored taken along\n$/ })
      t.strictSame(picture(root), wanted)
    })

  t.test(
    'passes input, output, arguments, the folder, and the exit code, and changes nothing unless that is 0',
    async (t) => {
      const { root, tree, run } = await isolatedTree(t, files)
      const before = picture(root)
      const script = 'cat; pwd; echo "$1|$2"; echo x > a.txt; rm b.txt; echo o > build/3; exit 7'
      const ended = await run(['--isolated', '--', 'sh', '-c', script, 'sh', 'a b', "c'd"], 'typed\n')
      t.equal(ended.code, 7)
      t.equal(ended.stdout, `typed\n${root}\na b|c'd\n`)
      t.match(ended.stderr, /ended with 7: nothing was changed/)
      t.strictSame(picture(root), before)
      t.strictSame(readdirSync(tree.path('.async-crud-mcp/layers')), [])
      t.equal((await run(['--isolated', '--', 'no-such-command'])).code, 127)
      t.equal((await run(['--isolated', '--', './src'])).code, 126)
      t.equal((await run(['--isolated'])).code, 125)
      t.equal((await run(['--isolated', '--list'])).code, 125)
    }
  )

  t.test('passes signals, and ends what the command has left behind', async (t) => {
    const { tree, start, gate, isolated } = await isolatedTree(t, files)
    const here = gate()
    const running = start(['--isolated', '--', 'sh', '-c', `trap 'exit 9' TERM; ${here.wait}`])
    await here.reached(running)
    running.process.kill('SIGTERM')
    t.equal((await running.ended).code, 9)
    const marker = `sleep 86${process.pid}`
    const ended = await isolated(`(exec >/dev/null 2>&1 </dev/null; exec ${marker}) & echo z > z.txt`)
    t.equal(ended.code, 0, ended.stderr)
    t.equal(tree.read('z.txt'), 'z\n')
    t.notMatch(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split('\n'), marker)
  })

  t.test('is one change of the log, by its agent, that one undo takes back', async (t) => {
    const { root, isolated, call } = await isolatedTree(t, files)
    const before = picture(root)
    const ended = await isolated(
      'sed -i s/two/TWO/ a.txt; rm b.txt; mv src/d.txt src/D.txt; echo n > n.txt; rm module; mkdir module; echo i > module/i; rm -r package; echo p > package',
      '--change-set',
      'task'
    )
    t.equal(ended.code, 0, ended.stderr)
    const { versions = [] } = await call('async_history', { by_agent: 'ann' })
    t.strictSame(
      [...new Set(versions.map((one: Record<string, unknown>) => [one['operation'], one['change_set']].join()))],
      ['command,task']
    )
    t.match(
      versions.find((one: Record<string, unknown>) => one['renamed_from'] !== undefined),
      { renamed_from: 'src/d.txt' }
    )
    t.match(await call('async_undo', { of_change_set: 'task', agent_id: 'bob' }), { status: 'ok' })
    t.strictSame(picture(root), before)
  })

  t.test('conflicts if the versions from which it may have started lead to different results', async (t) => {
    const { tree, root, call, start, gate, isolated } = await isolatedTree(t, files)
    // A line that the command has read, and that its author has withdrawn by then, must not come back.
    const first = hashOf(text)
    t.match(await call('async_read', { path: join(root, 'a.txt'), agent_id: 'bob' }), { hash: first })
    const [look, end] = [gate(), gate()]
    const script = `${look.wait}; echo mine >> a.txt; ${end.wait}`
    const running = start(['--isolated', '--agent', 'ann', '--', 'sh', '-c', script])
    await look.reached(running)
    const shown = text.replace('one\n', 'one\nsecret\n')
    const update = { path: join(root, 'a.txt'), agent_id: 'bob' }
    t.match(await call('async_update', { ...update, expected_hash: first, content: shown }), { status: 'ok' })
    look.open()
    await end.reached(running)
    t.match(await call('async_update', { ...update, expected_hash: hashOf(shown), content: text }), { status: 'ok' })
    end.open()
    const ended = await running.ended
    t.equal(ended.code, 75)
    t.match(ended.stderr, /a\.txt changed since the version you know/)
    t.equal(tree.read('a.txt'), text)
    t.equal((await isolated('echo mine >> a.txt')).code, 0)
    t.equal(tree.read('a.txt'), `${text}mine\n`)
  })

  t.test(
    'merges a file that nobody has used if its times say that it is as it was, and conflicts if not',
    async (t) => {
      const { tree, start, gate } = await isolatedTree(t, files)
      const here = gate()
      const running = start(['--isolated', '--', 'sh', '-c', `sed -i s/two/TWO/ a.txt b.txt; ${here.wait}`])
      await here.reached(running)
      tree.write('b.txt', text.replace('six', 'SIX'))
      here.open()
      const ended = await running.ended
      t.equal(ended.code, 75)
      t.match(
        ended.stderr,
        /b\.txt has changed while the command ran, and the version from which the command started is not known/
      )
      t.notMatch(ended.stderr, /a\.txt/)
      t.equal(tree.read('a.txt'), text)
    }
  )

  t.test(
    'conflicts if a program outside has changed a file, and its times do not tell that it came later',
    async (t) => {
      const { root, tree, call, start, gate } = await isolatedTree(t, files)
      t.match(await call('async_read', { path: join(root, 'a.txt'), agent_id: 'bob' }), { status: 'ok' })
      const here = gate()
      const running = start(['--isolated', '--', 'sh', '-c', `sed -i s/two/TWO/ a.txt; ${here.wait}`])
      await here.reached(running)
      const other = text.replace('six', 'SIX')
      tree.write('a.txt', other)
      utimesSync(tree.path('a.txt'), 0, 0)
      here.open()
      t.match(await running.ended, { code: 75, stderr: /Nothing was changed: others have changed one of the files/ })
      t.equal(tree.read('a.txt'), other)
    }
  )

  t.test('keeps a folder into which others have put a file, and which it has replaced by a file', async (t) => {
    const { root, tree, start, gate } = await isolatedTree(t, files)
    const here = gate()
    const running = start([
      '--isolated',
      '--',
      'sh',
      '-c',
      `rm -r package; echo p > package; echo x > a.txt; ${here.wait}`
    ])
    await here.reached(running)
    tree.write('package/in/new', 'new\n')
    const before = picture(root)
    here.open()
    t.match(await running.ended, {
      code: 75,
      stderr: /package\/in\/new has changed while the command ran.*\n.*a directory.*: .*package\n/
    })
    t.strictSame(picture(root), before)
  })

  t.test('conflicts if a folder in which it has written was replaced or removed', async (t) => {
    const { tree, start, gate } = await isolatedTree(t, files)
    const change: Record<string, (path: string) => void> = {
      replaced: (path) => {
        renameSync(path, `${path}.old`)
        renameSync(tree.path('old'), path)
      },
      removed: (path) => rmSync(path, { recursive: true })
    }
    for (const [name, make] of Object.entries(change)) {
      const here = gate()
      const running = start(['--isolated', '--', 'sh', '-c', `echo c >> src/c.txt; echo x > a.txt; ${here.wait}`])
      await here.reached(running)
      make(tree.path('src'))
      here.open()
      t.match(await running.ended, { code: 75, stderr: /src was removed or replaced while the command ran/ }, name)
      t.equal(tree.read('a.txt'), text)
    }
  })

  t.test('keeps what it wrote if asked, for --list, --apply and --drop', async (t) => {
    const { tree, root, isolated, run, call } = await isolatedTree(t, files)
    const kept = await isolated('sed -i s/two/TWO/ a.txt; rm b.txt; exit 3', '--keep')
    t.equal(kept.code, 3)
    const [, id = ''] = /kept for seven days as ([0-9a-f]{8})/.exec(kept.stderr) ?? []
    const other = await isolated('echo x > src/c.txt; false', '--keep')
    const [, dropped = ''] = /kept for seven days as ([0-9a-f]{8})/.exec(other.stderr) ?? []
    t.match(
      (await run(['--list'])).stdout,
      new RegExp(`^${id}  \\S+  exit 3  ann: sh -c 'sed .*\\n${dropped}  \\S+  exit 1  ann: `)
    )
    t.match(await run(['--drop', dropped]), { code: 0, stderr: /is dropped/ })
    t.match(await run(['--drop', dropped]), { code: 0, stderr: /there was no layer/ })
    t.match(await run(['--apply', dropped]), { code: 125, stderr: /There is no layer/ })
    const path = join(root, 'a.txt')
    const { hash } = await call('async_read', { path })
    const changed = text.replace('two', 'zwei')
    const update = await call('async_update', { path, expected_hash: hash, content: changed })
    t.match(await run(['--apply', id]), { code: 75, stderr: /was not merged/ })
    t.ok(existsSync(tree.path('b.txt')), 'all or nothing')
    t.match(await call('async_update', { path, expected_hash: update['hash'], content: text.replace('six', 'SIX') }), {
      status: 'ok'
    })
    t.match(await run(['--apply', id]), { code: 0, stderr: /2 files changed, 1 merged/ })
    t.equal(tree.read('a.txt'), text.replace('two', 'TWO').replace('six', 'SIX'))
    t.notOk(existsSync(tree.path('b.txt')))
    t.equal((await run(['--list'])).stdout, '')
  })

  t.test('drops at its start what was kept for seven days', async (t) => {
    const { tree, root } = makeCommitted(t, files)
    const folder = tree.path('.async-crud-mcp/layers/01234567')
    mkdirSync(join(folder, '0/upper'), { recursive: true, mode: 0o700 })
    const day = 24 * 3_600_000
    writeFileSync(join(folder, 'layer.json'), JSON.stringify({ command: 'x', seq: 1, roots: [root], pid: process.pid }))
    writeFileSync(
      join(folder, 'end.json'),
      JSON.stringify({ at: Date.now() - 8 * day, exitCode: 1, seq: 1, found: {} })
    )
    await serveIsolated(t, root)
    await until(() => !existsSync(folder))
  })

  t.test('drops what a run has written that was killed', async (t) => {
    const { root, tree, start, gate, run } = await isolatedTree(t, files)
    const before = picture(root)
    const here = gate()
    const running = start(['--isolated', '--keep', '--', 'sh', '-c', `echo x > a.txt; ${here.wait}`])
    await here.reached(running)
    t.match((await run(['--list'])).stdout, /  runs  /)
    running.process.kill('SIGKILL')
    here.open()
    await running.ended
    t.equal((await run(['--list'])).stdout, '')
    t.strictSame(readdirSync(tree.path('.async-crud-mcp/layers')), [])
    t.strictSame(picture(root), before)
  })

  t.test('has a bound of its own for files, which ignored ones do not count for', async (t) => {
    const environment = { ASYNC_CRUD_MCP_CRUD__MAX_LAYER_FILES: '20', ASYNC_CRUD_MCP_CRUD__MAX_TRANSACTION_FILES: '1' }
    const { tree, isolated } = await isolatedTree(t, files, { environment })
    const many = (folder: string, count: number) =>
      `mkdir -p ${folder}; for i in $(seq ${count}); do echo $i > ${folder}/$i; done`
    const ended = await isolated(`${many('many', 21)}; ${many('build/many', 30)}`)
    t.equal(ended.code, 125)
    t.match(ended.stderr, /changed 21 files, more than the 20 allowed \(crud\.max_layer_files\)/)
    t.notOk(existsSync(tree.path('many')) || existsSync(tree.path('build/many')))
    t.match(await isolated(`${many('many', 20)}; ${many('build/many', 30)}`), { code: 0 })
    t.equal(readdirSync(tree.path('many')).length, 20)
    t.equal(readdirSync(tree.path('build/many')).length, 30)
  })

  t.test('takes a file that Git tracks as any other, though a rule ignores it', async (t) => {
    const { root, tree, git, start, gate, call } = await isolatedTree(t, { ...files, 'build/kept': text })
    git('add', '--force', 'build/kept')
    const { hash } = await call('async_read', { path: join(root, 'build/kept') })
    const here = gate()
    const running = start([
      '--isolated',
      '--',
      'sh',
      '-c',
      `sed -i s/two/TWO/ build/kept; echo 4 > build/4; ${here.wait}`
    ])
    await here.reached(running)
    const content = text.replace('six', 'SIX')
    t.match(await call('async_update', { path: join(root, 'build/kept'), expected_hash: hash, content }), {
      status: 'ok'
    })
    here.open()
    t.match(await running.ended, {
      code: 0,
      stderr: /1 file changed, 1 merged with changes of others, 1 ignored taken along/
    })
    t.equal(tree.read('build/kept'), text.replace('two', 'TWO').replace('six', 'SIX'))
  })

  t.test('keeps the repository of a linked worktree from change, outside of the tree', async (t) => {
    const { git } = await isolatedTree(t, files)
    const outside = realpathSync(mkdtempSync(join(tmpdir(), 'async-crud-mcp-linked-')))
    t.teardown(() => rmSync(outside, { recursive: true, force: true }))
    git('worktree', 'add', '--quiet', join(outside, 'linked'))
    const { run } = await serveIsolated(t, join(outside, 'linked'))
    const ended = await run(['--isolated', '--', 'sh', '-c', 'echo x > x.txt; git status --short; git add x.txt'])
    t.match(ended, { code: 128, stdout: '?? x.txt\n', stderr: /Read-only file system/ })
  })

  t.test('says what is in the way, and what to allow', async (t) => {
    const { root, start, run } = await isolatedTree(t, files)
    const allowsNone = [
      'unshare',
      '--user',
      '--map-user=1',
      '--keep-caps',
      'sh',
      '-c',
      'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"',
      'sh'
    ]
    const refused = await start(['--isolated', '--', 'true'], '', allowsNone).ended
    t.match(refused, { code: 125, stderr: /allows no isolated command.*max_user_namespaces = 0/ })
    t.match(await start(['--isolated', '--', 'true'], '', ['env', 'PATH=/nowhere']).ended, {
      code: 125,
      stderr: /unshare \(util-linux\) could not be started.*without --isolated/
    })
    t.match(await run(['--isolated', '--', 'true']), { code: 0, stderr: '' })
    if (process.getuid?.() === 0) {
      const mounted = ['unshare', '--mount', 'sh', '-c', `mount -t tmpfs none '${root}/src' && exec "$@"`, 'sh']
      t.match(await start(['--isolated', '--', 'true'], '', mounted).ended, {
        code: 125,
        stderr: /other file systems are mounted below the root \(.*\/src\).*Mount them outside of it/
      })
    }
  })
})

async function makesAll(t: Test, user: number | undefined): Promise<void> {
  const { root, isolated } = await isolatedTree(t, files, { user })
  const wanted = pictureAfter(t, root, everything)
  const ended = await isolated(everything)
  t.match(ended, { code: 0, stderr: /^async-crud-mcp: \d+ files changed, \d+ ignored taken along\n$/ })
  t.strictSame(picture(root), wanted)
}

async function mergesOrNot(t: Test, user: number | undefined): Promise<void> {
  const { root, tree, start, gate, call } = await isolatedTree(t, files, { user })
  const path = join(root, 'a.txt')
  const { hash } = await call('async_read', { path, agent_id: 'bob' })
  const script = (wait: string, word: string) => `sed -i s/two/${word}/ a.txt; sed -i s/two/${word}/ b.txt; ${wait}`
  const here = gate()
  const running = start(['--isolated', '--agent', 'ann', '--', 'sh', '-c', script(here.wait, 'TWO')])
  await here.reached(running)
  const content = text.replace('six', 'SIX')
  const updated = await call('async_update', { path, expected_hash: hash, content, agent_id: 'bob' })
  t.match(updated, { status: 'ok' })
  here.open()
  t.match(await running.ended, { code: 0, stderr: /2 files changed, 1 merged with changes of others/ })
  const merged = text.replace('two', 'TWO').replace('six', 'SIX')
  t.equal(tree.read('a.txt'), merged)
  t.equal(tree.read('b.txt'), text.replace('two', 'TWO'))
  const again = gate()
  const late = start([
    '--isolated',
    '--agent',
    'ann',
    '--',
    'sh',
    '-c',
    `sed -i s/SIX/6/ a.txt; sed -i s/six/6/ b.txt; ${again.wait}`
  ])
  await again.reached(late)
  const other = merged.replace('SIX', 'sechs')
  t.match(await call('async_update', { path, expected_hash: hashOf(merged), content: other, agent_id: 'bob' }), {
    status: 'ok'
  })
  again.open()
  const ended = await late.ended
  t.equal(ended.code, 75)
  t.match(ended.stderr, /Nothing was changed: others have changed one of the files/)
  t.match(ended.stderr, /Changed by bob/)
  t.match(ended.stderr, /^-SIX\n\+sechs$/m)
  t.equal(tree.read('a.txt'), other)
  t.equal(tree.read('b.txt'), text.replace('two', 'TWO'), 'all or nothing')
}

async function keepsGit(t: Test, user: number | undefined): Promise<void> {
  const { root, isolated } = await isolatedTree(t, files, { user })
  const { stdout, code, stderr } = await isolated(
    `id -u; git -c safe.directory='*' status --short; ls -A .async-crud-mcp; echo x >> a.txt; git -c safe.directory='*' status --short; git -c safe.directory='*' add a.txt || echo refused; echo ${root}/a.txt`
  )
  t.equal(code, 0, stderr)
  t.equal(stdout, `${user ?? process.getuid?.()}\n M a.txt\nrefused\n${root}/a.txt\n`)
}
