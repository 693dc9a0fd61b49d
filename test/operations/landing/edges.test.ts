// Landing at the edges: modes, submodules, and repositories in which something else is under way.
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import t, { type Test } from 'tap'
import { base, edit, landingScene, type Scene } from '../../fixtures/landing.ts'
import { until } from '../../fixtures/until.ts'

t.setTimeout(600_000)

const script = '#!/bin/sh\necho one\n'

t.test('the mode of a file lands with the agent that has changed it, and only with it', async (t) => {
  const { tree, as, git, head, land, shell } = await landingScene(t, {
    f: base,
    tool: script,
    old: script,
    own: script
  })
  const modeOf = (path: string) => git('ls-tree', 'HEAD', '--', path).slice(0, 6)
  await shell('ann', 'chmod +x tool')
  await edit(as('bob'), 'tool', 'echo one', 'echo bob')
  await as('bob').call('async_read', { path: 'own' })
  chmodSync(tree.path('own'), 0o755)
  await edit(as('bob'), 'own', 'echo one', 'echo bob')
  await shell('ann', 'mv old new && chmod +x new')
  t.match(await land('bob', { dry_run: true }), { paths: ['own', 'tool'] })
  t.match(await land('bob'), { status: 'ok' })
  t.same([modeOf('tool'), modeOf('own')], ['100644', '100644'], 'neither that of ann nor that of a person')
  t.equal(head('tool'), script.replace('one', 'bob'))
  t.match(await land('ann'), { status: 'ok', paths: ['new', 'old', 'tool'] })
  t.same([modeOf('tool'), modeOf('new')], ['100755', '100755'])
  t.equal(git('status', '--porcelain').trim(), 'M own', 'nobody is known to have changed that mode')
  await shell('bob', 'chmod -x tool; chmod g-r own')
  t.match(await land('ann'), { status: 'nothing' })
  t.match(await land('bob'), { status: 'ok', paths: ['tool'] })
  t.equal(modeOf('tool'), '100644')
  t.equal(statSync(tree.path('own')).mode & 0o777, 0o715)
})

t.test('a link where a file was lands as one, and a file where a link was', async (t) => {
  const { tree, as, git, head, land, shell } = await landingScene(t, { used: base, unused: base, other: base })
  await as('ann').call('async_read', { path: 'used' })
  await shell('ann', 'rm used unused; ln -s other used; ln -s other unused')
  t.match(await land('ann', { dry_run: true }), { paths: ['unused', 'used'] })
  t.match(await land('ann'), { status: 'ok', paths: ['unused', 'used'] })
  t.match(git('ls-tree', 'HEAD'), /^120000.*unused$/m)
  t.match(git('ls-tree', 'HEAD'), /^120000.*\tused$/m)
  t.equal(git('status', '--porcelain'), '')
  await shell('ann', 'rm used; echo one > used; ln -sf used unused')
  t.match(await land('ann'), { status: 'ok', paths: ['unused', 'used'] })
  t.same([head('used'), head('unused'), tree.read('used')], ['one\n', 'used', 'one\n'])
  t.equal(git('status', '--porcelain'), '')
})

t.test('without modes in the repository none lands', async (t) => {
  const { tree, as, git, land, shell } = await landingScene(t, { tool: script })
  git('config', 'core.fileMode', 'false')
  await shell('ann', 'chmod +x tool')
  t.match(await land('ann'), { status: 'nothing' })
  await edit(as('ann'), 'tool', 'echo one', 'echo ann')
  await as('ann').call('async_write', { path: 'new', content: script })
  chmodSync(tree.path('new'), 0o755)
  t.match(await land('ann'), { status: 'ok', paths: ['new', 'tool'] })
  t.equal(git('ls-tree', '-r', '--format=%(objectmode)', 'HEAD').trim(), '100644\n100644')
  t.equal(git('status', '--porcelain'), '')
})

t.test('files with changes by unknown authors are named, and nothing of them is taken', async (t) => {
  const { tree, as, head, land } = await landingScene(t, { f: base, g: base })
  tree.write('f', base.replace('line 5\n', 'unknown 5\n'))
  const message = /no uncommitted change is certainly by ann\. Changes in f have no known author.*Commit these with Git/
  t.match(await land('ann'), { status: 'nothing', message })
  await edit(as('ann'), 'f', 'line 9\n', 'ann 9\n')
  t.match(await as('ann').call('land_prepare', {}), { plan: [{ agent_id: 'ann', paths: ['f'] }], unknown: ['f'] })
  t.match(await land('ann'), { status: 'ok', paths: ['f'] })
  t.equal(head('f'), base.replace('line 9', 'ann 9'))
  t.match(await as('ann').call('land_prepare', {}), { plan: [], unknown: ['f'] })
})

t.test(
  'a file of a filter that another has removed stands in the way of a file at the name of its folder',
  async (t) => {
    const files = {
      '.gitattributes': '*.x filter=none\n',
      'd/a.x': 'a\n',
      'e.x': 'e\n',
      'f/a.x': 'a\n',
      'g/a.x': 'a\n'
    }
    const { tree, as, git, head, land } = await landingScene(t, files)
    const [ann, bob] = [as('ann'), as('bob')]
    for (const path of ['d/a.x', 'e.x']) await bob.call('async_delete', { path })
    await bob.call('async_rename', { old_path: 'g/a.x', new_path: 'b.x' })
    await ann.call('async_delete', { path: 'f/a.x' })
    for (const folder of ['d', 'f', 'g']) rmSync(tree.path(folder), { recursive: true, force: true })
    for (const path of ['d', 'e.x/y', 'f', 'g']) await ann.call('async_write', { path, content: 'ann\n' })
    const parent = git('rev-parse', 'HEAD')
    t.match(await land('ann'), {
      status: 'dependent',
      dependent: ['d', 'e.x/y', 'g'].map((path) => ({ path, agent_id: 'bob' }))
    })
    t.equal(git('rev-parse', 'HEAD'), parent)
    t.match(await land('ann', { paths: ['f'] }), { status: 'ok', paths: ['f'] })
    t.equal(head('f'), 'ann\n')
    t.match(await land('ann', { with: ['bob'] }), { status: 'ok', paths: ['d', 'e.x/y', 'g'] })
    t.same([head('d'), head('e.x/y'), head('d/a.x')], ['ann\n', 'ann\n', undefined])
  }
)

// Other systems do not take these names.
const namesOfLinux = { skip: process.platform !== 'linux' }

t.test('a change at a name that no call makes stays out of a landing with its name', namesOfLinux, async (t) => {
  const files = { 'gone\\a': base, 'gone:12': base, 'mine\\a': base }
  const { tree, as, git, head, land, shell } = await landingScene(t, files)
  rmSync(tree.path('gone\\a'))
  rmSync(tree.path('gone:12'))
  await shell('ann', "rm 'mine\\a'; echo ann > 'new\\a'")
  const unknown = ['gone:12', 'gone\\a']
  const plan = await as('ann').call('land_prepare', {})
  t.match(plan, { plan: [{ agent_id: 'ann', paths: ['mine\\a', 'new\\a'] }], uncertain: [] })
  t.same(new Set(plan['unknown'] as string[]), new Set(unknown))
  t.match(await land('ann'), { status: 'ok', paths: ['mine\\a', 'new\\a'] })
  t.same([head('mine\\a'), head('new\\a')], [undefined, 'ann\n'])
  const left = await land('ann')
  t.equal(left['status'], 'nothing')
  for (const name of unknown) t.ok(left['message'].includes(name), name)
  t.same(git('status', '--porcelain', '-z').split('\0').sort(), ['', ' D gone:12', ' D gone\\a'])
})

t.test(
  'a file whose name is not UTF-8 stays out of a landing, and is shown as in a listing',
  namesOfLinux,
  async (t) => {
    const { tree, as, git, land, shell } = await landingScene(t, { f: base })
    writeFileSync(Buffer.concat([Buffer.from(tree.path('hand')), Buffer.of(0xe9)]), 'by hand\n')
    await shell('ann', 'echo ann > "$(printf \'ann\\351\')"; echo ann > own')
    const unreachable = ['ann\\xe9', 'hand\\xe9']
    t.match(await as('ann').call('land_prepare', {}), { plan: [{ paths: ['own'] }], unknown: [], unreachable })
    t.match(await land('ann', { paths: ['own'], dry_run: true }), { status: 'ok', unreachable: [] })
    const left = { uncertain: [], unreachable }
    t.match(await land('ann', { include_uncertain: true }), { status: 'ok', paths: ['own'], ...left })
    const message =
      /The names of ann\\xe9, hand\\xe9 are not UTF-8, and no landing takes such files\. Commit these with Git/
    t.match(await land('ann'), { status: 'nothing', message, ...left })
    t.equal(git('ls-tree', '-r', '--name-only', 'HEAD'), 'f\nown\n')
    const { versions } = await as('ann').call('async_history', { by_agent: 'ann' })
    const paths = (versions as { path: string }[]).map(({ path }) => path)
    t.same(paths.sort(), ['ann\\xe9', 'own'])
    const undone = await as('ann').call('async_undo', { by_agent: 'ann', dry_run: true })
    t.match(undone, { conflicts: [{ path: 'ann\\xe9', message: /^ann\\xe9: / }] })
  }
)

t.test('a name that Git takes into no commit stays out of a landing, which says why', namesOfLinux, async (t) => {
  const { tree, as, git, head, land, shell } = await landingScene(t, { f: base, moved: base })
  const own = ['.GIT/config', 'd/.git . :x', 'git~1/x\\y', 'x\\.Git']
  const others = ['.git.d/x', '.gitignore', '.gitx', 'git~12', 'git~2/x']
  const names = [...own, ...others].map((name) => `'${name}'`).join(' ')
  await shell('ann', `for name in ${names}; do mkdir -p "$(dirname "$name")"; echo ann > "$name"; done`)
  await shell('ann', 'mv moved d/.GIT; ln -s f .gitmodules')
  const refused = ['.gitmodules', 'd/.GIT', 'moved', ...own].sort()
  const sorted = (answer: object) => [...(answer as { left_out: string[] }).left_out].sort()
  const plan = await as('ann').call('land_prepare', {})
  t.match(plan, { plan: [{ agent_id: 'ann', paths: others }], unknown: [], uncertain: [] })
  t.same(sorted(plan), refused)
  t.match(await land('ann', { paths: ['git~2/*'], dry_run: true }), { paths: ['git~2/x'], left_out: [] })
  const landed = await land('ann', { with: ['bob'] })
  const why = /Git takes .+ and \d+ more into no commit: .* Rename/
  t.match(landed, { status: 'ok', paths: others, message: why })
  t.same(sorted(landed), refused)
  t.notMatch(git('log', '-1', '--format=%B'), /GIT|moved/)
  t.equal(git('ls-tree', '-r', '-z', '--name-only', 'HEAD'), [...[...others, 'f', 'moved'].sort(), ''].join('\0'))
  const again = await land('ann')
  t.match(again, { status: 'nothing', message: why })
  t.same(sorted(again), refused)
  t.same([head('moved'), tree.read('d/.GIT')], [base, base])
  await shell('ann', "mv d/.GIT moved; mv '.GIT/config' config")
  t.match(await land('ann'), { status: 'ok', paths: ['config'] })
})

t.test('what was there before a command began was not seen, so that it may be of another', async (t) => {
  const files = { f: base, g: base, 'fix.sh': "sed -i 's/line 9/ann 9/' f g\n" }
  const { tree, head, land, shell, as } = await landingScene(t, files, { hooks: { git: 'off' } })
  await as('ann').call('async_read', { path: 'g' })
  // Nobody uses the file, so that nobody notices.
  tree.write('f', base.replace('line 5\n', 'person 5\n'))
  await shell('ann', 'sh fix.sh')
  t.match(await as('ann').call('land_prepare', {}), { plan: [{ paths: ['g'] }], uncertain: ['f'] })
  t.match(await land('ann'), { status: 'ok', paths: ['g'], uncertain: ['f'] })
  t.equal(head('f'), base)
  t.equal(head('g'), base.replace('line 9', 'ann 9'))
  t.match(await land('ann', { include_uncertain: true }), { status: 'ok', paths: ['f'] })
})

t.test(
  'of a file that is not committed more versions are remembered, and no more than others once it is',
  async (t) => {
    const f = Array.from({ length: 60 }, (_, index) => `line ${index + 1}\n`).join('')
    const { as, git, head, land } = await landingScene(t, { f }, { crud: { max_file_versions: 15 } })
    const [ann, bob] = [as('ann'), as('bob')]
    let expected = f
    for (let line = 1; line <= 40; line += 1) {
      await edit(ann, 'f', `line ${line}\n`, `ann ${line}\n`)
      expected = expected.replace(`line ${line}\n`, `ann ${line}\n`)
      if (line % 10 === 0) await edit(bob, 'f', `line ${line + 5}\n`, `line ${line + 5}\nbob ${line}\n`)
    }
    t.match(await ann.call('async_blame', { path: 'f', end_line: 1 }), { ranges: [{ agent_id: 'ann' }] })
    t.match(await land('ann'), { status: 'ok', paths: ['f'], uncertain: [], forgotten: [] })
    t.equal(head('f'), expected)
    t.match(await land('bob'), { status: 'ok', paths: ['f'] })
    t.equal(git('status', '--porcelain'), '')
    const remembered = async () => (await ann.call('async_history', { path: 'f', limit: 100 })).versions.length
    await until(async () => (await remembered()) === 15)
    await edit(ann, 'f', 'ann 1\n', 'ann one\n')
    t.equal(await remembered(), 15)
    t.match(await land('ann'), { status: 'ok', paths: ['f'], forgotten: [] })
  }
)

t.test('lines whose versions are forgotten are named with their files, and land when asked for', async (t) => {
  const lines = (count: number, to: (line: number) => string) =>
    Array.from({ length: count }, (_, index) => to(index + 1)).join('')
  const f = lines(60, (line) => `line ${line}\n`)
  const config = { crud: { max_file_versions: 3 }, persistence: { enabled: true } }
  const { tree, as, git, head, land } = await landingScene(t, { f, g: base }, config)
  const [ann, bob] = [as('ann'), as('bob')]
  for (let line = 1; line <= 60; line += 1) {
    const agent = line <= 20 ? 'ann' : 'bob'
    await edit(line <= 20 ? ann : bob, 'f', `line ${line}\n`, `${agent} ${line}\n`)
  }
  const agents = ['ann', 'bob']
  const forgotten = [{ path: 'f', start_line: 1, end_line: 30, agents }]
  const words = /Lines of f are not taken.*include_uncertain takes them.*crud\.max_file_versions/
  t.match(await land('ann'), { status: 'nothing', uncertain: ['f'], forgotten, message: words })
  await edit(ann, 'g', 'line 3\n', 'ann 3\n')
  t.match(await land('ann', { dry_run: true }), { status: 'ok', paths: ['g'], forgotten, message: words })
  t.match(await land('cid'), { status: 'nothing', forgotten: [] })
  t.match(await land('bob'), { status: 'ok', paths: ['f'], forgotten })
  t.equal(
    head('f'),
    lines(60, (line) => (line <= 30 ? `line ${line}\n` : `bob ${line}\n`))
  )
  t.match(await land('ann', { include_uncertain: true }), { status: 'ok', paths: ['f', 'g'], forgotten: [] })
  t.equal(head('f'), tree.read('f'))
  t.match(git('log', '-1', '--format=%B'), /^Agent: ann$/m)
  t.notMatch(git('log', '-1', '--format=%B'), /unknown/)
})

t.test('a submodule is left alone, and never replaced', async (t) => {
  const { tree, as, git, land } = await landingScene(t, {
    f: base,
    'other/inner': 'inner\n',
    '.gitignore': 'ignored\n'
  })
  git('-C', 'other', 'init', '-q')
  git('-C', 'other', 'add', 'inner')
  git('-C', 'other', '-c', 'user.name=n', '-c', 'user.email=e@x', 'commit', '-qm', 'inner')
  git('rm', '-rq', '--cached', 'other')
  renameSync(tree.path('other'), tree.path('module'))
  git('add', 'module')
  git('commit', '-qm', 'with a submodule')
  const listed = git('ls-tree', '-r', 'HEAD')
  t.match(listed, /160000 commit [0-9a-f]+\tmodule/)
  const [ann] = [as('ann')]
  await ann.call('async_append', { path: 'module/inner', content: 'ann\n' })
  await ann.call('async_write', { path: 'module/new', content: 'ann\n' })
  mkdirSync(tree.path('ignored'))
  t.match(await land('ann'), { status: 'nothing' }, 'its files are of another repository')
  await ann.call('async_rename', { old_path: 'f', new_path: 'module/f' })
  t.match(await land('ann'), { status: 'nothing' })
  await ann.call('async_rename', { old_path: 'module/f', new_path: 'ignored/f' })
  t.match(await land('ann'), { status: 'nothing' }, 'nor is a file that Git ignores landed')
  await ann.call('async_rename', { old_path: 'ignored/f', new_path: 'f' })
  await edit(ann, 'f', 'line 3\n', 'ann 3\n')
  t.match(await land('ann'), { status: 'ok', paths: ['f'] })
  rmSync(tree.path('module'), { recursive: true })
  await ann.call('async_write', { path: 'module', content: 'no module\n' })
  await edit(ann, 'f', 'ann 3\n', 'ann 4\n')
  t.match(await land('ann'), { status: 'ok', paths: ['f'] })
  t.equal(git('status', '--porcelain').trim(), 'T module')
  t.match(git('ls-tree', '-r', 'HEAD'), /160000 commit [0-9a-f]+\tmodule/)
})

/** A conflict that a command of Git has left. */
async function inConflict(t: Test, command: readonly string[], leave: readonly string[], words: RegExp): Promise<void> {
  const { git, as, land } = await landingScene(t, { f: base, g: base })
  const commit = (branch: string, line: string) => {
    execFileSync('sed', ['-i', `s/^line 5$/${line}/`, 'f'], { cwd: git('rev-parse', '--show-toplevel').trim() })
    git('commit', '-qam', branch)
  }
  git('checkout', '-qb', 'side')
  commit('side', 'side 5')
  git('checkout', '-q', 'main')
  commit('main', 'main 5')
  t.throws(() => git('-c', 'core.editor=true', ...command))
  await edit(as('ann'), 'g', 'line 3\n', 'ann 3\n')
  const before = git('rev-parse', 'HEAD')
  t.match(await land('ann'), { error_code: 'INVALID_REQUEST', message: words }, command.join(' '))
  t.match(await land('ann', { dry_run: true }), { error_code: 'INVALID_REQUEST' })
  t.equal(git('rev-parse', 'HEAD'), before)
  git(...leave)
  // The end of a rebase takes all back.
  if (git('status', '--porcelain') === '') await edit(as('ann'), 'g', 'line 3\n', 'ann 3\n')
  t.match(await land('ann'), { status: 'ok', paths: ['g'] }, leave.join(' '))
}

t.test('a merge, a rebase, a cherry-pick or a revert that is not ended', async (t) => {
  await t.test('merge', (t) => inConflict(t, ['merge', 'side'], ['merge', '--abort'], /a merge is under way/))
  await t.test('rebase', (t) => inConflict(t, ['rebase', 'side'], ['rebase', '--abort'], /a rebase is under way/))
  const pick = ['cherry-pick', 'side']
  await t.test('pick', (t) => inConflict(t, pick, ['cherry-pick', '--abort'], /a cherry-pick is under way/))
  await t.test('revert', (t) => inConflict(t, ['revert', 'side'], ['revert', '--abort'], /a revert is under way/))
})

t.test('a sparse checkout, a bare repository, and one without a commit', async (t) => {
  const { tree, git, as, land } = await landingScene(t, { f: base, 'a/b': 'b\n', 'c/d': 'd\n' })
  await edit(as('ann'), 'f', 'line 3\n', 'ann 3\n')
  git('sparse-checkout', 'set', 'a')
  t.match(await land('ann'), { error_code: 'INVALID_REQUEST', message: /sparse.*git sparse-checkout disable/ })
  git('sparse-checkout', 'disable')
  t.match(await land('ann', { dry_run: true }), { status: 'ok', paths: ['f'] })
  git('config', 'core.bare', 'true')
  t.match(await land('ann'), { error_code: 'INVALID_REQUEST', message: /is bare. Serve a working tree/ })
  git('config', 'core.bare', 'false')
  git('checkout', '-q', '--orphan', 'empty')
  t.match(await land('ann'), { error_code: 'INVALID_REQUEST', message: /no commit yet/ })
  t.ok(existsSync(tree.path('f')))
})

/** Lands while another Git holds the lock of the index, which it lets go at a moment. */
async function whileLocked({ tree, land }: Scene, isOver: () => boolean) {
  const lock = tree.path('.git/index.lock')
  tree.write('.git/index.lock', '')
  const landed = land('ann')
  await until(isOver)
  rmSync(lock)
  return landed
}

t.test('a locked index is waited for, ten seconds, before anything is made', async (t) => {
  const scene = await landingScene(t, { f: base })
  const { tree, git, as, land } = scene
  await edit(as('ann'), 'f', 'line 3\n', 'ann 3\n')
  tree.write('.git/index.lock', '')
  const begun = performance.now()
  t.match(await land('ann'), { error_code: 'INVALID_REQUEST', message: /index\.lock.*Nothing|Nothing.*index\.lock/s })
  t.ok(performance.now() - begun >= 10_000)
  t.equal(git('rev-list', '--count', 'HEAD').trim(), '1')
  rmSync(tree.path('.git/index.lock'))
  const objects = () =>
    execFileSync('find', [tree.path('.git/objects'), '-type', 'f'], { encoding: 'utf8' }).split('\n').length
  const before = objects()
  // Its commit is written before it needs the index.
  const answer = await whileLocked(scene, () => objects() > before)
  t.match(answer, { status: 'ok', branch: 'main' })
  t.equal(git('status', '--porcelain'), '')
  t.notMatch(readFileSync(tree.path('.git/HEAD'), 'utf8'), 'lock')
})
