// A command that puts a file where a folder was, or a folder where a file was: it lands as its own, and one undo takes it back.
import { chmodSync, lstatSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import t from 'tap'
import { base, landingScene, type Scene } from '../../fixtures/landing.ts'

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
  t.match(await as('bob').call('async_undo', { by_agent: 'ann' }), { status: 'ok', undone: 4, conflicts: [] })
  t.same([tree.read('d/x'), tree.read('e/x'), git('status', '--porcelain')], [base, base, ''])
  await shell('ann', 'rm -r d; echo again > d')
  t.match(await land('ann'), { status: 'ok', paths: ['d'] })
  t.same([head('d'), head('d/x'), git('status', '--porcelain')], ['again\n', undefined, ''])
})

t.test(
  'a folder that has just come back, and is not watched again yet, is that of the command that removes it',
  async (t) => {
    const { as, git, head, land, shell } = await landingScene(
      t,
      { 'd/x': base, 'd/deep/y': base },
      { watcher: { debounce_ms: 60_000 } }
    )
    const bob = as('bob')
    for (const path of ['d/x', 'd/deep/y']) await bob.call('async_read', { path })
    await shell('ann', 'rm -r d; echo ann > d')
    t.match(await bob.call('async_undo', { by_agent: 'ann' }), { status: 'ok', undone: 3, conflicts: [] })
    await shell('ann', 'rm -r d; echo again > d')
    t.match(await land('ann'), { status: 'ok', paths: ['d'] })
    t.same([head('d'), git('status', '--porcelain')], ['again\n', ''])
  }
)

t.test('files that no call has used: those of the folder that goes, and those of the folder that comes', async (t) => {
  const { as, git, head, land, shell } = await landingScene(t, { 'd/deep/down/x': base, f: 'f\n', g: 'g\n' })
  const bob = as('bob')
  await shell('ann', 'rm -r d; echo ann > d')
  await shell('ann', 'rm f; mkdir -p f/deep; echo x > f/x; echo y > f/deep/y')
  const { versions } = await bob.call('async_history', { by_agent: 'ann' })
  const made = (versions as { path: string; hash: string | null }[]).map(({ path, hash }) => [path, hash !== null])
  t.same(Object.fromEntries(made), { d: true, 'd/deep/down/x': false, f: false, 'f/x': true, 'f/deep/y': true })
  t.match(await bob.call('async_undo', { by_agent: 'ann' }), { status: 'ok', undone: 5, conflicts: [] })
  t.equal(git('status', '--porcelain'), '')
  await shell('ann', 'rm f; mkdir -p f/deep; echo x > f/x; echo y > f/deep/y')
  t.match(await land('ann'), { status: 'ok', paths: ['f', 'f/deep/y', 'f/x'] })
  t.same([head('f/x'), head('f/deep/y')], ['x\n', 'y\n'])
  await shell('ann', 'find g/x -delete; echo ann >> g')
  t.match(await land('ann'), { status: 'ok', paths: ['g'] })
})

/** What is at each name, with its permission bits. */
function look({ tree }: Scene): Record<string, string> {
  const names = (readdirSync(tree.root, { recursive: true }) as string[]).sort()
  const own = names.filter((name) => !/^\.(git|async-crud-mcp)(\/|$)/.test(name))
  return Object.fromEntries(
    own.map((name) => {
      const stat = lstatSync(tree.path(name))
      if (stat.isSymbolicLink()) return [name, `link to ${readlinkSync(tree.path(name))}`]
      const mode = (stat.mode & 0o777).toString(8)
      return [name, stat.isDirectory() ? 'folder' : `${mode} ${readFileSync(tree.path(name), 'utf8')}`]
    })
  )
}

t.test('one undo swaps files and folders back, its undo swaps them again', async (t) => {
  const scene = await landingScene(t, {
    'd/x': base,
    'd/run': '#!/bin/sh\n',
    'd/deep/down/y': 'y\n',
    'l/x': 'x\n',
    f: 'f\n',
    g: 'g\n',
    'h/x': 'h\n',
    other: 'other\n'
  })
  const { tree, as, git, shell } = scene
  chmodSync(tree.path('d/run'), 0o755)
  git('add', '-A')
  git('commit', '-qm', 'mode')
  git('update-index', '--refresh')
  const bob = as('bob')
  await bob.call('async_read', { path: 'd/x' })
  const before = look(scene)
  for (const [title, command] of [
    ['a folder by a file', 'rm -r d; echo file > d'],
    ['a folder by a link', 'rm -r l; ln -s d l'],
    [
      'a file by a folder',
      'rm f; mkdir -p f/deep f/empty; echo x > f/x; ln -s ../other f/link; echo y > f/deep/y; chmod 700 f/deep/y'
    ],
    ['a file by a folder that has it', 'mv g g.tmp; mkdir g; mv g.tmp g/in'],
    ['a folder by the file in it', 'mv h/x h.tmp; rmdir h; mv h.tmp h'],
    [
      'all of them',
      'rm -r d f l; echo file > d; ln -s other l; mkdir f; echo x > f/x; mv g g.tmp; mkdir g; mv g.tmp g/in'
    ]
  ] as const) {
    await shell('ann', command)
    const after = look(scene)
    let answer = await bob.call('async_undo', { by_agent: 'ann' })
    t.match(answer, { status: 'ok', conflicts: [] }, `${title}: ${JSON.stringify(answer['conflicts'])}`)
    t.same(look(scene), before, `${title}: as before`)
    answer = await bob.call('async_undo', { of_change_set: answer['change_set'] })
    t.match(answer, { status: 'ok', conflicts: [] }, `${title}, again: ${JSON.stringify(answer['conflicts'])}`)
    const withoutEmpty = { ...after }
    delete withoutEmpty['f/empty']
    t.same(look(scene), withoutEmpty, `${title}: as after it`)
    answer = await bob.call('async_undo', { of_change_set: answer['change_set'] })
    t.match(answer, { status: 'ok', conflicts: [] })
    t.same(look(scene), before, `${title}: as before again`)
  }
})

t.test('work of others in a folder or in its place stays, and nothing is changed', async (t) => {
  const scene = await landingScene(t, { 'd/x': 'd\n', f: 'f\n', g: 'g\n', '.gitignore': 'cache\n' })
  const { tree, as, shell } = scene
  const bob = as('bob')
  await shell('ann', 'rm f; mkdir f; echo x > f/x; rm -r d; echo file > d; rm g; mkdir g; echo x > g/x')
  tree.write('g/cache', 'of a program\n')
  await bob.call('async_write', { path: 'f/mine', content: 'bob\n' })
  await bob.call('async_append', { path: 'd', content: 'bob\n' })
  const before = look(scene)
  const answer = await bob.call('async_undo', { by_agent: 'ann' })
  t.match(answer, { status: 'contention', undone: 0 })
  const told = (answer['conflicts'] as { path: string; reason: string }[]).map(({ path, reason }) => [path, reason])
  t.same(Object.fromEntries(told), { d: 'built_upon', 'd/x': 'in_the_way', f: 'in_the_way', g: 'in_the_way' })
  t.same(look(scene), before)
  const some = await bob.call('async_undo', { by_agent: 'ann', paths: ['f', 'f/x'], partial: true })
  t.match(some, { status: 'ok', undone: 1 }, JSON.stringify(some))
  t.same(tree.read('f/mine'), 'bob\n')
  t.notOk('f/x' in look(scene))
})

t.test('what has come by hand, unseen, stays in the way', async (t) => {
  const scene = await landingScene(t, { 'd/x': 'x\n', f: 'f\n' })
  const { tree, as } = scene
  const bob = as('bob')
  for (const path of ['d/x', 'f']) await bob.call('async_read', { path })
  rmSync(tree.path('d'), { recursive: true })
  tree.write('d', 'file\n')
  rmSync(tree.path('f'))
  tree.write('f/x', 'x\n')
  const after = look(scene)
  t.match(await bob.call('async_undo', { by_agent: 'external' }), {
    status: 'contention',
    conflicts: [{ reason: 'in_the_way' }, { reason: 'in_the_way' }]
  })
  t.same(look(scene), after)
})
