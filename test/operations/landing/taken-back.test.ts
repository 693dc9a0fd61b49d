// Changes that another agent has taken back, so that the file is as HEAD has it: they land as they were made.
import { rmSync } from 'node:fs'
import t, { type Test } from 'tap'
import { connect } from '../../fixtures/clients.ts'
import { base, edit, landingScene, type Scene } from '../../fixtures/landing.ts'
import { startServer } from '../../fixtures/server.ts'

t.setTimeout(600_000)

const kept = { persistence: { enabled: true } }
const overwritten = { include_overwritten: true }
const byAnn = base.replace('line 3\n', 'ann 3\n')

/** Ann has changed a line, and Bob has made it again what it was. */
async function takenBack(t: Test): Promise<Scene> {
  const scene = await landingScene(t, { f: base }, kept)
  await edit(scene.as('ann'), 'f', 'line 3\n', 'ann 3\n')
  await edit(scene.as('bob'), 'f', 'ann 3\n', 'line 3\n')
  return scene
}

t.test('the change lands, then the other one, and neither lands again', async (t) => {
  const { as, git, head, land } = await takenBack(t)
  for (const agent of ['ann', 'bob']) t.match(await land(agent), { status: 'nothing' }, 'without the option')
  t.match(await land('bob', overwritten), { status: 'dependent', dependent: [{ path: 'f', agent_id: 'ann' }] })
  t.match(await land('cid', overwritten), { status: 'nothing' })
  t.match(await land('ann', overwritten), { status: 'ok', paths: ['f'] })
  t.equal(head('f'), byAnn)
  t.equal(git('status', '--porcelain', '--', 'f'), ' M f\n')
  t.match(await land('ann', overwritten), { status: 'nothing' })
  t.match(await land('bob', overwritten), { status: 'ok' })
  t.equal(head('f'), base)
  t.equal(git('status', '--porcelain', '--', 'f'), '')
  for (const agent of ['ann', 'bob']) t.match(await land(agent, overwritten), { status: 'nothing' }, agent)
  await edit(as('ann'), 'f', 'line 9\n', 'ann 9\n')
  t.match(await land('ann', overwritten), { status: 'ok' })
  t.equal(head('f'), base.replace('line 9\n', 'ann 9\n'), 'what has landed does not come back')
})

t.test('a chain of three beside a change that stays', async (t) => {
  const { as, git, head, land } = await landingScene(t, { f: base })
  await edit(as('ann'), 'f', 'line 3\n', 'ann 3\n')
  await edit(as('bob'), 'f', 'ann 3\n', 'bob 3\n')
  await edit(as('cid'), 'f', 'bob 3\n', 'line 3\n')
  await edit(as('ann'), 'f', 'line 9\n', 'ann 9\n')
  t.match(await land('cid', overwritten), { status: 'dependent' })
  t.match(await land('ann', overwritten), { status: 'ok' })
  t.equal(head('f'), byAnn.replace('line 9\n', 'ann 9\n'))
  t.match(await land('bob', overwritten), { status: 'ok' })
  t.match(await land('cid', overwritten), { status: 'ok' })
  t.equal(head('f'), base.replace('line 9\n', 'ann 9\n'))
  t.equal(git('status', '--porcelain', '--', 'f'), '')
})

t.test('a restart', async (t) => {
  const { app, tree, head } = await takenBack(t)
  await app.close()
  const { url } = await startServer(t, tree.root, kept)
  const operator = await connect(t, 'rest', url, 'operator')
  t.match(await operator.call('land', { agent: 'ann', ...overwritten }), { status: 'ok' })
  t.equal(head('f'), byAnn)
})

for (const [how, act] of [
  ['its author', ({ as }) => edit(as('ann'), 'f', 'ann 3\n', 'line 3\n')],
  ['an undo', ({ as }) => as('bob').call('async_undo', { by_agent: 'ann' })],
  ['a person', async ({ git }) => git('checkout', '-q', '--', 'f')]
] satisfies [string, (scene: Scene) => Promise<unknown>][])
  t.test(`what ${how} has taken back stays out`, async (t) => {
    const scene = await landingScene(t, { f: base })
    const { as, head, land } = scene
    await edit(as('ann'), 'f', 'line 3\n', 'ann 3\n')
    await act(scene)
    for (const agent of ['ann', 'bob']) t.match(await land(agent, overwritten), { status: 'nothing' }, agent)
    await edit(as('ann'), 'f', 'line 9\n', 'ann 9\n')
    t.match(await land('ann', overwritten), { status: 'ok' })
    t.equal(head('f'), base.replace('line 9\n', 'ann 9\n'))
  })

t.test('commits by hand', async (t) => {
  const { as, git, land } = await landingScene(t, { f: base })
  await edit(as('ann'), 'f', 'line 3\n', 'ann 3\n')
  git('commit', '-qam', 'by hand')
  await edit(as('bob'), 'f', 'ann 3\n', 'line 3\n')
  git('commit', '-qam', 'by hand')
  for (const agent of ['ann', 'bob']) t.match(await land(agent, overwritten), { status: 'nothing' }, agent)
})

t.test('a log of HEAD that does not reach back so far', async (t) => {
  const { tree, git, land } = await takenBack(t)
  rmSync(tree.path('.git/logs/HEAD'))
  t.match(await land('ann', overwritten), { status: 'nothing' })
  git('commit', '-q', '--allow-empty', '-m', 'by hand')
  t.match(await land('ann', overwritten), { status: 'nothing' })
})

t.test('a file that is removed and made again', async (t) => {
  const { as, git, land } = await landingScene(t, { f: base })
  await as('ann').call('async_delete', { path: 'f' })
  await as('bob').call('async_write', { path: 'f', content: base })
  for (const agent of ['ann', 'bob']) t.match(await land(agent, overwritten), { status: 'nothing' }, agent)
  t.equal(git('status', '--porcelain', '--', 'f'), '')
})
