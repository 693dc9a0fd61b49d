// What people do with Git beside the server: what is committed is nobody's any more, and of the rest it stays known who wrote it.
import { execFileSync } from 'node:child_process'
import t, { type Test } from 'tap'
import { base, edit, landingScene, type Scene } from '../../fixtures/landing.ts'

t.setTimeout(600_000)

const annLine = base.replace('line 3\n', 'ann 3\n')

/** Ann and Bob have changed a file, and Ann has made another one. */
async function changed(t: Test): Promise<Scene> {
  const made = await landingScene(t, { f: base, g: base })
  await edit(made.as('ann'), 'f', 'line 3\n', 'ann 3\n')
  await edit(made.as('bob'), 'f', 'line 9\n', 'bob 9\n')
  await made.as('ann').call('async_write', { path: 'n', content: 'by ann\n' })
  return made
}

/** Each of both lands what is left of its changes, and nothing else. */
async function landBoth(t: Test, { git, head, land }: Scene, f: string): Promise<void> {
  t.match(await land('ann', { dry_run: true }), { status: 'ok', paths: ['f', 'n'] })
  t.match(await land('external', { dry_run: true }), { status: 'nothing' })
  t.match(await land('bob'), { status: 'ok', paths: ['f'] })
  t.equal(head('f'), f.replace('line 9\n', 'bob 9\n'))
  t.match(await land('ann'), { status: 'ok', paths: ['f', 'n'] })
  t.equal(head('f'), f.replace('line 9\n', 'bob 9\n').replace('line 3\n', 'ann 3\n'))
  t.equal(git('status', '--porcelain'), '')
}

async function blamed({ as }: Scene, path: string): Promise<Record<string, string>> {
  const { ranges } = await as('cid').call('async_blame', { path })
  const known = (ranges as { start_line: number; end_line: number; agent_id: string | null }[]).filter(
    ({ agent_id }) => agent_id !== null
  )
  return Object.fromEntries(known.map(({ start_line, end_line, agent_id }) => [`${start_line}-${end_line}`, agent_id!]))
}

/** Changes of somebody else, on a branch that starts at HEAD. */
function elsewhere({ tree, git }: Scene, branch: string, path: string): string {
  const folder = `${tree.root}.${branch}`
  t.teardown(() => execFileSync('rm', ['-rf', folder]))
  git('worktree', 'add', '-q', '-b', branch, folder)
  execFileSync('sed', ['-i', 's/^line 15$/other 15/', `${folder}/${path}`])
  git('-C', folder, 'commit', '-qam', branch)
  return base.replace('line 15\n', 'other 15\n')
}

t.test('a commit by hand', async (t) => {
  const scene = await changed(t)
  const { tree, as, git, head, land } = scene
  tree.write('part', annLine)
  const blob = git('hash-object', '-w', tree.path('part')).trim()
  git('update-index', '--cacheinfo', `100644,${blob},f`)
  git('commit', '-qm', 'the line of ann by hand')
  execFileSync('rm', [tree.path('part')])
  t.match(await land('ann', { dry_run: true }), { status: 'ok', paths: ['n'] })
  await edit(as('bob'), 'f', 'line 12\n', 'bob 12\n')
  t.match(await land('bob'), { status: 'ok', paths: ['f'] })
  t.equal(head('f'), annLine.replace('line 9\n', 'bob 9\n').replace('line 12\n', 'bob 12\n'))
  await edit(as('ann'), 'f', 'bob 12\n', 'ann 12\n')
  git('add', '-A')
  git('commit', '-qm', 'all by hand')
  t.match(await land('ann'), { status: 'nothing' })
  await edit(as('bob'), 'f', 'ann 12\n', 'bob 13\n')
  t.match(await land('bob'), { status: 'ok', paths: ['f'] }, 'what is committed is in nobody’s way')
})

t.test('a pull', async (t) => {
  const scene = await changed(t)
  elsewhere(scene, 'upstream', 'g')
  scene.git('pull', '-q', '.', 'upstream')
  t.match(scene.head('g'), 'other 15')
  await landBoth(t, scene, base)
})

t.test('a rebase that puts all changes aside and brings them back', async (t) => {
  const scene = await changed(t)
  const f = elsewhere(scene, 'upstream', 'f')
  scene.git('commit', '-q', '--allow-empty', '-m', 'of this branch')
  scene.git('rebase', '-q', '--autostash', 'upstream')
  t.match(scene.tree.read('f'), /ann 3[^]*bob 9[^]*other 15/)
  await landBoth(t, scene, f)
})

t.test('the same, seen by the server at every step', async (t) => {
  const scene = await changed(t)
  const { git, as } = scene
  const f = elsewhere(scene, 'upstream', 'f')
  const see = () => as('cid').call('async_read', { path: 'f' })
  git('stash', '-q')
  await see()
  git('merge', '-q', 'upstream')
  await see()
  git('stash', 'pop', '-q')
  await see()
  await landBoth(t, scene, f)
})

t.test('a stash with the files that are not tracked', async (t) => {
  const scene = await changed(t)
  const { git, as } = scene
  for (const command of ['push', 'pop', 'push', 'pop']) {
    git('stash', command, '-q', ...(command === 'push' ? ['-u'] : []))
    for (const path of ['f', 'n']) await as('cid').call('async_read', { path })
  }
  t.same([await blamed(scene, 'n'), await blamed(scene, 'f')], [{ '1-1': 'ann' }, { '3-3': 'ann', '9-9': 'bob' }])
  await landBoth(t, scene, base)
})

t.test('what a checkout puts back is of nobody, whoever has asked for it', async (t) => {
  const scene = await changed(t)
  const { as, git, head, land, shell } = scene
  const [ann, bob, cid] = [as('ann'), as('bob'), as('cid')]
  git('checkout', '-q', '--', 'f')
  await cid.call('async_read', { path: 'f' })
  await edit(bob, 'f', 'line 3\n', 'bob 3\n')
  await edit(cid, 'f', 'line 15\n', 'cid 15\n')
  await edit(ann, 'f', 'line 9\n', 'ann 9\n')
  t.match(await land('cid'), { status: 'ok', paths: ['f'] })
  t.match(await land('bob'), { status: 'ok', dependent: [] })
  t.match(await land('ann'), { status: 'ok', paths: ['f', 'n'] })
  await edit(ann, 'f', 'bob 3\n', 'ann 3\n')
  await shell('bob', 'git checkout -q -- f')
  await edit(cid, 'f', 'bob 3\n', 'cid 3\n')
  await edit(bob, 'f', 'ann 9\n', 'bob 9\n')
  t.match(await land('bob'), { status: 'ok', dependent: [] })
  t.match(await land('cid'), { status: 'ok', dependent: [] })
  t.match(head('f'), /line 2\ncid 3\n[^]*bob 9\n[^]*cid 15\n/)
  t.equal(git('status', '--porcelain'), '')
})

t.test('what is committed on a branch is of nobody, once others have landed on it', async (t) => {
  const scene = await changed(t)
  elsewhere(scene, 'upstream', 'f')
  await landBoth(t, scene, base)
  const { as, git, head, land } = scene
  const [ann, bob, cid] = [as('ann'), as('bob'), as('cid')]
  git('checkout', '-q', '--detach', 'upstream')
  await cid.call('async_read', { path: 'f' })
  await edit(bob, 'f', 'line 3\n', 'bob 3\n')
  await edit(ann, 'f', 'line 9\n', 'ann 9\n')
  await edit(cid, 'f', 'other 15\n', 'cid 15\n')
  for (const agent of ['cid', 'ann', 'bob']) t.match(await land(agent), { status: 'ok', paths: ['f'], dependent: [] })
  t.match(head('f'), /line 2\nbob 3\n[^]*ann 9\n[^]*cid 15\n/)
  t.equal(git('status', '--porcelain'), '')
})

t.test('another branch', async (t) => {
  const scene = await changed(t)
  elsewhere(scene, 'other', 'g')
  scene.git('checkout', '-q', '--detach', 'other')
  await landBoth(t, scene, base)
  scene.git('checkout', '-q', 'main')
  t.match(await scene.land('ann'), { status: 'nothing' })
  await edit(scene.as('ann'), 'g', 'line 3\n', 'ann 3\n')
  t.match(await scene.land('ann'), { status: 'ok', branch: 'main', paths: ['g'] })
})

t.test('a reset that another agent takes back', async (t) => {
  const scene = await changed(t)
  const { tree, as, git } = scene
  const both = tree.read('f')
  git('reset', '-q', '--hard')
  t.match(await as('cid').call('async_undo', { by_agent: 'external' }), { status: 'ok', undone: 1 })
  t.equal(tree.read('f'), both)
  t.same(await blamed(scene, 'f'), { '3-3': 'ann', '9-9': 'bob' })
  await landBoth(t, scene, base)
})

t.test('a reset that another agent takes back beside later changes', async (t) => {
  const scene = await changed(t)
  const { tree, as, git, land, head } = scene
  git('checkout', '-q', '--', 'f')
  await edit(as('cid'), 'f', 'line 15\n', 'cid 15\n')
  await as('cid').call('async_undo', { by_agent: 'external' })
  await edit(as('cid'), 'f', 'ann 3\n', 'cid 3\n')
  t.match(tree.read('f'), /cid 3[^]*bob 9[^]*cid 15/)
  t.same(await blamed(scene, 'f'), { '3-3': 'cid', '9-9': 'bob', '15-15': 'cid' })
  t.match(await land('bob'), { status: 'ok', paths: ['f'] })
  t.equal(head('f'), base.replace('line 9\n', 'bob 9\n'))
  t.match(await land('cid'), { status: 'dependent', dependent: [{ path: 'f', agent_id: 'ann' }] })
})

t.test('an undo that another agent takes back', async (t) => {
  const scene = await changed(t)
  const { tree, as } = scene
  const both = tree.read('f')
  const { change_set } = await as('bob').call('async_undo', { by_agent: 'ann' })
  t.equal(tree.read('f'), base.replace('line 9\n', 'bob 9\n'))
  t.match(await as('cid').call('async_undo', { of_change_set: change_set }), { status: 'ok' })
  t.equal(tree.read('f'), both)
  t.same(await blamed(scene, 'f'), { '3-3': 'ann', '9-9': 'bob' })
  await landBoth(t, scene, base)
})

t.test('a line that an undo has put back, and that its agent then removes', async (t) => {
  const { tree, as, land, head } = await landingScene(t, { f: base })
  await edit(as('ann'), 'f', 'line 3\n', '')
  await as('bob').call('async_undo', { by_agent: 'ann' })
  await edit(as('bob'), 'f', 'line 3\n', '')
  t.match(await land('ann'), { status: 'nothing' })
  t.match(await land('bob'), { status: 'ok' })
  t.equal(head('f'), tree.read('f'))
})
