// Files that neither HEAD nor the tree has, since another agent has removed what one has created: they land as they were made.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { connect } from '../../fixtures/clients.ts'
import { base, edit, landingScene, type Scene } from '../../fixtures/landing.ts'
import { startServer } from '../../fixtures/server.ts'

t.setTimeout(600_000)

const kept = { persistence: { enabled: true } }
const overwritten = { include_overwritten: true }

/** Ann has created a file, and Bob has removed it. */
async function removed(t: Test, path = 'new', files: Record<string, string> = {}): Promise<Scene> {
  const scene = await landingScene(t, { f: base, ...files }, kept)
  await scene.as('ann').call('async_write', { path, content: 'by ann\n', create_dirs: true })
  await scene.as('bob').call('async_delete', { path })
  return scene
}

const remove = (scene: Scene, agent: string, path = 'new') => scene.as(agent).call('async_delete', { path })

t.test('the creation lands, then the removal, and neither lands again', async (t) => {
  const { as, git, head, land } = await removed(t)
  for (const agent of ['ann', 'bob']) t.match(await land(agent), { status: 'nothing' }, 'without the option')
  t.match(await land('ann', { ...overwritten, dry_run: true }), { status: 'ok', paths: ['new'] })
  t.match(await land('ann', overwritten), { status: 'ok', paths: ['new'] })
  t.equal(head('new'), 'by ann\n')
  t.equal(git('status', '--porcelain', '--', 'new'), ' D new\n')
  t.match(await land('ann', overwritten), { status: 'nothing' })
  t.match(await land('bob', overwritten), { status: 'ok', paths: ['new'] })
  t.equal(head('new'), undefined)
  t.equal(git('status', '--porcelain', '--', 'new'), '')
  for (const agent of ['ann', 'bob']) t.match(await land(agent, overwritten), { status: 'nothing' }, agent)
  await edit(as('ann'), 'f', 'line 3\n', 'ann 3\n')
  t.match(await land('ann', overwritten), { status: 'ok', paths: ['f'] }, 'what has landed does not come back')
})

t.test('the removal rests on the creation', async (t) => {
  const { as, head, land } = await removed(t)
  await edit(as('bob'), 'f', 'line 3\n', 'bob 3\n')
  const dependent = [{ path: 'new', agent_id: 'ann' }]
  t.match(await land('bob', overwritten), { status: 'dependent', dependent })
  t.match(await land('bob', { ...overwritten, paths: ['f'], dry_run: true }), { status: 'ok' })
  t.match(await land('bob', { ...overwritten, with: ['ann'], dry_run: true }), { status: 'ok', paths: ['f'] })
  t.match(await land('bob', { dry_run: true }), { status: 'ok', paths: ['f'] }, 'without the option')
  t.match(await land('ann', overwritten), { status: 'ok' })
  t.match(await land('bob', overwritten), { status: 'ok', paths: ['f', 'new'] })
  t.equal(head('new'), undefined)
})

t.test('the lines that others have written into it', async (t) => {
  const scene = await landingScene(t, { f: base })
  const { as, git, head, land } = scene
  await as('ann').call('async_write', { path: 'new', content: 'one\ntwo\nthree\n' })
  await edit(as('cid'), 'new', 'two\n', 'cid\n')
  await edit(as('ann'), 'new', 'three\n', 'three\nfour\n')
  await remove(scene, 'bob')
  t.match(await land('cid', overwritten), { status: 'dependent', dependent: [{ path: 'new', agent_id: 'ann' }] })
  const dependent = [
    { path: 'new', agent_id: 'ann' },
    { path: 'new', agent_id: 'cid' }
  ]
  t.match(await land('bob', overwritten), { status: 'dependent', dependent })
  t.match(await land('ann', overwritten), { status: 'ok' })
  t.equal(head('new'), 'one\ntwo\nthree\nfour\n')
  t.match(await land('bob', overwritten), { status: 'dependent', dependent: [{ path: 'new', agent_id: 'cid' }] })
  t.match(await land('cid', overwritten), { status: 'ok' })
  t.equal(head('new'), 'one\ncid\nthree\nfour\n')
  t.match(await land('bob', overwritten), { status: 'ok' })
  t.equal(git('ls-files'), 'f\n')
  for (const agent of ['ann', 'bob', 'cid']) t.match(await land(agent, overwritten), { status: 'nothing' }, agent)
})

t.test('what was not to stay', async (t) => {
  const scene = await landingScene(t, { f: base })
  const { tree, as, land } = scene
  for (const path of ['own', 'undone', 'people'])
    await as('ann').call('async_write', { path, content: 'by ann\n', change_set: path })
  await remove(scene, 'ann', 'own')
  t.match(await as('bob').call('async_undo', { of_change_set: 'undone', by_agent: 'ann' }), { status: 'ok' })
  rmSync(tree.path('people'))
  for (const agent of ['ann', 'bob', 'external']) t.match(await land(agent, overwritten), { status: 'nothing' }, agent)
})

t.test('a file whose creator is not known', async (t) => {
  const scene = await landingScene(t, { f: base })
  const { tree, as, land } = scene
  writeFileSync(tree.path('new'), 'by hand\n')
  await as('cid').call('async_append', { path: 'new', content: 'by cid\n' })
  await remove(scene, 'bob')
  await edit(as('bob'), 'f', 'line 3\n', 'bob 3\n')
  for (const agent of ['external', 'cid']) t.match(await land(agent, overwritten), { status: 'nothing' }, agent)
  t.match(await land('bob', overwritten), { status: 'ok', paths: ['f'] })
})

t.test('a restart, commands, bytes and modes', async (t) => {
  const scene = await landingScene(t, { f: base }, kept)
  const { app, tree, head, git, shell } = scene
  await shell('ann', "printf 'a\\0b' > bytes; printf '#!/bin/sh\\n' > run; chmod +x run; ln -s f link")
  for (const path of ['bytes', 'run', 'link']) await remove(scene, 'bob', path)
  await app.close()
  const { url } = await startServer(t, tree.root, kept)
  const operator = await connect(t, 'rest', url, 'operator')
  t.match(await operator.call('land', { agent: 'ann', ...overwritten }), { status: 'ok' })
  t.equal(head('bytes'), 'a\0b')
  t.match(git('ls-tree', 'HEAD', 'run', 'link'), /^120000 .*\n100755 /)
  t.match(await operator.call('land', { agent: 'bob', ...overwritten }), { status: 'ok' })
  t.equal(git('ls-files'), 'f\n')
})

t.test('another name before its end', async (t) => {
  const scene = await landingScene(t, { f: base })
  const { as, git, head, land } = scene
  await as('ann').call('async_write', { path: 'new', content: 'by ann\n' })
  await as('cid').call('async_rename', { old_path: 'new', new_path: 'newer' })
  await remove(scene, 'bob', 'newer')
  t.match(await land('ann', overwritten), { status: 'ok', paths: ['newer'] })
  t.equal(head('newer'), 'by ann\n')
  t.match(await land('bob', overwritten), { status: 'ok' })
  t.equal(git('ls-files'), 'f\n')
})

t.test('a commit by hand in between', async (t) => {
  const scene = await landingScene(t, { f: base })
  const { as, git, land } = scene
  await as('ann').call('async_write', { path: 'new', content: 'by ann\n' })
  git('add', 'new')
  git('commit', '-qm', 'by hand')
  await remove(scene, 'bob')
  t.match(await land('bob', { ...overwritten, dry_run: true }), { status: 'ok', paths: ['new'] })
  git('rm', '-q', '--cached', 'new')
  git('commit', '-qm', 'by hand')
  for (const agent of ['ann', 'bob']) t.match(await land(agent, overwritten), { status: 'nothing' }, agent)
})

t.test('a log of HEAD that does not reach back so far', async (t) => {
  const { tree, git, land } = await removed(t)
  rmSync(tree.path('.git/logs/HEAD'))
  t.match(await land('ann', overwritten), { status: 'nothing' })
  git('commit', '-q', '--allow-empty', '-m', 'by hand')
  t.match(await land('ann', overwritten), { status: 'nothing' })
})

t.test('what Git ignores, and what is of another repository', async (t) => {
  const scene = await removed(t, 'out/new', { '.gitignore': 'out/\n' })
  const { tree, as, git, land } = scene
  t.match(await land('ann', overwritten), { status: 'nothing' })
  mkdirSync(tree.path('sub'))
  git('init', '-q', 'sub')
  await as('ann').call('async_write', { path: 'sub/new', content: 'by ann\n' })
  await remove(scene, 'bob', 'sub/new')
  t.match(await land('ann', overwritten), { status: 'nothing' })
  await as('ann').call('async_write', { path: ':new', content: 'by ann\n' })
  await remove(scene, 'bob', ':new')
  t.match(await land('ann', overwritten), { status: 'ok', paths: [':new'] })
})

t.test('something else is at its name', async (t) => {
  const { tree, as, git, land } = await removed(t, 'here/new')
  rmSync(tree.path('here'), { recursive: true, force: true })
  await as('cid').call('async_write', { path: 'here', content: 'by cid\n' })
  t.match(await land('ann', overwritten), { status: 'nothing' })
  t.match(await land('cid'), { status: 'ok', paths: ['here'] })
  t.match(await land('ann', overwritten), { status: 'nothing' })
  t.equal(git('status', '--porcelain', '--', 'here'), '')
})

t.test('a name that was moved below what is a file by now', async (t) => {
  const scene = await landingScene(t, { f: base })
  const { tree, as, git, land } = scene
  await as('ann').call('async_write', { path: 'new', content: 'by ann\n' })
  mkdirSync(tree.path('here'))
  await as('cid').call('async_rename', { old_path: 'new', new_path: 'here/new' })
  await remove(scene, 'bob', 'here/new')
  rmSync(tree.path('here'), { recursive: true })
  await as('cid').call('async_write', { path: 'here', content: 'by cid\n' })
  t.match(await land('cid'), { status: 'ok', paths: ['here'] })
  t.match(await land('ann', overwritten), { status: 'nothing' })
  t.equal(git('ls-files'), 'f\nhere\n')
})

t.test('one is at the name of a folder of the other', async (t) => {
  const scene = await removed(t, 'here/new')
  const { tree, as, land } = scene
  rmSync(tree.path('here'), { recursive: true, force: true })
  await as('ann').call('async_write', { path: 'here', content: 'by ann\n' })
  await remove(scene, 'bob', 'here')
  t.match(await land('ann', overwritten), { status: 'nothing' })
})

t.test('a file that is created again', async (t) => {
  const scene = await removed(t)
  const { as, head, land } = scene
  await as('cid').call('async_write', { path: 'new', content: 'by cid\n' })
  t.match(await land('ann', overwritten), { status: 'nothing' })
  t.match(await land('cid', { dry_run: true }), { status: 'ok', paths: ['new'] }, 'it rests on nothing')
  await remove(scene, 'bob')
  t.match(await land('ann', overwritten), { status: 'nothing' })
  t.match(await land('cid', overwritten), { status: 'ok' })
  t.equal(head('new'), 'by cid\n')
})
