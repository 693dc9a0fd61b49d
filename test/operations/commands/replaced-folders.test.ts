// A command that puts a file where a folder was.
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
