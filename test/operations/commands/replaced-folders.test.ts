// A command that puts a file where a folder was.
import { rmSync } from 'node:fs'
import t from 'tap'
import { base, landingScene } from '../../fixtures/landing.ts'

t.test('a file that a command has put where a folder was is its own, and comes back as the folder', async (t) => {
  const { tree, as, git, head, land, shell } = await landingScene(t, { 'd/x': base, 'e/x': base, f: base })
  await as('bob').call('async_read', { path: 'e/x' })
  await shell('ann', 'rm -r d e; echo ann > d; echo ann > e')
  const { versions } = await as('bob').call('async_history', { by_agent: 'ann' })
  const made = Object.fromEntries(
    (versions as { path: string; hash: string | null; previous_hash?: string | null }[]).map(
      ({ path, hash, previous_hash }) => [path, { isNew: previous_hash === null, isGone: hash === null }]
    )
  )
  const [created, removed] = [
    { isNew: true, isGone: false },
    { isNew: false, isGone: true }
  ]
  t.same(made, { d: created, 'd/x': removed, e: created, 'e/x': removed })
  t.match(await land('ann', { dry_run: true }), { status: 'ok', paths: ['d', 'e'], uncertain: [] })
  t.match(await as('bob').call('async_undo', { by_agent: 'ann', partial: true }), { undone: 2 })
  t.match(await as('bob').call('async_undo', { by_agent: 'ann' }), { status: 'ok' })
  t.same([tree.read('d/x'), tree.read('e/x'), git('status', '--porcelain')], [base, base, ''])
  await shell('ann', 'rm -r d; echo again > d')
  t.match(await land('ann'), { status: 'ok', paths: ['d'] })
  t.same([head('d'), head('d/x'), git('status', '--porcelain')], ['again\n', undefined, ''])
})

t.test('nobody need have used what was in the folder, nor what comes to a new one', async (t) => {
  const { tree, as, git, head, land, shell } = await landingScene(t, { 'd/deep/down/x': base, f: 'f\n', g: 'g\n' })
  const bob = as('bob')
  await shell('ann', 'rm -r d; echo ann > d')
  await shell('ann', 'rm f; mkdir -p f/deep; echo x > f/x; echo y > f/deep/y')
  const { versions } = await bob.call('async_history', { by_agent: 'ann' })
  const made = (versions as { path: string; hash: string | null }[]).map(({ path, hash }) => [path, hash !== null])
  t.same(Object.fromEntries(made), { d: true, 'd/deep/down/x': false, f: false, 'f/x': true, 'f/deep/y': true })
  t.match(await bob.call('async_undo', { by_agent: 'ann', partial: true }), { status: 'ok', undone: 3 })
  rmSync(tree.path('f'), { recursive: true })
  t.match(await bob.call('async_undo', { by_agent: 'ann' }), { status: 'ok', undone: 2, conflicts: [] })
  t.equal(git('status', '--porcelain'), '')
  await shell('ann', 'rm f; mkdir -p f/deep; echo x > f/x; echo y > f/deep/y')
  t.match(await land('ann'), { status: 'ok', paths: ['f', 'f/deep/y', 'f/x'] })
  t.same([head('f/x'), head('f/deep/y')], ['x\n', 'y\n'])
  await shell('ann', 'find g/x -delete; echo ann >> g')
  t.match(await land('ann'), { status: 'ok', paths: ['g'] })
})

t.test('a link that a command makes where nothing was is its own', async (t) => {
  const { tree, as, git, head, land, shell } = await landingScene(t, { f: 'f\n', g: 'g\n' })
  await shell('ann', 'ln -s f l; for one in 1 2; do ln -s nowhere away-$one; done')
  const { versions } = await as('bob').call('async_history', { by_agent: 'ann' })
  const made = (versions as { path: string }[]).map(({ path }) => path)
  t.same(made.sort(), ['away-1', 'away-2', 'l'])
  t.match(await as('bob').call('async_undo', { by_agent: 'ann' }), { status: 'ok', undone: 3 })
  t.equal(git('status', '--porcelain'), '', 'and comes back')
  await shell('ann', 'ln -s f l')
  t.match(await land('ann'), { status: 'ok', paths: ['l'] })
  t.same([head('l'), tree.read('l')], ['f', 'f\n'])
})
