// What the commit of a landing says, and landings that the server may run with all that Git and the settings name.
import { chmodSync } from 'node:fs'
import t from 'tap'
import { base, edit, landingScene } from '../../fixtures/landing.ts'

t.setTimeout(600_000)

t.test('the message: given, of the leases, of the tasks, or the agent and its files', async (t) => {
  const { as, git, land } = await landingScene(t, { f: base, g: base, h: base })
  const said = () => git('log', '-1', '--format=%B').trim()
  const trailers = (key: string) => git('log', '-1', `--format=%(trailers:key=${key},valueonly)`).trim()
  const [ann, bob] = [as('ann'), as('bob')]
  await ann.call('lock_try', { filepaths: ['f'], note: 'Fix the login' })
  await ann.call('lock_try', { filepaths: ['g'], note: 'and its test' })
  await bob.call('lock_try', { filepaths: ['h'], note: 'not of ann' })
  await edit(ann, 'f', 'line 3\n', 'ann 3\n', { change_set: 'login' })
  await edit(ann, 'g', 'line 3\n', 'ann 3\n', { change_set: 'login' })
  await edit(bob, 'h', 'line 3\n', 'bob 3\n')
  t.match(await land('ann'), { status: 'ok' })
  t.equal(said(), 'Fix the login\n\n- and its test\n- login\n\nAgent: ann\nChange-Set: login')
  await ann.call('lock_release_all', {})
  await ann.call('lock_try', { filepaths: ['f'], note: 'Not of what lands' })
  await ann.call('lock_release_all', {})
  await edit(ann, 'f', 'line 9\n', 'ann 9\n', { change_set: 'rename Config' })
  t.match(await land('ann'), { status: 'ok' })
  t.equal(said(), 'rename Config\n\nAgent: ann\nChange-Set: rename Config')
  await edit(ann, 'f', 'ann 9\n', 'ann 10\n')
  await ann.call('async_delete', { path: 'g' })
  t.match(await land('ann'), { status: 'ok' })
  t.equal(said(), 'Changes by ann\n\n- f\n- removed: g\n\nAgent: ann')
  await ann.call('lock_try', { filepaths: ['f'], note: 'Under a lease that has ended' })
  await edit(ann, 'f', 'line 1\n', 'ann 1\n')
  await ann.call('lock_release_all', {})
  t.match(await land('ann'), { status: 'ok' })
  t.equal(said(), 'Under a lease that has ended\n\nAgent: ann')
  await edit(ann, 'f', 'ann 10\n', 'ann 11\n', { change_set: 'one' })
  await edit(ann, 'f', 'line 15\n', 'ann 15\n', { change_set: 'two' })
  const message = 'Given\n\nMore of it.\n\nSigned-off-by: Name <name@example.org>\nAgent: ann\n'
  t.match(await land('ann', { message, with: ['bob'] }), { status: 'ok', paths: ['f', 'h'] })
  t.equal(trailers('Agent'), 'ann\nbob', 'once for each')
  t.equal(trailers('Change-Set'), 'one\ntwo')
  t.equal(trailers('Signed-off-by'), 'Name <name@example.org>', 'all are one paragraph')
})

t.test('trailers name agents, also as co-authors, but no people', async (t) => {
  const { tree, as, git, land } = await landingScene(
    t,
    { f: base },
    { land: { co_author: '{agent} <{agent}@agents.example.org>' } }
  )
  await edit(as('ann'), 'f', 'line 3\n', 'ann 3\n', { agent_id: 'ann b/c' })
  tree.write('f', tree.read('f').replace('line 9\n', 'person 9\n'))
  t.match(await land('ann b/c', { with: ['external'] }), { status: 'ok' })
  t.equal(
    git('log', '-1', '--format=%(trailers)').trim(),
    'Agent: ann b/c\nCo-authored-by: ann b/c <ann-b-c@agents.example.org>'
  )
})

t.test('with land.run the server runs filters, hooks and the test', async (t) => {
  const { tree, as, git, land } = await landingScene(
    t,
    { f: base, 'd.up': 'one\n', '.gitattributes': '*.up filter=up\n' },
    { land: { run: true, test: ['sh', '-c', 'echo seen; grep -q "ann" f'] } }
  )
  git('config', 'filter.up.clean', 'tr a-z A-Z')
  git('config', 'filter.up.smudge', 'tr A-Z a-z')
  git('add', '--renormalize', '.')
  git('commit', '-qm', 'filtered')
  tree.write('.git/hooks/commit-msg', '#!/bin/sh\ngrep -q good "$1" || { echo "no good message"; exit 1; }\n')
  chmodSync(tree.path('.git/hooks/commit-msg'), 0o755)
  t.match(await land('ann'), { status: 'nothing', paths: [] })
  await edit(as('ann'), 'd.up', 'one\n', 'one\ntwo\n')
  await edit(as('bob'), 'f', 'line 3\n', 'bob 3\n')
  const failed = await land('ann', { message: 'good' })
  t.match(failed, { error_code: 'INVALID_REQUEST', message: /sh -c .* ended with 1/, details: { output: /seen/ } })
  await edit(as('ann'), 'f', 'line 9\n', 'ann 9\n')
  t.match(await land('ann', { message: '--bad' }), { error_code: 'INVALID_REQUEST', message: /no good message/ })
  t.match(await land('ann', { dry_run: true }), { status: 'ok', left_out: ['d.up'] })
  const answer = await land('ann', { message: 'good', paths: ['d.*', 'f'] })
  t.match(answer, { status: 'ok', commit: git('rev-parse', 'HEAD').trim(), branch: 'main', paths: ['d.up', 'f'] })
  t.equal(git('cat-file', 'blob', 'HEAD:d.up'), 'ONE\nTWO\n')
  t.equal(git('status', '--porcelain').trim(), 'M f')
  await edit(as('ann'), 'f', 'bob 3\n', 'ann 3\n')
  t.match(await land('ann', { message: 'good' }), { status: 'dependent', dependent: [{ path: 'f', agent_id: 'bob' }] })
})
