// What earlier landings have taken: among equal lines HEAD has those of the agent that has landed, as long as its bytes agree.
import { rmSync } from 'node:fs'
import t, { type Test } from 'tap'
import { connect } from '../../fixtures/clients.ts'
import { base, edit, landingScene, type Scene } from '../../fixtures/landing.ts'
import { startServer } from '../../fixtures/server.ts'

t.setTimeout(600_000)

const once = base.replace('line 3\n', 'line 3\nsame\n')
const twice = base.replace('line 3\n', 'line 3\nsame\nsame\n')

const kept = { persistence: { enabled: true } }

/** Ann and then Bob have brought the same line at the same place, and Cid another one. */
async function brought(t: Test): Promise<Scene> {
  const scene = await landingScene(t, { f: base }, kept)
  const { as } = scene
  await edit(as('ann'), 'f', 'line 3\n', 'line 3\nsame\n')
  await edit(as('bob'), 'f', 'same\n', 'same\nsame\n')
  await edit(as('cid'), 'f', 'line 15\n', 'cid 15\n')
  return scene
}

for (const [first, second] of [
  ['ann', 'bob'],
  ['bob', 'ann']
] as const)
  t.test(`two have brought the same line, and ${first} lands first`, async (t) => {
    const { git, head, land } = await brought(t)
    t.match(await land(first), { status: 'ok' })
    t.equal(head('f'), once)
    t.match(await land('cid'), { status: 'ok' })
    t.match(await land(first), { status: 'nothing' })
    t.match(await land(second), { status: 'ok' })
    t.equal(head('f'), twice.replace('line 15\n', 'cid 15\n'))
    t.equal(git('status', '--porcelain', '--', 'f'), '')
  })

t.test('a landing before a restart', async (t) => {
  const { app, tree, head, land } = await brought(t)
  t.match(await land('bob'), { status: 'ok' })
  await app.close()
  const { url } = await startServer(t, tree.root, kept)
  const operator = await connect(t, 'rest', url, 'operator')
  t.match(await operator.call('land', { agent: 'ann' }), { status: 'ok' })
  t.equal(head('f'), twice)
})

t.test('HEAD is by chance as the file once was', async (t) => {
  const { as, git, head, land } = await landingScene(t, { f: base })
  await edit(as('cid'), 'f', 'line 3\n', '')
  await edit(as('ann'), 'f', 'line 9\n', 'ann 9\n')
  await edit(as('bob'), 'f', 'line 2\n', 'line 2\nline 3\n')
  await edit(as('ann'), 'f', 'line 3\n', '')
  const overwritten = { include_overwritten: true }
  t.match(await land('bob', overwritten), { status: 'ok' })
  t.equal(head('f'), base.replace('line 3\n', 'line 3\nline 3\n'))
  t.match(await land('ann', overwritten), { status: 'ok' })
  t.equal(head('f'), base.replace('line 9\n', 'ann 9\n'), 'as behind the change of bob')
  t.match(await land('ann', overwritten), { status: 'nothing' })
  t.match(await land('cid', overwritten), { status: 'ok' }, 'what cid took away is still to land')
  t.equal(git('status', '--porcelain', '--', 'f'), '')
})

t.test('a landing that is taken back', async (t) => {
  const { git, head, land } = await brought(t)
  t.match(await land('bob'), { status: 'ok' })
  git('reset', '-q', 'HEAD~1')
  t.equal(head('f'), base)
  t.match(await land('bob', { dry_run: true }), { status: 'ok' }, 'it can land again')
  t.match(await land('ann'), { status: 'ok' })
  t.equal(head('f'), once)
  t.match(await land('cid'), { status: 'ok' })
  t.match(await land('bob'), { status: 'ok' })
  t.equal(git('status', '--porcelain', '--', 'f'), '')
})

t.test('a landing that is taken back together with the tree', async (t) => {
  const { as, git, head, land } = await brought(t)
  t.match(await land('bob'), { status: 'ok' })
  git('reset', '-q', '--hard', 'HEAD~1')
  for (const agent of ['ann', 'bob', 'cid']) t.match(await land(agent), { status: 'nothing' }, agent)
  await edit(as('cid'), 'f', 'line 3\n', 'line 3\nsame\n')
  t.match(await land('bob'), { status: 'nothing' })
  t.match(await land('cid'), { status: 'ok' })
  t.equal(head('f'), once)
})

t.test('a landing whose commit gets another message', async (t) => {
  const { git, head, land } = await brought(t)
  t.match(await land('bob'), { status: 'ok' })
  git('commit', '-q', '--amend', '-m', 'another message')
  t.match(await land('ann'), { status: 'ok' })
  t.equal(head('f'), twice)
})

t.test('a landing whose commit gets another content', async (t) => {
  const { tree, git, head, land } = await brought(t)
  t.match(await land('bob'), { status: 'ok' })
  const other = base.replace('line 3\n', 'line 3\nby hand\n')
  tree.write('part', other)
  git('update-index', '--cacheinfo', `100644,${git('hash-object', '-w', tree.path('part')).trim()},f`)
  git('commit', '-q', '--amend', '-m', 'by hand')
  t.match(await land('cid'), { status: 'ok' })
  t.equal(head('f'), other.replace('line 15\n', 'cid 15\n'), 'a change by cid alone')
  t.match(await land('bob'), { status: 'ok' }, 'the line is in HEAD no more')
  t.equal(head('f'), other.replace('by hand\n', 'by hand\nsame\n').replace('line 15\n', 'cid 15\n'))
})

const overwritten = { include_overwritten: true }

t.test('a line that has landed, and whose removal has landed', async (t) => {
  const { as, git, head, land } = await landingScene(t, { f: base })
  await edit(as('cid'), 'f', 'line 15\n', 'cid 15\n')
  await edit(as('bob'), 'f', 'line 3\n', 'line 3\nsame\n')
  await edit(as('ann'), 'f', 'same\n', '')
  t.match(await land('bob', overwritten), { status: 'ok' })
  t.match(await land('ann', overwritten), { status: 'ok' })
  t.equal(head('f'), base)
  for (const agent of ['bob', 'ann']) t.match(await land(agent, overwritten), { status: 'nothing' }, agent)
  t.match(await land('cid', overwritten), { status: 'ok' })
  t.equal(git('status', '--porcelain', '--', 'f'), '')
})

t.test('the removal of a line that is to land as if nobody had removed it', async (t) => {
  const { as, git, head, land } = await landingScene(t, { f: base })
  await edit(as('bob'), 'f', 'line 15\n', 'bob 15\n')
  await edit(as('bob'), 'f', 'line 3\n', 'line 3\nsame\n')
  await edit(as('ann'), 'f', 'same\n', '')
  const dependent = [{ path: 'f', agent_id: 'bob' }]
  t.match(await land('ann', overwritten), { status: 'dependent', dependent }, 'there is nothing else')
  await edit(as('ann'), 'f', 'line 9\n', 'line 9\nsame\n')
  t.match(await land('ann', overwritten), { status: 'dependent', dependent })
  t.match(await land('ann', { dry_run: true }), { status: 'ok' }, 'without it the line does not land')
  t.match(await land('ann', { ...overwritten, with: ['bob'], dry_run: true }), { status: 'ok' })
  t.match(await land('bob', overwritten), { status: 'ok' })
  t.equal(head('f'), once.replace('line 15\n', 'bob 15\n'))
  t.match(await land('ann', overwritten), { status: 'ok' })
  t.equal(git('status', '--porcelain', '--', 'f'), '')
})

t.test('a line whose removal has landed', async (t) => {
  const { as, git, head, land } = await landingScene(t, { f: base })
  await edit(as('bob'), 'f', 'line 15\n', 'bob 15\n')
  await edit(as('bob'), 'f', 'line 3\n', 'line 3\nsame\n')
  await edit(as('ann'), 'f', 'same\n', '')
  await edit(as('ann'), 'f', 'line 9\n', 'ann 9\n')
  t.match(await land('ann'), { status: 'ok' })
  t.equal(head('f'), base.replace('line 9\n', 'ann 9\n'))
  t.match(await land('bob', overwritten), { status: 'ok' })
  t.equal(git('status', '--porcelain', '--', 'f'), '')
})

t.test('the removal of a file that others have changed', async (t) => {
  const { as, git, head, land } = await landingScene(t, { f: base, g: 'g\n' })
  await edit(as('bob'), 'f', 'line 3\n', 'bob 3\n')
  await edit(as('cid'), 'f', 'bob 3\n', 'cid 3\n')
  await as('bob').call('async_rename', { old_path: 'g', new_path: 'h' })
  for (const path of ['f', 'h']) await as('ann').call('async_delete', { path })
  t.match(await land('ann', { dry_run: true }), { status: 'ok' }, 'without it their changes do not land')
  t.match(await land('ann', overwritten), {
    status: 'dependent',
    dependent: [
      { path: 'f', agent_id: 'bob' },
      { path: 'f', agent_id: 'cid' },
      { path: 'g', agent_id: 'bob' }
    ]
  })
  t.match(await land('ann', { ...overwritten, with: ['bob', 'cid'], dry_run: true }), { status: 'ok' })
  t.match(await land('bob', overwritten), { status: 'ok' })
  t.equal(head('f'), base.replace('line 3\n', 'bob 3\n'))
  t.equal(head('h'), 'g\n')
  t.match(await land('ann', overwritten), { status: 'dependent', dependent: [{ path: 'f', agent_id: 'cid' }] })
  t.match(await land('cid', overwritten), { status: 'ok' })
  t.equal(head('f'), base.replace('line 3\n', 'cid 3\n'))
  t.match(await land('ann', overwritten), { status: 'ok' })
  t.equal(git('ls-files'), '')
  t.equal(git('status', '--porcelain', '--', 'f', 'g', 'h'), '')
})

t.test('a person removes a file that others have changed', async (t) => {
  const { tree, as, head, land } = await landingScene(t, { f: base })
  await edit(as('bob'), 'f', 'line 3\n', 'bob 3\n')
  rmSync(tree.path('f'))
  t.match(await land('bob', overwritten), { status: 'nothing' })
  t.match(await land('external', overwritten), { status: 'ok' })
  t.equal(head('f'), undefined)
})
