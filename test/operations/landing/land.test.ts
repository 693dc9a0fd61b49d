// Landing: a commit of HEAD and one agent's changes, out of a tree that several share.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import t from 'tap'
import type { Answer } from '../../fixtures/clients.ts'
import { base, edit, landingScene } from '../../fixtures/landing.ts'

t.setTimeout(600_000)

t.test('a dry run shows what would be committed, as differences from HEAD', async (t) => {
  const { as, git, land } = await landingScene(t, { f: base, g: 'g\n', 'binary.bin': 'b\0\n' })
  await edit(as('ann'), 'f', 'line 3\n', 'ann 3\n')
  await edit(as('bob'), 'f', 'line 9\n', 'bob 9\n')
  await as('ann').call('async_write', { path: 'new/n', content: 'new\n' })
  await as('ann').call('async_delete', { path: 'g' })
  const before = git('rev-parse', 'HEAD')
  const { diffs, dry_run } = await land('ann', { dry_run: true })
  t.equal(dry_run, true)
  const changed = (diff: Answer) => (diff['content'] as string).split('\n').filter((line) => /^[-+](?![-+])/.test(line))
  t.strictSame(
    (diffs as Answer[]).map(({ path, diff }) => [path, changed(diff)]),
    [
      ['f', ['-line 3', '+ann 3']],
      ['g', ['-g']],
      ['new/n', ['+new']]
    ]
  )
  t.equal(git('rev-parse', 'HEAD'), before)
  t.notOk('diffs' in (await land('ann')), 'the landing itself shows none')
})

t.test('the lines of one agent, beside those of another and of a person', async (t) => {
  const { tree, as, git, head, land } = await landingScene(t, { f: base, g: 'g\n', h: 'h\n' })
  const [ann, bob] = [as('ann'), as('bob')]
  await edit(ann, 'f', 'line 3\n', 'ann 3\n')
  await edit(bob, 'f', 'line 4\n', 'bob 4\n')
  await edit(ann, 'f', 'line 9\n', 'line 9\nann 9\n')
  tree.write('f', tree.read('f').replace('line 15\n', 'person 15\n'))
  await ann.call('async_write', { path: 'new/n', content: 'new\n' })
  await ann.call('async_delete', { path: 'g' })
  await bob.call('async_rename', { old_path: 'h', new_path: 'moved/h' })
  const all = () => tree.all().filter((path) => !path.startsWith('.git'))
  const before = all()
  const text = tree.read('f')
  const dry = await land('ann', { dry_run: true })
  t.match(dry, {
    status: 'ok',
    dry_run: true,
    paths: ['f', 'g', 'new/n'],
    dependent: []
  })
  t.equal(git('rev-list', '--count', 'HEAD').trim(), '1', 'a dry run makes no commit')
  const answer = await land('ann', { message: 'By Ann' })
  t.match(answer, { status: 'ok', branch: 'main', commit: git('rev-parse', 'HEAD').trim() })
  t.equal(head('f'), base.replace('line 3\n', 'ann 3\n').replace('line 9\n', 'line 9\nann 9\n'))
  t.equal(head('new/n'), 'new\n')
  t.equal(head('g'), undefined)
  t.equal(head('h'), 'h\n')
  t.same([all(), tree.read('f')], [before, text], 'the working tree is as it was')
  t.equal(git('log', '-1', '--format=%B').trim(), 'By Ann\n\nAgent: ann')
  t.equal(git('status', '--porcelain').trim(), 'M f\n D h\n?? moved/', 'what is left is of others')
  t.match(await land('ann'), { status: 'nothing', paths: [] })
  t.match(await land('bo'), { status: 'nothing', message: /by bo\. Did you mean "bob"\?/ })
  t.match(await land('bob'), { status: 'ok' })
  t.equal(head('f'), base.replace('line 3\nline 4\n', 'ann 3\nbob 4\n').replace('line 9\n', 'line 9\nann 9\n'))
  t.same([head('h'), head('moved/h')], [undefined, 'h\n'])
  t.match(await land('external'), { status: 'ok', paths: ['f'] })
  t.equal(git('status', '--porcelain'), '')
  t.equal(head('f'), text)
})

t.test('landings at the same time take turns, and none has a line of another', async (t) => {
  const { as, git, land } = await landingScene(t, { f: base })
  const agents = ['ann', 'bob', 'cid']
  for (const [index, agent] of agents.entries()) {
    await edit(as(agent), 'f', `line ${3 + index}\n`, `${agent} ${3 + index}\n`)
    await as(agent).call('async_write', { path: agent, content: `by ${agent}\n` })
  }
  const landed = await Promise.all(agents.map((agent) => land(agent, { message: agent })))
  for (const [index, agent] of agents.entries()) {
    t.match(landed[index], { status: 'ok', paths: [agent, 'f'].sort() })
    const changed = git('show', '-U0', '--format=%s', landed[index]!['commit'] as string)
    t.match(changed, new RegExp(`^${agent}\n`))
    t.same(
      changed.match(/^[-+][^-+].*$/gm)!.sort(),
      [`+${agent} ${3 + index}`, `+by ${agent}`, `-line ${3 + index}`].sort()
    )
  }
  t.equal(git('log', '--format=%s', 'main').split('\n').length, 5, 'one after the other')
  t.equal(git('status', '--porcelain'), '')
})

t.test('what rests on changes of others is refused with their names, and lands with them', async (t) => {
  const { tree, as, git, head, land } = await landingScene(t, { f: base })
  const [ann, bob] = [as('ann'), as('bob')]
  await edit(ann, 'f', 'line 3\n', 'ann 3\nann 3b\n')
  await edit(bob, 'f', 'ann 3\nann 3b\n', 'ann 3\nbob 3\nann 3b\n')
  await ann.call('async_write', { path: 'n', content: 'one\n' })
  await edit(bob, 'n', 'one\n', 'one\ntwo\n')
  const refused = await land('bob')
  t.match(refused, {
    status: 'dependent',
    paths: [],
    dependent: [
      { path: 'f', start_line: 4, end_line: 4, agent_id: 'ann' },
      { path: 'n', agent_id: 'ann' }
    ]
  })
  t.equal(git('rev-list', '--count', 'HEAD').trim(), '1')
  t.match(await land('ann'), { status: 'ok' })
  t.equal(head('n'), 'one\n')
  t.match(await land('bob'), { status: 'ok' })
  t.equal(head('f'), tree.read('f'))
  await edit(ann, 'f', 'line 9\n', 'ann 9\n')
  await edit(bob, 'f', 'ann 9\n', 'bob 9\n')
  t.match(await land('ann'), { status: 'dependent', dependent: [{ agent_id: 'bob' }] })
  t.match(await land('bob', { with: ['ann'] }), { status: 'ok' })
  t.match(git('log', '-1', '--format=%B').trim(), /Agent: bob\nAgent: ann$/)
  t.equal(git('status', '--porcelain'), '')
})

t.test('a task of an agent, and what it rests on of its own', async (t) => {
  const { as, head, land } = await landingScene(t, { f: base })
  const ann = as('ann')
  await edit(ann, 'f', 'line 3\n', 'one 3\n', { change_set: 'one' })
  await edit(ann, 'f', 'line 9\n', 'two 9\n', { change_set: 'two' })
  await edit(ann, 'f', 'one 3\n', 'three 3\n', { change_set: 'three' })
  t.match(await land('ann', { of_change_set: 'two' }), { status: 'ok', taken_along: [] })
  t.equal(head('f'), base.replace('line 9\n', 'two 9\n'))
  t.match(await land('ann', { of_change_set: 'three' }), { status: 'ok', taken_along: ['one'] })
  t.equal(head('f'), base.replace('line 9\n', 'two 9\n').replace('line 3\n', 'three 3\n'))
})

t.test('what was there before the server, and what nobody saw, is of nobody', async (t) => {
  const { tree, as, git, head, land } = await landingScene(t, { f: base, g: 'g\n' })
  tree.write('f', base.replace('line 5\n', 'early 5\n'))
  tree.write('u', 'untracked\n')
  const ann = as('ann')
  await edit(ann, 'f', 'line 6\n', 'ann 6\n')
  await edit(ann, 'u', 'untracked\n', 'untracked\nann\n')
  await edit(ann, 'f', 'line 12\n', 'ann 12\n')
  t.match(await land('ann'), { status: 'dependent', dependent: [{ path: 'u', agent_id: 'unknown' }] })
  t.match(await land('ann', { paths: ['f'] }), { status: 'ok', paths: ['f'] })
  t.equal(head('f'), base.replace('line 6\n', 'ann 6\n').replace('line 12\n', 'ann 12\n'))
  t.equal(git('status', '--porcelain').trim(), 'M f\n?? u')
})

t.test('links, binary files, modes and names of all kinds', async (t) => {
  const { tree, as, git, head, land } = await landingScene(t, {
    'a b/ü"c': 'x\n',
    bin: 'a\0b\n',
    d: 'd\n',
    'e/f': 'f\n'
  })
  const [ann, bob] = [as('ann'), as('bob')]
  await edit(ann, 'a b/ü"c', 'x\n', 'y\n')
  await bob.call('async_read', { path: 'bin' })
  const { hash } = await ann.call('async_read', { path: 'bin', encoding: 'latin1' })
  await ann.call('async_update', { path: 'bin', expected_hash: hash, content: 'c\0d\n', encoding: 'latin1' })
  await ann.call('async_delete', { path: 'd' })
  await ann.call('async_write', { path: 'd/inside', content: 'in\n' })
  await ann.call('async_delete', { path: 'e/f' })
  rmSync(tree.path('e'), { recursive: true, force: true })
  await ann.call('async_write', { path: 'e', content: 'e\n' })
  t.match(await land('ann'), { status: 'ok' })
  t.equal(git('status', '--porcelain'), '')
  t.same([head('a b/ü"c'), head('bin'), head('d/inside')], ['y\n', 'c\0d\n', 'in\n'])
  t.equal(head('e'), 'e\n')
  t.match(git('log', '-1', '--format=%an <%ae> %cn <%ce> %B'), /^(.+ <.+>) \1 Changes by ann\n/)
  await ann.call('async_write', { path: 'tool', content: '#!/bin/sh\n' })
  chmodSync(tree.path('tool'), 0o755)
  t.match(await land('ann'), { status: 'ok' })
  t.match(git('ls-files', '-s', 'tool'), /^100755/)
  t.equal(git('status', '--porcelain'), '')
})

t.test('line ends are committed as Git stores them', async (t) => {
  const { as, git, land } = await landingScene(t, {
    '.gitattributes': '*.txt text eol=crlf\n',
    'f.txt': 'one\r\ntwo\r\n'
  })
  await edit(as('ann'), 'f.txt', 'two', 'ann')
  t.match(await land('ann'), { status: 'ok' })
  t.equal(git('cat-file', 'blob', 'HEAD:f.txt'), 'one\nann\n')
  t.equal(git('status', '--porcelain'), '')
})

t.test('attributes of the commit decide what Git stores, those of others do not', async (t) => {
  const wide = (text: string) => Buffer.from(text, 'utf16le')
  const { tree, as, git, land, shell } = await landingScene(t, {
    '.gitattributes': '*.id ident\n*.txt text eol=crlf\n',
    'a.txt': 'one\r\n',
    'b.txt': 'one\r\n'
  })
  const stored = (path: string) => git('cat-file', 'blob', `HEAD:${path}`)
  await shell('ann', "printf '$Id: what Git puts there $\\nann\\n' > a.id; printf 'ann\\n' > a.txt")
  t.match(await land('ann'), { status: 'ok', paths: ['a.id', 'a.txt'] })
  t.same([stored('a.id'), stored('a.txt')], ['$Id$\nann\n', 'ann\n'])
  await as('bob').call('async_append', {
    path: '.gitattributes',
    content: '*.wide text working-tree-encoding=UTF-16LE\n'
  })
  await shell('ann', "printf 'a\\0n\\0n\\0' > w.wide; printf '$Id: no $\\n' > c.other")
  t.match(await land('ann', { paths: ['c.other'] }), { status: 'ok', paths: ['c.other'] })
  t.equal(stored('c.other'), '$Id: no $\n')
  t.match(await land('ann', { paths: ['w.wide'] }), { status: 'ok', paths: ['w.wide'] })
  t.same(execFileSync('git', ['-C', tree.root, 'cat-file', 'blob', 'HEAD:w.wide']), wide('ann'))
  t.match(await land('bob'), { status: 'ok', paths: ['.gitattributes'] })
})

t.test('attributes of HEAD count where others are staged', async (t) => {
  const { git, land, shell } = await landingScene(t, { f: base, '.gitattributes': '*.id ident\n' })
  git('rm', '-q', '--cached', '.gitattributes')
  await shell('ann', "printf '$Id: what Git puts there $\n' > a.id")
  t.match(await land('ann'), { status: 'ok', paths: ['a.id'] })
  t.equal(git('cat-file', 'blob', 'HEAD:a.id'), '$Id$\n')
})

t.test('more files than Git stores one by one', async (t) => {
  const { git, land, shell } = await landingScene(t, { f: base })
  await shell('ann', 'mkdir many; for i in $(seq 150); do echo $i > many/$i; done')
  t.match(await land('ann'), { status: 'ok' })
  t.equal(git('ls-tree', '-r', '--name-only', 'HEAD').trim().split('\n').length, 151)
  t.equal(git('status', '--porcelain'), '')
  git('fsck', '--strict')
})

t.test('a file where others have taken away a folder, or under the name of their file, rests on that', async (t) => {
  const { as, git, head, land, tree } = await landingScene(t, { 'd/a': 'a\n', 'd/b': 'b\n', e: 'e\n', 'f/a': 'a\n' })
  const [ann, bob] = [as('ann'), as('bob')]
  for (const path of ['d/a', 'd/b', 'e']) await bob.call('async_delete', { path })
  await ann.call('async_delete', { path: 'f/a' })
  for (const folder of ['d', 'f']) rmSync(tree.path(folder), { recursive: true, force: true })
  for (const path of ['d', 'e/x', 'f']) await ann.call('async_write', { path, content: 'ann\n' })
  const parent = git('rev-parse', 'HEAD')
  t.match(await land('ann'), {
    status: 'dependent',
    dependent: ['d', 'e/x'].map((path) => ({ path, agent_id: 'bob' }))
  })
  t.match(await land('ann', { paths: ['d'] }), { status: 'dependent', dependent: [{ path: 'd', agent_id: 'bob' }] })
  t.equal(git('rev-parse', 'HEAD'), parent)
  t.match(await land('ann', { paths: ['f'] }), { status: 'ok' })
  t.equal(head('f'), 'ann\n')
  t.match(await land('ann', { with: ['bob'] }), { status: 'ok' })
  t.same([head('d'), head('e/x'), head('d/a'), git('status', '--porcelain')], ['ann\n', 'ann\n', undefined, ''])
})

t.test(
  'a commit has no name that is .git elsewhere, no message that is cut, and each name with its own letters',
  { skip: process.platform !== 'linux' && 'other systems take such names for .git here, too' },
  async (t) => {
    const { as, git, head, land, shell } = await landingScene(t, { a: 'a\n', A: 'A\n', 'd/x': 'x\n' })
    await shell('ann', 'mkdir .GIT git~1; echo 1 | tee .GIT/config > git~1/config; echo one > one')
    t.match(await land('ann'), { status: 'ok', paths: ['one'], left_out: ['.GIT/config', 'git~1/config'] })
    t.equal(git('ls-tree', '-r', '--name-only', 'HEAD'), 'A\na\nd/x\none\n')
    git('fsck', '--strict')
    // As in a repository that was made on a system with other rules.
    git('config', 'core.ignoreCase', 'true')
    const parent = git('rev-parse', 'HEAD')
    await shell('ann', 'rm -r .GIT git~1; mkdir D; echo y > D/y; echo ann > a')
    t.match(await land('ann', { message: 'one\0two' }), { error_code: 'INVALID_REQUEST', message: /message/ })
    t.equal(git('rev-parse', 'HEAD'), parent)
    t.match(await land('ann'), { status: 'ok', paths: ['D/y', 'a'] })
    t.same([head('a'), head('A'), head('D/y'), head('d/y')], ['ann\n', 'A\n', 'y\n', undefined])
    await as('bob').call('async_write', { path: 'file~1', content: '1\n' })
    t.match(await land('bob'), { status: 'ok' })
    t.equal(head('file~1'), '1\n')
  }
)

t.test('what stands in the way is said, and nothing is landed', async (t) => {
  const { tree, as, git, land } = await landingScene(t, { f: base })
  const ann = as('ann')
  await edit(ann, 'f', 'line 3\n', 'ann 3\n')
  git('add', 'f')
  t.match(await land('ann'), { error_code: 'INVALID_REQUEST', message: /staged.*git restore --staged -- f/ })
  git('restore', '--staged', 'f')
  await ann.call('async_write', { path: 'n', content: 'new\n' })
  git('add', '--intent-to-add', 'n')
  t.match(await land('ann'), { error_code: 'INVALID_REQUEST', message: /staged.*git restore --staged -- n/ })
  git('restore', '--staged', 'n')
  tree.write('.git/MERGE_HEAD', git('rev-parse', 'HEAD'))
  t.match(await land('ann'), { error_code: 'INVALID_REQUEST', message: /a merge is under way/ })
  rmSync(tree.path('.git/MERGE_HEAD'))
  git('config', 'user.name', '')
  t.match(await land('ann'), { error_code: 'INVALID_REQUEST', message: /git config user.name/ })
  git('config', 'user.name', 'Name')
  git('checkout', '-q', '--detach')
  t.match(await land('ann'), { status: 'ok', branch: null })
  renameSync(tree.path('.git'), tree.path('not-git'))
  t.match(await land('ann'), { error_code: 'INVALID_REQUEST', message: /no Git repository/ })
})

t.test('what is staged of other files stays staged, and what is in conflict stays in conflict', async (t) => {
  const { tree, as, git, head, land } = await landingScene(t, { f: base, g: 'g\n', h: 'h\n', i: 'i\n' })
  const change = async (to: string) => {
    await edit(as('ann'), 'f', 'line 3\n', `line 3\n${to}\n`)
    await as('ann').call('async_write', { path: `new/${to}`, content: 'new\n' })
  }
  await change('one')
  tree.write('g', 'staged\n')
  tree.write('added', 'added\n')
  git('add', 'g', 'added')
  git('rm', '-q', '--cached', 'h')
  t.match(await land('ann'), { status: 'ok', paths: ['f', 'new/one'] })
  const left = ['A  added', 'M  g', 'D  h', '?? h'].sort()
  t.same(git('status', '--porcelain').trimEnd().split('\n').sort(), left)
  const blob = git('rev-parse', 'HEAD:i').trim()
  const stages = [1, 2, 3].map((stage) => `100644 ${blob} ${stage}\ti\n`).join('')
  git('rm', '-q', '--cached', 'i')
  execFileSync('git', ['-C', tree.root, 'update-index', '--index-info'], { input: stages })
  await change('two')
  t.match(await land('ann'), { status: 'ok', paths: ['f', 'new/two'] })
  t.equal(head('f'), tree.read('f'))
  t.same(git('status', '--porcelain').trimEnd().split('\n').sort(), [...left, 'UU i'].sort())
})

t.test('hooks and filters of the repository do not run', async (t) => {
  const { tree, as, git, land } = await landingScene(t, {
    '.gitattributes': '*.x filter=mine\n',
    'f.x': 'x\n',
    g: 'g\n'
  })
  mkdirSync(tree.path('.git/hooks'), { recursive: true })
  const program = `#!/bin/sh\ntouch ${tree.path('ran')}\n`
  for (const hook of ['pre-commit', 'post-commit', 'reference-transaction', 'post-index-change']) {
    tree.write(`.git/hooks/${hook}`, program)
    chmodSync(tree.path(`.git/hooks/${hook}`), 0o755)
  }
  tree.write('filter', program)
  chmodSync(tree.path('filter'), 0o755)
  git('config', 'filter.mine.clean', tree.path('filter'))
  git('config', 'filter.mine.smudge', tree.path('filter'))
  git('config', 'core.fsmonitor', tree.path('filter'))
  rmSync(tree.path('ran'), { force: true })
  await edit(as('ann'), 'f.x', 'x\n', 'ann\n')
  await edit(as('ann'), 'g', 'g\n', 'ann\n')
  symlinkSync('g', tree.path('link'))
  t.match(await land('ann'), { status: 'ok', paths: ['g'], left_out: ['f.x'] })
  t.notOk(tree.all().includes('ran'))
})
